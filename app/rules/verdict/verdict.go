// Package verdict says of an email in one sentence what happened to it and why, and in a
// second one what to do. It is one pure function over what is known of the email, and a
// table of the sentences, so that others can write them in their reader's language from
// the code and the values that stand in them.
package verdict

import (
	"time"

	"mailer/app"
)

// Verdict is what became of an email.
type Verdict struct {
	Code Code   `json:"code" doc:"A stable word for what happened, like bounced_unknown_user; the list may grow"`
	Tone Tone   `json:"tone" enum:"good,neutral,warn,bad"`
	Text string `json:"text" doc:"What happened and why, in one sentence"`
	Fix  string `json:"fix" doc:"What to do"`
	// Params are all values in Text and Fix.
	Params VerdictParams `json:"params" doc:"All values used in text and fix"`
	// Parts are the ends of an email whose recipients ended differently.
	Parts []VerdictPart `json:"parts,omitempty" doc:"Where recipients ended differently: the ends that text tells of, the gravest first"`
}

// VerdictPart is what became of some of an email's recipients.
type VerdictPart struct {
	Code   Code          `json:"code"`
	Tone   Tone          `json:"tone" enum:"good,neutral,warn,bad"`
	Text   string        `json:"text"`
	Fix    string        `json:"fix"`
	Params VerdictParams `json:"params"`
}

// Tone says how grave a verdict is.
type Tone string

// The tones. Neutral: nobody need look.
const (
	Good    Tone = "good"
	Neutral Tone = "neutral"
	Warn    Tone = "warn"
	Bad     Tone = "bad"
)

// Facts are what is known of an email.
type Facts struct {
	Relay       string // that it leaves through, or left
	FromDomain  string // of its sender
	BroadcastID string // that it is of; empty: none
	Recipients  []Recipient
	Events      []app.Event // the newest of its timeline, newest first
	Work        *Work       // nil: nothing more of it is to be done
}

// Recipient is one of the envelope.
type Recipient struct {
	Address string
	State   app.LastEvent // app.Queued: it waits
	Listed  Listing
}

// Listing says since when and why an address is on the list of suppressions; zero: it is
// not.
type Listing struct {
	Origin app.SuppressionOrigin
	Since  time.Time
}

// Work is how that stands which is still to be done.
type Work struct {
	Wait   Wait
	NextAt time.Time // of WaitTime, WaitRetry and WaitQuota; zero: nobody can say
	// Attempts is how many tries were begun.
	Attempts int
	// GivesUpAt is when it is tried no more unless clocks stand meanwhile; zero: never, or
	// not known.
	GivesUpAt time.Time
	Held      app.HoldReason // of WaitRelease
	HeldAt    time.Time
	Blocker   Blocker // of WaitBlocked
}

// Wait says what mail waits for.
type Wait string

// The waits.
const (
	WaitTurn    Wait = "turn"    // it can leave now
	WaitReply   Wait = "reply"   // it is being handed to its relay
	WaitTime    Wait = "time"    // for its own time
	WaitRetry   Wait = "retry"   // for its next try
	WaitRelease Wait = "release" // it is held
	WaitQuota   Wait = "quota"   // for another day of its team's quota
	WaitPace    Wait = "pace"    // for its turn in its broadcast
	WaitBlocked Wait = "door"    // for what Door says
)

// Blocker is why nothing of somebody leaves through a relay.
type Blocker struct {
	Kind   BlockerKind
	Reason string    // of Suspended: what the operator says; may be empty
	Since  time.Time // of Suspended and Paused
	Until  time.Time // of Paused; zero: until it is resumed
	// Trouble is what the relay met, of Resting and Used.
	Trouble app.RelayTrouble
}

// BlockerKind says who keeps a door shut; empty: it is open.
type BlockerKind string

// The kinds.
const (
	Suspended      BlockerKind = "suspended"       // the operator, for the team
	NoRelay        BlockerKind = "no_relay"        // there is none at all
	NoRegion       BlockerKind = "no_region"       // there is none for this region
	Paused         BlockerKind = "paused"          // the operator, for the relay
	BreakerOpen    BlockerKind = "resting"         // the relay takes nothing, of everybody or of one domain
	LimitReached   BlockerKind = "used"            // the relay's daily limit, or the team's share of it
	TeamGuardrail  BlockerKind = "team_guardrail"  // the team's rates, for its broadcasts
	RelayGuardrail BlockerKind = "relay_guardrail" // the relay's rates, for all broadcasts
)

// Of is the verdict on an email.
func Of(f *Facts) Verdict {
	ends := f.outcomes()
	groups := grouped(ends)
	if len(groups) == 1 {
		p := groups[0].part()
		return Verdict{Code: p.Code, Tone: p.Tone, Text: p.Text, Fix: p.Fix, Params: p.Params}
	}
	return f.mixed(groups)
}
