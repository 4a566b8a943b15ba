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
	"mailer/app/tracking"
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
	out, err := l.outgoing(j)
	if err != nil {
		l.broken(j, err)
		return
	}
	j.counts = OutcomeKey(j.unit.TeamID, l.name, out.MessageID)
	if len(out.Recipients) == 0 { // canceled meanwhile; sending to nobody would tell nothing of the relay
		l.record(j, func(tx *db.Tx) error { return service.IgnoreGone(tx.DeleteUnit(j.unit)) })
		return
	}
	if l.obeyed(j, out.Recipients) {
		return
	}
	if out.DKIM == nil && !l.s.Settings.Capture {
		l.settle(j, out, app.Result{Kind: app.ResultRefused, Stage: app.StageCompose,
			Reply: app.Reply{Text: fmt.Sprintf("the domain %s is no longer one of this team's", out.Mail.From.Domain)}}, app.Refused)
		return
	}
	res := l.sender.Send(l.s.Sending, out, func(_ context.Context, signature string) error {
		l.dots <- struct{}{}
		j.dotted = true
		j.held = l.hold(j, out.Recipients, signature)
		j.left = j.held == nil
		return j.held
	})
	l.conclude(p, j, out, res)
}

// ended tidies up after a transaction, also after one that panicked: its unit
// must neither stay marked nor be forgotten.
func (l *lane) ended(j *job) {
	if r := recover(); r != nil {
		l.s.Log.Error("panic in a delivery", "email", j.unit.EmailID, "panic", r, "stack", string(debug.Stack()))
		l.record(j, func(tx *db.Tx) error {
			if j.left {
				return service.IgnoreGone(l.s.doubt(tx, j.unit, "A fault of this server came after the end of the message"))
			}
			return l.requeue(tx, j.unit, j.unit.Attempts, tx.Now.Add(app.RetryDelay(j.unit.Attempts, l.s.Jitter())))
		})
	}
	if !j.left {
		l.limits.unreserve(j.minute, j.bulk())
	}
	l.undot(j)
}

// undot gives the token of a dot back. It is taken before the mark is written
// and given back once the result is queued behind it: Writes are committed in
// their order, so at any moment at most one unit a connection is marked dotted
// without a result.
func (l *lane) undot(j *job) {
	if j.dotted {
		j.dotted = false
		<-l.dots
	}
}

// outgoing reads the message of a unit and the recipients that still wait.
func (l *lane) outgoing(j *job) (*app.Outgoing, error) {
	if j.bulk() {
		return l.broadcastOutgoing(j)
	}
	email, open, err := l.content(j)
	if err != nil {
		return nil, err
	}
	j.found = email.Insights
	key, err := l.s.domains.DkimKey(l.s.Sending, j.unit.TeamID, email.From.Domain)
	if err != nil {
		return nil, err
	}
	mail := tracking.Track(l.s.Sealer, email.Sent(), email.ID, email.Tracking)
	return &app.Outgoing{
		EmailID: email.ID, EnvelopeFrom: l.emailReturnPath(j.unit.TeamID, email, open), Recipients: open, MessageID: email.MessageID,
		Date: email.CreatedAt, Mail: l.relay.Identify(mail, email.ID), DKIM: key, Signature: j.unit.Signature,
	}, nil
}

// content gives the email of a unit and the recipients that still wait: those it
// was accepted for at the first attempt of one that is fresh.
func (l *lane) content(j *job) (email *app.Email, open []string, err error) {
	email, open = l.s.mail.TakeFresh(j.unit.EmailID)
	if email != nil && j.unit.Attempts == 1 {
		return email, open, nil
	}
	read := j.ahead
	if read == nil {
		read = &readEmail{}
		if err := l.s.DB.Read(l.s.Sending, func(r *db.Reader) error { return l.read(r, j, read) }); err != nil {
			return nil, nil, fmt.Errorf("read email: %w", err)
		}
	}
	j.blocked = read.blocked
	return read.email, read.open, nil
}

// hold is the last word before the final dot: it proves that the email was not
// withdrawn and none of its recipients suppressed or opted out, and marks the unit dotted, in
// one Write.
func (l *lane) hold(j *job, recipients []string, signature string) error {
	j.minute = l.limits.renew(j.minute, time.Now(), j.bulk())
	err := l.s.DB.WritePatient(context.WithoutCancel(l.s.Sending), func(tx *db.Tx) (err error) {
		if j.obeyed, err = l.s.obey(tx, j.unit, recipients); err != nil || j.obeyed {
			return err
		}
		if err := tx.MarkDotted(j.unit, signature); err != nil {
			return err
		}
		if j.unit.Attempts > 1 {
			if err := tx.SettleDoubts(j.unit.EmailID, "sent again with the same Message-ID"); err != nil {
				return fmt.Errorf("settle doubts: %w", err)
			}
		}
		return l.limits.count(tx, j.minute, j.bulk())
	})
	if err == nil && j.obeyed {
		return errObeyed
	}
	return err
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
	if !j.left {
		fn = mail.UnlessOver(j.unit, fn)
	}
	wait := l.s.DB.WriteVitalAsync(context.Background(), fn)
	l.undot(j)
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
