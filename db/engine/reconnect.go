package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// errUnknown means that a COMMIT got no answer.
var errUnknown = errors.New("db: no answer to a commit")

// reconnectInterval is how often the writer tries to reach a PostgreSQL database that is
// unreachable.
const reconnectInterval = 200 * time.Millisecond

// maxWaiting bounds the critical writes that wait in memory during an outage, in addition to
// those in the queue.
const maxWaiting = 10_000

// reconnector waits until a database that is unreachable, or accepts no writes, is usable again.
type reconnector struct {
	d        *DB
	s        *Conn
	refusal  error      // of new work
	unknown  bool       // group may have been committed
	group    []*request // that was in progress
	critical []*request // that waited or arrived since
}

// reconnect is called with a group whose connection is broken, or whose writes the database does
// not accept at the moment. If the COMMIT of the group got no answer, it finds out whether the
// group was committed; otherwise it refuses all requests that are not critical. Critical requests
// wait until the database is usable again; those that waited or arrived meanwhile are returned as rest, to
// be run in order. For the group itself it returns the results of commitUndamaged.
func reconnect(d *DB, s *Conn, group []*request, cause error) (sound, rest []*request, err error) {
	a := &reconnector{d: d, s: s, refusal: writeRefusal(cause), unknown: errors.Is(cause, errUnknown), group: group}
	answers := a.refusal != nil
	if !answers {
		a.refusal = unreachable(cause)
	}
	if !a.unknown {
		a.group = keepCritical(group, a.refusal)
	}
	a.critical, d.batched = keepCritical(d.batched, a.refusal), nil
	d.writerOutage.Store(&outage{a.refusal})
	defer d.writerOutage.Store(nil)
	if answers {
		setWriteRefusal(d, a.refusal, cause)
		err = a.wait()
	} else {
		err = a.waitReachable(cause)
	}
	if err != nil {
		for _, r := range append(a.group, a.critical...) {
			r.done <- err
		}
		return nil, nil, nil
	}
	return a.group, a.critical, nil
}

// waitReachable is wait for a database that does not answer, which it logs.
func (a *reconnector) waitReachable(cause error) error {
	a.d.outage.Store(&outage{a.refusal})
	began := time.Now()
	a.d.log.Error("the database can't be reached; new work is refused, and what must be written waits", "db", a.d.name, "err", cause)
	err := a.wait()
	a.d.outage.Store(nil)
	if err == nil {
		a.d.log.Info("the database is back", "db", a.d.name, "after", time.Since(began).Round(time.Millisecond))
	}
	return err
}

func unreachable(cause error) error { return fmt.Errorf("%w: %w", ErrUnreachable, cause) }

// wait tries until the group is written, or the store fails or closes.
func (a *reconnector) wait() error {
	tick := time.NewTicker(reconnectInterval)
	defer tick.Stop()
	for {
		select {
		case <-a.d.closing: // each try takes seconds
			return ErrClosed
		case <-a.d.abandoned:
			return ErrClosed
		default:
		}
		done, err := a.try()
		if done || err != nil {
			return err
		}
		a.critical = slices.DeleteFunc(a.critical, func(r *request) bool { return r.begun.Load() }) // refused
		for waiting := true; waiting; {
			select {
			case r := <-a.accepting():
				a.accept(r)
			case <-a.d.failed:
				return a.d.Err()
			case <-a.d.closing:
				return ErrClosed
			case <-a.d.abandoned:
				return ErrClosed
			case <-tick.C:
				waiting = false
			}
		}
	}
}

// accepting returns the queue, or nil while maxWaiting requests wait.
func (a *reconnector) accepting() <-chan *request {
	if len(a.critical) >= maxWaiting {
		return nil
	}
	return a.d.queue
}

// accept keeps a critical request and refuses any other.
func (a *reconnector) accept(r *request) {
	if r.critical {
		a.critical = append(a.critical, r)
		return
	}
	r.done <- a.refusal
}

// try connects and writes the group. done: the group was written, or failed for another reason.
func (a *reconnector) try() (done bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	if errors.Is(a.refusal, ErrLocked) && a.d.outage.Load() != nil {
		return false, nil // each try would wait for the lock
	}
	if err := a.d.engine.renew(ctx, a.d, a.s); errors.Is(err, errFenced) {
		return false, a.d.handleFault(err)
	} else if err != nil {
		return false, nil // tried again
	}
	if a.unknown {
		committed, err := a.d.engine.committed(ctx, a.s)
		if committed || err != nil {
			return committed, nil
		}
		a.unknown = false
	}
	if len(a.group) == 0 {
		return true, nil
	}
	group, err := a.d.commitUndamaged(a.s, a.group)
	a.group = group
	if err != nil && a.d.engine.lost(a.s) {
		a.unknown = errors.Is(err, errUnknown)
		return false, nil
	}
	if writeRefusal(err) != nil {
		return false, nil
	}
	return true, a.d.handleFault(err)
}
