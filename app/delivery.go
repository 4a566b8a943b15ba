package app

import (
	"crypto"
	"time"
)

// Stage is a step of an SMTP transaction.
type Stage string

// The stages in order. StageDot is the reply to the final dot.
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

// Reply is the answer of a relay, or, with Code 0, a description of what happened instead (a
// timeout, a closed connection).
type Reply struct {
	Code     int    // RFC 5321 4.2; 0: none
	Enhanced string // RFC 3463, like "5.1.1"; empty: none
	Text     string // one line, at most 500 bytes, printable
}

// DKIMKey is a signing key for a domain and selector (RFC 6376).
type DKIMKey struct {
	Domain   string
	Selector string
	Signer   crypto.Signer
}

// Outgoing is one SMTP transaction to carry out: a message and those of its recipients that are
// still to be sent.
type Outgoing struct {
	EmailID string
	TeamID  string
	// Shared: other teams may use the relay too, so this mail must not hold all of its connections
	// for long.
	Shared       bool
	EnvelopeFrom string
	Recipients   []string
	MessageID    string    // without angle brackets
	Date         time.Time // time of acceptance, the same on each attempt
	Mail         *Mail
	DKIM         *DKIMKey // nil: not signed
	Bulk         bool     // mail of a broadcast, which is sent after all other mail
	// Signature is the DKIM-Signature field of an earlier attempt that reached its final dot, with
	// CRLF. It is used again instead of signing, so that a repeated message has the same bytes.
	Signature string
}

// ResultKind is the kind of a transaction's result.
type ResultKind string

// The kinds of results.
const (
	// ResultDone: each recipient has its own outcome.
	ResultDone ResultKind = "done"
	// ResultTrouble: nothing was decided on the recipients that the result does not name. At
	// StageConnect, StageTLS and StageAuth the relay can't be used at all. At a later stage one
	// connection ended within the transaction (421, a timeout, a connection lost before the final
	// dot); recipients that were answered before keep their answer.
	ResultTrouble ResultKind = "trouble"
	// ResultWithdrawn: the final check refused, and the final dot was not sent.
	ResultWithdrawn ResultKind = "withdrawn"
	// ResultDoubt: the final dot was sent and no reply came.
	ResultDoubt ResultKind = "doubt"
	// ResultDeferred: a 4xx reply that names no recipient (MAIL, DATA, the final dot).
	ResultDeferred ResultKind = "deferred"
	// ResultRefused: a 5xx reply that names no recipient (MAIL, DATA, the final dot), or a message
	// that this relay can't carry (SIZE, SMTPUTF8).
	ResultRefused ResultKind = "refused"
)

// Outcome is the result of a transaction for one recipient.
type Outcome string

// The outcomes. Simulated outcomes are of test recipients only.
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

// RecipientResult is the outcome of one recipient with the reply that decided it.
type RecipientResult struct {
	Address string
	Outcome Outcome
	Stage   Stage
	Reply   Reply
}

// Result is the result of a transaction. Recipients holds the recipients that were decided one by
// one; Kind, Stage and Reply are about all others.
type Result struct {
	Kind       ResultKind
	Stage      Stage
	Reply      Reply
	Recipients []RecipientResult
	Captured   []byte // the whole message; only by the capture transport
	// Conversation is the SMTP dialogue if a recipient was not accepted, at most 4 KB, without
	// authentication and message content; empty: none. TLS is like "TLS 1.3"; empty: none.
	Conversation, TLS string
	Took              time.Duration // from MAIL; 0: no transaction was started
}

// HoldReason is why mail is held.
type HoldReason string

// The reasons. HoldDamaged: the stored content can't be read. HoldManual: a person held the mail.
// HoldPaused: the team paused its broadcast. HoldRestored: the mail was waiting in a backup that
// was restored.
const (
	HoldDamaged  HoldReason = "damaged"
	HoldManual   HoldReason = "manual"
	HoldPaused   HoldReason = "paused"
	HoldRestored HoldReason = "restored"
)

// Unit is open work: the transaction of one email, or of one recipient of a broadcast, and the
// time of its next attempt.
type Unit struct {
	EmailID     string // of a broadcast: id of the recipient
	BroadcastID string // empty: not of a broadcast
	TeamID      string
	TopicID     string // empty: none
	Relay       string // its queue: see QueueRegion
	// Part is the queue of the recipients that the unit is sent to next, if an email has recipients in
	// several queues: see db.Tx.SplitRecipients. Empty: to all.
	Part       string
	Domain     string // of the sender
	Attempts   int    // attempts that were started, without those that failed because of the relay
	NextAt     time.Time
	Since      time.Time     // start of the unit's clock (ClockStart); zero: not started yet, NextAt counts
	ClockStops []Span        // times at which the clock was stopped for this unit alone
	ExpiresIn  time.Duration // maximum age by the unit's clock; 0: the default of relay or server
	Size       int64         // approximate bytes on the wire
	Signature  string        // DKIM-Signature of an earlier attempt that reached its final dot; empty: none
	// MessageDate is the Date of a broadcast's message: the time at which the unit was made. Other
	// emails use the time of acceptance.
	MessageDate time.Time
	// QuotaOwed is how many recipients count against the quota when the unit is sent; 0: they have
	// been counted.
	QuotaOwed int64
	// Hidden: the email confirms an opt-in, so that nothing about it is counted or shown. It is set when
	// the result of its message is recorded, and not stored.
	Hidden bool
	// ForwardID is the destination to which the email forwards a received one; empty: another email. It is set like
	// Hidden, and not stored.
	ForwardID string
	// QuotaDelayed: the unit is in the backlog of its team's daily quota.
	QuotaDelayed bool
	// Crashes counts consecutive crashes of the server during which the unit was in work.
	Crashes int
	// DeferredAt is when its relay first deferred it; zero: never.
	DeferredAt time.Time
	// Automated says whether an automation sent the email.
	Automated Automated
	// Owner is the server that works on the unit, where several servers share a database.
	Owner string
}

// Automated says whether an automation sent an email, and what its recipient must have agreed to.
type Automated string

// The values of Automated.
const (
	NotAutomated           Automated = ""              // other mail
	AutomatedMarketing     Automated = "marketing"     // its recipient must not have unsubscribed, from its topic or altogether
	AutomatedTransactional Automated = "transactional" // sent whatever its recipient agreed to
)

// RelayTrouble is a period in which a relay accepted nothing, or nothing of one team or one of its
// domains, or was not used.
type RelayTrouble struct {
	ID        string
	Relay     string
	TeamID    string // the team whose mail is affected; empty: all teams
	Domain    string // domain of the sender; empty: all domains of the team
	StartedAt time.Time
	EndedAt   time.Time // zero: it lasts
	// Failures is 0 if nothing was attempted: there is no relay, it is paused, its daily limit is
	// reached, or the team is suspended (then Relay is empty).
	Failures   int
	StopsClock bool        // waiting mail does not expire meanwhile: there is no relay, or the team is suspended
	Detail     EventDetail // the latest failure
}
