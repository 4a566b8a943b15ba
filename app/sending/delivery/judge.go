package delivery

import (
	"slices"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
)

// judge decides whose fault a relay's answer is and records what follows:
//   - a refusal at RCPT about a mailbox is the recipient's: it bounces;
//   - any other 5xx may be about the message, the sender or the relay: the refusals of other
//     emails decide, and until then nothing is given up;
//   - a connection lost during a transaction proves nothing: recipients that were answered keep
//     their outcomes, the others are tried again.
func (l *relayQueue) judge(p permits, j *job, res app.Result) {
	s := senderOf(j.unit)
	if anyAccepted(res) {
		l.refusals.accepted(s)
	}
	cause, judged := refusalIn(res)
	if !judged {
		l.recordUnjudged(p, j, res)
		return
	}
	if lost := cause == connectionLost; !lost {
		l.strike(j, false)
	} else if j.strikes = l.strike(j, true); j.strikes == 1 {
		cause.ambiguous = true
	}
	switch ruling := l.refusals.refused(s, j.unit.EmailID, cause, !l.manyTeams.Load()); ruling {
	case rulingRelay:
		until := l.trip(l.breaker, p.relay, sender{}, breakerTrouble(l, s, cause), withJudgedReply(res))
		l.retryUncounted(j, res, cause, until, "it refuses mail of others this way too, so nothing is given up and the relay rests")
	case rulingSender:
		l.relaySucceeded(p)
		b := l.senderBreakers.getOrCreate(s)
		until := l.trip(b, p.permitOf(b), s, breakerTrouble(l, s, cause), withJudgedReply(res))
		l.retryUncounted(j, res, cause, until, "it refuses everything of this domain this way, so nothing is given up and mail of the domain rests")
	case rulingFail, rulingWait:
		l.recordUnproven(p, j, res, cause, ruling)
	}
}

// recordUnproven records a refusal for which only the email is to blame, as far as known.
func (l *relayQueue) recordUnproven(p permits, j *job, res app.Result, cause refusal, r ruling) {
	if res.Kind == app.ResultTrouble {
		l.relaySucceeded(p)
	} else {
		l.succeeded(p)
	}
	switch {
	case cause.class == connectionLost.class:
		l.retryConnectionLost(j, res)
	case r == rulingFail:
		l.settle(j, res, outcomeForOthers(res, true), retryPlan{})
	default:
		l.retryBeforeJudging(j, res)
	}
}

// refusalIn returns the refusal in a result that other emails may meet too; judged is false if
// there is none.
func refusalIn(res app.Result) (r refusal, judged bool) {
	if res.Kind == app.ResultRefused {
		return refusalOf(res.Stage, res.Reply), true
	}
	if res.Kind == app.ResultDeferred || anyAccepted(res) {
		return refusal{}, false
	}
	for _, v := range res.Recipients {
		if isAmbiguous(v) {
			return refusalOf(app.StageRcpt, v.Reply), true
		}
	}
	return connectionLost, res.Kind == app.ResultTrouble && !isFinal(res)
}

// withJudgedReply returns a result with the reply that was judged, which may be a recipient's.
func withJudgedReply(res app.Result) app.Result {
	if i := slices.IndexFunc(res.Recipients, isAmbiguous); i >= 0 && res.Kind != app.ResultRefused {
		res.Stage, res.Reply = app.StageRcpt, res.Recipients[i].Reply
	}
	return res
}

// isAmbiguous reports whether a recipient was refused with a reply that may not be about it.
func isAmbiguous(v app.RecipientResult) bool {
	return v.Outcome == app.Refused && !concernsRecipient(v.Reply)
}

// isFinal reports whether a result settles a recipient.
func isFinal(res app.Result) bool {
	return slices.ContainsFunc(res.Recipients, func(v app.RecipientResult) bool { return v.Outcome != app.Postponed })
}

// breakerTrouble returns the trouble for a breaker that opens because of a refusal.
func breakerTrouble(l *relayQueue, s sender, cause refusal) trouble {
	if cause.class == connectionLost.class {
		return trouble{sender: s, refused: true, delay: l.relayPause}
	}
	return trouble{sender: s, refused: true, delay: breakerDelay}
}

func (l *relayQueue) relayPause(failures int) time.Duration {
	return app.BreakerDelay(failures, l.s.Jitter())
}

func breakerDelay(failures int) time.Duration {
	return min(breakerPause<<min(failures-1, 10), maxBreakerPause)
}

// recordUnjudged records a result that proves nothing about the relay or the sender.
func (l *relayQueue) recordUnjudged(p permits, j *job, res app.Result) {
	l.strike(j, false)
	if res.Kind == app.ResultTrouble { // some recipients were answered before the connection was lost
		l.settle(j, res, app.Postponed, retryPlan{next: clock.Now(), uncounted: true, reason: "the recipients that are left are tried again on another connection"})
		return
	}
	l.succeeded(p)
	try := retryPlan{}
	for i, r := range res.Recipients {
		// Other recipients were not refused like this one: try it once more before it bounces.
		if isAmbiguous(r) && !l.refusals.repeated(j.unit.EmailID, refusalOf(app.StageRcpt, r.Reply)) {
			res.Recipients = slices.Clone(res.Recipients)
			res.Recipients[i].Outcome = app.Postponed
			try.next = clock.Now().Add(max(recipientRetryDelay, app.RetryDelay(j.unit.Attempts, l.s.Jitter())))
		}
	}
	l.settle(j, res, outcomeForOthers(res, false), try)
}

// outcomeForOthers is the outcome of the recipients that a result does not name. fail: a refused
// message is refused for good.
func outcomeForOthers(res app.Result, fail bool) app.Outcome {
	switch {
	case res.Kind == app.ResultDone:
		return ""
	case res.Kind == app.ResultRefused && fail:
		return app.Refused
	}
	return app.Postponed
}

// postponed returns a result with ambiguous refusals of recipients turned into postponements.
func postponed(res app.Result) app.Result {
	res.Recipients = slices.Clone(res.Recipients)
	for i, r := range res.Recipients {
		if isAmbiguous(r) {
			res.Recipients[i].Outcome = app.Postponed
		}
	}
	return res
}

// retryBeforeJudging tries an email once more before its refusal counts.
func (l *relayQueue) retryBeforeJudging(j *job, res app.Result) {
	if res.Kind == app.ResultRefused {
		l.settle(j, postponed(res), app.Postponed, retryPlan{next: clock.Now().Add(messageRetryDelay), uncounted: true,
			reason: "whether it refuses this message or everything shows at the next try"})
		return
	}
	l.settle(j, postponed(res), outcomeForOthers(res, false), retryPlan{next: clock.Now().Add(recipientRetryDelay), uncounted: true,
		reason: "whether it refuses this recipient or more shows at the next try, and nothing bounces before"})
}

// retryUncounted tries a refused email again without counting the attempt, unless it has expired.
func (l *relayQueue) retryUncounted(j *job, res app.Result, cause refusal, next time.Time, reason string) {
	if cause.class == connectionLost.class {
		l.handBack(j)
		return
	}
	l.settle(j, postponed(res), outcomeForOthers(res, false), retryPlan{next: next, uncounted: true, reason: reason})
}

// retryConnectionLost tries an email again whose connection was lost before any recipient was
// answered: soon, and after maxStrikes by the retry table.
func (l *relayQueue) retryConnectionLost(j *job, res app.Result) {
	if j.strikes >= maxStrikes {
		l.settle(j, res, app.Postponed, retryPlan{})
		return
	}
	l.settle(j, res, app.Postponed, retryPlan{next: clock.Now().Add(time.Duration(j.strikes) * strikePause), uncounted: true, reason: "the connection alone may have been the reason"})
}
