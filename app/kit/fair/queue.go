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
	Capacity int // jobs that wait, more or less: see FreeFor
	Workers  int
	shared   func() bool // whether there are other teams

	mu      sync.Mutex
	changed *sync.Cond
	teams   map[string]*teamJobs[J] // teams that have a job waiting or at work
	order   []*teamJobs[J]          // those that have one waiting, in their order
	waiting int
	running int
	closed  bool
}

// teamJobs is a team's jobs.
type teamJobs[J any] struct {
	team    string
	jobs    []*J // that wait, oldest first
	running int
}

// minJobsPerTeam is how many jobs a team may have waiting though others fill all places.
const minJobsPerTeam = 2

// NewQueue makes a queue with so many places, for so many workers. shared reports whether there
// are other teams than those that have jobs.
func NewQueue[J any](places, workers int, shared func() bool) *Queue[J] {
	q := &Queue[J]{Capacity: places, Workers: workers, shared: shared, teams: map[string]*teamJobs[J]{}}
	q.changed = sync.NewCond(&q.mu)
	return q
}

// Put adds a job of a team.
func (q *Queue[J]) Put(team string, j *J) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.teams[team]
	if c == nil {
		c = &teamJobs[J]{team: team}
		q.teams[c.team] = c
	}
	if len(c.jobs) == 0 {
		q.order = append(q.order, c)
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
		if q.closed && q.waiting == 0 {
			return nil
		}
		q.changed.Wait()
	}
}

func (q *Queue[J]) next() *J {
	for i, c := range q.order {
		if c.running >= q.share() || c.running > 0 && q.reserved() {
			continue
		}
		j := c.jobs[0]
		c.jobs[0] = nil
		c.jobs = c.jobs[1:]
		c.running++
		q.running++
		q.waiting--
		q.order = slices.Delete(q.order, i, i+1)
		if len(c.jobs) > 0 {
			q.order = append(q.order, c)
		}
		return j
	}
	return nil
}

// share is how many workers one team may keep at work.
func (q *Queue[J]) share() int {
	if n := len(q.teams); n > 1 && !q.closed {
		return max(1, (q.Workers+n-1)/n)
	}
	return q.Workers
}

// reserved reports whether the workers that are free are kept for teams that have none at
// work: they may come any time, and those that are here may be slow.
func (q *Queue[J]) reserved() bool {
	return !q.closed && q.shared() && q.running >= q.Workers-max(1, q.Workers/4)
}

// Done notes that a job of a team is no longer at work.
func (q *Queue[J]) Done(team string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.teams[team]
	c.running--
	q.running--
	switch {
	case c.running == 0 && len(c.jobs) == 0:
		delete(q.teams, c.team)
		q.changed.Broadcast() // the shares of the others grow
	case q.waiting > 0 || q.closed:
		q.changed.Signal()
	}
}

// Close has Take return nil once all jobs are taken.
func (q *Queue[J]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// NeedsRefill reports whether it is time to claim more: half of the places are free, or a team
// has no job left that waits.
func (q *Queue[J]) NeedsRefill(team string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.teams[team]
	return 2*q.waiting < q.Capacity || c != nil && len(c.jobs) == 0
}

// Free is how many jobs may be added: half of the places at least, since a claim costs
// a commit, however many it takes. Where there are other teams, some beyond that:
// those of a team that has none.
func (q *Queue[J]) Free() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	free := q.Capacity - q.waiting
	if 2*free >= q.Capacity {
		return free
	}
	if !q.shared() {
		return 0
	}
	return max(0, min(q.Capacity/2, 4*q.Capacity-q.waiting))
}

// FreeFor is how many jobs of a team may be added, want at most, where so many were
// claimed and not added yet: half of the places, and a few when all are taken.
func (q *Queue[J]) FreeFor(team string, want, claimed int) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	own := 0
	if c := q.teams[team]; c != nil {
		own = len(c.jobs)
	}
	most := q.Capacity
	if q.shared() {
		most = q.Capacity / 2
	}
	if q.waiting+claimed >= q.Capacity/2 {
		most = min(most, max(minJobsPerTeam, own+q.Capacity-q.waiting-claimed))
	}
	return max(0, min(want, most-own))
}
