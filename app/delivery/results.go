package delivery

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/feedback"
	"mailer/app/mail"
	"mailer/app/relays"
	"mailer/app/service"
	"mailer/app/webhook"
	"mailer/db"
)

// Pauses of a unit or a relay that the retry table does not know.
const (
	// secondOpinion is how soon a message is tried again that was refused
	// without a recipient being named.
	secondOpinion = 5 * time.Second
	// breakerPause is how long a relay rests that refuses everything; doubled
	// each time, up to maxBreakerPause.
	breakerPause    = 30 * time.Second
	maxBreakerPause = 10 * time.Minute
	// maxStrikes is how many troubles in a row after MAIL count as the email's
	// own: a message that kills each connection must not stop its relay.
	maxStrikes = 3
)

// conclude records what came of a transaction. Only recipients that the result
// proves are moved; all others stay queued.
func (l *lane) conclude(p pass, j *job, out *app.Outgoing, res app.Result) {
	switch res.Kind {
	case app.ResultWithdrawn:
		l.withdrawn(p, j)
	case app.ResultTrouble:
		l.troubled(p, j, out, res)
	case app.ResultDoubt:
		// A relay that loses its replies must not make a doubt of the whole queue.
		l.rest(p, res)
		l.doubted(j, res)
	case app.ResultRefused:
		l.refused(p, j, out, res)
	case app.ResultDeferred:
		l.healthy(p)
		l.strike(j, false)
		l.settle(j, out, res, app.Postponed)
	default:
		l.healthy(p)
		l.strike(j, false)
		if anyAccepted(res) {
			l.breaker.accepted()
		}
		l.settle(j, out, res, "")
	}
}

// doubted records that the reply to a dot was lost. After 48 hours of that the
// email is given up: nobody should get it again and again.
func (l *lane) doubted(j *job, res app.Result) {
	l.record(j, func(tx *db.Tx) error {
		for _, v := range res.Recipients {
			if err := l.settleRecipient(tx, j, v, time.Time{}); err != nil {
				return err
			}
		}
		if err := l.s.doubt(tx, j.unit, "The connection to the relay was lost after the end of the message, before its reply: "+res.Reply.Text); err != nil {
			return err
		}
		if !tooLate(j.unit, tx.Now) {
			return nil
		}
		if err := tx.SettleDoubts(j.unit.EmailID, "given up: whether the relay took it is unknown"); err != nil {
			return err
		}
		return l.giveUp(tx, j.unit, res)
	})
}

func anyAccepted(res app.Result) bool {
	for _, r := range res.Recipients {
		if r.Verdict == app.Accepted {
			return true
		}
	}
	return false
}

// withdrawn ends a transaction whose dot was refused by hold: a unit that is
// gone, or was put right by obey, needs nothing; one that storage could not mark
// is tried again.
func (l *lane) withdrawn(p pass, j *job) {
	if errors.Is(j.held, db.ErrNotFound) || errors.Is(j.held, errObeyed) {
		return
	}
	l.rest(p, app.Result{Stage: app.StageDot, Reply: app.Reply{Text: "held back, since this server could not store that the message leaves"}})
	l.s.Log.Error("mark a unit dotted", "email", j.unit.EmailID, "err", j.held)
	l.record(j, func(tx *db.Tx) error {
		return service.IgnoreGone(tx.RequeueUnit(j.unit, j.unit.Attempts-1, tx.Now.Add(service.SweepEvery)))
	})
}

// healthy notes that the relay answered.
func (l *lane) healthy(p pass) {
	reopened := l.gate.healthy(p)
	l.mu.Lock()
	trouble := l.trouble
	if reopened {
		l.trouble = nil
	}
	l.mu.Unlock()
	if !reopened {
		return
	}
	l.wake()
	if trouble == nil {
		return
	}
	l.s.Log.Info("relay takes mail again", "relay", l.name)
	if err := l.closeTroubles(); err != nil {
		l.s.Log.Error("note the end of a relay's trouble", "relay", l.name, "err", err)
	}
}

// strike counts the troubles that an email met after MAIL, in a row; it tells
// whether they are too many to be the relay's.
func (l *lane) strike(j *job, hit bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !hit {
		delete(l.strikes, j.unit.EmailID)
		return false
	}
	l.strikes[j.unit.EmailID]++
	if l.strikes[j.unit.EmailID] < maxStrikes {
		return false
	}
	delete(l.strikes, j.unit.EmailID)
	return true
}

// rest shuts the lane for a pause that grows with each trouble in a row, and
// notes why. It answers when the lane is tried again.
func (l *lane) rest(p pass, res app.Result) time.Time {
	failures, until, fresh := l.gate.trouble(p, func(n int) time.Duration { return app.RelayPause(n, l.s.Jitter()) })
	if fresh {
		l.noteTrouble(failures, until, res)
	}
	return until
}

// troubled shuts the lane for a while. It counts no attempt against the email,
// unless the email meets trouble again and again where others do not.
func (l *lane) troubled(p pass, j *job, out *app.Outgoing, res app.Result) {
	if l.s.Sending.Err() != nil {
		l.handBack(j) // we dropped the connection ourselves, to stop
		return
	}
	until := l.rest(p, res)
	inTransaction := res.Stage == app.StageMail || res.Stage == app.StageRcpt || res.Stage == app.StageData
	if inTransaction && l.strike(j, true) {
		l.settle(j, out, app.Result{Stage: res.Stage, Reply: res.Reply}, app.Postponed)
		return
	}
	l.record(j, func(tx *db.Tx) error {
		return service.IgnoreGone(tx.RequeueUnit(j.unit, j.unit.Attempts-1, until)) // who waits longer goes first
	})
}

// refused rules on a refusal that names no recipient.
func (l *lane) refused(p pass, j *job, out *app.Outgoing, res app.Result) {
	l.strike(j, false)
	local := res.Reply.Code == 0 // this relay can't carry the message at all
	if local {
		l.gate.unclear(p)
		l.settle(j, out, res, app.Refused)
		return
	}
	switch l.breaker.refused(j.unit.EmailID, refusalSignature(res.Stage, res.Reply)) {
	case rulingFail:
		l.healthy(p)
		l.settle(j, out, res, app.Refused)
	case rulingWait:
		l.healthy(p)
		l.hesitate(j, res, time.Now().Add(secondOpinion), "whether it refuses this message or everything shows at the next try")
	case rulingOpen:
		failures, until, fresh := l.gate.trouble(p, breakerDelay)
		if fresh {
			l.noteTrouble(failures, until, res)
		}
		l.hesitate(j, res, until, "it refuses every message this way, so nothing is given up and the relay rests")
	}
}

func breakerDelay(failures int) time.Duration {
	return min(breakerPause<<min(failures-1, 10), maxBreakerPause)
}

// hesitate keeps a refused email for another try without counting the attempt,
// unless its time is over.
func (l *lane) hesitate(j *job, res app.Result, next time.Time, why string) {
	l.record(j, func(tx *db.Tx) error {
		if tooLate(j.unit, tx.Now) {
			return l.giveUp(tx, j.unit, res)
		}
		detail := l.detail(j.unit, res.Stage, res.Reply, next)
		detail.Message += "; " + why
		if err := tx.InsertEvent(mail.NewEvent(tx, j.unit, app.EventDeferred, "", detail)); err != nil {
			return err
		}
		return l.requeue(tx, j.unit, j.unit.Attempts-1, next)
	})
}

// tooLate tells whether a try at next would come after the 48 hours. They begin
// when the relay first puts the email off: waiting for the relay itself, or for
// its daily limit, is no trying.
func tooLate(u app.Unit, next time.Time) bool {
	return !u.Since.IsZero() && next.Sub(u.Since) > app.GiveUpAfter
}

// requeue has an email tried again that the relay put off.
func (l *lane) requeue(tx *db.Tx, u app.Unit, attempts int, next time.Time) error {
	if err := tx.BeginTrying(u.EmailID); err != nil {
		return err
	}
	return service.IgnoreGone(tx.RequeueUnit(u, attempts, next))
}

// settle records a transaction in which the relay answered: the recipients that
// were decided one by one, and the others by rest ("": there are none, Postponed
// or Refused).
func (l *lane) settle(j *job, out *app.Outgoing, res app.Result, rest app.Verdict) {
	l.record(j, func(tx *db.Tx) error {
		next := tx.Now.Add(app.RetryDelay(j.unit.Attempts, l.s.Jitter()))
		open := undecided(out, res)
		postponed := postpones(res, open, rest)
		over := postponed && tooLate(j.unit, next)
		if over {
			next = time.Time{}
		}
		if err := l.settleEach(tx, j, res, open, rest, next); err != nil {
			return err
		}
		switch {
		case !postponed:
			return service.IgnoreGone(tx.DeleteUnit(j.unit))
		case over:
			return l.giveUp(tx, j.unit, res)
		}
		return l.requeue(tx, j.unit, j.unit.Attempts, next)
	})
}

// postpones tells whether somebody is left to try. A recipient that the result
// forgets is tried again, never dropped.
func postpones(res app.Result, open []string, rest app.Verdict) bool {
	return len(open) > 0 && rest != app.Refused ||
		slices.ContainsFunc(res.Recipients, func(v app.RecipientResult) bool { return v.Verdict == app.Postponed })
}

// settleEach records what was decided on each recipient, and the message where
// the capture transport kept it.
func (l *lane) settleEach(tx *db.Tx, j *job, res app.Result, open []string, rest app.Verdict, next time.Time) error {
	u := j.unit
	for _, v := range res.Recipients {
		if err := l.settleRecipient(tx, j, v, next); err != nil {
			return err
		}
	}
	if id := feedback.ProviderIDIn(res.Reply.Text); id != "" && l.relay.Profile == relays.ProfileSES && res.Kind == app.ResultDone && res.Stage == app.StageDot {
		if err := tx.InsertProviderID(id, u.EmailID); err != nil {
			return err
		}
	}
	if anyAccepted(res) {
		if err := l.s.mail.AnnounceEmail(tx, u.TeamID, webhook.EmailSent, u.EmailID, webhook.EmailExtra{}); err != nil {
			return err
		}
	}
	if res.Captured != nil {
		if err := tx.InsertCapture(u.EmailID, res.Captured); err != nil {
			return err
		}
	}
	return l.settleRest(tx, u, open, res, rest, next)
}

// undecided are the recipients that a result says nothing of one by one.
func undecided(out *app.Outgoing, res app.Result) []string {
	if len(res.Recipients) == 0 {
		return out.Recipients
	}
	return slices.DeleteFunc(slices.Clone(out.Recipients), func(address string) bool {
		return slices.ContainsFunc(res.Recipients, func(r app.RecipientResult) bool { return r.Address == address })
	})
}

// settleRest applies the verdict on the message to the recipients that have
// none of their own. A refused message is failed, not bounced: no recipient
// refused it.
func (l *lane) settleRest(tx *db.Tx, u app.Unit, open []string, res app.Result, rest app.Verdict, next time.Time) error {
	switch rest {
	case app.Postponed:
		return tx.InsertEvent(mail.NewEvent(tx, u, app.EventDeferred, "", l.detail(u, res.Stage, res.Reply, next)))
	case app.Refused:
		for _, address := range open {
			if err := l.finish(tx, u, address, app.Failed, l.detail(u, res.Stage, res.Reply, time.Time{})); err != nil {
				return err
			}
		}
	}
	return nil
}

// giveUp fails what is left of an email.
func (l *lane) giveUp(tx *db.Tx, u app.Unit, res app.Result) error {
	open, err := tx.OpenRecipients(u)
	if err != nil {
		return err
	}
	detail := l.detail(u, res.Stage, res.Reply, time.Time{})
	detail.Message = fmt.Sprintf("Given up after %d hours and %d attempts. The last one: %s", int(app.GiveUpAfter.Hours()), u.Attempts, detail.Message)
	for _, address := range open {
		if err := l.finish(tx, u, address, app.Failed, detail); err != nil {
			return err
		}
	}
	return service.IgnoreGone(tx.DeleteUnit(u))
}

// finish moves one recipient to its last state, with its event.
func (l *lane) finish(tx *db.Tx, u app.Unit, address string, state app.LastEvent, detail app.EventDetail) error {
	if err := service.IgnoreGone(tx.SettleRecipient(u, address, state)); err != nil {
		return err
	}
	return l.finished(tx, u, address, state, detail)
}

// finished notes the event of a recipient that was moved to its last state.
func (l *lane) finished(tx *db.Tx, u app.Unit, address string, state app.LastEvent, detail app.EventDetail) error {
	if err := tx.InsertEvent(mail.NewEvent(tx, u, app.EventType(state), address, detail)); err != nil {
		return err
	}
	if err := mail.SetLastEvent(tx, u, state); err != nil {
		return err
	}
	return l.s.mail.AnnounceState(tx, u, address, state, &detail)
}
