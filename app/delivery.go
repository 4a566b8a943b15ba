package app

import (
	"crypto"
	"time"
)

// Stage is the step of an SMTP transaction that a result belongs to.
type Stage string

// The stages in their order. StageDot is the reply to the final dot.
const (
	StageCompose Stage = "compose"
	StageConnect Stage = "connect"
	StageTLS     Stage = "tls"
	StageAuth    Stage = "auth"
	StageMail    Stage = "mail"
	StageRcpt    Stage = "rcpt"
	StageData    Stage = "data"
	StageDot     Stage = "dot"
)

// Reply is what a relay answered, or, with Code 0, what was seen instead of an
// answer (a timeout, a closed connection), in words.
type Reply struct {
	Code     int    // RFC 5321 4.2; 0: none
	Enhanced string // RFC 3463, like "5.1.1"; empty: none
	Text     string // one line, at most 500 bytes, printable
}

// DKIMKey signs for a domain under a selector (RFC 6376).
type DKIMKey struct {
	Domain   string
	Selector string
	Signer   crypto.Signer
}

// Outgoing is one SMTP transaction to carry out: a message and those of its
// recipients that still need it.
type Outgoing struct {
	EmailID string
	TeamID  string
	// Shared: mail of other teams may want the relay too, so that this team's must not
	// hold all of its connections for long.
	Shared       bool
	EnvelopeFrom string
	Recipients   []string
	MessageID    string    // without angle brackets
	Date         time.Time // acceptance: repeated on each attempt
	Mail         *Mail
	DKIM         *DKIMKey // nil: not signed
	Bulk         bool     // of a broadcast: whatever is not goes first
	// Signature is the DKIM-Signature field of an earlier final dot, CRLF
	// included. It is used again instead of signing, so that a repeated message
	// has the same bytes.
	Signature string
}

// ResultKind says what a transaction came to.
type ResultKind string

// The kinds of result.
const (
	// ResultDone: every recipient has a verdict of its own.
	ResultDone ResultKind = "done"
	// ResultTrouble: nothing was decided on the recipients that it does not name. At
	// StageConnect, StageTLS and StageAuth the relay itself can't be used: no
	// connection works. At a later stage one connection ended in the midst of the
	// transaction (421 and its like, a timeout, a line that dropped before the dot);
	// who was answered before keeps the answer.
	ResultTrouble ResultKind = "trouble"
	// ResultWithdrawn: hold answered an error, the dot was not sent.
	ResultWithdrawn ResultKind = "withdrawn"
	// ResultDoubt: the final dot was sent and no reply came.
	ResultDoubt ResultKind = "doubt"
	// ResultDeferred: a 4xx that names no recipient (MAIL, DATA, the dot).
	ResultDeferred ResultKind = "deferred"
	// ResultRefused: a 5xx that names no recipient (MAIL, DATA, the dot), or a
	// message that this relay can't carry at all (SIZE, SMTPUTF8).
	ResultRefused ResultKind = "refused"
)

// Outcome is a recipient's part of a result.
type Outcome string

// The verdicts. The simulated ones come from test recipients only.
const (
	Accepted         Outcome = "accepted" // the relay took it for this recipient
	Refused          Outcome = "refused"  // 5xx to RCPT
	Postponed        Outcome = "postponed"
	SimulatedSuccess Outcome = "simulated_delivered"
	SimulatedBounce  Outcome = "simulated_bounced"
	SimulatedSpam    Outcome = "simulated_complained"
	SimulatedDelay   Outcome = "simulated_delayed"
	SimulatedBlock   Outcome = "simulated_suppressed"
)

// RecipientResult is the verdict on one recipient and the reply it rests on.
type RecipientResult struct {
	Address string
	Outcome Outcome
	Stage   Stage
	Reply   Reply
}

// Result is what came of an Outgoing. Recipients holds those that were decided
// one by one; Kind, Stage and Reply speak for all others.
type Result struct {
	Kind       ResultKind
	Stage      Stage
	Reply      Reply
	Recipients []RecipientResult
	Captured   []byte // the whole message, by the capture transport only
	// Conversation is the dialogue with the relay where not all took the message, at most
	// 4 KB, without sign-in and message; empty: none. TLS is like "TLS 1.3"; empty: none.
	Conversation, TLS string
	Took              time.Duration // from MAIL on; 0: no transaction began
}

// HoldReason says why mail is held.
type HoldReason string

// The reasons. HoldDamaged: what the mail says can't be read. HoldManual: somebody
// asked for it. HoldPaused: the team paused its broadcast. HoldRestored: it waited in a
// backup that was restored.
const (
	HoldDamaged  HoldReason = "damaged"
	HoldManual   HoldReason = "manual"
	HoldPaused   HoldReason = "paused"
	HoldRestored HoldReason = "restored"
)

// Unit is open work: the transaction of one email, or of one recipient of a
// broadcast, and when to try it next.
type Unit struct {
	EmailID     string // of a broadcast: the recipient's
	BroadcastID string // empty: an email
	TeamID      string
	TopicID     string // empty: none
	Relay       string
	Domain      string // of the sender
	Attempts    int    // begun; relay-wide trouble is not counted
	NextAt      time.Time
	Since       time.Time     // when its clock began (Began); zero: nothing of it was begun, and it begins at NextAt
	ClockStops  []Span        // when that clock stood for this unit alone
	ExpiresIn   time.Duration // of that clock; 0: as the relay or the server has it
	Size        int64         // bytes on the wire, roughly
	Signature   string        // of an earlier final dot; empty: none yet
	// MessageDate is the Date of a broadcast's message: when its turn came. An email's is
	// its acceptance.
	MessageDate time.Time
	// QuotaOwed is how many recipients count against the quota when the unit leaves; 0:
	// they have counted.
	QuotaOwed int64
	// QuotaDelayed: it is in the backlog of its team's daily quota.
	QuotaDelayed bool
	// Crashes is at how many crashes, the latest ones in a row, it was in work.
	Crashes int
	// DeferredAt is when its relay first put it off; zero: it did not.
	DeferredAt time.Time
	// Owner is the server that has it in work, where several share a database.
	Owner string
}

// RelayTrouble is a time during which a relay took nothing, or nothing of one team or
// of one of its domains, or was not asked.
type RelayTrouble struct {
	ID        string
	Relay     string
	TeamID    string // whose mail it is about; empty: everybody's
	Domain    string // of the sender; empty: all of the team's
	StartedAt time.Time
	EndedAt   time.Time // zero: still
	// Failures is 0 where nothing was tried: there is no relay, it is paused, its daily limit
	// is used, or the team is suspended (Relay is empty then).
	Failures   int
	StopsClock bool        // mail that waits does not expire meanwhile: there is no relay, or the team is suspended
	Detail     EventDetail // the latest failure
}
