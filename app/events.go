package app

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// EventType is the type of an event in an email's timeline: a value of last_event, or one of the
// types below, which do not change last_event.
type EventType string

// Event types that are not values of LastEvent.
const (
	// EventDeferred: the relay deferred the email, which waits for its next attempt.
	EventDeferred EventType = "deferred"
	// EventInDoubt: the final dot was sent and no reply was received.
	EventInDoubt EventType = "in_doubt"
	// EventInterrupted: the server stopped during an attempt, before the final dot.
	EventInterrupted EventType = "interrupted"
	// EventHeld: the email is not sent until it is released.
	EventHeld EventType = "held"
	// EventReleased: a held email is queued again.
	EventReleased EventType = "released"
	// EventMoved: the email was moved to another relay.
	EventMoved EventType = "moved"
	// EventRequeued: a failed, bounced or captured email is sent again. Its last_event and expiry
	// start again.
	EventRequeued EventType = "requeued"
	// EventResent: the email is a copy of the email with the id Original.
	EventResent EventType = "resent"
	// EventHeadersRemoved: headers with instructions to a provider were removed from a message
	// submitted by SMTP.
	EventHeadersRemoved EventType = "headers_removed"
	// EventQuotaWait: the daily quota is used up; the email waits for another day.
	EventQuotaWait EventType = "quota_wait"
	// EventRescheduled: the caller changed the time of a scheduled email.
	EventRescheduled EventType = "rescheduled"
	// EventRelayTrouble: the relay could not be used; no attempt was counted.
	EventRelayTrouble EventType = "relay_trouble"
	// EventPrefetched: the pixel or a link was fetched by a program, not by a reader.
	EventPrefetched EventType = "prefetched"
	// EventUnsubscribed: the recipient of a broadcast opted out by its link.
	EventUnsubscribed EventType = "unsubscribed"
	// EventAnswered: a recipient answered, and was authenticated.
	EventAnswered EventType = "answered"
	// EventAutoAnswered: a program answered, for instance because the recipient is out of office.
	EventAutoAnswered EventType = "auto_answered"
	// EventAnswerClaimed: a mail claims to answer, but it is not proven that a recipient wrote it.
	EventAnswerClaimed EventType = "answer_claimed"
)

// Event is one event in an email's timeline.
type Event struct {
	ID          string
	TeamID      string
	EmailID     string
	BroadcastID string // empty: not of a broadcast
	Domain      string // domain of the sender whose statistics count the event; empty: not counted, or read back
	Relay       string // relay whose statistics count the event
	Type        EventType
	Recipient   string // empty: all recipients
	Detail      EventDetail
	CreatedAt   time.Time
	Hidden      bool // of a confirmation of an opt-in: nothing about it is shown to the team
}

// EventDetail describes an event in text and codes.
type EventDetail struct {
	Message       string `json:"message,omitzero"`
	Reason        string `json:"reason,omitempty"`        // of a failure, for programs: ReasonExpired or ReasonRenderLimit
	ReplyCode     int    `json:"reply_code,omitempty"`    // RFC 5321 4.2
	EnhancedCode  string `json:"enhanced_code,omitempty"` // RFC 3463
	Reply         string `json:"reply,omitempty"`         // the relay's text
	Stage         Stage  `json:"stage,omitempty"`
	Relay         string `json:"relay,omitempty"`
	Rule          string `json:"rule,omitempty"`    // by which a recipient of a broadcast was routed, in words; part of Message when the event is read
	Because       string `json:"because,omitempty"` // why the mail left through Relay, a reserve of its region
	Attempt       int    `json:"attempt,omitempty"`
	NextAttemptAt string `json:"next_attempt_at,omitempty"`
	TLS           string `json:"tls,omitempty"`         // of an accepted transaction, like "TLS 1.3"
	DurationMs    int64  `json:"duration_ms,omitempty"` // of the accepted transaction
	Original      string `json:"original_id,omitempty"` // id of the email that this one repeats
	Source        string `json:"source,omitempty"`      // source of a report from outside (feedback.Report.Source)
	BounceType    string `json:"bounce_type,omitempty"`
	BounceSubType string `json:"bounce_subtype,omitempty"`
	Diagnostic    string `json:"diagnostic,omitempty"` // text of the receiving server
	Link          string `json:"link,omitempty"`       // the link that was clicked
	UserAgent     string `json:"user_agent,omitempty"` // of the program that opened or clicked; at most 300 bytes
	IPAddress     string `json:"ip_address,omitempty"`
	ReceivedID    string `json:"received_id,omitempty"` // id of the received email that answers
}

// Description returns a sentence about the relay's answer. relay is the name of the relay.
func (d *EventDetail) Description(relay string) string {
	return fmt.Sprintf("Relay %s %s: %s", relay, stageWords[d.Stage], d.Answer())
}

// Answer returns the relay's answer with its codes, or what happened instead of an answer.
func (d *EventDetail) Answer() string {
	answer := d.Reply
	if d.ReplyCode != 0 {
		answer = strings.Join(slices.DeleteFunc([]string{strconv.Itoa(d.ReplyCode), d.EnhancedCode, d.Reply}, func(s string) bool { return s == "" }), " ")
	}
	return answer
}

// stageWords describe the stages of a transaction.
var stageWords = map[Stage]string{
	StageCompose: "while the message was made",
	StageConnect: "while connecting",
	StageTLS:     "while setting up TLS",
	StageAuth:    "while signing in",
	StageMail:    "at the sender (MAIL FROM)",
	StageRcpt:    "at the recipient (RCPT TO)",
	StageData:    "at the message (DATA)",
	StageDot:     "at the end of the message",
}

// Doubt is a transaction with an unknown outcome: the final dot was sent and the reply was lost
// (RFC 5321 4.5.3.2.6).
type Doubt struct {
	ID          string
	TeamID      string
	EmailID     string
	BroadcastID string // empty: not of a broadcast
	MessageID   string
	Recipients  []string
	Relay       string
	CreatedAt   time.Time
	SettledAt   time.Time // zero: open
	Settled     string    // how it was settled; empty: open
}

// BounceType says whether later mail to the address can arrive.
type BounceType string

// The bounce types, named as in Amazon SES events.
const (
	BouncePermanent    BounceType = "Permanent"    // no mail to it will arrive
	BounceTransient    BounceType = "Transient"    // later mail may
	BounceUndetermined BounceType = "Undetermined" // the server's answer does not say
)

// LastEvent is the highest-ranked event of an email.
type LastEvent string

// The values of last_event in the order of their rank.
const (
	Queued          LastEvent = "queued"
	Scheduled       LastEvent = "scheduled"
	Sent            LastEvent = "sent"
	DeliveryDelayed LastEvent = "delivery_delayed"
	Delivered       LastEvent = "delivered"
	Opened          LastEvent = "opened"
	Clicked         LastEvent = "clicked"
	Bounced         LastEvent = "bounced"
	Complained      LastEvent = "complained"
	Suppressed      LastEvent = "suppressed"
	Failed          LastEvent = "failed"
	Canceled        LastEvent = "canceled"
)

// lastEventRank ranks the values: a value is never replaced by a lower one.
var lastEventRank = map[LastEvent]int{
	Queued: 0, Scheduled: 1, Sent: 2, DeliveryDelayed: 3, Delivered: 4, Opened: 5,
	Clicked: 6, Bounced: 7, Complained: 8, Suppressed: 9, Failed: 10, Canceled: 11,
}

// LastEvents returns all values of last_event.
func LastEvents() []LastEvent { return slices.Collect(maps.Keys(lastEventRank)) }

// NextLastEvent returns the higher-ranked of two values, so that the result does not depend on the
// order of events. A value that is not a last_event is ignored.
func NextLastEvent(current, event LastEvent) LastEvent {
	rank, known := lastEventRank[event]
	if !known || rank <= lastEventRank[current] {
		return current
	}
	return event
}

// State is the current state of an email: its last event, or what it waits for. Lists, pages,
// filters, CSV and tools show it beside last_event.
type State string

// The states that are not values of last_event. All other states are named like the last event.
const (
	Deferred State = "deferred" // deferred by the relay, to be tried again
	Held     State = "held"     // not sent until it is released
	Captured State = "captured" // stored by the capture transport instead of being sent
)

// States returns all states, in the order in which an email can reach them.
func States() []State {
	return []State{State(Scheduled), State(Queued), Deferred, Held, Captured, State(Sent), State(DeliveryDelayed), State(Delivered),
		State(Opened), State(Clicked), State(Bounced), State(Complained), State(Suppressed), State(Failed), State(Canceled)}
}

// Situation is the remaining work of an email.
type Situation string

// The values of Situation.
const (
	Finished         Situation = "over"     // no work
	FinishedCaptured Situation = "captured" // no work; the relay is the capture transport
	WaitsInQueue     Situation = "turn"     // ready, or waiting for its relay or a quota
	WaitsScheduled   Situation = "time"     // waiting for its scheduled time
	WaitsRetry       Situation = "retry"    // deferred by its relay
	WaitsRelease     Situation = "held"     // held
)

// Situations returns all situations.
func Situations() []Situation {
	return []Situation{Finished, FinishedCaptured, WaitsInQueue, WaitsScheduled, WaitsRetry, WaitsRelease}
}

// StateOf returns the state of an email. A final failure of any recipient counts first, then a
// hold or a deferral of any recipient, then the last event.
func StateOf(last LastEvent, now Situation) State {
	switch last {
	case Bounced, Complained, Failed, Canceled:
		return State(last)
	}
	switch {
	case now == WaitsRelease:
		return Held
	case now == WaitsRetry:
		return Deferred
	case now == FinishedCaptured && last == Sent:
		return Captured
	}
	switch last {
	case Queued, Scheduled, Suppressed: // suppressed: some recipients were skipped, the others wait
		if now == WaitsScheduled {
			return State(Scheduled)
		}
		if now == WaitsInQueue {
			return State(Queued)
		}
	}
	return State(last)
}
