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

func TestATeamsLongQueueLeavesPlacesToOthers(t *testing.T) {
	const places = 40
	q := newQueue(places, 10, func() bool { return true })
	put := func(team string, n int) {
		for range n {
			q.put(&job{unit: app.Unit{TeamID: team}})
		}
	}
	put("a", q.roomOf("a", 1000, 0))
	if n := q.roomOf("a", 1000, 0); n != 0 {
		t.Errorf("a team that has half of the places may claim %d more", n)
	}
	if n := q.roomOf("b", 1000, 0); n != places/2 {
		t.Errorf("another may claim %d", n)
	}
	put("b", places/2)
	if n, room := q.roomOf("c", 1000, 0), q.room(); n != fewJobs || room < n {
		t.Errorf("a third may claim %d, room for %d, when all places are taken", n, room)
	}
	if q.low("a") {
		t.Error("more is claimed though a queue is full")
	}
	if j := q.take(); j.unit.TeamID != "a" {
		t.Fatalf("the first is one of %s", j.unit.TeamID)
	}
	put("c", 1)
	for range 3 {
		if j := q.take(); j.unit.TeamID == "c" && !q.low("c") {
			t.Error("nothing is claimed for a team whose jobs are all at work")
		}
	}
}
