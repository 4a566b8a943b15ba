package delivery

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app/base"
	"mailer/app/rules/pacing"
	"mailer/app/rules/relayurl"
)

// simWorld is a relay and its traffic.
type simWorld struct {
	name  string
	relay relayurl.Relay
	speed float64 // messages a second that the relay takes without a rate limit
	mail  float64 // transactional messages a day
	teams int
	each  float64 // broadcasts of a team in a year
	size  float64 // median
	drip  bool    // team 0 is in warning
}

var simWorlds = []simWorld{
	{name: "slow rate, much mail", relay: relayurl.Relay{Rate: 0.05}, mail: 800, teams: 3, each: 30, size: 100},
	{name: "fast rate", relay: relayurl.Relay{Rate: 14}, mail: 300, teams: 4, each: 40, size: 500},
	{name: "daily", relay: relayurl.Relay{Daily: 500}, speed: 20, mail: 80, teams: 2, each: 30, size: 200},
	// More mail than the reserve: what broadcasts get is random.
	{name: "daily, full of mail", relay: relayurl.Relay{Daily: 400}, speed: 20, mail: 180, teams: 2, each: 15, size: 100},
	{name: "small, both", relay: relayurl.Relay{Rate: 0.05, Daily: 1000}, mail: 150, teams: 2, each: 40, size: 250},
	{name: "large, both", relay: relayurl.Relay{Rate: 5, Daily: 10_000}, mail: 400, teams: 3, each: 15, size: 2500},
	{name: "a team that drips", relay: relayurl.Relay{Rate: 10, Daily: 10_000}, mail: 100, teams: 3, each: 30, size: 400, drip: true},
	{name: "no limits", relay: relayurl.Relay{Connections: 2}, speed: 30, mail: 100, teams: 3, each: 30, size: 800},
}

// The few forecasts of 40 days depend on which of them overlap.
func TestForecastsOfFortyDays(t *testing.T) { simulateForecasts(t, 40, 0.9) }

// simulateForecasts runs the real limits, shares and forecasts with days of mixed traffic and
// compares each forecast of a sent broadcast with the outcome. kept is the fraction that must be
// within 10 %.
func simulateForecasts(t *testing.T, days int, kept float64) {
	var mu sync.Mutex
	var all simResults
	t.Run("worlds", func(t *testing.T) {
		for i, w := range simWorlds {
			t.Run(w.name, func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					s := newSimulation(t, w, uint64(i))
					s.run(time.Duration(days) * 24 * time.Hour)
					r := s.results()
					t.Log(r)
					mu.Lock()
					defer mu.Unlock()
					all.add(r)
				})
			})
		}
	})
	t.Log("all: ", all)
	if good := all.within(0.1); good < kept || len(all.errors) < days {
		t.Errorf("%.1f %% of %d promises were kept, %g are needed", 100*good, len(all.errors), 100*kept)
	}
	if good := within(all.undisturbed, 0.1); good < 0.95 {
		t.Errorf("%.1f %% of those that nothing came in between were kept, 95 are needed", 100*good)
	}
	if all.tooLarge*100 > len(all.errors) {
		t.Errorf("%d broadcasts were refused", all.tooLarge)
	}
}

// simResults are the relative errors of forecasts.
type simResults struct {
	errors      []float64 // positive: later than forecast
	undisturbed []float64 // those without another broadcast in between
	mails       int
	bulk        int
	tooLarge    int
	paced       int
	delay       time.Duration // longest delay of a mail by broadcasts
}

func (r *simResults) add(o simResults) {
	r.errors, r.undisturbed = append(r.errors, o.errors...), append(r.undisturbed, o.undisturbed...)
	r.mails, r.bulk, r.tooLarge, r.paced = r.mails+o.mails, r.bulk+o.bulk, r.tooLarge+o.tooLarge, r.paced+o.paced
	r.delay = max(r.delay, o.delay)
}

// within is the part of the promises whose error is no larger than a limit.
func (r simResults) within(limit float64) float64 { return within(r.errors, limit) }

// within is the fraction of errors that are no larger than a limit.
func within(errors []float64, limit float64) float64 {
	n := 0
	for _, e := range errors {
		if math.Abs(e) <= limit {
			n++
		}
	}
	return float64(n) / float64(max(1, len(errors)))
}

func (r simResults) String() string {
	if len(r.errors) == 0 {
		return "nothing"
	}
	sorted := slices.Sorted(slices.Values(r.errors))
	var q []string
	for _, p := range []float64{0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1} {
		q = append(q, fmt.Sprintf("%g%%: %+.1f %%", 100*p, 100*sorted[int(p*float64(len(sorted)-1))]))
	}
	return fmt.Sprintf("%d promises (%d with a warning, %d refused), %d mails, %d of broadcasts, mail put off by %v at most; within 10 %%: %.1f %% (%.1f %% of the %d that nothing came in between), within 2 %%: %.1f %%; errors: %s",
		len(r.errors), r.paced, r.tooLarge, r.mails, r.bulk, r.delay, 100*r.within(0.1), 100*within(r.undisturbed, 0.1), len(r.undisturbed), 100*r.within(0.02), strings.Join(q, ", "))
}

// simulation is a relay queue without database and relay.
type simulation struct {
	simWorld
	t      *testing.T
	l      *limits
	random *rand.Rand
	start  time.Time
	end    time.Time
	ctx    context.Context
	woken  chan struct{}
	mails  sync.WaitGroup

	mu        sync.Mutex
	open      []*simBroadcast // in the order in which they were sent
	ended     []*simBroadcast
	sent      []int32 // by minute since start
	bulk      []int32
	reference time.Time // when the next mail could be sent without broadcasts
	r         simResults
}

type simBroadcast struct {
	pacing.BulkQueue
	audience   int64
	at         time.Time
	forecast   time.Time
	finished   time.Time
	overlapped bool // another broadcast was sent before it ended
}

func newSimulation(t *testing.T, w simWorld, seed uint64) *simulation {
	s := &simulation{simWorld: w, t: t, l: newLimits(w.relay, 0), random: rand.New(rand.NewPCG(seed, 7)), start: time.Now(), ctx: t.Context(), woken: make(chan struct{}, 1)}
	if w.drip {
		s.l.inWarning = func(teamID string) bool { return teamID == "team 0" }
	}
	return s
}

// run simulates traffic for a time, and then sends what is queued.
func (s *simulation) run(d time.Duration) {
	s.end = s.start.Add(d)
	s.sent, s.bulk = make([]int32, int(d.Minutes())+40*24*60), make([]int32, int(d.Minutes())+40*24*60)
	ctx, stop := context.WithCancel(s.ctx)
	s.ctx = ctx
	var queue, senders sync.WaitGroup
	queue.Go(s.sendQueued)
	mail := rand.New(rand.NewPCG(s.random.Uint64(), 1))
	senders.Go(func() { s.sendMails(mail) })
	for i := range s.teams {
		random := rand.New(rand.NewPCG(s.random.Uint64(), 2))
		senders.Go(func() { s.sendBroadcasts(fmt.Sprint("team ", i), random) })
	}
	senders.Wait()
	s.mails.Wait()
	stop()
	queue.Wait()
}

// sendMails sends transactional mail with daily and weekly patterns and random hours. A few
// messages stand for many, so they are sent more regularly than independent ones.
func (s *simulation) sendMails(random *rand.Rand) {
	hour, factor, day := -1, 1.0, 1.0
	for {
		now := time.Now()
		if now.After(s.end) {
			return
		}
		if now.Hour() < hour {
			day = 0.9 + 0.2*random.Float64()
		}
		if now.Hour() != hour {
			hour, factor = now.Hour(), 0.85+0.3*random.Float64()
		}
		perDay := s.mail * day * factor * (1 + 0.8*math.Sin(2*math.Pi*(float64(hour-9)+float64(now.Minute())/60)/24))
		if now.Weekday()%6 == 0 {
			perDay *= 0.8
		}
		time.Sleep(time.Duration((0.5 + random.Float64()) / perDay * 24 * float64(time.Hour)))
		s.mails.Go(s.mailOne)
	}
}

// mailOne sends one transactional message and checks that it waits for at most one message of a
// broadcast.
func (s *simulation) mailOne() {
	minute, free, ok := s.l.reserve(time.Now(), "team", false)
	for !ok {
		time.Sleep(time.Until(free))
		minute, free, ok = s.l.reserve(time.Now(), "team", false)
	}
	now := time.Now()
	one := time.Duration(0)
	if s.relay.Rate > 0 {
		one = time.Duration(float64(time.Second) / s.relay.Rate)
	}
	s.mu.Lock()
	due := base.Later(now, s.reference)
	s.reference = due.Add(one)
	s.mu.Unlock()
	if !s.l.wait(s.ctx, false) {
		return
	}
	now = time.Now()
	s.l.moveToNow(minute, now, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.r.mails++
	s.r.delay = max(s.r.delay, now.Sub(due))
	if late := now.Sub(due); late > one+time.Millisecond {
		s.t.Errorf("a mail was put off by %v, one message takes %v", late, one)
	}
	s.sent[s.minuteOf(now)]++
}

// sendBroadcasts sends the broadcasts of a team at random times.
func (s *simulation) sendBroadcasts(teamID string, random *rand.Rand) {
	for n := 0; ; n++ {
		time.Sleep(time.Duration(random.ExpFloat64() / s.each * 365 * 24 * float64(time.Hour)))
		if time.Now().After(s.end) {
			return
		}
		s.send(teamID, n, s.audience(random))
		if random.IntN(12) == 0 { // another one
			time.Sleep(time.Duration(random.Int64N(int64(20 * time.Minute))))
			n++
			s.send(teamID, n, s.audience(random))
		}
	}
}

func (s *simulation) audience(random *rand.Rand) int64 {
	return 1 + int64(s.size*math.Exp(1.1*random.NormFloat64()))
}

// send forecasts a broadcast, like PlanBroadcast, and queues it.
func (s *simulation) send(teamID string, n int, audience int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	b := &simBroadcast{audience: audience, at: now, BulkQueue: pacing.BulkQueue{ID: fmt.Sprint(teamID, "/", n), TeamID: teamID, Remaining: audience}}
	f := pacing.Forecast{Now: now, Speed: s.l.speed(), Daily: s.l.daily, Share: s.l.bulkLimit, Usage: s.l.usageMinutes(now)}
	for _, o := range append(slices.Clone(s.open), b) {
		q := o.BulkQueue
		q.Drip = s.l.drips(q.TeamID)
		f.Queues = append(f.Queues, pacing.PlannedQueue{BulkQueue: q})
	}
	plan := f.Plan(len(f.Queues) - 1)
	s.checkPlan(b, plan)
	if plan.TooLarge {
		s.r.tooLarge++
		return
	}
	for _, o := range s.open {
		o.overlapped = true
	}
	b.forecast = plan.FinishesAt
	s.open = append(s.open, b)
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// checkPlan checks that a plan is consistent and possible.
func (s *simulation) checkPlan(b *simBroadcast, plan pacing.Plan) {
	if w := plan.Warning; w != nil {
		s.r.paced++
		d := plan.FinishesAt.Sub(b.at)
		if words := fmt.Sprintf("%d of %d ", plan.Now, b.audience); !strings.Contains(w.Message, words) || plan.Now >= b.audience ||
			w.Days < 1 || d > time.Duration(w.Days)*24*time.Hour || d <= time.Duration(w.Days-1)*24*time.Hour || (w.Code == pacing.WarningPaced) != (plan.Now > 0) {
			s.t.Errorf("%d contacts, %+v, warning %+v", b.audience, plan, *w)
		}
	}
	if plan.TooLarge {
		return
	}
	if plan.Warning == nil && plan.Now < b.audience || plan.Now > b.audience {
		s.t.Errorf("%d contacts, %+v has no warning", b.audience, plan)
	}
	if n := s.possible(b.at, plan.FinishesAt); n < float64(b.audience) {
		s.t.Errorf("%d contacts until %v, only %.2f can leave in %v", b.audience, plan.FinishesAt, n, plan.FinishesAt.Sub(b.at))
	}
}

func (s *simulation) minuteOf(t time.Time) int { return int(t.Sub(s.start) / time.Minute) }

// possible is the maximum number of messages of broadcasts from now until at: by the rate, and by
// the bulk limit less what was sent before.
func (s *simulation) possible(now, at time.Time) float64 {
	n := math.Inf(1)
	if s.relay.Rate > 0 {
		n = 1 + at.Sub(now).Seconds()*s.relay.Rate + 1e-3
	}
	if s.relay.Daily == 0 {
		return n
	}
	share, whole := 0.7*float64(s.relay.Daily), 0.0
	last := s.minuteOf(at)
	for ; last-1440 > s.minuteOf(now); last -= 1441 {
		whole += share
	}
	for m := max(0, last-1440); m <= s.minuteOf(now); m++ {
		share -= float64(s.bulk[m])
	}
	return min(n, whole+share)
}

// sendQueued sends the queued broadcasts.
func (s *simulation) sendQueued() {
	random := rand.New(rand.NewPCG(9, 9))
	for s.ctx.Err() == nil || s.hasOpen() {
		now := time.Now()
		turns := s.l.shareBulk(now, s.queues(), 0, 8)
		for _, turn := range turns {
			for range turn.N {
				if !s.sendOne(turn.ID, random) {
					break
				}
			}
		}
		if len(turns) > 0 {
			continue
		}
		next := time.Until(now.Truncate(time.Minute).Add(time.Minute))
		if s.drip {
			next = min(next, time.Second)
		}
		if !s.hasOpen() {
			next = time.Hour
		}
		base.Sleep(s.ctx, next, s.woken)
	}
}

func (s *simulation) hasOpen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) > 0
}

func (s *simulation) queues() (queues []pacing.BulkQueue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.open {
		queues = append(queues, b.BulkQueue)
	}
	return queues
}

// sendOne sends one message of a broadcast.
func (s *simulation) sendOne(id string, random *rand.Rand) bool {
	minute, _, ok := s.l.reserve(time.Now(), "team", true)
	if !ok { // mail used the capacity
		return false
	}
	if s.relay.Rate == 0 {
		time.Sleep(time.Duration((0.5 + random.Float64()) / s.speed * float64(time.Second)))
	}
	if !s.l.wait(context.Background(), true) {
		return false
	}
	now := time.Now()
	s.l.moveToNow(minute, now, true)
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.minuteOf(now)
	s.sent[m]++
	s.bulk[m]++
	s.r.bulk++
	i := slices.IndexFunc(s.open, func(b *simBroadcast) bool { return b.ID == id })
	b := s.open[i]
	if b.Remaining--; b.Remaining == 0 {
		b.finished = now
		s.open = slices.Delete(s.open, i, i+1)
		s.ended = append(s.ended, b)
	}
	return true
}

// results compares forecasts with outcomes, and checks that no limit was exceeded in any 24 hours.
func (s *simulation) results() simResults {
	for _, b := range s.ended {
		took := b.finished.Sub(b.at)
		off := b.finished.Sub(b.forecast)
		relative := 0.0
		if off.Abs() > time.Minute {
			relative = off.Seconds() / took.Seconds()
		}
		s.r.errors = append(s.r.errors, relative)
		if !b.overlapped {
			s.r.undisturbed = append(s.r.undisturbed, relative)
		}
	}
	if s.relay.Daily > 0 {
		s.checkDay(s.sent, s.relay.Daily, "messages")
		s.checkDay(s.bulk, s.l.bulkLimit, "messages of broadcasts")
	}
	synctest.Wait()
	return s.r
}

func (s *simulation) checkDay(minutes []int32, limit int64, what string) {
	var sum, most int64
	for m := range minutes {
		sum += int64(minutes[m])
		if m > 24*60 {
			sum -= int64(minutes[m-24*60-1])
		}
		most = max(most, sum)
	}
	if most > limit {
		s.t.Errorf("%d %s in 24 hours, %d are allowed", most, what, limit)
	}
}
