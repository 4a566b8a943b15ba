package app

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// RecipientTypes lists the values that RecipientQuery.Type accepts.
const RecipientTypes = "sent, delivery_delayed, delivered, opened, not_opened, clicked, not_clicked, bounced, complained, unsubscribed, suppressed, failed, canceled or queued"

// notReached are the bits of mail that did not reach its recipient.
const notReached = SeenBounced | SeenComplained | SeenSuppressed | SeenFailed | SeenCanceled

// RecipientQuery selects recipients of a broadcast. An empty field selects all.
type RecipientQuery struct {
	// Type is an event that the recipient had, regardless of later events, or "queued" for none.
	Type string
	// Email is a part of the address. ASCII letters match in either case.
	Email string
	// Bounce selects by the type of bounce, in lower or upper case.
	Bounce BounceType
}

// Validate checks the query and replaces Bounce by its constant. Errors: CodeValidation.
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

// Bits returns the query as bits: a recipient matches if it has one of with (any if 0) and none of
// without.
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

// Waiting reports whether the query selects recipients without an outcome.
func (q *RecipientQuery) Waiting() bool { return q.Type == "queued" }

// CanceledFrom returns n for a canceled broadcast: recipients with a number above n were canceled
// before they were started and have no event of their own. ok is false for broadcasts in other
// states.
func (b *Broadcast) CanceledFrom() (n int64, ok bool) {
	return b.Started, b.Status == CanceledBroadcast
}

// SeenOf returns the event bits of a recipient. It includes the cancellation of recipients that
// were never started.
func (b *Broadcast) SeenOf(r *BroadcastRecipient) Seen {
	last, canceled := b.CanceledFrom()
	if n, ok := BroadcastEmailNumber(r.ID); canceled && ok && n > last {
		return r.Seen | SeenCanceled
	}
	return r.Seen
}

// RecipientRow is a recipient as the API lists it.
type RecipientRow struct {
	ID        string
	ContactID string // empty: the contact was deleted
	Email     string
	LastEvent LastEvent
	State     State
	Count     int          // opens or clicks; 0: not requested
	Bounce    BounceType   // empty: no bounce, or not requested
	Links     []LinkClicks // links that were clicked, if requested
}

// LinkClicks counts the clicks of one recipient on one link.
type LinkClicks struct {
	URL    string
	Clicks int64
}

// BroadcastLink is a link of a broadcast with its clicks.
type BroadcastLink struct {
	ID     string
	URL    string // as written in the content
	Clicks int64
	People int64 // recipients who clicked it
}

// BroadcastEmailNumber returns the n for which BroadcastEmailID made the id; ok is false for other
// ids.
func BroadcastEmailNumber(emailID string) (n int64, ok bool) {
	if len(emailID) != emailIDPrefixLen+8 {
		return 0, false
	}
	n, err := strconv.ParseInt(emailID[emailIDPrefixLen:], 16, 64)
	return n, err == nil && n > 0
}

// IDAfter returns an id with time t that sorts after id even if the clock was set back. It returns
// the same result for the same arguments.
func IDAfter(id string, t time.Time) string {
	ms := t.UnixMilli()
	if own, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64); err == nil {
		ms = max(ms, own+1)
	}
	text := fmt.Sprintf("%012x", ms)
	return text[:8] + "-" + text[8:12] + id[13:]
}
