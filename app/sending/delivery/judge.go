package delivery

import (
	"slices"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
)

// judge rules on what a relay answered in a transaction, by whose trouble it is, and
// records what follows:
//   - a refusal at RCPT that speaks of a mailbox is the recipient's, who bounces;
//   - any other 5xx may be the message's, the sender's or the relay's: what others met
//     tells, and until then nothing is given up;
//   - a line that is lost in the midst of a transaction is the connection's: who was
//     answered keeps the answer, the others are tried again on another one.
func (l *relayQueue) judge(v permits, j *job, res app.Result) {
	s := senderOf(j.unit)
	if anyAccepted(res) {
		l.refusals.accepted(s)
	}
	cause, judged := refusalIn(res)
	if !judged {
		l.recordUnjudged(v, j, res)
		return
	}
	if lost := cause == connectionLost; !lost {
		l.strike(j, false)
	} else if j.strikes = l.strike(j, true); j.strikes == 1 {
		cause.ambiguous = true
	}
	switch ruling := l.refusals.refused(s, j.unit.EmailID, cause, !l.manyTeams.Load()); ruling {
	case rulingRelay:
		until := l.trip(l.breaker, v.relay, sender{}, breakerTrouble(l, s, cause), withJudgedReply(res))
		l.retryUncounted(j, res, cause, until, "it refuses mail of others this way too, so nothing is given up and the relay rests")
	case rulingSender:
		l.relaySucceeded(v)
		g := l.senderBreakers.getOrCreate(s)
		until := l.trip(g, v.permitOf(g), s, breakerTrouble(l, s, cause), withJudgedReply(res))
		l.retryUncounted(j, res, cause, until, "it refuses everything of this domain this way, so nothing is given up and mail of the domain rests")
	case rulingFail, rulingWait:
		l.recordUnproven(v, j, res, cause, ruling)
	}
}

// recordUnproven records a refusal that is the email's own, as far as is known.
func (l *relayQueue) recordUnproven(v permits, j *job, res app.Result, cause refusal, r ruling) {
	if res.Kind == app.ResultTrouble {
		l.relaySucceeded(v)
	} else {
		l.succeeded(v)
	}
	switch {
	case cause.class == connectionLost.class:
		l.retryConnectionLost(j, res)
	case r == rulingFail:
		l.settle(j, res, verdictForOthers(res, true), retryPlan{})
	default:
		l.retryBeforeJudging(j, res)
	}
}

// refusalIn returns the refusal in a result that others may meet too; judged is false where
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

// withJudgedReply is a result as a trouble tells of it: with the reply that was judged, where it
// was a recipient's.
func withJudgedReply(res app.Result) app.Result {
	if i := slices.IndexFunc(res.Recipients, isAmbiguous); i >= 0 && res.Kind != app.ResultRefused {
		res.Stage, res.Reply = app.StageRcpt, res.Recipients[i].Reply
	}
	return res
}

// isAmbiguous reports whether a recipient was refused in words that may be about more.
func isAmbiguous(v app.RecipientResult) bool {
	return v.Outcome == app.Refused && !concernsRecipient(v.Reply)
}

// isFinal reports whether a result settles somebody for good.
func isFinal(res app.Result) bool {
	return slices.ContainsFunc(res.Recipients, func(v app.RecipientResult) bool { return v.Outcome != app.Postponed })
}

// breakerTrouble is what shuts a gate because of a refusal.
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

// recordUnjudged records a result that tells nothing against the relay or the sender.
func (l *relayQueue) recordUnjudged(v permits, j *job, res app.Result) {
	l.strike(j, false)
	if res.Kind == app.ResultTrouble { // it decided on some before its line was lost
		l.settle(j, res, app.Postponed, retryPlan{next: clock.Now(), uncounted: true, reason: "the recipients that are left are tried again on another connection"})
		return
	}
	l.succeeded(v)
	try := retryPlan{}
	for i, r := range res.Recipients {
		// Others of this email were not refused so: once more, before it counts.
		if isAmbiguous(r) && !l.refusals.repeated(j.unit.EmailID, refusalOf(app.StageRcpt, r.Reply)) {
			res.Recipients = slices.Clone(res.Recipients)
			res.Recipients[i].Outcome = app.Postponed
			try.next = clock.Now().Add(max(recipientRetryDelay, app.RetryDelay(j.unit.Attempts, l.s.Jitter())))
		}
	}
	l.settle(j, res, verdictForOthers(res, false), try)
}

// verdictForOthers is the verdict on the recipients that a result does not name. fail: what was
// refused without naming one is refused for good.
func verdictForOthers(res app.Result, fail bool) app.Outcome {
	switch {
	case res.Kind == app.ResultDone:
		return ""
	case res.Kind == app.ResultRefused && fail:
		return app.Refused
	}
	return app.Postponed
}

// postponed is a result in which nobody is refused in words that may be about more.
func postponed(res app.Result) app.Result {
	res.Recipients = slices.Clone(res.Recipients)
	for i, r := range res.Recipients {
		if isAmbiguous(r) {
			res.Recipients[i].Outcome = app.Postponed
		}
	}
	return res
}

// retryBeforeJudging has an email tried once more before a refusal counts.
func (l *relayQueue) retryBeforeJudging(j *job, res app.Result) {
	if res.Kind == app.ResultRefused {
		l.settle(j, postponed(res), app.Postponed, retryPlan{next: clock.Now().Add(messageRetryDelay), uncounted: true,
			reason: "whether it refuses this message or everything shows at the next try"})
		return
	}
	l.settle(j, postponed(res), verdictForOthers(res, false), retryPlan{next: clock.Now().Add(recipientRetryDelay), uncounted: true,
		reason: "whether it refuses this recipient or more shows at the next try, and nothing bounces before"})
}

// retryUncounted keeps a refused email for another try without counting the attempt, unless
// its time is over.
func (l *relayQueue) retryUncounted(j *job, res app.Result, cause refusal, next time.Time, why string) {
	if cause.class == connectionLost.class {
		l.handBack(j)
		return
	}
	l.settle(j, postponed(res), verdictForOthers(res, false), retryPlan{next: next, uncounted: true, reason: why})
}

// retryConnectionLost has an email tried again whose line was lost before anybody was decided on: soon,
// and when that comes to nothing, as the retry table has it.
func (l *relayQueue) retryConnectionLost(j *job, res app.Result) {
	if j.strikes >= maxStrikes {
		l.settle(j, res, app.Postponed, retryPlan{})
		return
	}
	l.settle(j, res, app.Postponed, retryPlan{next: clock.Now().Add(time.Duration(j.strikes) * strikePause), uncounted: true, reason: "the connection alone may have been the reason"})
}
