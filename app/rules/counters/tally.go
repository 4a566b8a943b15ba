// Package counters computes what an event adds to the hourly statistics of mail. It does no I/O
// and keeps no state. It can't fail.
package counters

import (
	"time"

	"mailer/app"
)

// Key identifies a counter row.
type Key struct {
	TeamID      string // empty: all teams
	Hour        int64  // Unix hours
	Domain      string // of the sender
	BroadcastID string // empty: emails
	Region      string // of the relay
}

// Tally counts recipients by event, each at most once per event. Opens and clicks count each time,
// the unique ones once for each email. Test recipients count.
type Tally struct {
	Sent                                                    int64 // accepted by a relay, or refused by name
	Delivered                                               int64
	Opened, UniqueOpened                                    int64
	Clicked, UniqueClicked                                  int64
	BouncedTransient, BouncedPermanent, BouncedUndetermined int64
	Complained, Suppressed, DeliveryDelayed                 int64
	Failed, Unsubscribed                                    int64
}

// Add adds other counts.
func (t *Tally) Add(o *Tally) {
	t.Sent += o.Sent
	t.Delivered += o.Delivered
	t.Opened += o.Opened
	t.UniqueOpened += o.UniqueOpened
	t.Clicked += o.Clicked
	t.UniqueClicked += o.UniqueClicked
	t.BouncedTransient += o.BouncedTransient
	t.BouncedPermanent += o.BouncedPermanent
	t.BouncedUndetermined += o.BouncedUndetermined
	t.Complained += o.Complained
	t.Suppressed += o.Suppressed
	t.DeliveryDelayed += o.DeliveryDelayed
	t.Failed += o.Failed
	t.Unsubscribed += o.Unsubscribed
}

// Bounced returns the bounces of all types.
func (t *Tally) Bounced() int64 {
	return t.BouncedTransient + t.BouncedPermanent + t.BouncedUndetermined
}

// Retention is how long hourly counts are stored.
const Retention = 400 * 24 * time.Hour

// Hour returns the Unix hour of a time, in UTC.
func Hour(t time.Time) int64 { return t.Unix() / 3600 }

// IsHit reports whether an event is an open or a click, of which an email may have many.
func IsHit(kind app.EventType) bool {
	return kind == app.EventType(app.Opened) || kind == app.EventType(app.Clicked)
}

// Of returns what an event adds. first: it is the first of its kind for its recipient. Sent
// recipients have no event; the store's CountSent counts them.
func Of(ev *app.Event, first bool) (t Tally) {
	switch ev.Type {
	case app.EventType(app.Opened):
		t.Opened, t.UniqueOpened = 1, one(first)
		return t
	case app.EventType(app.Clicked):
		t.Clicked, t.UniqueClicked = 1, one(first)
		return t
	}
	if n := t.counter(ev); n != nil {
		*n = one(first)
	}
	return t
}

// counter returns the counter of a recipient's event; nil: none.
func (t *Tally) counter(ev *app.Event) *int64 {
	switch ev.Type {
	case app.EventType(app.Delivered):
		return &t.Delivered
	case app.EventType(app.Bounced):
		return t.bounces(app.BounceType(ev.Detail.BounceType))
	case app.EventType(app.Complained):
		return &t.Complained
	case app.EventType(app.Suppressed):
		return &t.Suppressed
	case app.EventType(app.DeliveryDelayed):
		return &t.DeliveryDelayed
	case app.EventType(app.Failed):
		return &t.Failed
	case app.EventUnsubscribed:
		return &t.Unsubscribed
	}
	return nil
}

// bounces returns the counter of a type of bounce. A refusal by the relay has no type and is
// permanent.
func (t *Tally) bounces(kind app.BounceType) *int64 {
	switch kind {
	case app.BounceTransient:
		return &t.BouncedTransient
	case app.BounceUndetermined:
		return &t.BouncedUndetermined
	}
	return &t.BouncedPermanent
}

func one(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// OfTimeline returns what the events of one email add by hour. Events are sorted oldest first.
func OfTimeline(events []app.Event) map[int64]*Tally {
	type seen struct {
		kind      app.EventType
		recipient string
	}
	known, hours := map[seen]bool{}, map[int64]*Tally{}
	first := func(kind app.EventType, recipient string) bool {
		was := known[seen{kind, recipient}]
		known[seen{kind, recipient}] = true
		return !was
	}
	for i := range events {
		ev := &events[i]
		recipient := ev.Recipient
		if IsHit(ev.Type) {
			recipient = ""
		}
		sum := Of(ev, first(ev.Type, recipient))
		if hasLeft(ev.Type) {
			sum.Sent = one(first(acceptedEvents, ev.Recipient))
		}
		if sum == (Tally{}) {
			continue
		}
		hour := Hour(ev.CreatedAt)
		if hours[hour] == nil {
			hours[hour] = &Tally{}
		}
		hours[hour].Add(&sum)
	}
	return hours
}

// acceptedEvents represents all events that prove acceptance by the relay.
const acceptedEvents app.EventType = "taken"

// hasLeft reports whether an event proves that the relay accepted the recipient.
func hasLeft(kind app.EventType) bool {
	switch app.LastEvent(kind) {
	case app.Sent, app.Delivered, app.Bounced, app.Complained, app.DeliveryDelayed:
		return true
	}
	return false
}
