package app

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// RecipientTypes are what a list of a broadcast's recipients can be asked for: the
// values of LastEvent and some more.
const RecipientTypes = "sent, delivery_delayed, delivered, opened, not_opened, clicked, not_clicked, bounced, complained, unsubscribed, suppressed, failed, canceled or queued"

// notReached are the bits of mail that reached nobody.
const notReached = SeenBounced | SeenComplained | SeenSuppressed | SeenFailed | SeenCanceled

// RecipientQuery picks recipients of a broadcast; what is empty picks all.
type RecipientQuery struct {
	// Type names what happened to them, whatever happened afterwards; "queued":
	// nothing yet.
	Type string
	// Email is a part of the address. Case makes no difference to the letters of
	// ASCII.
	Email string
	// Bounce picks among those that bounced; in lower or upper case.
	Bounce BounceType
}

// Validate checks the query and puts Bounce in the form of its constants. Errors:
// CodeValidation.
func (q *RecipientQuery) Validate() error {
	if with, without := q.Bits(); q.Type != "" && with|without == 0 {
		return Invalid("type", "must be %s", RecipientTypes)
	}
	if q.Bounce == "" {
		return nil
	}
	known := false
	for _, t := range []BounceType{BouncePermanent, BounceTransient, BounceUndetermined} {
		if strings.EqualFold(string(t), string(q.Bounce)) {
			q.Bounce, known = t, true
		}
	}
	switch {
	case !known:
		return Invalid("bounce_type", "must be permanent, transient or undetermined")
	case q.Type == "":
		q.Type = string(Bounced)
	case q.Type != string(Bounced):
		return Invalid("bounce_type", "goes with `type` bounced only")
	}
	return nil
}

// Bits are what those have that the query picks: one of with, 0: it asks for none, and
// none of without.
func (q *RecipientQuery) Bits() (with, without Seen) {
	switch q.Type {
	case "queued":
		return 0, SeenEnded
	case "unsubscribed":
		return SeenUnsubscribed, 0
	case "not_opened":
		return SeenSent | SeenDelivered, notReached | SeenOpened | SeenClicked
	case "not_clicked":
		return SeenSent | SeenDelivered, notReached | SeenClicked
	}
	return SeenOf(LastEvent(q.Type)), 0
}

// Waiting reports whether the query picks those that still wait.
func (q *RecipientQuery) Waiting() bool { return q.Type == "queued" }

// CanceledFrom returns the number behind which the recipients of a canceled broadcast
// are canceled without any trace of their own; ok is false for any other one.
func (b *Broadcast) CanceledFrom() (n int64, ok bool) {
	return b.Started, b.Status == CanceledBroadcast
}

// SeenOf is what happened to one of the broadcast's recipients: what was noted,
// and the cancel that met those which were never begun.
func (b *Broadcast) SeenOf(r *BroadcastRecipient) Seen {
	last, canceled := b.CanceledFrom()
	if n, ok := BroadcastEmailNumber(r.ID); canceled && ok && n > last {
		return r.Seen | SeenCanceled
	}
	return r.Seen
}

// RecipientRow is a recipient as a list shows it.
type RecipientRow struct {
	ID        string
	ContactID string // empty: the contact was deleted
	Email     string
	LastEvent LastEvent
	State     State
	Count     int          // how often it opened, or clicked; 0: not asked for
	Bounce    BounceType   // empty: it did not bounce, or was not asked for
	Links     []LinkClicks // those that were followed, where asked for
}

// LinkClicks says how often one recipient followed a link.
type LinkClicks struct {
	URL    string
	Clicks int64
}

// BroadcastLink is a link of a broadcast and how often it was followed.
type BroadcastLink struct {
	ID     string
	URL    string // as the content has it
	Clicks int64
	People int64 // recipients who followed it
}

// BroadcastEmailNumber is the n that BroadcastEmailID made an id of; ok is false for no such id.
func BroadcastEmailNumber(emailID string) (n int64, ok bool) {
	if len(emailID) != emailIDPrefixLen+8 {
		return 0, false
	}
	n, err := strconv.ParseInt(emailID[emailIDPrefixLen:], 16, 64)
	return n, err == nil && n > 0
}

// IDAfter is an id of a time that stands after another one, also where clocks were
// set back: always the same for the same two.
func IDAfter(id string, t time.Time) string {
	ms := t.UnixMilli()
	if own, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64); err == nil {
		ms = max(ms, own+1)
	}
	text := fmt.Sprintf("%012x", ms)
	return text[:8] + "-" + text[8:12] + id[13:]
}
