package delivery

import (
	"testing"

	"mailer/app"
)

func TestTeamsAtWorkLeaveWorkersForOneThatComes(t *testing.T) {
	const workers = 10
	q := newQueue(100, workers, func() bool { return true })
	put := func(team string) { q.put(&job{unit: app.Unit{TeamID: team}}) }
	for range workers {
		put("a")
		put("b")
	}
	q.mu.Lock()
	running := 0
	for q.next() != nil {
		running++
	}
	q.mu.Unlock()
	if running >= workers {
		t.Errorf("two teams keep %d of %d workers at work", running, workers)
	}
	put("c")
	if j := q.take(); j.unit.TeamID != "c" {
		t.Errorf("the next job is one of %s", j.unit.TeamID)
	}
}
