package app

// LastEvent is the furthest thing that happened to an email.
type LastEvent string

// The values of last_event, by rank (decisions.md 4).
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
