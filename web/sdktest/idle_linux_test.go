package sdktest

import (
	"fmt"
	"testing"
	"time"
)

// idleMost is the budget for the memory of an idle server, in MiB.
const idleMost = 45

// TestIdleMemory starts a server and leaves it alone.
func TestIdleMemory(t *testing.T) {
	part(t, judged)
	t.Parallel()
	in := startBare(t)
	eventually(t, time.Minute, "the memory after the start is within the budget", func() (bool, string) {
		held := in.memory(t)
		return held <= idleMost, fmt.Sprintf("%d MiB", held)
	})
}
