package delivery

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/kit/metrics"
	"mailer/app/rules/outcome"
	"mailer/app/rules/render"
	"mailer/app/sending/mail"
	"mailer/db"
)

// deliver sends one claimed unit in one transaction and records the result. It waits for the rate
// limit and for memory. If a circuit breaker is open, the unit goes back to the queue.
func (l *relayQueue) deliver(j *job) {
	p, ok := l.allow(j.unit)
	if !ok || l.accepting.Err() != nil {
		l.release(p)
		l.unreserve(j)
		l.handBack(j)
		return
	}
	if p.probes() {
		defer l.wake() // other units wait for the outcome of the probe
	}
	defer l.release(p)
	if !l.admit(p, j) {
		return
	}
	weight := min(j.unit.Size, l.memoryLimit)
	if l.memory.Acquire(l.accepting, weight) != nil {
		l.unreserve(j)
		l.handBack(j)
		return
	}
	defer l.memory.Release(weight)
	l.transact(p, j)
}

// handBack returns a unit to the queue whose transaction did not take place, because the server
// stops or the relay is paused, failing or removed. No attempt is counted. The unit keeps its next
// time, unless a clock that was ahead set that: it stays due.
func (l *relayQueue) handBack(j *job) {
	l.record(j, func(tx *db.Tx) error {
		return base.IgnoreNotFound(tx.RequeueUnit(j.unit, j.unit.Attempts-1, base.Earlier(j.unit.NextAt, tx.Now)))
	})
}

// unreserve returns a job's reservation in the daily limit.
func (l *relayQueue) unreserve(j *job) {
	if j.reserved {
		l.limits.unreserve(j.reservedMinute, j.unit.TeamID, j.bulk())
		j.reserved = false
	}
}

// admit waits for the rate limit and reserves a message of the daily limit.
func (l *relayQueue) admit(p permits, j *job) (ok bool) {
	if !j.reserved { // jobs of broadcasts are reserved when they are claimed
		if ok, err := l.mayUse(j); err != nil || !ok {
			if err != nil {
				l.contentFailed(j, err)
				return false
			}
			l.tripTeamShare(p, j)
			return false
		}
		var free time.Time
		if j.reservedMinute, free, j.reserved = l.limits.reserve(clock.Now(), j.unit.TeamID, false); !j.reserved {
			l.tripDailyLimit(p, j, free)
			return false
		}
	}
	if !l.limits.wait(l.accepting, j.bulk()) {
		l.unreserve(j)
		l.handBack(j)
		return false
	}
	j.dispatcher.markPaced(j)
	return true
}

// mayUse reports whether a job's team may use more of the daily limit.
func (l *relayQueue) mayUse(j *job) (bool, error) {
	if !l.manyTeams.Load() || !l.limits.runningLow(clock.Now()) {
		return true, nil
	}
	teams, err := db.Get(l.s.Sending, l.s.DB, (*db.Reader).CountTeams)
	if err != nil {
		return false, fmt.Errorf("count teams: %w", err)
	}
	return l.limits.mayUse(clock.Now(), j.unit.TeamID, teams), nil
}

// transact reads the message, sends it and records the result.
func (l *relayQueue) transact(p permits, j *job) {
	defer l.afterTransaction(j)
	j.began = time.Now()
	out, err := l.composer.compose(l.s.Sending, j)
	if errors.Is(err, render.ErrLimit) {
		l.renderLimit(j, err)
		return
	}
	if err != nil {
		l.contentFailed(j, err)
		return
	}
	j.message, out.Shared = out, l.manyTeams.Load()
	if len(out.Recipients) == 0 { // canceled meanwhile; nothing to send
		l.record(j, func(tx *db.Tx) error {
			if j.unit.Part != "" {
				return base.IgnoreNotFound(l.s.endPart(tx, j.unit, j.unit.Attempts, time.Time{}))
			}
			return base.IgnoreNotFound(tx.DeleteUnit(j.unit))
		})
		return
	}
	if l.dropBlockedRecipients(j) {
		return
	}
	if out.DKIM == nil && !l.s.Settings.Capture {
		res := app.Result{Kind: app.ResultRefused, Stage: app.StageCompose,
			Reply: app.Reply{Text: fmt.Sprintf("the domain %s is no longer one of this team's", out.Mail.From.Domain)}}
		l.settle(j, &outcome.Decision{Result: res, Rest: app.Refused}, time.Time{})
		return
	}
	j.note = l.unaligned(l.s.Sending, outcome.SenderOf(j.unit))
	began := time.Now()
	res := l.sender.Send(l.sending, out.Outgoing, func(_ context.Context, signature string) error { return l.authorize(p, j, signature) })
	l.s.Metrics.Send(time.Since(began))
	l.handleResult(p, j, res)
}

// renderLimit fails the recipient of a broadcast whose content passes a bound of Liquid: it would pass
// it again.
func (l *relayQueue) renderLimit(j *job, cause error) {
	l.record(j, func(tx *db.Tx) error {
		tx.AfterCommit(func() {
			l.s.Metrics.Result(l.name, metrics.Failed, 1)
			l.s.Log.Info("an email of a broadcast can't be rendered", "email", j.unit.EmailID, "team", j.unit.TeamID, "broadcast", j.unit.BroadcastID, "err", cause)
		})
		return l.recorder.failOpen(tx, j.unit, app.EventDetail{Message: "The content can't be rendered for this recipient: " + cause.Error(), Stage: app.StageCompose,
			Attempt: j.unit.Attempts, Reason: app.ReasonRenderLimit})
	})
}

// afterTransaction releases what a job holds. If the transaction panicked, the unit is requeued, or
// becomes a doubt if the message may have been sent.
func (l *relayQueue) afterTransaction(j *job) {
	if r := recover(); r != nil {
		l.s.Log.Error("panic in a delivery; its email is tried again later", "relay", l.name, "team", j.unit.TeamID, "email", j.unit.EmailID, "panic", r, "stack", string(debug.Stack()))
		l.record(j, func(tx *db.Tx) error {
			if j.mayBeSent() {
				return base.IgnoreNotFound(l.s.doubt(tx, l.pin(j.unit), "A fault of this server came after the end of the message"))
			}
			return requeue(tx, j.unit, j.unit.Attempts, tx.Now.Add(app.RetryDelay(j.unit.Attempts, l.s.Jitter())))
		})
	}
	if !j.mayBeSent() {
		l.unreserve(j)
	}
	j.commitSlot.release()
}

// errNotAuthorized tells a Sender not to send the final dot. The job's state holds the reason.
var errNotAuthorized = errors.New("held back")

// authorize is called before the final dot. In one Write it checks that the email is neither
// withdrawn nor expired, that its team is not suspended and that no recipient is suppressed or
// opted out, and marks the unit as committed. It sets the job's state to the outcome.
func (l *relayQueue) authorize(p permits, j *job, signature string) error {
	// The sender's breaker opened since the transaction began, or the operator paused the relay.
	if l.openedSince(p, outcome.SenderOf(j.unit)) || l.paused() {
		j.state = statePaused
		return errNotAuthorized
	}
	j.commitSlot, j.state = l.commitSlots.take(), stateAuthorizing
	j.reservedMinute = l.limits.moveToNow(j.reservedMinute, clock.Now(), j.bulk())
	end := stateAuthorizing
	ctx := db.Prefetch(context.WithoutCancel(l.s.Sending), func(r *db.Reader) {
		if j.checkedVersion != r.SuppressionVersion() {
			_, _ = l.s.blockedAmong(r, j.unit, j.message.Recipients)
		}
	})
	err := l.retryUnavailable(func() error {
		return l.s.DB.WriteBatched(ctx, func(tx *db.Tx) (err error) {
			end, err = l.finalCheck(tx, j, signature)
			return err
		})
	})
	switch {
	case err == nil:
		if j.state = end; end == stateCommitted && l.s.DB.Cluster().LeaseValid() {
			return nil
		}
	case errors.Is(err, db.ErrNotFound):
		j.state = stateWithdrawn
	case errors.Is(err, errDailyLimit):
		j.state = stateLimitReached
	case errors.Is(err, db.ErrDamaged): // the suppressions or opt-outs of its recipients
		j.state = stateWithdrawn
		l.holdDamaged(j)
	default:
		j.state = stateStoreFailed
		l.s.LogUnlessUnavailable("mark a unit dotted", err, "email", j.unit.EmailID)
	}
	return errNotAuthorized
}

// authorizeTimeout is how long authorize retries while the database is temporarily unavailable:
// well below the minutes that the relay waits for the final dot (RFC 5321 4.5.3.2.5).
const authorizeTimeout = time.Minute

// retryUnavailable repeats a write while the database is temporarily unavailable, up to
// authorizeTimeout.
func (l *relayQueue) retryUnavailable(write func() error) error {
	deadline := time.Now().Add(authorizeTimeout)
	for {
		err := write()
		if !base.IsUnavailable(err) || time.Now().After(deadline) || !base.Sleep(l.s.Sending, base.SweepEvery, nil) {
			return err
		}
	}
}

// markCommitted stores that the final dot of a unit is being sent. Error: errDailyLimit.
func (l *relayQueue) markCommitted(tx *db.Tx, j *job, signature string) error {
	if err := tx.MarkCommitted(j.unit, l.pinnedQueue(), signature); err != nil {
		return err
	}
	if err := l.settleDoubts(tx, j.unit); err != nil {
		return fmt.Errorf("settle doubts: %w", err)
	}
	return l.limits.count(tx, j.reservedMinute, j.bulk())
}

// settleDoubts settles the doubts of the recipients to which a unit is sent again.
func (l *relayQueue) settleDoubts(tx *db.Tx, u app.Unit) error {
	const how = "sent again with the same Message-ID"
	switch {
	case u.Part == "" && u.Attempts > 1:
		return tx.SettleDoubts(u.EmailID, how)
	case u.Part != "" && (u.Part == l.pinnedQueue() || !l.pins):
		return tx.SettleDoubtsAt(u.EmailID, relayOf(u), how)
	}
	return nil
}

// contentFailed handles a unit whose message can't be read: it is retried later, never dropped, and
// held if it is damaged. A unit that was deleted meanwhile is left alone.
func (l *relayQueue) contentFailed(j *job, err error) {
	if l.s.Claiming.Err() != nil {
		return
	}
	if errors.Is(err, db.ErrDamaged) {
		l.holdDamaged(j)
		return
	}
	l.record(j, func(tx *db.Tx) error {
		l.s.Log.Error("an email can't be read, and is tried again later", "relay", l.name, "team", j.unit.TeamID, "email", j.unit.EmailID, "err", err)
		return base.IgnoreNotFound(tx.RequeueUnit(j.unit, j.unit.Attempts, tx.Now.Add(app.RetryDelay(j.unit.Attempts, l.s.Jitter()))))
	})
}

// record stores a result, retrying for as long as the process runs: an answer of the relay must not
// be lost. It gives up only if storage failed for good, the store was closed, or the email was
// deleted.
func (l *relayQueue) record(j *job, fn func(*db.Tx) error) {
	if !j.mayBeSent() {
		fn = mail.IfCurrent(j.unit, fn)
	}
	wait := l.s.DB.WriteCriticalAsync(db.Prefetch(context.Background()), fn)
	j.commitSlot.release()
	for {
		err := wait()
		switch {
		case err == nil, errors.Is(err, db.ErrFailed), errors.Is(err, db.ErrClosed), errors.Is(err, db.ErrNotFound):
			return
		case errors.Is(err, db.ErrDamaged): // it would be retried with no limit, or sent again
			fn = func(tx *db.Tx) error { return l.s.hold(tx, j.unit, app.HoldDamaged) }
			fallthrough
		default:
			l.s.LogUnlessUnavailable("record a result", err, "email", j.unit.EmailID)
		}
		if !base.Sleep(l.s.Sending, base.SweepEvery, nil) {
			return
		}
		wait = l.s.DB.WriteCriticalAsync(db.Prefetch(context.Background()), fn)
	}
}
