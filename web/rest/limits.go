package rest

import (
	"time"

	"mailer/app/kit/footprint"
)

// Limits bounds what requests may cost. Sizes are in bytes.
type Limits struct {
	Body         int64 // of one request
	Upload       int64 // of one that is read while it arrives
	SmallBody    int64 // up to here a body counts in the small lane
	SmallBudget  int64 // all small bodies that are being worked on
	LargeBudget  int64 // all other ones
	PublicBudget int64 // all that need no key; once more those of which only the body tells who sent it

	SmallWait  time.Duration // for room in the budget, of a small or public body
	LargeWait  time.Duration // of a large one
	SmallTime  time.Duration // for a small body to arrive
	PublicTime time.Duration // for one that needs no key
	LargeTime  time.Duration // for a large one; thirty times as long for one that is read while it arrives
	Stall      time.Duration // for the next part of a large one
	Grace      time.Duration // before the rate of a large one counts
	Rate       int64         // the least that a large one needs on average, a second
	Header     time.Duration // for the header to arrive
	idle       time.Duration // of a kept-alive connection
	write      time.Duration // from the header to the beginning of the answer

	Answers AnswerLimits

	Connections           int // at once
	ConnectionsPerAddress int // of one address
}

// DefaultConnections is how many connections there may be where nothing else is
// configured.
const DefaultConnections = 2048

// DefaultLimits returns the limits of a server in use: 40 MiB a body, and 200 MiB one
// that is stored as it arrives.
func DefaultLimits() Limits {
	return Limits{
		Answers:               defaultAnswerLimits(),
		Body:                  40 << 20,
		Upload:                200 << 20,
		SmallBody:             64 << 10,
		SmallBudget:           64 << 20,
		LargeBudget:           272 << 20, // while one team has its share, another has room for the largest body
		PublicBudget:          32 << 20,
		SmallWait:             10 * time.Second,
		LargeWait:             30 * time.Second,
		SmallTime:             10 * time.Second,
		PublicTime:            5 * time.Second,
		LargeTime:             time.Minute,
		Stall:                 10 * time.Second,
		Grace:                 20 * time.Second,
		Rate:                  8 << 10,
		Header:                10 * time.Second,
		idle:                  2 * time.Minute,
		write:                 5 * time.Minute,
		Connections:           DefaultConnections,
		ConnectionsPerAddress: 256,
	}
}

// largestPart is the part of the memory beyond the least that one body may have: it stands
// there as it came, decoded, and in the database's own memory, and its message beside it.
const (
	leastMemory = 64 << 20
	largestPart = 5
	leastBody   = 4 << 20
)

// Within returns the limits of a server whose process may have so many bytes of memory; 0: as
// many as there are.
func (l Limits) Within(memory int64) Limits {
	for _, budget := range []*int64{&l.SmallBudget, &l.LargeBudget, &l.PublicBudget, &l.Answers.Keyed, &l.Answers.Public} {
		*budget = footprint.Scale(memory, *budget)
	}
	if memory > 0 {
		l.Body = min(l.Body, max(leastBody, (memory-leastMemory)/largestPart))
	}
	return l
}

// deadline is until when more of a large body must have come, of which got bytes are
// here since start: it may not stop, not trickle, and not take longer than most.
func (l *Limits) deadline(start, now time.Time, got int64, most time.Duration) time.Time {
	at := now.Add(l.Stall)
	if slow := start.Add(l.Grace + time.Duration(got)*time.Second/time.Duration(l.Rate)); slow.Before(at) {
		at = slow
	}
	if end := start.Add(most); end.Before(at) {
		at = end
	}
	return at
}
