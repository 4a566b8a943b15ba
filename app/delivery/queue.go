package delivery

import (
	"slices"
	"sync"
)

// queue has the claimed jobs of a line wait for its workers, each team in turn. While
// several teams have jobs none keeps more than its share of the workers at work, and
// where others may come, some are always left for them.
type queue struct {
	places  int // jobs that wait, more or less: see roomOf
	workers int
	shared  func() bool // whether there are other teams

	mu      sync.Mutex
	changed *sync.Cond
	crews   map[string]*crew // teams that have a job waiting or at work
	turns   []*crew          // those that have one waiting, in their order
	waiting int
	running int
	ended   bool
}

// crew is a team's jobs.
type crew struct {
	team    string
	jobs    []*job // that wait, oldest first
	running int
}

// fewJobs is how many jobs a team may have waiting though others fill all places.
const fewJobs = 2

func newQueue(places, workers int, shared func() bool) *queue {
	q := &queue{places: places, workers: workers, shared: shared, crews: map[string]*crew{}}
	q.changed = sync.NewCond(&q.mu)
	return q
}

// put adds a job.
func (q *queue) put(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.crews[j.unit.TeamID]
	if c == nil {
		c = &crew{team: j.unit.TeamID}
		q.crews[c.team] = c
	}
	if len(c.jobs) == 0 {
		q.turns = append(q.turns, c)
	}
	c.jobs = append(c.jobs, j)
	q.waiting++
	q.changed.Signal()
}

// take returns the next job, and waits for one; nil: there is none, and none comes.
func (q *queue) take() *job {
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

func (q *queue) next() *job {
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
func (q *queue) share() int {
	if n := len(q.crews); n > 1 && !q.ended {
		return max(1, (q.workers+n-1)/n)
	}
	return q.workers
}

// kept reports whether the workers that are free are kept for teams that have none at
// work: they may come any time, and those that are here may be slow.
func (q *queue) kept() bool {
	return !q.ended && q.shared() && q.running >= q.workers-max(1, q.workers/4)
}

// done notes that a job is no longer at work.
func (q *queue) done(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.crews[j.unit.TeamID]
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

// end has take return nil once all jobs are taken.
func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.changed.Broadcast()
}

// low reports whether it is time to claim more: half of the places are free, or a team
// has no job left that waits.
func (q *queue) low(team string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.crews[team]
	return 2*q.waiting < q.places || c != nil && len(c.jobs) == 0
}

// room is how many jobs may be added: half of the places at least, since a claim costs
// a commit, however many it takes. Where there are other teams, some beyond that:
// those of a team that has none.
func (q *queue) room() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	free := q.places - q.waiting
	if 2*free >= q.places {
		return free
	}
	if !q.shared() {
		return 0
	}
	return max(0, min(q.places/2, 4*q.places-q.waiting))
}

// roomOf is how many jobs of a team may be added, want at most, where so many were
// claimed and not added yet: half of the places, and a few when all are taken.
func (q *queue) roomOf(team string, want, claimed int) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	own := 0
	if c := q.crews[team]; c != nil {
		own = len(c.jobs)
	}
	most := q.places
	if q.shared() {
		most = q.places / 2
	}
	if q.waiting+claimed >= q.places/2 {
		most = min(most, max(fewJobs, own+q.places-q.waiting-claimed))
	}
	return max(0, min(want, most-own))
}
