package queue

import (
	"sync"
	"time"
)

// A count that took at least shortCount is reused for cacheFactor times as long as it took.
const (
	cacheFactor = 5
	shortCount  = 100 * time.Millisecond
	maxCached   = 100 // teams
)

// summaryCache keeps the results of slow counts by team.
type summaryCache struct {
	mu   sync.Mutex
	sums map[string]cachedSummary
}

type cachedSummary struct {
	Summary
	until time.Time
}

// get returns the kept summary of a team, or calls count.
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

// clear drops all summaries. It is called after an action changed the queue.
func (t *summaryCache) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.sums)
}
