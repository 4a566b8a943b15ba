// Package fair shares what is scarce between several owners, so that none delays another: Semaphore
// is a weighted semaphore of which each owner has a share, and Queue is a queue of jobs for a fixed
// number of workers.
//
// It can't fail: everything is in memory, and the jobs of queues are stored in the database.
package fair

import (
	"slices"
	"sync"
)

// Queue is a queue of jobs with round robin between teams. While several teams have jobs, none
// uses more than its share of the workers, and some workers are always reserved for teams that may
// come. Its methods are safe for concurrent use.
type Queue[J any] struct {
	Capacity int // waiting jobs, approximately: see FreeFor
	Workers  int
	shared   func() bool // whether there are other teams

	mu      sync.Mutex
	changed *sync.Cond
	teams   map[string]*teamJobs[J] // teams with a waiting or running job
	order   []*teamJobs[J]          // teams with a waiting job, in the order of their turns
	waiting int
	running int
	closed  bool
}

// teamJobs holds the jobs of a team.
type teamJobs[J any] struct {
	team    string
	jobs    []*J // waiting, oldest first
	running int
}

// minJobsPerTeam is how many jobs a team may queue even if others fill the capacity.
const minJobsPerTeam = 2

// NewQueue returns a queue. shared reports whether there are other teams than those with jobs.
func NewQueue[J any](capacity, workers int, shared func() bool) *Queue[J] {
	q := &Queue[J]{Capacity: capacity, Workers: workers, shared: shared, teams: map[string]*teamJobs[J]{}}
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

// Take returns the next job and waits for one. It returns nil after Close, when no job is left.
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

// share returns how many workers one team may use.
func (q *Queue[J]) share() int {
	if n := len(q.teams); n > 1 && !q.closed {
		return max(1, (q.Workers+n-1)/n)
	}
	return q.Workers
}

// reserved reports whether the free workers are reserved for teams without a running job: such
// teams may come any time, and running jobs may be slow.
func (q *Queue[J]) reserved() bool {
	return !q.closed && q.shared() && q.running >= q.Workers-max(1, q.Workers/4)
}

// Done records that a running job of a team has ended.
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

// Close makes Take return nil once all jobs are taken.
func (q *Queue[J]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// NeedsRefill reports whether more jobs should be claimed: half of the capacity is free, or the
// team has no waiting job.
func (q *Queue[J]) NeedsRefill(team string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.teams[team]
	return 2*q.waiting < q.Capacity || c != nil && len(c.jobs) == 0
}

// Free returns how many jobs may be added. It is 0 or at least half of the capacity, since each
// claim costs a commit. If there are other teams, it exceeds the capacity to admit teams without
// jobs.
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

// FreeFor returns how many jobs of a team may be added, at most want. claimed jobs were claimed
// but not added yet. A team gets at most half of the capacity if there are other teams, and a few
// jobs even if the capacity is used up.
func (q *Queue[J]) FreeFor(team string, want, claimed int) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	own := 0
	if c := q.teams[team]; c != nil {
		own = len(c.jobs)
	}
	limit := q.Capacity
	if q.shared() {
		limit = q.Capacity / 2
	}
	if q.waiting+claimed >= q.Capacity/2 {
		limit = min(limit, max(minJobsPerTeam, own+q.Capacity-q.waiting-claimed))
	}
	return max(0, min(want, limit-own))
}
