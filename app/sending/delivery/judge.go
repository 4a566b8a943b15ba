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
func (l *lane) judge(v leave, j *job, res app.Result) {
	s := senderOf(j.unit)
	if anyAccepted(res) {
		l.breaker.accepted(s)
	}
	met, judged := refusalIn(res)
	if !judged {
		l.unjudged(v, j, res)
		return
	}
	if lost := met == connectionLost; !lost {
		l.strike(j, false)
	} else if j.strikes = l.strike(j, true); j.strikes == 1 {
		met.loose = true
	}
	switch ruling := l.breaker.refused(s, j.unit.EmailID, met, !l.several.Load()); ruling {
	case rulingRelay:
		until := l.shut(l.gate, v.relay, sender{}, breakerTrouble(l, s, met), withJudgedReply(res))
		l.hesitate(j, res, met, until, "it refuses mail of others this way too, so nothing is given up and the relay rests")
	case rulingSender:
		l.answered(v)
		g := l.rests.at(s)
		until := l.shut(g, v.through(g), s, breakerTrouble(l, s, met), withJudgedReply(res))
		l.hesitate(j, res, met, until, "it refuses everything of this domain this way, so nothing is given up and mail of the domain rests")
	case rulingFail, rulingWait:
		l.recordUnproven(v, j, res, met, ruling)
	}
}

// recordUnproven records a refusal that is the email's own, as far as is known.
func (l *lane) recordUnproven(v leave, j *job, res app.Result, met refusal, r ruling) {
	if res.Kind == app.ResultTrouble {
		l.answered(v)
	} else {
		l.healthy(v)
	}
	switch {
	case met.class == connectionLost.class:
		l.lost(j, res)
	case r == rulingFail:
		l.settle(j, res, verdictForOthers(res, true), again{})
	default:
		l.wait(j, res)
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
	return connectionLost, res.Kind == app.ResultTrouble && !decides(res)
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

// decides reports whether a result settles somebody for good.
func decides(res app.Result) bool {
	return slices.ContainsFunc(res.Recipients, func(v app.RecipientResult) bool { return v.Outcome != app.Postponed })
}

// breakerTrouble is what shuts a gate because of a refusal.
func breakerTrouble(l *lane, s sender, met refusal) trouble {
	if met.class == connectionLost.class {
		return trouble{sender: s, refusing: true, delay: l.relayPause}
	}
	return trouble{sender: s, refusing: true, delay: breakerDelay}
}

func (l *lane) relayPause(failures int) time.Duration {
	return app.BreakerDelay(failures, l.s.Jitter())
}

func breakerDelay(failures int) time.Duration {
	return min(breakerPause<<min(failures-1, 10), maxBreakerPause)
}

// unjudged records a result that tells nothing against the relay or the sender.
func (l *lane) unjudged(v leave, j *job, res app.Result) {
	l.strike(j, false)
	if res.Kind == app.ResultTrouble { // it decided on some before its line was lost
		l.settle(j, res, app.Postponed, again{next: clock.Now(), uncounted: true, why: "the recipients that are left are tried again on another connection"})
		return
	}
	l.healthy(v)
	try := again{}
	for i, r := range res.Recipients {
		// Others of this email were not refused so: once more, before it counts.
		if isAmbiguous(r) && !l.breaker.again(j.unit.EmailID, refusalOf(app.StageRcpt, r.Reply)) {
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

// wait has an email tried once more before a refusal counts.
func (l *lane) wait(j *job, res app.Result) {
	if res.Kind == app.ResultRefused {
		l.settle(j, postponed(res), app.Postponed, again{next: clock.Now().Add(messageRetryDelay), uncounted: true,
			why: "whether it refuses this message or everything shows at the next try"})
		return
	}
	l.settle(j, postponed(res), verdictForOthers(res, false), again{next: clock.Now().Add(recipientRetryDelay), uncounted: true,
		why: "whether it refuses this recipient or more shows at the next try, and nothing bounces before"})
}

// hesitate keeps a refused email for another try without counting the attempt, unless
// its time is over.
func (l *lane) hesitate(j *job, res app.Result, met refusal, next time.Time, why string) {
	if met.class == connectionLost.class {
		l.handBack(j)
		return
	}
	l.settle(j, postponed(res), verdictForOthers(res, false), again{next: next, uncounted: true, why: why})
}

// lost has an email tried again whose line was lost before anybody was decided on: soon,
// and when that comes to nothing, as the retry table has it.
func (l *lane) lost(j *job, res app.Result) {
	if j.strikes >= maxStrikes {
		l.settle(j, res, app.Postponed, again{})
		return
	}
	l.settle(j, res, app.Postponed, again{next: clock.Now().Add(time.Duration(j.strikes) * strikePause), uncounted: true, why: "the connection alone may have been the reason"})
}
