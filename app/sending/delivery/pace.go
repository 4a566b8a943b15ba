package delivery

import (
	"context"
	"maps"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"mailer/app/rules/pacing"
	"mailer/app/rules/relayurl"
)

// rateLimit spaces messages by a token bucket on the monotonic clock. At most one
// message of a broadcast has a place in the row of those that wait for a token,
// always its end: a transactional message that comes takes this place over. So
// broadcasts get what transactional mail leaves, and delay it by no more than the
// one that has just left.
type rateLimit struct {
	bucket *rate.Limiter
	turn   chan struct{} // held by the one message of broadcasts that waits

	row   sync.Mutex
	place *place // of the one that waits; nil: it has none
}

// place is a token that is reserved for a message of a broadcast.
type place struct {
	token *rate.Reservation
	lost  chan struct{} // closed when a transactional message took it
}

func newRateLimit(perSecond float64) *rateLimit {
	return &rateLimit{turn: make(chan struct{}, 1), bucket: rate.NewLimiter(limitOf(perSecond), 1)}
}

// limitOf is a rate as the bucket has it; 0: no limit.
func limitOf(perSecond float64) rate.Limit {
	if perSecond == 0 {
		return rate.Inf
	}
	return rate.Limit(perSecond)
}

// setRate changes the rate for those that come; who waits keeps his token.
func (r *rateLimit) setRate(perSecond float64) {
	if limit := limitOf(perSecond); limit != r.bucket.Limit() {
		r.bucket.SetLimit(limit)
	}
}

// wait takes a token of the rate; it answers false when ctx ends.
func (r *rateLimit) wait(ctx context.Context, bulk bool) bool {
	switch {
	case r.bucket.Limit() == rate.Inf:
		return true
	case ctx.Err() != nil:
		return false
	case !bulk:
		return r.waitMail(ctx)
	}
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return false
	}
	for {
		p := r.enqueue()
		switch await(ctx, p.token, p.lost) {
		case gaveUp:
			r.leave(p, true)
			return false
		case gotToken:
			if r.leave(p, false) {
				return true
			}
		}
	}
}

// waitMail waits for a token of a transactional message.
func (r *rateLimit) waitMail(ctx context.Context) bool {
	token := r.overtake()
	if await(ctx, token, nil) == gaveUp {
		token.Cancel()
		return false
	}
	return true
}

// overtake reserves a token for a transactional message.
func (r *rateLimit) overtake() *rate.Reservation {
	r.row.Lock()
	defer r.row.Unlock()
	if p := r.place; p != nil {
		r.place = nil
		close(p.lost)
		return p.token
	}
	return r.bucket.Reserve()
}

// enqueue reserves a token for a message of a broadcast.
func (r *rateLimit) enqueue() *place {
	r.row.Lock()
	defer r.row.Unlock()
	r.place = &place{token: r.bucket.Reserve(), lost: make(chan struct{})}
	return r.place
}

// leave ends the waiting at a place; it answers false where the place was lost.
func (r *rateLimit) leave(p *place, cancel bool) bool {
	r.row.Lock()
	defer r.row.Unlock()
	if r.place != p {
		return false
	}
	r.place = nil
	if cancel {
		p.token.Cancel()
	}
	return true
}

type awaited int

const (
	gotToken awaited = iota
	tokenTaken
	gaveUp
)

// await waits until a token is due, lost is closed or ctx ends.
func await(ctx context.Context, token *rate.Reservation, lost <-chan struct{}) awaited {
	delay := token.Delay()
	if delay == 0 {
		return gotToken
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return gotToken
	case <-lost:
		return tokenTaken
	case <-ctx.Done():
		return gaveUp
	}
}

// turns says how many messages of each queue begin now, room at most in all:
// app.ShareBulk with the day's window, of which pending messages were begun that
// have not reserved their places yet, and with the dripping of teams in warning,
// which it notes in queues.
func (l *limits) turns(now time.Time, queues []pacing.BulkQueue, pending int64, room int) []pacing.BulkBatch {
	window := l.window(now)
	if window > 0 {
		window = max(0, window-pending)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range queues {
		q := &queues[i]
		q.Drip = l.drips(q.TeamID)
		q.AtLimit = q.Drip && now.Before(l.dripped[q.TeamID])
	}
	turns := pacing.ShareBulk(queues, window, room, l.after)
	if len(turns) > 0 {
		l.after = turns[len(turns)-1].ID
	}
	l.recordBulk(now, queues, turns, room)
	return turns
}

// drips reports whether a team is in warning.
func (l *limits) drips(teamID string) bool { return l.warned != nil && l.warned(teamID) }

// recordBulk has the teams rest that dripped, and the meter run while broadcasts
// have more than the lane can take.
func (l *limits) recordBulk(now time.Time, queues []pacing.BulkQueue, turns []pacing.BulkBatch, room int) {
	got, all, more := map[string]int64{}, 0, false
	for _, t := range turns {
		got[t.ID] = int64(t.N)
		all += t.N
	}
	for _, q := range queues {
		n := got[q.ID]
		if q.Drip && n > 0 {
			l.drip(q.TeamID, now)
		}
		more = more || !q.Drip && q.Remaining > n
	}
	l.meter.busy(more && all == room)
	maps.DeleteFunc(l.dripped, func(_ string, next time.Time) bool { return now.Sub(next) > time.Minute })
}

// drip notes that a team had a message. One that is late by up to half a second
// makes up for it, since a lane does not look at every moment.
func (l *limits) drip(teamID string, now time.Time) {
	const every = time.Second / pacing.DripRate
	next, ok := l.dripped[teamID]
	if !ok || now.Sub(next) > every/2 {
		next = now
	}
	l.dripped[teamID] = next.Add(every)
}

// initialSpeed is how many messages a second one connection is thought to carry
// until it was measured.
const initialSpeed = 20

// meter measures how many messages a second a relay really takes: those of all
// kinds, while broadcasts have more than it can take.
type meter struct {
	running bool
	last    time.Time // when a message left; zero: none since it runs
	n       float64
	span    time.Duration // in which n left
	seen    time.Duration // measured so far
	speed   float64
	rate    float64 // that the relay allows; 0: any
}

const (
	meterSample = time.Second      // what is averaged at once
	meterMemory = 30 * time.Second // older samples fade
	meterGap    = 10 * time.Second // a longer one tells of other things than speed
)

func newMeter(r relayurl.Relay) meter {
	return meter{rate: r.Rate, speed: float64(initialSpeed * max(r.Connections, 1))}
}

// busy starts and stops the meter.
func (m *meter) busy(running bool) {
	if m.running != running {
		m.running, m.last = running, time.Time{}
	}
}

// left notes that a message leaves.
func (m *meter) left(now time.Time) {
	if !m.running {
		return
	}
	gap := now.Sub(m.last)
	first := m.last.IsZero() || gap > meterGap || gap < 0
	m.last = now
	if first {
		return
	}
	m.n++
	if m.span += gap; m.span < meterSample {
		return
	}
	m.seen = min(m.seen+m.span, meterMemory)
	weight := min(1, m.span.Seconds()/m.seen.Seconds())
	m.speed += weight * (m.n/m.span.Seconds() - m.speed)
	m.n, m.span = 0, 0
}

// messages is how many a second to reckon with: the relay's rate, unless it was
// seen to be out of reach.
func (m *meter) messages() float64 {
	const reached = 0.9
	if m.rate > 0 && (m.seen == 0 || m.speed >= reached*m.rate) {
		return m.rate
	}
	return math.Max(m.speed, 1e-3)
}

// speed is how many messages a second the relay takes of all servers, if the others are like
// this one.
func (l *limits) speed() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.meter.messages() * float64(l.among)
}
