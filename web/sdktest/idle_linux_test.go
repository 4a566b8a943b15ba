package sdktest

import (
	"fmt"
	"testing"
	"time"
)

// idleMost is how many MiB a server holds at most that has started and has nothing to
// do: what it takes, and 2 MiB more.
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
