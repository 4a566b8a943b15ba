package queue

import (
	"sync"
	"time"
)

// What a count that took long is told again for: so many times as long as it took. A count
// of few emails takes less than shortCount, and is made each time.
const (
	cacheFactor = 5
	shortCount  = 100 * time.Millisecond
	maxCached   = 100 // teams
)

// summaryCache are counts that took long, by team.
type summaryCache struct {
	mu   sync.Mutex
	sums map[string]cachedSummary
}

type cachedSummary struct {
	Summary
	until time.Time
}

// get is what was told of a team, or what is counted now.
func (t *summaryCache) get(team string, count func() (Summary, error)) (Summary, error) {
	t.mu.Lock()
	kept, ok := t.sums[team]
	t.mu.Unlock()
	began := time.Now()
	if ok && began.Before(kept.until) {
		return kept.Summary, nil
	}
	sum, err := count()
	took := time.Since(began)
	if err != nil || took < shortCount {
		return sum, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sums == nil || len(t.sums) >= maxCached {
		t.sums = map[string]cachedSummary{}
	}
	t.sums[team] = cachedSummary{sum, began.Add(took * cacheFactor)}
	return sum, nil
}

// clear has the next count be a new one: something was done to what waits.
func (t *summaryCache) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.sums)
}
