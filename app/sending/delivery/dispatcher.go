package delivery

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/kit/fair"
	"mailer/db"
	"mailer/db/engine"
)

// line leads the units of emails, or those of broadcasts, of one relay to workers of
// their own, so that none waits behind the other's.
type line struct {
	*lane
	bulk bool          // its units are of broadcasts
	idle time.Duration // how long it sleeps at most where nothing is due

	jobs   *fair.Queue[job]
	woken  base.Signal
	ahead  atomic.Int64 // jobs that were claimed and have no token of the rate yet
	shares shares
}

// send hands a job to the workers.
func (n *line) send(j *job) {
	n.ahead.Add(1)
	j.line = n
	n.jobs.Put(j.unit.TeamID, j)
}

// paced notes that a job waits for the relay's rate no more.
func (n *line) paced(j *job) {
	if j.paced {
		return
	}
	j.paced = true
	if 2*n.ahead.Add(-1) <= n.maxUnpaced() && n.relay.Rate > 0 {
		n.woken.Notify()
	}
}

// maxUnpaced is how many jobs may wait for the relay's rate: no more than it lets leave
// in a second is claimed ahead, so that who comes later gets a fair share soon.
func (n *line) maxUnpaced() int64 {
	if n.relay.Rate == 0 {
		return math.MaxInt64
	}
	return max(1, int64(n.relay.Rate/float64(n.limits.servers())))
}

// room is how many units may be claimed now.
func (n *line) room() int {
	return int(max(0, min(int64(n.jobs.Free()), n.maxUnpaced()-n.ahead.Load())))
}

// ended has a job's unit free for others.
func (n *line) ended(j *job) {
	n.paced(j)
	n.claims.release(j.unit)
	n.jobs.Done(j.unit.TeamID)
	if j.dueAgain() {
		n.woken.Notify()
	}
	if suspected(j.unit) { // the next one may leave, through whichever lane
		n.s.WakeQueues()
	}
}

// begin stores that attempts begin and returns the units that they are of; the
// others are released.
func (n *line) begin(ctx context.Context, units []app.Unit) ([]app.Unit, error) {
	var begun, stale []app.Unit
	err := n.s.DB.WriteBatched(engine.Pipelined(ctx), func(tx *db.Tx) error {
		begun, stale = nil, nil
		ok, failed := make([]bool, len(units)), make([]error, len(units))
		tx.Concurrently(len(units), func(tx *db.Tx, i int) { ok[i], failed[i] = n.lane.begin(tx, units[i]) })
		for i, u := range units {
			switch {
			case failed[i] != nil:
				return failed[i]
			case ok[i]:
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
		begun[i].Owner = n.s.DB.Cluster().Owner()
	}
	return begun, nil
}

// duePerWrite is how many units whose time has come are made due by one Write.
const duePerWrite = 2000

// setDue makes units due whose time has come. It returns when the next one's comes,
// after idle at the latest.
func (n *line) setDue(ctx context.Context) (next time.Duration, err error) {
	for {
		at, err := db.Get(ctx, n.s.DB, func(r *db.Reader) (time.Time, error) { return r.NextLater(n.name, n.bulk) })
		if errors.Is(err, db.ErrNotFound) {
			return n.idle, nil
		}
		if err != nil {
			return 0, err
		}
		if d := clock.Until(at); d > 0 {
			return min(d, n.idle), nil
		}
		err = n.s.DB.WriteBatched(ctx, func(tx *db.Tx) error {
			_, err := tx.SetDue(n.name, n.bulk, duePerWrite)
			return err
		})
		if err != nil {
			return 0, err
		}
	}
}

// due reads what of the line may be sent now, at most room units, each team in
// turn, and marks them claimed. next is when to look again: after idle at the latest.
func (n *line) due(ctx context.Context, room int) (units []app.Unit, next time.Duration, err error) {
	if room == 0 || n.halted() { // its end wakes us
		next, err = n.setDue(ctx)
		return nil, next, err
	}
	o, blamed, again := n.gate.look()
	switch o {
	case closed: // the outcome of the probe wakes us, or the pause's end
		next, err = n.setDue(ctx)
		return nil, next, err
	case probe, innocents:
		room = 1
	}
	l := &look{line: n, opening: o, room: room, next: n.idle}
	if o == innocents {
		l.until(again)
	}
	if o == probe { // another sender tells more of the relay than the one that met the trouble
		l.avoid = blamed
	}
	for l.late = true; l.late && err == nil; {
		if err = n.s.DB.Read(ctx, l.read); err == nil && l.late {
			_, err = n.setDue(ctx)
		}
	}
	if err != nil {
		n.claims.release(l.units...)
		return nil, 0, err
	}
	return l.units, l.next, nil
}
