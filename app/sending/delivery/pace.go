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
	bucket   *rate.Limiter
	bulkSlot chan struct{} // held by the one message of broadcasts that waits

	tokenMu   sync.Mutex
	bulkToken *bulkReservation // of the one that waits; nil: it has none
}

// bulkReservation is a token that is reserved for a message of a broadcast.
type bulkReservation struct {
	token *rate.Reservation
	taken chan struct{} // closed when a transactional message took it
}

func newRateLimit(perSecond float64) *rateLimit {
	return &rateLimit{bulkSlot: make(chan struct{}, 1), bucket: rate.NewLimiter(limitOf(perSecond), 1)}
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
	case r.bulkSlot <- struct{}{}:
		defer func() { <-r.bulkSlot }()
	case <-ctx.Done():
		return false
	}
	for {
		p := r.reserveBulk()
		switch await(ctx, p.token, p.taken) {
		case gaveUp:
			r.finishBulk(p, true)
			return false
		case gotToken:
			if r.finishBulk(p, false) {
				return true
			}
		}
	}
}

// waitMail waits for a token of a transactional message.
func (r *rateLimit) waitMail(ctx context.Context) bool {
	token := r.reserveMail()
	if await(ctx, token, nil) == gaveUp {
		token.Cancel()
		return false
	}
	return true
}

// reserveMail reserves a token for a transactional message.
func (r *rateLimit) reserveMail() *rate.Reservation {
	r.tokenMu.Lock()
	defer r.tokenMu.Unlock()
	if p := r.bulkToken; p != nil {
		r.bulkToken = nil
		close(p.taken)
		return p.token
	}
	return r.bucket.Reserve()
}

// reserveBulk reserves a token for a message of a broadcast.
func (r *rateLimit) reserveBulk() *bulkReservation {
	r.tokenMu.Lock()
	defer r.tokenMu.Unlock()
	r.bulkToken = &bulkReservation{token: r.bucket.Reserve(), taken: make(chan struct{})}
	return r.bulkToken
}

// finishBulk ends the waiting at a place; it answers false where the place was lost.
func (r *rateLimit) finishBulk(p *bulkReservation, cancel bool) bool {
	r.tokenMu.Lock()
	defer r.tokenMu.Unlock()
	if r.bulkToken != p {
		return false
	}
	r.bulkToken = nil
	if cancel {
		p.token.Cancel()
	}
	return true
}

type waitResult int

const (
	gotToken waitResult = iota
	tokenTaken
	gaveUp
)

// await waits until a token is due, lost is closed or ctx ends.
func await(ctx context.Context, token *rate.Reservation, lost <-chan struct{}) waitResult {
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

// shareBulk says how many messages of each queue begin now, room at most in all:
// app.ShareBulk with the day's window, of which pending messages were begun that
// have not reserved their places yet, and with the dripping of teams in warning,
// which it notes in queues.
func (l *limits) shareBulk(now time.Time, queues []pacing.BulkQueue, pending int64, capacity int) []pacing.BulkBatch {
	window := l.bulkRemaining(now)
	if window > 0 {
		window = max(0, window-pending)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range queues {
		q := &queues[i]
		q.Drip = l.drips(q.TeamID)
		q.AtLimit = q.Drip && now.Before(l.nextDrip[q.TeamID])
	}
	turns := pacing.ShareBulk(queues, window, capacity, l.lastBroadcast)
	if len(turns) > 0 {
		l.lastBroadcast = turns[len(turns)-1].ID
	}
	l.recordBulk(now, queues, turns, capacity)
	return turns
}

// drips reports whether a team is in warning.
func (l *limits) drips(teamID string) bool { return l.inWarning != nil && l.inWarning(teamID) }

// recordBulk has the teams rest that dripped, and the meter run while broadcasts
// have more than the lane can take.
func (l *limits) recordBulk(now time.Time, queues []pacing.BulkQueue, turns []pacing.BulkBatch, capacity int) {
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
	l.meter.busy(more && all == capacity)
	maps.DeleteFunc(l.nextDrip, func(_ string, next time.Time) bool { return now.Sub(next) > time.Minute })
}

// drip notes that a team had a message. One that is late by up to half a second
// makes up for it, since a lane does not look at every moment.
func (l *limits) drip(teamID string, now time.Time) {
	const every = time.Second / pacing.DripRate
	next, ok := l.nextDrip[teamID]
	if !ok || now.Sub(next) > every/2 {
		next = now
	}
	l.nextDrip[teamID] = next.Add(every)
}

// initialSpeed is how many messages a second one connection is thought to carry
// until it was measured.
const initialSpeed = 20

// meter measures how many messages a second a relay really takes: those of all
// kinds, while broadcasts have more than it can take.
type meter struct {
	running  bool
	last     time.Time // when a message left; zero: none since it runs
	n        float64
	span     time.Duration // in which n left
	measured time.Duration // measured so far
	speed    float64
	rate     float64 // that the relay allows; 0: any
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

// sent notes that a message leaves.
func (m *meter) sent(now time.Time) {
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
	m.measured = min(m.measured+m.span, meterMemory)
	weight := min(1, m.span.Seconds()/m.measured.Seconds())
	m.speed += weight * (m.n/m.span.Seconds() - m.speed)
	m.n, m.span = 0, 0
}

// estimate is how many a second to reckon with: the relay's rate, unless it was
// seen to be out of reach.
func (m *meter) estimate() float64 {
	const reached = 0.9
	if m.rate > 0 && (m.measured == 0 || m.speed >= reached*m.rate) {
		return m.rate
	}
	return math.Max(m.speed, 1e-3)
}

// speed is how many messages a second the relay takes of all servers, if the others are like
// this one.
func (l *limits) speed() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.meter.estimate() * float64(l.serverCount)
}
