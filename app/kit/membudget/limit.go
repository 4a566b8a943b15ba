package membudget

import (
	"log/slog"
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// baseBytes is the memory that a server needs without large bodies and messages.
	baseBytes = 96 << 20
	// budgetBytes is the memory that all budgets for bodies, answers and messages may use together
	// without a limit, including the overhead of SQLite and the garbage collector.
	budgetBytes = 640 << 20
	// heapPercent is the share of the limit at which Go's heap is collected. SQLite and the
	// program's pages use the rest.
	heapPercent = 60
)

// CgroupLimit returns the memory limit of this process's control group in bytes, 0 if there is
// none. It also sets Go's memory limit accordingly, unless GOMEMLIMIT is set.
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

// Scale returns the part of a memory budget that is available within a limit of the process; 0: no
// limit. From about 740 MB it is the whole budget.
func Scale(limit, budget int64) int64 {
	if limit <= 0 || limit >= baseBytes+budgetBytes {
		return budget
	}
	return max(1, int64(float64(budget)*float64(max(limit-baseBytes, baseBytes/8))/budgetBytes))
}
