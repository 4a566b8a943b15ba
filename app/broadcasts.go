package app

import (
	"fmt"
	"time"
)

// BroadcastStatus says how far a broadcast is.
type BroadcastStatus string

// The states of a broadcast. A draft can be edited and deleted; a scheduled or
// queued one can be canceled; nothing leads back.
const (
	DraftBroadcast     BroadcastStatus = "draft"
	ScheduledBroadcast BroadcastStatus = "scheduled"
	QueuedBroadcast    BroadcastStatus = "queued" // its mail is leaving
	SentBroadcast      BroadcastStatus = "sent"   // nothing is left to try
	CanceledBroadcast  BroadcastStatus = "canceled"
)

// Broadcast is one mail to many contacts, and how far it is. Lists leave its
// content out.
type Broadcast struct {
	ID            string
	TeamID        string
	Name          string
	SegmentID     string // empty: all contacts
	TopicID       string // empty: none
	From          Address
	ReplyTo       []Address
	Subject       string // with placeholders
	Status        BroadcastStatus
	Relay         string     // region; empty: a draft
	EmailIDPrefix string     // what the ids of its emails begin with; empty: not begun
	Audience      int64      // recipients, as counted when it was sent; 0: a draft
	MaxContactID  string     // id of the newest contact when it was queued
	Stored        int64      // recipients that are written down
	Expanded      bool       // all of them are
	Started       int64      // of the written ones: they have, or had, a unit
	Open          int64      // units
	Held          HoldReason // empty: it is not
	Counts        BroadcastCounts
	CreatedAt     time.Time
	// ScheduledAt, QueuedAt, SentAt and CanceledAt are zero until then.
	ScheduledAt, QueuedAt, SentAt, CanceledAt time.Time
	PausedAt                                  time.Time // of a queued one; zero: it is not paused
	BroadcastContent
}

// BroadcastCounts are numbers of recipients: each counts once however often the
// thing happened. Canceled counts those that were begun.
type BroadcastCounts struct {
	Sent, DeliveryDelayed, Delivered, Opened, Clicked, Bounced, Complained int64
	Suppressed, Failed, Canceled, Unsubscribed                             int64
}

// BroadcastContent is what a broadcast says to everybody.
type BroadcastContent struct {
	Preview  string  // shown by mail readers beside the subject; empty: none
	HTML     string  // empty: none
	Text     *string // nil: made of HTML; empty: none
	Design   string  // what the visual editor made HTML of, a JSON object; empty: nothing did
	Snapshot *BroadcastSnapshot
}

// BroadcastSnapshot is what the send of a broadcast fixed beside its content.
type BroadcastSnapshot struct {
	// Filter is the segment's; nil: members by hand alone, or no segment.
	Filter    *Filter           `json:"filter,omitzero"`
	Fallbacks map[string]string `json:"fallbacks,omitzero"` // of the team's properties, by key
	Tracking  *Tracking         `json:"tracking,omitzero"`  // nil: opens and clicks are not seen
	Pages     string            `json:"pages"`              // where hosted pages are reached
	NoDMARC   bool              `json:"no_dmarc,omitzero"`  // Domain.NoDMARC
}

// Remaining is how many recipients have not been begun.
func (b *Broadcast) Remaining() int64 {
	if b.Expanded {
		return b.Stored - b.Started
	}
	return max(b.Audience, b.Stored) - b.Started
}

// BroadcastRecipient is one contact of a broadcast, frozen when the broadcast was
// queued.
type BroadcastRecipient struct {
	ID        string // of the email
	ContactID string
	Email     string
	Fields    map[string]string // the contact's values that the content asks for, by placeholder key
	Seen      Seen
}

// Audience says which contacts a broadcast goes to: those of its segment, or all,
// that are not unsubscribed, not suppressed, and opted in to its topic.
type Audience struct {
	TeamID       string
	SegmentID    string       // empty: all contacts
	Filter       *Filter      // the segment's; nil with a SegmentID: members by hand alone
	TopicID      string       // empty: none
	Default      Subscription // of those who chose nothing about the topic
	MaxContactID string       // id of the newest contact; empty: no bound
}

// emailIDPrefixLen is how long the common beginning of a broadcast's email ids is:
// what follows is the recipient's number in 8 hexadecimal digits.
const emailIDPrefixLen = 28

// NewEmailIDPrefix returns what the email ids of one broadcast begin with: all but the last
// 32 bits of a new UUID v7.
func NewEmailIDPrefix() string { return NewID()[:emailIDPrefixLen] }

// EmailIDPrefixOf returns what the ids of a broadcast's emails begin with, from one of them.
func EmailIDPrefixOf(emailID string) string { return emailID[:min(len(emailID), emailIDPrefixLen)] }

// BroadcastEmailID is the id of the email to a broadcast's n-th recipient, from 1.
func BroadcastEmailID(mails string, n int64) string { return fmt.Sprintf("%s%08x", mails, n) }

// Seen are bits of what happened to the email of a broadcast's recipient. Their
// values rank like last_event, so the highest bit is it, in whatever order things
// happened. No bit: it waits, or was never begun.
type Seen int64

// The bits.
const (
	SeenSent Seen = 1 << iota
	SeenDelayed
	SeenDelivered
	SeenOpened
	SeenClicked
	SeenBounced
	SeenComplained
	SeenSuppressed
	SeenFailed
	SeenCanceled
	SeenUnsubscribed // is no last_event
)

// SeenEnded are the bits one of which ends the waiting of a recipient.
const SeenEnded = SeenSent | SeenDelivered | SeenOpened | SeenClicked | SeenBounced | SeenComplained | SeenSuppressed | SeenFailed | SeenCanceled

var seenEvents = []struct {
	bit   Seen
	event LastEvent
}{
	{SeenCanceled, Canceled}, {SeenFailed, Failed}, {SeenSuppressed, Suppressed}, {SeenComplained, Complained}, {SeenBounced, Bounced},
	{SeenClicked, Clicked}, {SeenOpened, Opened}, {SeenDelivered, Delivered}, {SeenDelayed, DeliveryDelayed}, {SeenSent, Sent},
}

// SeenOf returns the bit of an event; 0: it has none.
func SeenOf(event LastEvent) Seen {
	for _, s := range seenEvents {
		if s.event == event {
			return s.bit
		}
	}
	return 0
}

// LastEvent is the furthest thing that happened.
func (s Seen) LastEvent() LastEvent {
	for _, e := range seenEvents {
		if s&e.bit != 0 {
			return e.event
		}
	}
	return Queued
}
