package sdktest

import (
	"fmt"
	"testing"
	"time"
)

// idleMost is the maximum memory of an idle server in MiB: what it needs, plus 2 MiB.
const idleMost = 26

// TestIdleMemory starts a server and leaves it alone.
func TestIdleMemory(t *testing.T) {
	part(t, judged)
	t.Parallel()
	in := startBare(t)
	eventually(t, time.Minute, "what the start took is handed back", func() (bool, string) {
		held := in.memory(t)
		return held <= idleMost, fmt.Sprintf("%d MiB", held)
	})
}
