package footprint

import (
	"log/slog"
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// baseBytes is what a server takes beside large bodies and messages, in bytes.
	baseBytes = 96 << 20
	// budgetBytes is what all budgets for bodies, answers and messages may take of memory together
	// where nothing bounds it, in bytes, with what SQLite and Go's garbage add.
	budgetBytes = 640 << 20
	// heapPercent is the part of the limit that Go's heap may grow to before it is collected anew,
	// in percent: SQLite's memory and the program's own pages stand beside it.
	heapPercent = 60
)

// CgroupLimit returns how many bytes of memory this process may have, as its control group says, and
// has Go collect garbage in time for that, unless GOMEMLIMIT says when; 0: none says so.
func CgroupLimit(log *slog.Logger) int64 {
	found, err := memlimit.FromCgroup()
	limit := int64(min(found, math.MaxInt64))
	if err != nil || limit == math.MaxInt64 {
		return 0
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 100 * heapPercent)
	}
	log.Info("the memory of this process has a limit: large bodies and messages keep to it", "limit_mb", limit>>20)
	return limit
}

// Scale is how much of a budget of memory there is within a limit of the process; 0: no limit.
// With one of some 740 MB or more it is all of it.
func Scale(limit, budget int64) int64 {
	if limit <= 0 || limit >= baseBytes+budgetBytes {
		return budget
	}
	return max(1, int64(float64(budget)*float64(max(limit-baseBytes, baseBytes/8))/budgetBytes))
}
