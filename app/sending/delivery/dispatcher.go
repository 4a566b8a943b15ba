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

// dispatcher leads the units of emails, or those of broadcasts, of one relay to workers of
// their own, so that none waits behind the other's.
type dispatcher struct {
	*relayQueue
	bulk bool          // its units are of broadcasts
	idle time.Duration // how long it sleeps at most where nothing is due

	jobs     *fair.Queue[job]
	wakeup   base.Signal
	unpaced  atomic.Int64 // jobs that were claimed and have no token of the rate yet
	rotation rotation
}

// enqueue hands a job to the workers.
func (n *dispatcher) enqueue(j *job) {
	n.unpaced.Add(1)
	j.dispatcher = n
	n.jobs.Put(j.unit.TeamID, j)
}

// markPaced notes that a job waits for the relay's rate no more.
func (n *dispatcher) markPaced(j *job) {
	if j.paced {
		return
	}
	j.paced = true
	if 2*n.unpaced.Add(-1) <= n.maxUnpaced() && n.relay.Rate > 0 {
		n.wakeup.Notify()
	}
}

// maxUnpaced is how many jobs may wait for the relay's rate: no more than it lets leave
// in a second is claimed ahead, so that who comes later gets a fair share soon.
func (n *dispatcher) maxUnpaced() int64 {
	if n.relay.Rate == 0 {
		return math.MaxInt64
	}
	return max(1, int64(n.relay.Rate/float64(n.limits.servers())))
}

// capacity is how many units may be claimed now.
func (n *dispatcher) capacity() int {
	return int(max(0, min(int64(n.jobs.Free()), n.maxUnpaced()-n.unpaced.Load())))
}

// finish has a job's unit free for others.
func (n *dispatcher) finish(j *job) {
	n.markPaced(j)
	n.claims.release(j.unit)
	n.jobs.Done(j.unit.TeamID)
	if j.dueAgain() {
		n.wakeup.Notify()
	}
	if suspected(j.unit) { // the next one may leave, through whichever lane
		n.s.WakeQueues()
	}
}

// begin stores that attempts begin and returns the units that they are of; the
// others are released.
func (n *dispatcher) begin(ctx context.Context, units []app.Unit) ([]app.Unit, error) {
	var begun, stale []app.Unit
	err := n.s.DB.WritePatient(engine.Apart(ctx), func(tx *db.Tx) error {
		begun, stale = nil, nil
		ok, failed := make([]bool, len(units)), make([]error, len(units))
		tx.Beside(len(units), func(tx *db.Tx, i int) { ok[i], failed[i] = n.relayQueue.begin(tx, units[i]) })
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
func (n *dispatcher) setDue(ctx context.Context) (next time.Duration, err error) {
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
		err = n.s.DB.WritePatient(ctx, func(tx *db.Tx) error {
			_, err := tx.SetDue(n.name, n.bulk, duePerWrite)
			return err
		})
		if err != nil {
			return 0, err
		}
	}
}

// claimDue reads what of the line may be sent now, at most room units, each team in
// turn, and marks them claimed. next is when to look again: after idle at the latest.
func (n *dispatcher) claimDue(ctx context.Context, capacity int) (units []app.Unit, next time.Duration, err error) {
	if capacity == 0 || n.paused() { // its end wakes us
		next, err = n.setDue(ctx)
		return nil, next, err
	}
	o, failing, again := n.breaker.state()
	switch o {
	case breakerOpen: // the outcome of the probe wakes us, or the pause's end
		next, err = n.setDue(ctx)
		return nil, next, err
	case halfOpen, halfOpenUnaffected:
		capacity = 1
	}
	l := &scan{dispatcher: n, state: o, capacity: capacity, next: n.idle}
	if o == halfOpenUnaffected {
		l.wakeBy(again)
	}
	if o == halfOpen { // another sender tells more of the relay than the one that met the trouble
		l.avoid = failing
	}
	for l.needsSetDue = true; l.needsSetDue && err == nil; {
		if err = n.s.DB.Read(ctx, l.read); err == nil && l.needsSetDue {
			_, err = n.setDue(ctx)
		}
	}
	if err != nil {
		n.claims.release(l.units...)
		return nil, 0, err
	}
	return l.units, l.next, nil
}
