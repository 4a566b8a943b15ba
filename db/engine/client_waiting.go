package engine

import (
	"errors"
	"slices"
	"time"
)

// clientTimeout is after what time somebody who waits for a write hears that the database is
// away, full or locked.
const clientTimeout = 3 * time.Second

// submitWaiting is submit for somebody who waits. Once they were refused nothing more is begun
// for them; of a vital write that was under way by then they don't hear, as where an answer
// gets lost. Other ones wait for what becomes of it: whoever asks again must not get it twice.
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
			queue, canceled = nil, nil // from here on the outcome is awaited
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
			timer.Reset(reconnectInterval) // it is slow, or back
		}
	}
}

// errGivenUp: nobody waits for it any more.
var errGivenUp = errors.New("db: given up before it began")

// begin returns those of a group that nobody gave up; from now on it is too late for that.
func begin(group []*request) []*request {
	return slices.DeleteFunc(group, func(r *request) bool {
		canceled := !r.begun.CompareAndSwap(false, true)
		if canceled {
			r.done <- errGivenUp
		}
		return canceled
	})
}
