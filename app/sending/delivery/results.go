package delivery

import (
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/outcome"
	"mailer/db"
)

// Delays of circuit breakers that open because of refused mail: each opening doubles them.
const (
	breakerPause    = 30 * time.Second
	maxBreakerPause = 10 * time.Minute
)

// handleResult decides what follows from the result of a transaction, and records it. Only
// recipients that the result names are settled; all others stay queued.
func (l *relayQueue) handleResult(p permits, j *job, res app.Result) {
	if res.Kind == app.ResultWithdrawn {
		l.withdrawn(p, j)
		return
	}
	begun := outcome.InTransaction(res.Stage)
	if res.Kind == app.ResultTrouble && (l.sending.Err() != nil || !begun && l.accepting.Err() != nil) { // ended by this server: it stops, or the relay was removed or its region switched
		l.handBack(j)
		return
	}
	strikes := 0
	if res.Kind != app.ResultDoubt && (res.Kind != app.ResultTrouble || begun) {
		strikes = l.strike(j, outcome.LostConnection(&res))
	}
	s := outcome.SenderOf(j.unit)
	if primary := l.primaryForLarge(&res); primary != "" {
		l.waitForPrimary(p, j, res, primary)
		return
	}
	l.senders.record(s, outcome.AnyAccepted(&res))
	d := outcome.Decide(l.leniently(s, res, l.refusals.Record(s, j.unit.EmailID, &res, strikes, !l.manyTeams.Load())))
	halfOpen := l.updateBreakers(p, s, &d)
	switch d.Action {
	case outcome.HandBack:
		l.handBack(j)
	case outcome.Doubt:
		l.recordDoubt(j, res)
	case outcome.Settle:
		l.settle(j, &d, halfOpen)
	}
}

// updateBreakers applies a decision to the circuit breakers of the relay and the sender. It returns
// when the breaker that tripped becomes half-open; zero: none did.
func (l *relayQueue) updateBreakers(p permits, s sender, d *outcome.Decision) (halfOpen time.Time) {
	t := trouble{sender: s, refused: d.Refused, delay: l.outagePause}
	if d.Pause == outcome.RefusalPause {
		t.delay = refusalPause
	}
	switch {
	case d.Relay == outcome.Trips:
		return l.trip(l.breaker, p.relay, sender{}, t, d.Shown)
	case d.Sender == outcome.Works:
		l.succeeded(p)
	case d.Relay == outcome.Works:
		l.relaySucceeded(p)
	}
	if d.Sender == outcome.Trips {
		b := l.senderBreakers.getOrCreate(s)
		return l.trip(b, p.permitOf(b), s, t, d.Shown)
	}
	return time.Time{}
}

func (l *relayQueue) outagePause(failures int) time.Duration {
	return app.BreakerDelay(failures, l.s.Jitter())
}

func refusalPause(failures int) time.Duration {
	return min(breakerPause<<min(failures-1, 10), maxBreakerPause)
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
			if outcome.IsAmbiguous(v) {
				continue // tried again with the others
			}
			if err := l.recorder.settleRecipient(tx, j, v, time.Time{}, ""); err != nil {
				return err
			}
		}
		if err := l.s.doubt(tx, l.pin(j.unit), "The connection to the relay was lost after the end of the message, before its reply: "+res.Reply.Text); err != nil {
			return err
		}
		if j.unit.Part != "" { // it expires when it is due
			return nil
		}
		waited := time.Duration(0)
		waited, over, err = l.overdue(&tx.Reader, j.unit, tx.Now)
		if err != nil || !over {
			return err
		}
		return l.recorder.failExpired(tx, j.unit, l.expiredDetail(j.unit, waited, res))
	})
	l.logResults(j, outcome.Postponed(res), app.Postponed, over, stored)
}

// withdrawn ends a transaction that authorize refused: a unit that was withdrawn or whose
// recipients were removed needs nothing; others go back to the queue.
func (l *relayQueue) withdrawn(p permits, j *job) {
	switch j.state {
	case stateWithdrawn, stateBlocked:
		return
	case stateCommitted: // not sent, but another server may have taken over and made it a doubt
		l.record(j, func(tx *db.Tx) error {
			return base.IgnoreNotFound(l.s.doubt(tx, l.pin(j.unit), "This server stood still before the end of the message, for so long that another one may have taken over"))
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
	l.tripRelay(p, outcome.SenderOf(j.unit), app.Result{Stage: app.StageDot, Reply: app.Reply{Text: "held back, since this server could not store that the message leaves"}})
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
	if n >= outcome.MaxStrikes {
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

// nextTry returns when a unit is tried again. halfOpen is when the breaker that tripped lets mail
// through again.
func (l *relayQueue) nextTry(u app.Unit, r *outcome.Retry, now, halfOpen time.Time) time.Time {
	switch r.Schedule {
	case outcome.AfterDelay:
		return now.Add(r.Delay)
	case outcome.WithBreaker:
		return halfOpen
	}
	return now.Add(max(r.Delay, app.RetryDelay(u.Attempts, l.s.Jitter())))
}

// settle records the outcomes of the recipients of a transaction.
func (l *relayQueue) settle(j *job, d *outcome.Decision, halfOpen time.Time) {
	over, stored := false, false
	l.record(j, func(tx *db.Tx) error {
		tx.AfterCommit(func() { stored = true })
		if err := l.recorder.recordAttempt(tx, j, d.Result); err != nil {
			return err
		}
		next, attempts := l.nextTry(j.unit, &d.Retry, tx.Now, halfOpen), j.unit.Attempts
		if d.Retry.Uncounted {
			attempts--
		}
		open := outcome.Open(j.message.Recipients, &d.Result)
		postponed := d.Postpones(open)
		waited, late, err := l.overdue(&tx.Reader, j.unit, next)
		if err != nil {
			return err
		}
		if over = postponed && late && j.unit.Part == ""; over {
			next = time.Time{}
		}
		if err := l.recorder.settleEach(tx, j, d.Result, open, d.Rest, next, d.Retry.Reason); err != nil {
			return err
		}
		switch {
		case !postponed && j.unit.Part != "":
			return base.IgnoreNotFound(l.s.endPart(tx, j.unit, attempts, time.Time{}))
		case !postponed:
			return base.IgnoreNotFound(tx.DeleteUnit(j.unit))
		case over:
			return l.recorder.failExpired(tx, j.unit, l.expiredDetail(j.unit, waited, d.Result))
		}
		if err := l.recorder.markDeferred(tx, j.unit, d.Result, open); err != nil {
			return err
		}
		if j.unit.Part != "" {
			if late { // it expires then
				next = next.Add(l.maxWait(j.unit) - waited)
			}
			return base.IgnoreNotFound(l.s.endPart(tx, j.unit, attempts, next))
		}
		return requeue(tx, j.unit, attempts, next)
	})
	l.logResults(j, d.Result, d.Rest, over, stored)
}
