// Package outcome decides what follows from the result of an SMTP transaction: for each recipient
// whether it is settled or tried again and when, and for the circuit breakers of the relay and of
// the sender whether they open or close.
//
//   - A refusal at RCPT about a mailbox is the recipient's: it bounces.
//   - Any other 5xx reply may be about the message, the sender or the relay. The refusals of other
//     emails decide (Classifier), and until then nothing is given up.
//   - A connection lost during a transaction proves nothing. Recipients that were answered keep
//     their outcomes, the others are tried again.
//
// Decide is a pure function. Classifier holds the history that it needs.
package outcome

import (
	"slices"
	"time"

	"mailer/app"
)

// Delays that are not in the retry table.
const (
	// messageRetryDelay is how soon a message is tried again that was refused without naming a
	// recipient.
	messageRetryDelay = 5 * time.Second
	// recipientRetryDelay is how soon a recipient is tried again that was refused with a code that
	// may not be about the recipient.
	recipientRetryDelay = 5 * time.Minute
	// MaxStrikes is how many lost connections in a row count as an attempt.
	MaxStrikes = 3
	// strikePause is how long an email waits after a lost connection, times their number.
	strikePause = time.Second
)

// History is what earlier transactions show about a result (Classifier.Record).
type History struct {
	Ruling   Ruling
	Strikes  int    // connections that the email lost in a row, with this one
	Repeated []bool // by recipient of the result: it met its ambiguous refusal before
}

// Effect is what a result means for a circuit breaker.
type Effect int

// The effects. Works: the transaction shows that the relay, or the sender at the relay, works.
// Trips: the breaker opens.
const (
	None Effect = iota
	Works
	Trips
)

// Pause is how long a breaker stays open that trips.
type Pause int

// The pauses. OutagePause follows app.BreakerDelay, RefusalPause doubles from 30 seconds to 10
// minutes.
const (
	OutagePause Pause = iota
	RefusalPause
)

// Action is what to store of a result.
type Action int

// The actions. HandBack: the unit goes back to the queue, and no attempt is counted. Settle: the
// outcomes of the recipients. Doubt: the reply to the final dot was lost.
const (
	HandBack Action = iota
	Settle
	Doubt
)

// Schedule says when open recipients are tried again.
type Schedule int

// The schedules. ByTable: by the retry table. AfterDelay: after Retry.Delay. WithBreaker: when the
// breaker that trips becomes half-open.
const (
	ByTable Schedule = iota
	AfterDelay
	WithBreaker
)

// Retry says how a unit with open recipients is tried again.
type Retry struct {
	Schedule  Schedule
	Delay     time.Duration // with ByTable: the shortest delay
	Uncounted bool          // the attempt is not counted
	Reason    string        // text for the timeline; empty: none
}

// Decision is what follows from a result.
type Decision struct {
	Relay, Sender Effect
	Pause         Pause
	Refused       bool       // a breaker trips because of a refusal or a lost connection
	Shown         app.Result // the result that caused a trip, for timelines and the log
	Action        Action
	Result        app.Result  // to settle: outcomes that prove nothing are postponed
	Rest          app.Outcome // of the recipients that Result does not name; empty: there are none
	Retry         Retry
}

// Decide returns what follows from the result of a transaction that reached the relay or failed to
// do so. Kind must not be ResultWithdrawn.
func Decide(res app.Result, h History) Decision {
	d := Decision{Result: res, Shown: res}
	switch {
	case res.Kind == app.ResultDoubt:
		d.Action = Doubt
		d.Relay, d.Sender = Works, Trips
		if h.Ruling == RulingRelay {
			d.Relay, d.Sender, d.Refused = Trips, None, true
		}
		return d
	case res.Kind == app.ResultTrouble && !InTransaction(res.Stage):
		d.Relay = Trips
		return d
	case res.Kind == app.ResultRefused && res.Reply.Code == 0: // refused locally: the relay can't carry the message
		d.Action, d.Rest = Settle, app.Refused
		return d
	}
	if cause, found := causeOf(&res); found {
		return decideRefusal(d, cause, h)
	}
	return decideRest(d, h)
}

// decideRefusal decides about a refusal that other emails may meet too.
func decideRefusal(d Decision, cause refusal, h History) Decision {
	lost := cause.class == connectionLost.class
	switch h.Ruling {
	case RulingRelay:
		d.Relay = Trips
		d.Retry.Reason = "it refuses mail of others this way too, so nothing is given up and the relay rests"
	case RulingSender:
		d.Relay, d.Sender = Works, Trips
		d.Retry.Reason = "it refuses everything of this domain this way, so nothing is given up and mail of the domain rests"
	default:
		return decideUnproven(d, lost, h)
	}
	d.Refused, d.Shown = true, withJudgedReply(d.Result)
	if lost {
		return d
	}
	d.Pause, d.Action = RefusalPause, Settle
	d.Result, d.Rest = Postponed(d.Result), restOf(&d.Result, false)
	d.Retry.Schedule, d.Retry.Uncounted = WithBreaker, true
	return d
}

// decideUnproven decides about a refusal for which only the email is to blame, as far as known.
func decideUnproven(d Decision, lost bool, h History) Decision {
	d.Relay, d.Action = Works, Settle
	if d.Result.Kind != app.ResultTrouble {
		d.Sender = Works
	}
	switch {
	case lost && h.Strikes >= MaxStrikes:
		d.Rest = app.Postponed
	case lost:
		d.Rest = app.Postponed
		d.Retry = Retry{AfterDelay, time.Duration(h.Strikes) * strikePause, true, "the connection alone may have been the reason"}
	case h.Ruling == RulingFail:
		d.Rest = restOf(&d.Result, true)
	case d.Result.Kind == app.ResultRefused:
		d.Result, d.Rest = Postponed(d.Result), app.Postponed
		d.Retry = Retry{AfterDelay, messageRetryDelay, true, "whether it refuses this message or everything shows at the next try"}
	default:
		d.Result, d.Rest = Postponed(d.Result), restOf(&d.Result, false)
		d.Retry = Retry{AfterDelay, recipientRetryDelay, true, "whether it refuses this recipient or more shows at the next try, and nothing bounces before"}
	}
	return d
}

// decideRest decides about a result that proves nothing about the relay or the sender.
func decideRest(d Decision, h History) Decision {
	d.Action = Settle
	if d.Result.Kind == app.ResultTrouble { // some recipients were answered before the connection was lost
		d.Rest = app.Postponed
		d.Retry = Retry{AfterDelay, 0, true, "the recipients that are left are tried again on another connection"}
		return d
	}
	d.Relay, d.Sender = Works, Works
	d.Result.Recipients = slices.Clone(d.Result.Recipients)
	for i, r := range d.Result.Recipients {
		if IsAmbiguous(r) && !h.Repeated[i] { // others were not refused like this one: try it once more before it bounces
			d.Result.Recipients[i].Outcome = app.Postponed
			d.Retry.Delay = recipientRetryDelay
		}
	}
	d.Rest = restOf(&d.Result, false)
	return d
}

// InTransaction reports whether a stage is between MAIL and the end of the message.
func InTransaction(stage app.Stage) bool {
	return stage == app.StageMail || stage == app.StageRcpt || stage == app.StageData
}

// Open returns the recipients that a result does not name.
func Open(recipients []string, res *app.Result) []string {
	if len(res.Recipients) == 0 {
		return recipients
	}
	return slices.DeleteFunc(slices.Clone(recipients), func(address string) bool {
		return slices.ContainsFunc(res.Recipients, func(r app.RecipientResult) bool { return r.Address == address })
	})
}

// Postpones reports whether a decision leaves some of the open recipients to be tried again. A
// recipient that is missing in the result is tried again, never dropped.
func (d *Decision) Postpones(open []string) bool {
	return len(open) > 0 && d.Rest != app.Refused ||
		slices.ContainsFunc(d.Result.Recipients, func(v app.RecipientResult) bool { return v.Outcome == app.Postponed })
}

// causeOf returns the refusal in a result that other emails may meet too; found is false if there is
// none.
func causeOf(res *app.Result) (r refusal, found bool) {
	switch {
	case res.Kind == app.ResultDoubt:
		return replyLost, true
	case res.Kind == app.ResultRefused:
		return refusalOf(res.Stage, res.Reply), res.Reply.Code != 0
	case res.Kind == app.ResultTrouble && !InTransaction(res.Stage), res.Kind == app.ResultDeferred, AnyAccepted(res):
		return refusal{}, false
	}
	for _, v := range res.Recipients {
		if IsAmbiguous(v) {
			return refusalOf(app.StageRcpt, v.Reply), true
		}
	}
	return connectionLost, res.Kind == app.ResultTrouble && !isFinal(res)
}

// LostConnection reports whether a result is a connection lost before any recipient was answered.
func LostConnection(res *app.Result) bool {
	cause, found := causeOf(res)
	return found && cause.class == connectionLost.class
}

// AnyAccepted reports whether the relay accepted the message for a recipient.
func AnyAccepted(res *app.Result) bool {
	return slices.ContainsFunc(res.Recipients, func(r app.RecipientResult) bool { return r.Outcome == app.Accepted })
}

// IsAmbiguous reports whether a recipient was refused with a reply that may not be about it.
func IsAmbiguous(v app.RecipientResult) bool {
	return v.Outcome == app.Refused && !concernsRecipient(v.Reply)
}

// isFinal reports whether a result settles a recipient.
func isFinal(res *app.Result) bool {
	return slices.ContainsFunc(res.Recipients, func(v app.RecipientResult) bool { return v.Outcome != app.Postponed })
}

// withJudgedReply returns a result with the reply that was judged, which may be a recipient's.
func withJudgedReply(res app.Result) app.Result {
	if i := slices.IndexFunc(res.Recipients, IsAmbiguous); i >= 0 && res.Kind != app.ResultRefused {
		res.Stage, res.Reply = app.StageRcpt, res.Recipients[i].Reply
	}
	return res
}

// restOf is the outcome of the recipients that a result does not name. fail: a refused message is
// refused for good.
func restOf(res *app.Result, fail bool) app.Outcome {
	switch {
	case res.Kind == app.ResultDone:
		return ""
	case res.Kind == app.ResultRefused && fail:
		return app.Refused
	}
	return app.Postponed
}

// Postponed returns a result with ambiguous refusals of recipients turned into postponements.
func Postponed(res app.Result) app.Result {
	res.Recipients = slices.Clone(res.Recipients)
	for i, r := range res.Recipients {
		if IsAmbiguous(r) {
			res.Recipients[i].Outcome = app.Postponed
		}
	}
	return res
}
