package base

import (
	"context"
	"slices"
	"sync"
	"time"

	"mailer/app"
)

// Turns is a number of places for work that costs much. Where they are taken, those
// who wait come in turn between their teams, however many of one wait: a team waits
// for no more than one piece of work of each other.
type Turns struct {
	crowd int // of one team, at most, waits

	mu      sync.Mutex
	free    int
	waiting map[string][]*turn // by team, each oldest first
	teams   []string           // those that wait, in the order of their turns
}

// turn is one who waits.
type turn struct {
	places int
	begins chan struct{} // closed once the places are its own
}

// NewTurns makes Turns of so many places, for which at most crowd of one team wait.
func NewTurns(places, crowd int) *Turns {
	return &Turns{crowd: crowd, free: places, waiting: map[string][]*turn{}}
}

// Acquire takes places (at most all there are) for a team once it is its turn.
// Whoever got them must Release them. Errors: CodeRateLimitExceeded where too many of
// the team wait already; that of ctx.
func (t *Turns) Acquire(ctx context.Context, teamID string, places int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	mine, err := t.queue(teamID, places)
	if err != nil {
		return err
	}
	select {
	case <-mine.begins:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.leave(teamID, mine) {
		t.free += mine.places // its turn came just then
	}
	t.next() // who stood behind it may need fewer places
	return ctx.Err()
}

// Release hands places back.
func (t *Turns) Release(places int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free += places
	t.next()
}

func (t *Turns) queue(teamID string, places int) (*turn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := t.waiting[teamID]
	if len(line) >= t.crowd {
		return nil, &app.Error{Code: app.CodeRateLimitExceeded, RetryAfter: time.Second,
			Message: "Too many requests of this team that need much work wait already; try again when some of them were answered"}
	}
	mine := &turn{places: places, begins: make(chan struct{})}
	if len(line) == 0 {
		t.teams = append(t.teams, teamID)
	}
	t.waiting[teamID] = append(line, mine)
	t.next()
	return mine, nil
}

// next hands free places to those whose turn it is.
func (t *Turns) next() {
	for len(t.teams) > 0 {
		teamID := t.teams[0]
		first := t.waiting[teamID][0]
		if first.places > t.free {
			return
		}
		t.free -= first.places
		t.leave(teamID, first)
		if len(t.teams) > 1 && t.teams[0] == teamID {
			t.teams = append(t.teams[1:], teamID)
		}
		close(first.begins)
	}
}

// leave takes somebody out of the line of a team, and reports whether he stood there.
func (t *Turns) leave(teamID string, who *turn) bool {
	line := t.waiting[teamID]
	at := slices.Index(line, who)
	if at < 0 {
		return false
	}
	if line = slices.Delete(line, at, at+1); len(line) > 0 {
		t.waiting[teamID] = line
		return true
	}
	delete(t.waiting, teamID)
	t.teams = slices.DeleteFunc(t.teams, func(id string) bool { return id == teamID })
	return true
}
