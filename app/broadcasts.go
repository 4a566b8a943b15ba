package app

import (
	"fmt"
	"time"
)

// BroadcastStatus is the state of a broadcast.
type BroadcastStatus string

// The states of a broadcast. A draft can be edited and deleted, a scheduled or queued one can be
// canceled. No state returns to an earlier one.
const (
	DraftBroadcast     BroadcastStatus = "draft"
	ScheduledBroadcast BroadcastStatus = "scheduled"
	QueuedBroadcast    BroadcastStatus = "queued" // being sent
	SentBroadcast      BroadcastStatus = "sent"   // no recipient is left to try
	CanceledBroadcast  BroadcastStatus = "canceled"
)

// Broadcast is one mail to many contacts with its progress. Lists leave out the content.
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
	EmailIDPrefix string     // common prefix of the ids of its emails; empty: not queued yet
	Audience      int64      // recipients counted when it was sent; 0: a draft
	MaxContactID  string     // newest contact when it was queued
	Stored        int64      // recipients expanded so far
	Expanded      bool       // all recipients are expanded
	Started       int64      // recipients of Stored that have or had a unit
	Open          int64      // units not finished
	Held          HoldReason // empty: not held
	Archive       *bool      // in the archive of its topic; nil: if it is sent to the whole topic
	Counts        BroadcastCounts
	CreatedAt     time.Time
	// ScheduledAt, QueuedAt, SentAt and CanceledAt are zero until the state is reached.
	ScheduledAt, QueuedAt, SentAt, CanceledAt time.Time
	PausedAt                                  time.Time // zero: not paused; only while queued
	BroadcastContent
}

// BroadcastCounts counts recipients by event, each recipient at most once per event. Canceled
// counts only recipients that were started.
type BroadcastCounts struct {
	Sent, DeliveryDelayed, Delivered, Opened, Clicked, Bounced, Complained int64
	Suppressed, Failed, Canceled, Unsubscribed                             int64
}

// BroadcastContent is the content of a broadcast before placeholders are filled.
type BroadcastContent struct {
	Syntax   Syntax
	Variants Variants
	Preview  string  // preview text of mail readers; empty: none
	HTML     string  // empty: none
	Text     *string // nil: derived from HTML; empty: none
	Design   string  // JSON document of the visual editor that HTML was made from; empty: none
	Snapshot *BroadcastSnapshot
	// Attachments are the files of all recipients' mail. Content is nil if only the metadata was
	// requested.
	Attachments []Attachment
}

// BroadcastSnapshot holds the settings that were fixed when the broadcast was sent.
type BroadcastSnapshot struct {
	// Filter is the filter of the segment; nil: no segment, or only members added by hand.
	Filter    *Filter           `json:"filter,omitzero"`
	Fallbacks map[string]string `json:"fallbacks,omitzero"` // fallbacks of the team's properties by key
	Numbers   map[string]bool   `json:"numbers,omitzero"`   // properties of the team that are numbers
	Tracking  *Tracking         `json:"tracking,omitzero"`  // nil: opens and clicks are not tracked
	Pages     string            `json:"pages"`              // base URL of hosted pages
	NoDMARC   bool              `json:"no_dmarc,omitzero"`  // Domain.NoDMARC
	Blocks    Blocks            `json:"blocks,omitzero"`    // saved blocks that the content uses
	// ReplyAddresses: each mail gets a reply address that names it, if the broadcast has no reply_to.
	ReplyAddresses bool `json:"reply_addresses,omitzero"`
}

// Remaining returns the number of recipients that were not started.
func (b *Broadcast) Remaining() int64 {
	if b.Expanded {
		return b.Stored - b.Started
	}
	return max(b.Audience, b.Stored) - b.Started
}

// BroadcastRecipient is a contact in the snapshot that was taken when the broadcast was queued.
type BroadcastRecipient struct {
	ID        string // id of the email
	ContactID string
	Email     string
	Fields    map[string]string // values of the contact that the content uses, by placeholder key
	Language  string            // of the variant that it gets; empty: the broadcast itself
	Seen      Seen
}

// LanguageCounts are the numbers of recipients that got a broadcast in one language.
type LanguageCounts struct {
	Language   string // empty: the broadcast itself
	Recipients int64  // expanded so far
	BroadcastCounts
}

// Audience selects the contacts of a broadcast: those of its segment, or all, that are not
// unsubscribed, not suppressed, and opted in to its topic.
type Audience struct {
	TeamID       string
	SegmentID    string       // empty: all contacts
	Filter       *Filter      // filter of the segment; nil with a SegmentID: only members added by hand
	TopicID      string       // empty: none
	Default      Subscription // subscription of contacts without a choice about the topic
	MaxContactID string       // newest contact; empty: no limit
}

// emailIDPrefixLen is the length of the common prefix of a broadcast's email ids. The rest of an
// id is the recipient's number in 8 hexadecimal digits.
const emailIDPrefixLen = 28

// NewEmailIDPrefix returns the prefix for the email ids of one broadcast: a new UUID v7 without
// its last 32 bits.
func NewEmailIDPrefix() string { return NewID()[:emailIDPrefixLen] }

// EmailIDPrefixOf returns the prefix of one of a broadcast's email ids.
func EmailIDPrefixOf(emailID string) string { return emailID[:min(len(emailID), emailIDPrefixLen)] }

// BroadcastEmailID returns the id of the email to a broadcast's n-th recipient, from 1.
func BroadcastEmailID(mails string, n int64) string { return fmt.Sprintf("%s%08x", mails, n) }

// Seen is the set of events of the email of a broadcast's recipient, one bit each. The bits are
// ranked like last_event, so the highest bit is the last event in whatever order events arrive. 0:
// waiting, or never started.
type Seen int64

// The bits of Seen.
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
	SeenUnsubscribed // not a value of last_event
	SeenReplied      // neither; the recipient answered
)

// SeenEnded are the bits of outcomes: a recipient with one of them does not wait any more.
const SeenEnded = SeenSent | SeenDelivered | SeenOpened | SeenClicked | SeenBounced | SeenComplained | SeenSuppressed | SeenFailed | SeenCanceled

var seenEvents = []struct {
	bit   Seen
	event LastEvent
}{
	{SeenCanceled, Canceled}, {SeenFailed, Failed}, {SeenSuppressed, Suppressed}, {SeenComplained, Complained}, {SeenBounced, Bounced},
	{SeenClicked, Clicked}, {SeenOpened, Opened}, {SeenDelivered, Delivered}, {SeenDelayed, DeliveryDelayed}, {SeenSent, Sent},
}

// SeenOf returns the bit of an event, 0 if it has none.
func SeenOf(event LastEvent) Seen {
	for _, s := range seenEvents {
		if s.event == event {
			return s.bit
		}
	}
	return 0
}

// LastEvent returns the event of the highest bit.
func (s Seen) LastEvent() LastEvent {
	for _, e := range seenEvents {
		if s&e.bit != 0 {
			return e.event
		}
	}
	return Queued
}
