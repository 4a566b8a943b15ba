// Package fair has the jobs of several teams wait for workers, so that none holds up another's.
//
// Failure policy: none: it is memory alone, and what waits in it stands elsewhere too.
package fair

import (
	"slices"
	"sync"
)

// Queue has jobs wait for workers, each team in turn. While several teams have jobs none keeps
// more than its share of the workers at work, and where others may come, some are always left
// for them. Its methods are safe for concurrent use.
type Queue[J any] struct {
	Places  int // jobs that wait, more or less: see RoomOf
	Workers int
	shared  func() bool // whether there are other teams

	mu      sync.Mutex
	changed *sync.Cond
	crews   map[string]*crew[J] // teams that have a job waiting or at work
	turns   []*crew[J]          // those that have one waiting, in their order
	waiting int
	running int
	ended   bool
}

// crew is a team's jobs.
type crew[J any] struct {
	team    string
	jobs    []*J // that wait, oldest first
	running int
}

// fewJobs is how many jobs a team may have waiting though others fill all places.
const fewJobs = 2

// NewQueue makes a queue with so many places, for so many workers. shared reports whether there
// are other teams than those that have jobs.
func NewQueue[J any](places, workers int, shared func() bool) *Queue[J] {
	q := &Queue[J]{Places: places, Workers: workers, shared: shared, crews: map[string]*crew[J]{}}
	q.changed = sync.NewCond(&q.mu)
	return q
}

// Put adds a job of a team.
func (q *Queue[J]) Put(team string, j *J) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.crews[team]
	if c == nil {
		c = &crew[J]{team: team}
		q.crews[c.team] = c
	}
	if len(c.jobs) == 0 {
		q.turns = append(q.turns, c)
	}
	c.jobs = append(c.jobs, j)
	q.waiting++
	q.changed.Signal()
}

// Take returns the next job, and waits for one; nil: there is none, and none comes.
func (q *Queue[J]) Take() *J {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if j := q.next(); j != nil {
			return j
		}
		if q.ended && q.waiting == 0 {
			return nil
		}
		q.changed.Wait()
	}
}

func (q *Queue[J]) next() *J {
	for i, c := range q.turns {
		if c.running >= q.share() || c.running > 0 && q.kept() {
			continue
		}
		j := c.jobs[0]
		c.jobs[0] = nil
		c.jobs = c.jobs[1:]
		c.running++
		q.running++
		q.waiting--
		q.turns = slices.Delete(q.turns, i, i+1)
		if len(c.jobs) > 0 {
			q.turns = append(q.turns, c)
		}
		return j
	}
	return nil
}

// share is how many workers one team may keep at work.
func (q *Queue[J]) share() int {
	if n := len(q.crews); n > 1 && !q.ended {
		return max(1, (q.Workers+n-1)/n)
	}
	return q.Workers
}

// kept reports whether the workers that are free are kept for teams that have none at
// work: they may come any time, and those that are here may be slow.
func (q *Queue[J]) kept() bool {
	return !q.ended && q.shared() && q.running >= q.Workers-max(1, q.Workers/4)
}

// Done notes that a job of a team is no longer at work.
func (q *Queue[J]) Done(team string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.crews[team]
	c.running--
	q.running--
	switch {
	case c.running == 0 && len(c.jobs) == 0:
		delete(q.crews, c.team)
		q.changed.Broadcast() // the shares of the others grow
	case q.waiting > 0 || q.ended:
		q.changed.Signal()
	}
}

// End has Take return nil once all jobs are taken.
func (q *Queue[J]) End() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.changed.Broadcast()
}

// Low reports whether it is time to claim more: half of the places are free, or a team
// has no job left that waits.
func (q *Queue[J]) Low(team string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.crews[team]
	return 2*q.waiting < q.Places || c != nil && len(c.jobs) == 0
}

// Room is how many jobs may be added: half of the places at least, since a claim costs
// a commit, however many it takes. Where there are other teams, some beyond that:
// those of a team that has none.
func (q *Queue[J]) Room() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	free := q.Places - q.waiting
	if 2*free >= q.Places {
		return free
	}
	if !q.shared() {
		return 0
	}
	return max(0, min(q.Places/2, 4*q.Places-q.waiting))
}

// RoomOf is how many jobs of a team may be added, want at most, where so many were
// claimed and not added yet: half of the places, and a few when all are taken.
func (q *Queue[J]) RoomOf(team string, want, claimed int) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	own := 0
	if c := q.crews[team]; c != nil {
		own = len(c.jobs)
	}
	most := q.Places
	if q.shared() {
		most = q.Places / 2
	}
	if q.waiting+claimed >= q.Places/2 {
		most = min(most, max(fewJobs, own+q.Places-q.waiting-claimed))
	}
	return max(0, min(want, most-own))
}
