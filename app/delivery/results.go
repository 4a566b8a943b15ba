package delivery

import (
	"slices"
	"time"

	"mailer/app"
	"mailer/app/mail"
	"mailer/app/service"
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
func (l *lane) conclude(p pass, j *job, res app.Result) {
	switch res.Kind {
	case app.ResultWithdrawn:
		l.withdrawn(p, j)
	case app.ResultTrouble:
		l.troubled(p, j, res)
	case app.ResultDoubt:
		// A relay that loses its replies must not make a doubt of the whole queue.
		l.rest(p, res)
		l.doubted(j, res)
	case app.ResultRefused:
		l.refused(p, j, res)
	case app.ResultDeferred:
		l.healthy(p)
		l.strike(j, false)
		l.settle(j, res, app.Postponed)
	default:
		l.healthy(p)
		l.strike(j, false)
		if anyAccepted(res) {
			l.breaker.accepted()
		}
		l.settle(j, res, "")
	}
}

// doubted records that the reply to a dot was lost. After 48 hours of that the
// email is given up: nobody should get it again and again.
func (l *lane) doubted(j *job, res app.Result) {
	l.record(j, func(tx *db.Tx) error {
		for _, v := range res.Recipients {
			if err := l.ledger.settleRecipient(tx, j, v, time.Time{}); err != nil {
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
		return l.ledger.giveUp(tx, j.unit, res)
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
// gone, or whose recipients were left out, needs nothing; one that storage could not
// mark is tried again.
func (l *lane) withdrawn(p pass, j *job) {
	if j.state == stateGone || j.state == stateSpared {
		return
	}
	l.rest(p, app.Result{Stage: app.StageDot, Reply: app.Reply{Text: "held back, since this server could not store that the message leaves"}})
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

// strike counts the troubles that an email met after MAIL, in a row; it reports
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
func (l *lane) troubled(p pass, j *job, res app.Result) {
	if l.s.Sending.Err() != nil {
		l.handBack(j) // we dropped the connection ourselves, to stop
		return
	}
	until := l.rest(p, res)
	inTransaction := res.Stage == app.StageMail || res.Stage == app.StageRcpt || res.Stage == app.StageData
	if inTransaction && l.strike(j, true) {
		l.settle(j, app.Result{Stage: res.Stage, Reply: res.Reply}, app.Postponed)
		return
	}
	l.record(j, func(tx *db.Tx) error {
		return service.IgnoreGone(tx.RequeueUnit(j.unit, j.unit.Attempts-1, until)) // who waits longer goes first
	})
}

// refused rules on a refusal that names no recipient.
func (l *lane) refused(p pass, j *job, res app.Result) {
	l.strike(j, false)
	local := res.Reply.Code == 0 // this relay can't carry the message at all
	if local {
		l.gate.unclear(p)
		l.settle(j, res, app.Refused)
		return
	}
	switch l.breaker.refused(j.unit.EmailID, refusalSignature(res.Stage, res.Reply)) {
	case rulingFail:
		l.healthy(p)
		l.settle(j, res, app.Refused)
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
			return l.ledger.giveUp(tx, j.unit, res)
		}
		detail := l.ledger.detail(j.unit, res.Stage, res.Reply, next)
		detail.Message += "; " + why
		if err := tx.InsertEvent(mail.NewEvent(tx, j.unit, app.EventDeferred, "", detail)); err != nil {
			return err
		}
		return requeue(tx, j.unit, j.unit.Attempts-1, next)
	})
}

// tooLate reports whether a try at next would come after the 48 hours. They begin
// when the relay first puts the email off: waiting for the relay itself, or for
// its daily limit, is no trying.
func tooLate(u app.Unit, next time.Time) bool {
	return !u.Since.IsZero() && next.Sub(u.Since) > app.GiveUpAfter
}

// settle records a transaction in which the relay answered: the recipients that
// were decided one by one, and the others by rest ("": there are none, Postponed
// or Refused).
func (l *lane) settle(j *job, res app.Result, rest app.Verdict) {
	l.record(j, func(tx *db.Tx) error {
		next := tx.Now.Add(app.RetryDelay(j.unit.Attempts, l.s.Jitter()))
		open := undecided(j.letter.Recipients, res)
		postponed := postpones(res, open, rest)
		over := postponed && tooLate(j.unit, next)
		if over {
			next = time.Time{}
		}
		if err := l.ledger.settleEach(tx, j, res, open, rest, next); err != nil {
			return err
		}
		switch {
		case !postponed:
			return service.IgnoreGone(tx.DeleteUnit(j.unit))
		case over:
			return l.ledger.giveUp(tx, j.unit, res)
		}
		return requeue(tx, j.unit, j.unit.Attempts, next)
	})
}

// postpones reports whether somebody is left to try. A recipient that the result
// forgets is tried again, never dropped.
func postpones(res app.Result, open []string, rest app.Verdict) bool {
	return len(open) > 0 && rest != app.Refused ||
		slices.ContainsFunc(res.Recipients, func(v app.RecipientResult) bool { return v.Verdict == app.Postponed })
}

// undecided are the recipients that a result says nothing of one by one.
func undecided(recipients []string, res app.Result) []string {
	if len(res.Recipients) == 0 {
		return recipients
	}
	return slices.DeleteFunc(slices.Clone(recipients), func(address string) bool {
		return slices.ContainsFunc(res.Recipients, func(r app.RecipientResult) bool { return r.Address == address })
	})
}
