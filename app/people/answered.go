package people

import (
	"maps"
	"sync"
	"time"
)

// maxAnswered is how many answered challenges are remembered.
const maxAnswered = 10_000

// answered are challenges that were answered and would count again. The zero value is
// ready. It is safe for concurrent use.
type answered struct {
	mu   sync.Mutex
	ends map[string]time.Time
}

// first reports whether a challenge is answered for the first time, and notes it until its
// end. Where there is no room it is not.
func (a *answered) first(challenge string, now, end time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, again := a.ends[challenge]; again {
		return false
	}
	if len(a.ends) >= maxAnswered {
		maps.DeleteFunc(a.ends, func(_ string, end time.Time) bool { return !now.Before(end) })
		if len(a.ends) >= maxAnswered {
			return false
		}
	}
	if a.ends == nil {
		a.ends = map[string]time.Time{}
	}
	a.ends[challenge] = end
	return true
}
