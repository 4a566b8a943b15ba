package rest

import (
	"time"

	"mailer/app/kit/membudget"
)

// Limits bounds the cost of requests. Sizes are in bytes.
type Limits struct {
	Body         int64 // of one body
	Upload       int64 // of one streamed body
	SmallBody    int64 // up to this size a body counts as small
	SmallBudget  int64 // for all small bodies
	LargeBudget  int64 // for all larger bodies
	PublicBudget int64 // for all bodies of public routes; the same again for bodies whose sender is known only after they are read

	SmallWait  time.Duration // for memory, of a small or public body
	LargeWait  time.Duration // for memory, of a large body
	SmallTime  time.Duration // for a small body to arrive
	PublicTime time.Duration // for the body of a public route to arrive
	LargeTime  time.Duration // for a large body to arrive; thirty times as long for a streamed one
	Stall      time.Duration // for the next part of a large body
	Grace      time.Duration // before the minimum rate of a large body applies
	Rate       int64         // minimum average of a large body, in bytes per second
	Header     time.Duration // for the header to arrive
	idle       time.Duration // of a kept-alive connection
	write      time.Duration // from the header to the beginning of the answer

	Answers AnswerLimits

	Connections           int // at the same time
	ConnectionsPerAddress int // per address
}

// DefaultConnections is the default limit of open connections.
const DefaultConnections = 2048

// DefaultLimits returns the limits in production: 40 MiB per body, 200 MiB per streamed body.
func DefaultLimits() Limits {
	return Limits{
		Answers:               defaultAnswerLimits(),
		Body:                  40 << 20,
		Upload:                200 << 20,
		SmallBody:             64 << 10,
		SmallBudget:           64 << 20,
		LargeBudget:           272 << 20, // while one team uses its share, another has memory for the largest body
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

// Of the memory above leastMemory, one body may have the part 1/largestPart: the body is in memory
// as received, decoded, and in the database, next to its message.
const (
	leastMemory = 64 << 20
	largestPart = 5
	leastBody   = 4 << 20
)

// Within returns the limits for a process with that much memory in bytes; 0: unlimited.
func (l Limits) Within(memory int64) Limits {
	for _, budget := range []*int64{&l.SmallBudget, &l.LargeBudget, &l.PublicBudget, &l.Answers.Keyed, &l.Answers.Public} {
		*budget = membudget.Scale(memory, *budget)
	}
	if memory > 0 {
		l.Body = min(l.Body, max(leastBody, (memory-leastMemory)/largestPart))
	}
	return l
}

// deadline returns the time until which more of a large body must have arrived, given that got
// bytes arrived since start. The body may neither pause, nor trickle, nor take longer than maxTime.
func (l *Limits) deadline(start, now time.Time, got int64, maxTime time.Duration) time.Time {
	at := now.Add(l.Stall)
	if slow := start.Add(l.Grace + time.Duration(got)*time.Second/time.Duration(l.Rate)); slow.Before(at) {
		at = slow
	}
	if end := start.Add(maxTime); end.Before(at) {
		at = end
	}
	return at
}
