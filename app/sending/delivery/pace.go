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

// rateLimit spaces messages by a token bucket on the monotonic clock. At most one message of a
// broadcast holds a reserved token, always the last one: a transactional message takes that token
// over. So broadcasts get the tokens that transactional mail leaves, and delay it by at most one
// message.
type rateLimit struct {
	bucket   *rate.Limiter
	bulkSlot chan struct{} // held by the message of a broadcast that waits for a token

	tokenMu   sync.Mutex
	bulkToken *bulkReservation // of the waiting message of a broadcast; nil: none
}

// bulkReservation is a token reserved for a message of a broadcast.
type bulkReservation struct {
	token *rate.Reservation
	taken chan struct{} // closed when a transactional message took the token
}

func newRateLimit(perSecond float64) *rateLimit {
	return &rateLimit{bulkSlot: make(chan struct{}, 1), bucket: rate.NewLimiter(limitOf(perSecond), 1)}
}

// limitOf converts a rate for the bucket; 0: no limit.
func limitOf(perSecond float64) rate.Limit {
	if perSecond == 0 {
		return rate.Inf
	}
	return rate.Limit(perSecond)
}

// setRate changes the rate. Reserved tokens stay.
func (r *rateLimit) setRate(perSecond float64) {
	if limit := limitOf(perSecond); limit != r.bucket.Limit() {
		r.bucket.SetLimit(limit)
	}
}

// wait waits for a token. It returns false when ctx ends.
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

// waitMail waits for the token of a transactional message.
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

// finishBulk ends a reservation. It returns false if its token was taken.
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

// shareBulk returns how many messages of each queue may begin now, at most capacity in all: it
// applies pacing.ShareBulk to the daily limit, minus pending messages that were begun without a
// reservation yet. It sets Drip and Rests of queues whose team is throttled.
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

// drips reports whether a team is throttled.
func (l *limits) drips(teamID string) bool { return l.inWarning != nil && l.inWarning(teamID) }

// recordBulk schedules the next message of throttled teams, and runs the meter while broadcasts
// have more messages than the relay can take.
func (l *limits) recordBulk(now time.Time, queues []pacing.BulkQueue, turns []pacing.BulkBatch, capacity int) {
	begun, all, more := map[string]int64{}, 0, false
	for _, t := range turns {
		begun[t.ID] = int64(t.N)
		all += t.N
	}
	for _, q := range queues {
		n := begun[q.ID]
		if q.Drip && n > 0 {
			l.drip(q.TeamID, now)
		}
		more = more || !q.Drip && q.Remaining > n
	}
	l.meter.busy(more && all == capacity)
	maps.DeleteFunc(l.nextDrip, func(_ string, next time.Time) bool { return now.Sub(next) > time.Minute })
}

// drip records that a throttled team sent a message. A message up to half a second late does not
// delay the next one.
func (l *limits) drip(teamID string, now time.Time) {
	const every = time.Second / pacing.DripRate
	next, ok := l.nextDrip[teamID]
	if !ok || now.Sub(next) > every/2 {
		next = now
	}
	l.nextDrip[teamID] = next.Add(every)
}

// initialSpeed is the assumed speed of a connection, in messages a second, until it was measured.
const initialSpeed = 20

// meter measures how many messages a second a relay takes. It counts messages of all kinds while
// broadcasts have more than the relay can take.
type meter struct {
	running  bool
	last     time.Time // when the last message was sent; zero: none since it runs
	n        float64
	span     time.Duration // time in which n messages were sent
	measured time.Duration // time measured so far
	speed    float64
	rate     float64 // rate limit of the relay; 0: none
}

const (
	meterSample = time.Second      // time of one sample
	meterMemory = 30 * time.Second // weight of older samples fades after this time
	meterGap    = 10 * time.Second // a longer gap between messages is not measured
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

// sent records that a message was sent.
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

// estimate returns the messages a second to expect: the relay's rate limit, unless the measured
// speed is clearly lower.
func (m *meter) estimate() float64 {
	const reached = 0.9
	if m.rate > 0 && (m.measured == 0 || m.speed >= reached*m.rate) {
		return m.rate
	}
	return math.Max(m.speed, 1e-3)
}

// speed is the expected messages a second of all servers, assuming that they are equally fast.
func (l *limits) speed() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.meter.estimate() * float64(l.serverCount)
}
