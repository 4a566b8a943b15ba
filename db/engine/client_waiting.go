package engine

import (
	"errors"
	"slices"
	"time"
)

// clientTimeout is how long a client waits for a write before it gets the error that the database is
// unreachable, full or locked.
const clientTimeout = 3 * time.Second

// submitWaiting is submit for a request whose client waits for the response. A request that has
// not begun after clientTimeout of an outage is refused and never run. A request that has begun
// is awaited, because a client that repeats it must not have it run twice; only a critical one is
// answered with the error of the outage, and its outcome is then unknown to the client.
func submitWaiting(d *DB, r *request) error {
	select {
	case <-d.failed:
		return d.Err()
	case <-d.closing:
		return ErrClosed
	default:
	}
	timer := time.NewTimer(nestedAfter)
	defer timer.Stop()
	checked := false
	queue, canceled := d.queue, r.ctx.Done()
	for {
		select {
		case queue <- r:
			queue, canceled = nil, nil // queued: wait for the outcome
		case err := <-r.done:
			return err
		case <-canceled:
			return r.ctx.Err()
		case <-d.done: // the writer may have answered before it ended
			select {
			case err := <-r.done:
				return err
			default:
				return ErrClosed
			}
		case <-timer.C:
			if !checked {
				checked = true
				if onWriter() {
					panic(nestedWrite)
				}
				timer.Reset(clientTimeout - nestedAfter)
				continue
			}
			w := d.writerOutage.Load()
			if w != nil && (r.begun.CompareAndSwap(false, true) || r.critical) {
				return w.err
			}
			timer.Reset(reconnectInterval) // the database is only slow, or reachable again
		}
	}
}

// errRefused is the outcome of a request that was refused before it began.
var errRefused = errors.New("db: refused before it began")

// begin marks the requests of a group as begun and returns them. Requests that were refused
// before are left out.
func begin(group []*request) []*request {
	return slices.DeleteFunc(group, func(r *request) bool {
		canceled := !r.begun.CompareAndSwap(false, true)
		if canceled {
			r.done <- errRefused
		}
		return canceled
	})
}
