package footprint

import (
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// base is what a server takes beside large bodies and messages, in bytes.
	base = 96 << 20
	// full is what all budgets for bodies, answers and messages may take of memory together
	// where nothing bounds it, in bytes, with what SQLite and Go's garbage add.
	full = 640 << 20
	// goPart is the part of the limit that Go's heap may grow to before it is collected anew,
	// in percent: SQLite's memory and the program's own pages stand beside it.
	goPart = 60
)

// Limit is how many bytes of memory this process may have, as its control group says; 0: none
// says so.
func Limit() int64 {
	limit, err := memlimit.FromCgroup()
	if err != nil || limit > 1<<62 {
		return 0
	}
	return int64(limit)
}

// Bound has Go collect garbage in time for a limit of the process, unless GOMEMLIMIT says when.
func Bound(limit int64) {
	if limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 100 * goPart)
	}
}

// Within is how much of a budget of memory there is within a limit of the process; 0: no limit.
// With one of some 740 MB or more it is all of it.
func Within(limit, budget int64) int64 {
	if limit <= 0 || limit >= base+full {
		return budget
	}
	return max(1, int64(float64(budget)*float64(max(limit-base, base/8))/full))
}
