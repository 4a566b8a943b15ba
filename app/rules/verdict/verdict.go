// Package verdict describes in one sentence what happened to an email and why, and in a second one
// what to do. It is a pure function over the facts of an email and a table of sentences.
// Translations can be made from the code and the parameters.
package verdict

import (
	"time"

	"mailer/app"
)

// Verdict describes what happened to an email.
type Verdict struct {
	Code Code   `json:"code" doc:"A stable word for what happened, like bounced_unknown_user; the list may grow"`
	Tone Tone   `json:"tone" enum:"good,neutral,warn,bad"`
	Text string `json:"text" doc:"What happened and why, in one sentence"`
	Fix  string `json:"fix" doc:"What to do"`
	// Params are all values in Text and Fix.
	Params VerdictParams `json:"params" doc:"All values used in text and fix"`
	// Parts are the outcomes of an email whose recipients had different ones.
	Parts []VerdictPart `json:"parts,omitempty" doc:"If recipients have different results: the results in text, the most serious first"`
}

// VerdictPart is the outcome of some of an email's recipients.
type VerdictPart struct {
	Code   Code          `json:"code"`
	Tone   Tone          `json:"tone" enum:"good,neutral,warn,bad"`
	Text   string        `json:"text"`
	Fix    string        `json:"fix"`
	Params VerdictParams `json:"params"`
}

// Tone is the severity of a verdict.
type Tone string

// The tones. Neutral needs no attention.
const (
	Good    Tone = "good"
	Neutral Tone = "neutral"
	Warn    Tone = "warn"
	Bad     Tone = "bad"
)

// Facts is what is known about an email.
type Facts struct {
	Relay       string // its relay
	FromDomain  string // domain of the sender
	BroadcastID string // empty: not of a broadcast
	Kept        bool   // it leaves through no other relay than Relay
	Recipients  []Recipient
	Events      []app.Event // the newest events, newest first
	Answers     []Answer    // newest first
	Work        *Work       // nil: no work is left
}

// Recipient is a recipient of the envelope.
type Recipient struct {
	Address string
	State   app.LastEvent // app.Queued: waiting
	Listed  Listing
}

// Listing is the suppression of an address; zero: none.
type Listing struct {
	Origin app.SuppressionOrigin
	Since  time.Time
}

// Work is the remaining work.
type Work struct {
	Wait   Wait
	NextAt time.Time // of WaitTime, WaitRetry and WaitQuota; zero: unknown
	// Attempts is the number of started attempts.
	Attempts int
	// GivesUpAt is when the email expires unless its clock is stopped; zero: never, or unknown.
	GivesUpAt time.Time
	Held      app.HoldReason // of WaitRelease
	HeldAt    time.Time
	Blocker   Blocker // of WaitBlocked
}

// Wait is what mail waits for.
type Wait string

// The values of Wait.
const (
	WaitTurn    Wait = "turn"    // it can be sent now
	WaitReply   Wait = "reply"   // a transaction is running
	WaitTime    Wait = "time"    // its scheduled time
	WaitRetry   Wait = "retry"   // its next attempt
	WaitRelease Wait = "release" // it is held
	WaitQuota   Wait = "quota"   // another day of the team's quota
	WaitPace    Wait = "pace"    // its turn in its broadcast
	WaitBlocked Wait = "door"    // what Blocker says
)

// Blocker is why no mail of a sender can be sent through a relay.
type Blocker struct {
	Kind   BlockerKind
	Reason string    // of Suspended: the operator's reason; may be empty
	Since  time.Time // of Suspended and Paused
	Until  time.Time // of Paused; zero: until it is resumed
	// Trouble is the relay's problem, of BreakerOpen and LimitReached.
	Trouble app.RelayTrouble
}

// BlockerKind is the kind of a blocker; empty: none.
type BlockerKind string

// The kinds.
const (
	Suspended      BlockerKind = "suspended"       // the operator suspended the team
	NoRelay        BlockerKind = "no_relay"        // no relay is configured
	NoRegion       BlockerKind = "no_region"       // no relay for this region
	Paused         BlockerKind = "paused"          // the operator paused the relay
	BreakerOpen    BlockerKind = "resting"         // the circuit breaker is open, for all or for one domain
	LimitReached   BlockerKind = "used"            // the relay's daily limit, or the team's share of it
	Unaligned      BlockerKind = "unaligned"       // what the domain lacks for the reserve that is used now
	TeamGuardrail  BlockerKind = "team_guardrail"  // the team's rates, for its broadcasts
	RelayGuardrail BlockerKind = "relay_guardrail" // the relay's rates, for all broadcasts
)

// Of returns the verdict on an email.
func Of(f *Facts) Verdict {
	ends := f.outcomes()
	groups := grouped(ends)
	if len(groups) == 1 {
		p := groups[0].part()
		return Verdict{Code: p.Code, Tone: p.Tone, Text: p.Text, Fix: p.Fix, Params: p.Params}
	}
	return f.mixed(groups)
}
