package fair

import "testing"

// job is a job of a team.
type job struct{ team string }

func TestWorkersAreReservedForOtherTeams(t *testing.T) {
	const workers = 10
	q := NewQueue[job](100, workers, func() bool { return true })
	put := func(team string) { q.Put(team, &job{team}) }
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
	if j := q.Take(); j.team != "c" {
		t.Errorf("the next job is one of %s", j.team)
	}
}

func TestLongQueueLeavesCapacityToOtherTeams(t *testing.T) {
	const capacity = 40
	q := NewQueue[job](capacity, 10, func() bool { return true })
	put := func(team string, n int) {
		for range n {
			q.Put(team, &job{team})
		}
	}
	put("a", q.FreeFor("a", 1000, 0))
	if n := q.FreeFor("a", 1000, 0); n != 0 {
		t.Errorf("a team that has half of the places may claim %d more", n)
	}
	if n := q.FreeFor("b", 1000, 0); n != capacity/2 {
		t.Errorf("another may claim %d", n)
	}
	put("b", capacity/2)
	if n, free := q.FreeFor("c", 1000, 0), q.Free(); n != minJobsPerTeam || free < n {
		t.Errorf("a third may claim %d, room for %d, when all places are taken", n, free)
	}
	if q.NeedsRefill("a") {
		t.Error("more is claimed though a queue is full")
	}
	if j := q.Take(); j.team != "a" {
		t.Fatalf("the first is one of %s", j.team)
	}
	put("c", 1)
	for range 3 {
		if j := q.Take(); j.team == "c" && !q.NeedsRefill("c") {
			t.Error("nothing is claimed for a team whose jobs are all at work")
		}
	}
}
