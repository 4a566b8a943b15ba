package delivery

import (
	"fmt"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// Delays of units and circuit breakers that are not in the retry table.
const (
	// messageRetryDelay is how soon a message is tried again that was refused without naming a
	// recipient.
	messageRetryDelay = 5 * time.Second
	// recipientRetryDelay is how soon a recipient is tried again that was refused with a code that
	// may not be about the recipient.
	recipientRetryDelay = 5 * time.Minute
	// breakerPause is how long the breaker of a sender or relay stays open that has all mail
	// refused. It doubles with each opening, up to maxBreakerPause.
	breakerPause    = 30 * time.Second
	maxBreakerPause = 10 * time.Minute
	// maxStrikes is how many troubles after MAIL in a row count as an attempt.
	maxStrikes = 3
	// strikePause is how long an email waits after such a trouble, times the number of troubles.
	strikePause = time.Second
)

// handleResult records the result of a transaction. Only recipients that the result names are
// settled; all others stay queued.
func (l *relayQueue) handleResult(p permits, j *job, res app.Result) {
	switch res.Kind {
	case app.ResultWithdrawn:
		l.withdrawn(p, j)
	case app.ResultTrouble:
		begun := inTransaction(res.Stage)
		if l.s.Sending.Err() != nil || !begun && l.accepting.Err() != nil { // ended by this server: it stops, or the relay was removed
			l.handBack(j)
			return
		}
		if !begun {
			l.relayTrouble(p, j, res)
			return
		}
		l.judge(p, j, res)
	case app.ResultDoubt:
		l.tripReplyLost(p, j, res)
		l.recordDoubt(j, res)
	case app.ResultRefused:
		if res.Reply.Code == 0 { // refused locally: the relay can't carry the message
			l.strike(j, false)
			l.settle(j, res, app.Refused, retryPlan{})
			return
		}
		l.judge(p, j, res)
	default:
		l.judge(p, j, res)
	}
}

func inTransaction(stage app.Stage) bool {
	return stage == app.StageMail || stage == app.StageRcpt || stage == app.StageData
}

// relayTrouble opens the relay's breaker and hands the unit back, without counting an attempt.
func (l *relayQueue) relayTrouble(p permits, j *job, res app.Result) {
	l.tripRelay(p, senderOf(j.unit), res)
	l.handBack(j)
}

// tripReplyLost opens the breaker of a sender whose reply was lost, so that a queue does not turn
// into doubts, or the breaker of the relay if unrelated senders lost replies too.
func (l *relayQueue) tripReplyLost(p permits, j *job, res app.Result) {
	s := senderOf(j.unit)
	if l.refusals.refused(s, j.unit.EmailID, replyLost, !l.manyTeams.Load()) == rulingRelay {
		l.trip(l.breaker, p.relay, sender{}, trouble{sender: s, refused: true, delay: l.relayPause}, res)
		return
	}
	l.relaySucceeded(p)
	b := l.senderBreakers.getOrCreate(s)
	l.trip(b, p.permitOf(b), s, trouble{sender: s, delay: l.relayPause}, res)
}

// recordDoubt records that the reply to the final dot was lost. If the email has expired, it is
// given up instead of being sent again and again.
func (l *relayQueue) recordDoubt(j *job, res app.Result) {
	over, stored := false, false
	l.record(j, func(tx *db.Tx) (err error) {
		tx.AfterCommit(func() { stored = true })
		if err := l.recorder.recordAttempt(tx, j, res); err != nil {
			return err
		}
		for _, v := range res.Recipients {
			if v.Outcome == app.Refused && !concernsRecipient(v.Reply) {
				continue // tried again with the others
			}
			if err := l.recorder.settleRecipient(tx, j, v, time.Time{}, ""); err != nil {
				return err
			}
		}
		if err := l.s.doubt(tx, j.unit, "The connection to the relay was lost after the end of the message, before its reply: "+res.Reply.Text); err != nil {
			return err
		}
		waited := time.Duration(0)
		waited, over, err = l.overdue(&tx.Reader, j.unit, tx.Now)
		if err != nil || !over {
			return err
		}
		return l.recorder.failExpired(tx, j.unit, l.expiredDetail(j.unit, waited, res))
	})
	l.logResults(j, postponed(res), app.Postponed, over, stored)
}

func anyAccepted(res app.Result) bool {
	return slices.ContainsFunc(res.Recipients, func(r app.RecipientResult) bool { return r.Outcome == app.Accepted })
}

// withdrawn ends a transaction that authorize refused: a unit that was withdrawn or whose
// recipients were removed needs nothing; others go back to the queue.
func (l *relayQueue) withdrawn(p permits, j *job) {
	switch j.state {
	case stateWithdrawn, stateBlocked:
		return
	case stateCommitted: // not sent, but another server may have taken over and made it a doubt
		l.record(j, func(tx *db.Tx) error {
			return base.IgnoreNotFound(l.s.doubt(tx, j.unit, "This server stood still before the end of the message, for so long that another one may have taken over"))
		})
		return
	case statePaused:
		l.handBack(j)
		return
	case stateLimitReached: // the usage read here makes other units wait
		if err := l.limits.reload(l.s.Sending, l.s.DB, true); err != nil {
			l.s.LogUnlessUnavailable("read what a relay was used for", err, "relay", l.name)
		}
		l.handBack(j)
		return
	}
	l.tripRelay(p, senderOf(j.unit), app.Result{Stage: app.StageDot, Reply: app.Reply{Text: "held back, since this server could not store that the message leaves"}})
	l.handBack(j)
}

// strike counts an email's troubles after MAIL in a row (hit), or resets the count.
func (l *relayState) strike(j *job, hit bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !hit {
		delete(l.strikes, j.unit.EmailID)
		return 0
	}
	l.strikes[j.unit.EmailID]++
	n := l.strikes[j.unit.EmailID]
	if n >= maxStrikes {
		delete(l.strikes, j.unit.EmailID)
	}
	return n
}

// expiredDetail describes that a unit would expire before its next try.
func (l *relayQueue) expiredDetail(u app.Unit, waited time.Duration, res app.Result) app.EventDetail {
	d := l.recorder.detail(u, res.Stage, res.Reply, time.Time{})
	d.Message = fmt.Sprintf("Expired after %d attempts, since it may wait %s at most and the next one would come after %s. The last one: %s",
		u.Attempts, app.FormatSpan(l.maxWait(u)), app.FormatSpan(waited), d.Message)
	return d
}

// retryPlan says how a unit with open recipients is tried again.
type retryPlan struct {
	next      time.Time // zero: by the retry table
	uncounted bool      // the attempt is not counted
	reason    string    // text for the timeline; empty: none
}

// settle records a transaction that the relay answered: the recipients that res names by their own
// outcome, the others by rest ("": there are none, Postponed or Refused).
func (l *relayQueue) settle(j *job, res app.Result, rest app.Outcome, try retryPlan) {
	over, stored := false, false
	l.record(j, func(tx *db.Tx) error {
		tx.AfterCommit(func() { stored = true })
		if err := l.recorder.recordAttempt(tx, j, res); err != nil {
			return err
		}
		next, attempts := try.next, j.unit.Attempts
		if next.IsZero() {
			next = tx.Now.Add(app.RetryDelay(j.unit.Attempts, l.s.Jitter()))
		}
		if try.uncounted {
			attempts--
		}
		open := undecided(j.message.Recipients, res)
		postponed := anyPostponed(res, open, rest)
		waited, late, err := l.overdue(&tx.Reader, j.unit, next)
		if err != nil {
			return err
		}
		if over = postponed && late; over {
			next = time.Time{}
		}
		if err := l.recorder.settleEach(tx, j, res, open, rest, next, try.reason); err != nil {
			return err
		}
		switch {
		case !postponed:
			return base.IgnoreNotFound(tx.DeleteUnit(j.unit))
		case over:
			return l.recorder.failExpired(tx, j.unit, l.expiredDetail(j.unit, waited, res))
		}
		if err := l.recorder.markDeferred(tx, j.unit, res, open); err != nil {
			return err
		}
		return requeue(tx, j.unit, attempts, next)
	})
	l.logResults(j, res, rest, over, stored)
}

// anyPostponed reports whether recipients are left to try. A recipient missing in the result is
// tried again, never dropped.
func anyPostponed(res app.Result, open []string, rest app.Outcome) bool {
	return len(open) > 0 && rest != app.Refused ||
		slices.ContainsFunc(res.Recipients, func(v app.RecipientResult) bool { return v.Outcome == app.Postponed })
}

// undecided returns the recipients without an outcome of their own.
func undecided(recipients []string, res app.Result) []string {
	if len(res.Recipients) == 0 {
		return recipients
	}
	return slices.DeleteFunc(slices.Clone(recipients), func(address string) bool {
		return slices.ContainsFunc(res.Recipients, func(r app.RecipientResult) bool { return r.Address == address })
	})
}
