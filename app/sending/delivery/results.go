package delivery

import (
	"fmt"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// Pauses of a unit or a relay that the retry table does not know.
const (
	// messageRetryDelay is how soon a message is tried again that was refused
	// without a recipient being named.
	messageRetryDelay = 5 * time.Second
	// recipientRetryDelay is how soon a recipient is asked for again who was refused in
	// words that may be about more.
	recipientRetryDelay = 5 * time.Minute
	// breakerPause is how long a sender, or a relay, rests of which, or by which,
	// everything is refused; doubled each time, up to maxBreakerPause.
	breakerPause    = 30 * time.Second
	maxBreakerPause = 10 * time.Minute
	// maxStrikes is how many troubles in a row after MAIL count as an attempt.
	maxStrikes = 3
	// strikePause is how long an email waits after such a trouble, longer each time.
	strikePause = time.Second
)

// handleResult records what came of a transaction. Only recipients that the result
// proves are moved; all others stay queued.
func (l *relayQueue) handleResult(v permits, j *job, res app.Result) {
	switch res.Kind {
	case app.ResultWithdrawn:
		l.withdrawn(v, j)
	case app.ResultTrouble:
		begun := inTransaction(res.Stage)
		if l.s.Sending.Err() != nil || !begun && l.accepting.Err() != nil { // we ended it ourselves, to stop or to leave the relay
			l.handBack(j)
			return
		}
		if !begun {
			l.relayTrouble(v, j, res)
			return
		}
		l.judge(v, j, res)
	case app.ResultDoubt:
		l.tripReplyLost(v, j, res)
		l.recordDoubt(j, res)
	case app.ResultRefused:
		if res.Reply.Code == 0 { // this relay can't carry the message at all
			l.strike(j, false)
			l.settle(j, res, app.Refused, retryPlan{})
			return
		}
		l.judge(v, j, res)
	default:
		l.judge(v, j, res)
	}
}

func inTransaction(stage app.Stage) bool {
	return stage == app.StageMail || stage == app.StageRcpt || stage == app.StageData
}

// relayTrouble has a unit whose transaction could not begin wait for the relay, in its
// place in the queue and without an attempt counted.
func (l *relayQueue) relayTrouble(v permits, j *job, res app.Result) {
	l.tripRelay(v, senderOf(j.unit), res)
	l.handBack(j)
}

// tripReplyLost has a sender rest of whose message the reply was lost, since nobody must
// make a doubt of a whole queue, and the relay where others meet it too.
func (l *relayQueue) tripReplyLost(v permits, j *job, res app.Result) {
	s := senderOf(j.unit)
	if l.refusals.refused(s, j.unit.EmailID, replyLost, !l.manyTeams.Load()) == rulingRelay {
		l.trip(l.breaker, v.relay, sender{}, trouble{sender: s, refused: true, delay: l.relayPause}, res)
		return
	}
	l.relaySucceeded(v)
	g := l.senderBreakers.getOrCreate(s)
	l.trip(g, v.permitOf(g), s, trouble{sender: s, delay: l.relayPause}, res)
}

// recordDoubt records that the reply to a dot was lost. Once its time is over the email is
// given up: nobody should get it again and again.
func (l *relayQueue) recordDoubt(j *job, res app.Result) {
	over, stored := false, false
	l.record(j, func(tx *db.Tx) (err error) {
		tx.AfterCommit(func() { stored = true })
		if err := l.recorder.recordAttempt(tx, j, res); err != nil {
			return err
		}
		for _, v := range res.Recipients {
			if v.Outcome == app.Refused && !concernsRecipient(v.Reply) {
				continue // it is asked for again, with the others
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

// withdrawn ends a transaction whose dot was refused by hold: a unit that is
// gone, or whose recipients were left out, needs nothing; one that storage could not
// mark is tried again.
func (l *relayQueue) withdrawn(v permits, j *job) {
	switch j.state {
	case stateWithdrawn, stateBlocked:
		return
	case stateCommitted: // it did not, but another server may have taken over and counts it so
		l.record(j, func(tx *db.Tx) error {
			return base.IgnoreNotFound(l.s.doubt(tx, j.unit, "This server stood still before the end of the message, for so long that another one may have taken over"))
		})
		return
	case statePaused:
		l.handBack(j)
		return
	case stateLimitReached: // what this server knows of it by then has the others wait
		if err := l.limits.reload(l.s.Sending, l.s.DB, true); err != nil {
			l.s.LogUnlessUnavailable("read what a relay was used for", err, "relay", l.name)
		}
		l.handBack(j)
		return
	}
	l.tripRelay(v, senderOf(j.unit), app.Result{Stage: app.StageDot, Reply: app.Reply{Text: "held back, since this server could not store that the message leaves"}})
	l.handBack(j)
}

// strike counts the troubles that an email met after MAIL, in a row.
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

// expiredDetail words that a unit whose clock has run so long when it is next tried is not
// tried again.
func (l *relayQueue) expiredDetail(u app.Unit, waited time.Duration, res app.Result) app.EventDetail {
	d := l.recorder.detail(u, res.Stage, res.Reply, time.Time{})
	d.Message = fmt.Sprintf("Expired after %d attempts, since it may wait %s at most and the next one would come after %s. The last one: %s",
		u.Attempts, app.FormatSpan(l.maxWait(u)), app.FormatSpan(waited), d.Message)
	return d
}

// retryPlan is how a unit is tried again of which somebody is left.
type retryPlan struct {
	next      time.Time // zero: as the retry table has it
	uncounted bool      // the attempt does not count
	reason    string    // in words for the timeline; empty: nothing more to say
}

// settle records a transaction in which the relay answered: the recipients that
// were decided one by one, and the others by rest ("": there are none, Postponed
// or Refused).
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

// anyPostponed reports whether somebody is left to try. A recipient that the result
// forgets is tried again, never dropped.
func anyPostponed(res app.Result, open []string, rest app.Outcome) bool {
	return len(open) > 0 && rest != app.Refused ||
		slices.ContainsFunc(res.Recipients, func(v app.RecipientResult) bool { return v.Outcome == app.Postponed })
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
