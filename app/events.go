package app

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// EventType names a line of an email's timeline: the values of last_event, and
// the types below, which move no last_event.
type EventType string

// Types of the timeline beyond the values of LastEvent.
const (
	// EventDeferred: the relay refused for now; the email waits for its next try.
	EventDeferred EventType = "deferred"
	// EventInDoubt: the final dot was sent and no reply came back.
	EventInDoubt EventType = "in_doubt"
	// EventInterrupted: the server stopped in the midst of an attempt, before its dot.
	EventInterrupted EventType = "interrupted"
	// EventHeld: the email leaves only once it is released.
	EventHeld EventType = "held"
	// EventReleased: what was held waits for its turn again.
	EventReleased EventType = "released"
	// EventMoved: the email leaves through another relay.
	EventMoved EventType = "moved"
	// EventRequeued: what failed, bounced or was captured is sent again. With it
	// last_event, its rank and the expiry begin anew.
	EventRequeued EventType = "requeued"
	// EventResent: the email says what another one said, whose id is Original.
	EventResent EventType = "resent"
	// EventHeadersRemoved: headers of a message by SMTP gave orders to somebody else.
	EventHeadersRemoved EventType = "headers_removed"
	// EventQuotaWait: the day's quota is used; the email waits for another day's.
	EventQuotaWait EventType = "quota_wait"
	// EventRescheduled: the caller moved a scheduled email to another time.
	EventRescheduled EventType = "rescheduled"
	// EventRelayTrouble: the relay could not be used at all; no attempt counted.
	EventRelayTrouble EventType = "relay_trouble"
	// EventPrefetched: the pixel or a link was fetched, and not by a reader.
	EventPrefetched EventType = "prefetched"
	// EventUnsubscribed: the recipient of a broadcast opted out through its link.
	EventUnsubscribed EventType = "unsubscribed"
)

// Event is a line of an email's timeline.
type Event struct {
	ID          string
	TeamID      string
	EmailID     string
	BroadcastID string // empty: of an email
	Domain      string // of the sender, under which it counts; empty: it does not, or was read
	Type        EventType
	Recipient   string // empty: the whole email
	Detail      EventDetail
	CreatedAt   time.Time
}

// EventDetail says in words and in codes what happened.
type EventDetail struct {
	Message       string `json:"message,omitzero"`
	Reason        string `json:"reason,omitempty"`        // of a failure, in one word for programs: ReasonExpired
	ReplyCode     int    `json:"reply_code,omitempty"`    // RFC 5321 4.2
	EnhancedCode  string `json:"enhanced_code,omitempty"` // RFC 3463
	Reply         string `json:"reply,omitempty"`         // the relay's own words
	Stage         Stage  `json:"stage,omitempty"`
	Relay         string `json:"relay,omitempty"`
	Attempt       int    `json:"attempt,omitempty"`
	NextAttemptAt string `json:"next_attempt_at,omitempty"`
	TLS           string `json:"tls,omitempty"`         // of what the relay took, like "TLS 1.3"
	DurationMs    int64  `json:"duration_ms,omitempty"` // of that transaction
	Original      string `json:"original_id,omitempty"` // the email that this one is sent again of
	Source        string `json:"source,omitempty"`      // Feedback.Source, of what was reported from outside
	BounceType    string `json:"bounce_type,omitempty"`
	BounceSubType string `json:"bounce_subtype,omitempty"`
	Diagnostic    string `json:"diagnostic,omitempty"` // the receiving server's words
	Link          string `json:"link,omitempty"`       // that was followed
	UserAgent     string `json:"user_agent,omitempty"` // of who opened or followed; at most 300 bytes
	IPAddress     string `json:"ip_address,omitempty"`
}

// Description say what a relay answered, from the codes of d; relay names it.
func (d *EventDetail) Description(relay string) string {
	return fmt.Sprintf("Relay %s %s: %s", relay, stageWords[d.Stage], d.Answer())
}

// Answer is what a relay answered, or what came instead.
func (d *EventDetail) Answer() string {
	answer := d.Reply
	if d.ReplyCode != 0 {
		answer = strings.Join(slices.DeleteFunc([]string{strconv.Itoa(d.ReplyCode), d.EnhancedCode, d.Reply}, func(s string) bool { return s == "" }), " ")
	}
	return answer
}

// stageWords say where in a transaction something happened.
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

// Doubt is a transaction whose outcome at the relay is unknown: the final dot
// was sent, the reply was lost (RFC 5321 4.5.3.2.6).
type Doubt struct {
	ID          string
	TeamID      string
	EmailID     string
	BroadcastID string // empty: of an email
	MessageID   string
	Recipients  []string
	Relay       string
	CreatedAt   time.Time
	SettledAt   time.Time // zero: open
	Settled     string    // in words; empty: open
}

// BounceType says whether a bounced address is worth another email.
type BounceType string

// The types of bounce, in the words of Amazon SES, which readers of events know.
const (
	BouncePermanent    BounceType = "Permanent"    // no mail to it will arrive
	BounceTransient    BounceType = "Transient"    // later mail may
	BounceUndetermined BounceType = "Undetermined" // its server's words say neither
)

// LastEvent is the furthest thing that happened to an email.
type LastEvent string

// The values of last_event, by rank.
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

// lastEventRank orders the values: a higher one is never replaced by a lower.
var lastEventRank = map[LastEvent]int{
	Queued: 0, Scheduled: 1, Sent: 2, DeliveryDelayed: 3, Delivered: 4, Opened: 5,
	Clicked: 6, Bounced: 7, Complained: 8, Suppressed: 9, Failed: 10, Canceled: 11,
}

// LastEvents are all values of last_event.
func LastEvents() []LastEvent { return slices.Collect(maps.Keys(lastEventRank)) }

// NextLastEvent is the higher of two values by rank, so that events end in the
// same value in whatever order they arrive. A value that is no last_event
// changes nothing.
func NextLastEvent(current, event LastEvent) LastEvent {
	rank, known := lastEventRank[event]
	if !known || rank <= lastEventRank[current] {
		return current
	}
	return event
}

// State is the one word for how an email is now: what happened to it last, and, while it
// is not over, what it waits for. Lists, pages, filters, CSV and tools show it. last_event
// beside it is the furthest thing that happened.
type State string

// The states that are not values of last_event. The others are called as the last event.
const (
	Deferred State = "deferred" // the relay put it off, and it is tried again
	Held     State = "held"     // it leaves only once it is released
	Captured State = "captured" // the capture transport kept it instead of sending it
)

// States are all states, in the order in which an email can come to them.
func States() []State {
	return []State{State(Scheduled), State(Queued), Deferred, Held, Captured, State(Sent), State(DeliveryDelayed), State(Delivered),
		State(Opened), State(Clicked), State(Bounced), State(Complained), State(Suppressed), State(Failed), State(Canceled)}
}

// Situation says what is still to be done for an email.
type Situation string

// The situations.
const (
	Finished         Situation = "over"     // nothing
	FinishedCaptured Situation = "captured" // nothing, and its relay is the capture transport
	WaitsInQueue     Situation = "turn"     // it can leave, or waits for its relay or a quota
	WaitsScheduled   Situation = "time"     // it waits for its own time
	WaitsRetry       Situation = "retry"    // its relay put it off
	WaitsRelease     Situation = "held"     // it is held
)

// Situations are all situations.
func Situations() []Situation {
	return []Situation{Finished, FinishedCaptured, WaitsInQueue, WaitsScheduled, WaitsRetry, WaitsRelease}
}

// StateOf is the state of an email: of its recipients the gravest end counts, then that
// it is held or put off for some, then what happened last.
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
	case Queued, Scheduled, Suppressed: // suppressed: some recipients were left out, the others wait
		if now == WaitsScheduled {
			return State(Scheduled)
		}
		if now == WaitsInQueue {
			return State(Queued)
		}
	}
	return State(last)
}
