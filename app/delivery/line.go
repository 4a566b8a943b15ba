package delivery

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"mailer/app"
	"mailer/app/service"
	"mailer/db"
)

// line leads the units of emails, or those of broadcasts, of one relay to workers of
// their own, so that none waits behind the other's.
type line struct {
	s      *Service
	region string
	bulk   bool          // its units are of broadcasts
	idle   time.Duration // how long it sleeps at most where nothing is due
	claims *claims       // of its lane

	jobs   chan *job
	woken  service.Bell
	flight atomic.Int64 // jobs that were sent to the workers and have not ended
	turn   string       // the team that the last round ended with
}

// send hands a job to the workers; there is room, since only the dispatcher fills
// it.
func (n *line) send(j *job) {
	n.flight.Add(1)
	n.jobs <- j
}

// ended has a job's unit free for others.
func (n *line) ended(j *job) {
	n.claims.release(j.unit)
	n.flight.Add(-1)
	if j.dueAgain() {
		n.woken.Ring()
	}
}

// begin stores that attempts begin and returns the units that they are of; the
// others are released.
func (n *line) begin(ctx context.Context, units []app.Unit) ([]app.Unit, error) {
	var begun, stale []app.Unit
	err := n.s.DB.WritePatient(ctx, func(tx *db.Tx) error {
		begun, stale = nil, nil
		for _, u := range units {
			ok, err := n.s.beginUnit(tx, u)
			switch {
			case err != nil:
				return err
			case ok:
				begun = append(begun, u)
			default:
				stale = append(stale, u)
			}
		}
		return nil
	})
	if err != nil {
		n.claims.release(units...)
		return nil, err
	}
	n.claims.release(stale...)
	for i := range begun {
		begun[i].Attempts++
	}
	return begun, nil
}

// due reads what of the line may be sent now, at most room units, each team in
// turn, and marks them claimed. next is when to look again: after idle at the latest.
func (n *line) due(ctx context.Context, room int) (units []app.Unit, next time.Duration, err error) {
	now := time.Now()
	next = n.idle
	var waiting []string
	err = n.s.DB.Read(ctx, func(r *db.Reader) error {
		teams, err := r.DueTeams(n.region, n.bulk)
		if err != nil {
			return err
		}
		for _, t := range teams {
			if n.bulk && n.s.rests(t.TeamID, n.region) {
				continue
			}
			if d := t.NextAt.Sub(now); d > 0 {
				next = min(next, d)
				continue
			}
			waiting = append(waiting, t.TeamID)
		}
		units, err = n.shares(r, waiting, now, room)
		return err
	})
	switch {
	case len(units) == room:
		next = n.idle // a worker that takes one wakes us
	case len(units) == 0 && len(waiting) > 0:
		next = min(next, service.SweepEvery) // its attempt still runs, or just ended
	}
	return units, next, err
}

// shares claims for each waiting team an equal part of room, beginning after the team
// that the last round ended with, so that a long queue of one does not delay
// the others. teams are in the order of their ids.
func (n *line) shares(r *db.Reader, teams []string, now time.Time, room int) ([]app.Unit, error) {
	var out []app.Unit
	first := max(0, slices.IndexFunc(teams, func(id string) bool { return id > n.turn }))
	for i := range teams {
		if len(out) >= room {
			break
		}
		share := max(1, (room-len(out))/(len(teams)-i))
		team := teams[(first+i)%len(teams)]
		units, err := r.DueUnits(n.region, n.bulk, team, now, share+n.claims.busy())
		if err != nil {
			n.claims.release(out...)
			return nil, err
		}
		out = append(out, n.claims.take(units, share)...)
		n.turn = team
	}
	return out, nil
}
