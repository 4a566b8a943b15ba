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
	"mailer/app/sending/mail"
	"mailer/db"
	"mailer/db/engine"
)

// run carries one claimed unit through one transaction and records what came of
// it. It waits while the relay's rate is used up or memory is short. Where the relay
// takes nothing of the sender for now, the unit goes back to the queue.
func (l *lane) run(j *job) {
	v, ok := l.enter(j.unit)
	if !ok || l.taking.Err() != nil {
		l.unclear(v)
		l.unplace(j)
		l.handBack(j)
		return
	}
	if v.probes() {
		defer l.wake() // the others wait for how it ends
	}
	defer l.unclear(v)
	if !l.admit(v, j) {
		return
	}
	weight := min(j.unit.Size, l.room)
	if l.memory.Acquire(l.taking, weight) != nil {
		l.unplace(j)
		l.handBack(j)
		return
	}
	defer l.memory.Release(weight)
	l.transact(v, j)
}

// handBack returns a unit whose transaction did not take place, since the server stops
// or the relay rests or goes: no attempt is counted, and it keeps its place in the queue.
func (l *lane) handBack(j *job) {
	l.record(j, func(tx *db.Tx) error {
		return base.IgnoreNotFound(tx.RequeueUnit(j.unit, j.unit.Attempts-1, j.unit.NextAt))
	})
}

// unplace returns the place that a job has in the daily limit.
func (l *lane) unplace(j *job) {
	if j.placed {
		l.limits.unreserve(j.minute, j.unit.TeamID, j.bulk())
		j.placed = false
	}
}

// admit waits for the relay's rate and takes a place in its daily limit.
func (l *lane) admit(v leave, j *job) (ok bool) {
	if !j.placed { // a broadcast's has its place since it was claimed
		if ok, err := l.mayUse(j); err != nil || !ok {
			if err != nil {
				l.broken(j, err)
				return false
			}
			l.tripTeamShare(v, j)
			return false
		}
		var free time.Time
		if j.minute, free, j.placed = l.limits.reserve(clock.Now(), j.unit.TeamID, false); !j.placed {
			l.tripDailyLimit(v, j, free)
			return false
		}
	}
	if !l.limits.wait(l.taking, j.bulk()) {
		l.unplace(j)
		l.handBack(j)
		return false
	}
	j.line.paced(j)
	return true
}

// mayUse reports whether a job's team may have another place in the daily limit.
func (l *lane) mayUse(j *job) (bool, error) {
	if !l.several.Load() || !l.limits.short(clock.Now()) {
		return true, nil
	}
	teams, err := db.Get(l.s.Sending, l.s.DB, (*db.Reader).CountTeams)
	if err != nil {
		return false, fmt.Errorf("count teams: %w", err)
	}
	return l.limits.mayUse(clock.Now(), j.unit.TeamID, teams), nil
}

// transact loads the message, has it sent and records the result.
func (l *lane) transact(v leave, j *job) {
	defer l.ended(j)
	j.began = time.Now()
	out, err := l.composer.compose(l.s.Sending, j)
	if err != nil {
		l.broken(j, err)
		return
	}
	j.letter, out.Shared = out, l.several.Load()
	if len(out.Recipients) == 0 { // canceled meanwhile; sending to nobody would tell nothing of the relay
		l.record(j, func(tx *db.Tx) error { return base.IgnoreNotFound(tx.DeleteUnit(j.unit)) })
		return
	}
	if l.spared(j) {
		return
	}
	if out.DKIM == nil && !l.s.Settings.Capture {
		l.settle(j, app.Result{Kind: app.ResultRefused, Stage: app.StageCompose,
			Reply: app.Reply{Text: fmt.Sprintf("the domain %s is no longer one of this team's", out.Mail.From.Domain)}}, app.Refused, again{})
		return
	}
	began := time.Now()
	res := l.sender.Send(l.s.Sending, out.Outgoing, func(_ context.Context, signature string) error { return l.hold(v, j, signature) })
	l.s.Metrics.Send(time.Since(began))
	l.conclude(v, j, res)
}

// ended tidies up after a transaction, also after one that panicked: its unit
// must neither stay marked nor be forgotten.
func (l *lane) ended(j *job) {
	if r := recover(); r != nil {
		l.s.Log.Error("panic in a delivery; its email is tried again later", "relay", l.name, "team", j.unit.TeamID, "email", j.unit.EmailID, "panic", r, "stack", string(debug.Stack()))
		l.record(j, func(tx *db.Tx) error {
			if j.mayBeSent() {
				return base.IgnoreNotFound(l.s.doubt(tx, j.unit, "A fault of this server came after the end of the message"))
			}
			return requeue(tx, j.unit, j.unit.Attempts, tx.Now.Add(app.RetryDelay(j.unit.Attempts, l.s.Jitter())))
		})
	}
	if !j.mayBeSent() {
		l.unplace(j)
	}
	j.dot.release()
}

// errNotAuthorized tells a Sender that the dot must not be sent. Why, the job's state says.
var errNotAuthorized = errors.New("held back")

// hold is the last word before the final dot: it proves that the email was not
// withdrawn and has not expired, that its team is not suspended and none of its
// recipients suppressed or opted out, and marks the unit dotted, in one Write. It moves the job to the state that this leaves it in.
func (l *lane) hold(v leave, j *job, signature string) error {
	// What it would meet, others of its sender have just met; or the operator said stop.
	if l.openedSince(v, senderOf(j.unit)) || l.halted() {
		j.state = statePaused
		return errNotAuthorized
	}
	j.dot, j.state = l.dots.take(), stateAuthorizing
	j.minute = l.limits.renew(j.minute, clock.Now(), j.bulk())
	end := stateAuthorizing
	err := l.patiently(func() error {
		return l.s.DB.WriteBatched(engine.Pipelined(context.WithoutCancel(l.s.Sending)), func(tx *db.Tx) (err error) {
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
	case errors.Is(err, db.ErrDamaged): // what may block its recipients
		j.state = stateWithdrawn
		l.holdDamaged(j)
	default:
		j.state = stateStoreFailed
		l.s.LogUnlessUnavailable("mark a unit dotted", err, "email", j.unit.EmailID)
	}
	return errNotAuthorized
}

// authorizeTimeout is how long a relay is kept waiting for the dot where the store can't write
// for now: well below the minutes that it grants (RFC 5321 4.5.3.2.5).
const authorizeTimeout = time.Minute

// patiently repeats a write that something hinders which passes.
func (l *lane) patiently(write func() error) error {
	deadline := time.Now().Add(authorizeTimeout)
	for {
		err := write()
		if !base.IsUnavailable(err) || time.Now().After(deadline) || !base.Sleep(l.s.Sending, base.SweepEvery, nil) {
			return err
		}
	}
}

// markCommitted notes that the dot of a unit leaves. Error: errDailyLimit.
func (l *lane) markCommitted(tx *db.Tx, j *job, signature string) error {
	if err := tx.MarkCommitted(j.unit, signature); err != nil {
		return err
	}
	if j.unit.Attempts > 1 {
		if err := tx.SettleDoubts(j.unit.EmailID, "sent again with the same Message-ID"); err != nil {
			return fmt.Errorf("settle doubts: %w", err)
		}
	}
	return l.limits.count(tx, j.minute, j.bulk())
}

// broken handles a unit whose message can't be read: it is tried again later
// and never dropped, or held where it is damaged. One that was deleted meanwhile needs
// nothing.
func (l *lane) broken(j *job, err error) {
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

// record stores a result, however long it takes: what happened at the relay
// must not be forgotten while this process lives. It gives up only when storage
// failed for good or the store closes, or when the email was deleted.
func (l *lane) record(j *job, fn func(*db.Tx) error) {
	if !j.mayBeSent() {
		fn = mail.IfCurrent(j.unit, fn)
	}
	wait := l.s.DB.WriteCriticalAsync(engine.Pipelined(context.Background()), fn)
	j.dot.release()
	for {
		err := wait()
		switch {
		case err == nil, errors.Is(err, db.ErrFailed), errors.Is(err, db.ErrClosed), errors.Is(err, db.ErrNotFound):
			return
		case errors.Is(err, db.ErrDamaged): // it would be tried for ever, or sent again
			fn = func(tx *db.Tx) error { return l.s.hold(tx, j.unit, app.HoldDamaged) }
			fallthrough
		default:
			l.s.LogUnlessUnavailable("record a result", err, "email", j.unit.EmailID)
		}
		if !base.Sleep(l.s.Sending, base.SweepEvery, nil) {
			return
		}
		wait = l.s.DB.WriteCriticalAsync(engine.Pipelined(context.Background()), fn)
	}
}
