package delivery

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"mailer/app"
	"mailer/app/mail"
	"mailer/app/service"
	"mailer/db"
)

// run carries one claimed unit through one transaction and records what came of
// it. It waits while the relay rests, its rate is used up or memory is short.
func (l *lane) run(j *job) {
	p, ok := l.gate.enter(l.s.Taking)
	if !ok {
		if j.bulk() {
			l.limits.unreserve(j.minute, true)
		}
		l.handBack(j)
		return
	}
	defer l.gate.unclear(p)
	if !l.admit(p, j) {
		return
	}
	weight := min(j.unit.Size, laneMemory)
	if l.memory.Acquire(l.s.Taking, weight) != nil {
		l.limits.unreserve(j.minute, j.bulk())
		l.handBack(j)
		return
	}
	defer l.memory.Release(weight)
	l.transact(p, j)
}

// handBack returns a unit whose transaction did not take place because the
// server stops: a restart counts no attempt.
func (l *lane) handBack(j *job) {
	l.record(j, func(tx *db.Tx) error {
		return service.IgnoreGone(tx.RequeueUnit(j.unit, j.unit.Attempts-1, j.unit.NextAt))
	})
}

// admit waits for the relay's rate and takes a place in its daily limit.
func (l *lane) admit(p pass, j *job) (ok bool) {
	if !j.bulk() { // a broadcast's has its place since it was claimed
		var free time.Time
		if j.minute, free, ok = l.limits.reserve(time.Now(), false); !ok {
			l.dailyUsed(p, j, free)
			return false
		}
	}
	if !l.limits.wait(l.s.Taking, j.bulk()) {
		l.limits.unreserve(j.minute, j.bulk())
		l.handBack(j)
		return false
	}
	return true
}

// transact loads the message, has it sent and records the result.
func (l *lane) transact(p pass, j *job) {
	defer l.ended(j)
	out, err := l.composer.compose(l.s.Sending, j)
	if err != nil {
		l.broken(j, err)
		return
	}
	j.letter = out
	if len(out.Recipients) == 0 { // canceled meanwhile; sending to nobody would tell nothing of the relay
		l.record(j, func(tx *db.Tx) error { return service.IgnoreGone(tx.DeleteUnit(j.unit)) })
		return
	}
	if l.spared(j) {
		return
	}
	if out.DKIM == nil && !l.s.Settings.Capture {
		l.settle(j, app.Result{Kind: app.ResultRefused, Stage: app.StageCompose,
			Reply: app.Reply{Text: fmt.Sprintf("the domain %s is no longer one of this team's", out.Mail.From.Domain)}}, app.Refused)
		return
	}
	res := l.sender.Send(l.s.Sending, out.Outgoing, func(_ context.Context, signature string) error { return l.hold(j, signature) })
	l.conclude(p, j, res)
}

// ended tidies up after a transaction, also after one that panicked: its unit
// must neither stay marked nor be forgotten.
func (l *lane) ended(j *job) {
	if r := recover(); r != nil {
		l.s.Log.Error("panic in a delivery", "email", j.unit.EmailID, "panic", r, "stack", string(debug.Stack()))
		l.record(j, func(tx *db.Tx) error {
			if j.mayHaveLeft() {
				return service.IgnoreGone(l.s.doubt(tx, j.unit, "A fault of this server came after the end of the message"))
			}
			return requeue(tx, j.unit, j.unit.Attempts, tx.Now.Add(app.RetryDelay(j.unit.Attempts, l.s.Jitter())))
		})
	}
	if !j.mayHaveLeft() {
		l.limits.unreserve(j.minute, j.bulk())
	}
	j.dot.giveBack()
}

// errHeldBack tells a Sender that the dot must not be sent. Why, the job's state says.
var errHeldBack = errors.New("held back")

// hold is the last word before the final dot: it proves that the email was not
// withdrawn and none of its recipients suppressed or opted out, and marks the unit
// dotted, in one Write. It moves the job to the state that this leaves it in.
func (l *lane) hold(j *job, signature string) error {
	j.dot, j.state = l.dots.take(), stateAsked
	j.minute = l.limits.renew(j.minute, time.Now(), j.bulk())
	spared := false
	err := l.s.DB.WritePatient(context.WithoutCancel(l.s.Sending), func(tx *db.Tx) (err error) {
		if spared, err = l.s.spare(tx, j.unit, j.letter.Recipients); err != nil || spared {
			return err
		}
		return l.markDotted(tx, j, signature)
	})
	switch {
	case err == nil && !spared:
		j.state = stateLeft
		return nil
	case err == nil:
		j.state = stateSpared
	case errors.Is(err, db.ErrNotFound):
		j.state = stateGone
	default:
		j.state = stateUnmarked
		l.s.Log.Error("mark a unit dotted", "email", j.unit.EmailID, "err", err)
	}
	return errHeldBack
}

// markDotted notes that the dot of a unit leaves.
func (l *lane) markDotted(tx *db.Tx, j *job, signature string) error {
	if err := tx.MarkDotted(j.unit, signature); err != nil {
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
// and never dropped. One that was deleted meanwhile needs nothing.
func (l *lane) broken(j *job, err error) {
	if l.s.Taking.Err() != nil {
		return
	}
	l.record(j, func(tx *db.Tx) error {
		l.s.Log.Error("read a unit", "email", j.unit.EmailID, "err", err)
		return service.IgnoreGone(tx.RequeueUnit(j.unit, j.unit.Attempts, tx.Now.Add(app.RetryDelay(j.unit.Attempts, l.s.Jitter()))))
	})
}

// record stores a result, however long it takes: what happened at the relay
// must not be forgotten while this process lives. It gives up only when storage
// failed for good or the store closes, or when the email was deleted.
func (l *lane) record(j *job, fn func(*db.Tx) error) {
	if !j.mayHaveLeft() {
		fn = mail.UnlessOver(j.unit, fn)
	}
	wait := l.s.DB.WriteVitalAsync(context.Background(), fn)
	j.dot.giveBack()
	for {
		err := wait()
		if err == nil || errors.Is(err, db.ErrFailed) || errors.Is(err, db.ErrClosed) || errors.Is(err, db.ErrNotFound) {
			return
		}
		l.s.Log.Error("record a result", "email", j.unit.EmailID, "err", err)
		if !service.Pause(l.s.Sending, service.SweepEvery, nil) {
			return
		}
		wait = l.s.DB.WriteVitalAsync(context.Background(), fn)
	}
}
