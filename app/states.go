package app

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
	Over          Situation = "over"     // nothing
	OverCaptured  Situation = "captured" // nothing, and its relay is the capture transport
	WaitsTurn     Situation = "turn"     // it can leave, or waits for its relay or a quota
	WaitsTime     Situation = "time"     // it waits for its own time
	WaitsNextTry  Situation = "retry"    // its relay put it off
	WaitsReleased Situation = "held"     // it is held
)

// Situations are all situations.
func Situations() []Situation {
	return []Situation{Over, OverCaptured, WaitsTurn, WaitsTime, WaitsNextTry, WaitsReleased}
}

// StateOf is the state of an email: of its recipients the gravest end counts, then that
// it is held or put off for some, then what happened last.
func StateOf(last LastEvent, now Situation) State {
	switch last {
	case Bounced, Complained, Failed, Canceled:
		return State(last)
	}
	switch {
	case now == WaitsReleased:
		return Held
	case now == WaitsNextTry:
		return Deferred
	case now == OverCaptured && last == Sent:
		return Captured
	}
	switch last {
	case Queued, Scheduled, Suppressed: // suppressed: some recipients were left out, the others wait
		if now == WaitsTime {
			return State(Scheduled)
		}
		if now == WaitsTurn {
			return State(Queued)
		}
	}
	return State(last)
}
