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
)

// dispatcher claims the due units of emails, or those of broadcasts, for one relay and feeds them
// to its own workers, so that neither kind waits behind the other.
type dispatcher struct {
	*relayQueue
	bulk bool          // units of broadcasts; false: of emails
	idle time.Duration // longest sleep while nothing is due

	jobs     *fair.Queue[job]
	wakeup   base.Signal
	unpaced  atomic.Int64 // claimed jobs without a token of the rate limit
	rotation rotation
}

// enqueue hands a job to the workers.
func (n *dispatcher) enqueue(j *job) {
	n.unpaced.Add(1)
	j.dispatcher = n
	n.jobs.Put(j.unit.TeamID, j)
}

// markPaced records that a job got its token of the rate limit, or needs none.
func (n *dispatcher) markPaced(j *job) {
	if j.paced {
		return
	}
	j.paced = true
	if 2*n.unpaced.Add(-1) <= n.maxUnpaced() && n.relay.Rate > 0 {
		n.wakeup.Notify()
	}
}

// maxUnpaced is how many jobs may wait for the rate limit: one second's worth, so that a team whose
// mail comes later gets its fair share soon.
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

// finish releases a job's unit for other claims.
func (n *dispatcher) finish(j *job) {
	n.markPaced(j)
	n.claims.release(j.unit)
	n.jobs.Done(j.unit.TeamID)
	if j.dueAgain() {
		n.wakeup.Notify()
	}
	if suspected(j.unit) { // the next suspect may be sent, through any relay
		n.s.WakeQueues()
	}
}

// begin stores that attempts begin. It returns the units whose attempt began and releases the
// others.
func (n *dispatcher) begin(ctx context.Context, units []app.Unit) ([]app.Unit, error) {
	var begun, stale []app.Unit
	err := n.s.DB.WriteBatched(db.Prefetch(ctx), func(tx *db.Tx) (err error) {
		begun, stale, err = n.relayQueue.begin(tx, units)
		return err
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

// duePerWrite is how many scheduled units one Write makes due.
const duePerWrite = 2000

// setDue makes due the units whose time has come. next is when the next one's time comes, at most
// idle.
func (n *dispatcher) setDue(ctx context.Context) (next time.Duration, err error) {
	for {
		at, err := db.Get(ctx, n.s.DB, func(r *db.Reader) (time.Time, error) { return r.NextLater(n.key, n.bulk) })
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
			_, err := tx.SetDue(n.key, n.bulk, duePerWrite)
			return err
		})
		if err != nil {
			return 0, err
		}
	}
}

// claimDue claims units that may be sent now, at most capacity, fairly between teams. next is when
// to look again, at most idle.
func (n *dispatcher) claimDue(ctx context.Context, capacity int) (units []app.Unit, next time.Duration, err error) {
	if capacity == 0 || n.paused() { // the end of the pause wakes the dispatcher
		next, err = n.setDue(ctx)
		return nil, next, err
	}
	st := n.breaker.status()
	switch st.state {
	case breakerOpen: // the outcome of the probe wakes the dispatcher, or openUntil
		next, err = n.setDue(ctx)
		return nil, next, err
	case breakerHalfOpen:
		capacity = 1
	}
	l := &scan{dispatcher: n, unaffectedOnly: st.unaffectedOnly, capacity: capacity, next: n.idle}
	if st.unaffectedOnly {
		l.wakeBy(st.openUntil)
	} else if st.state == breakerHalfOpen { // a probe of another sender shows more about the relay
		l.avoid = st.failing
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
