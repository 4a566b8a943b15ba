package delivery

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app/base"
	"mailer/app/rules/pacing"
	"mailer/app/rules/relayurl"
)

// With more broadcast messages than the rate allows and bursts of mail, each mail is delayed by at
// most one message, and no token is lost.
func TestBroadcastsDelayMailByOneMessage(t *testing.T) {
	for _, perSecond := range []float64{0.1, 10, 333} {
		t.Run(fmt.Sprint(perSecond), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				const messages = 2000
				one := time.Duration(float64(time.Second) / perSecond)
				r := newRateLimit(perSecond)
				ctx, stop := context.WithCancel(t.Context())
				var all, bulk atomic.Int64
				var senders, mails sync.WaitGroup
				for range 5 {
					senders.Go(func() {
						for r.wait(ctx, true) {
							all.Add(1)
							bulk.Add(1)
						}
					})
				}
				random := rand.New(rand.NewPCG(1, 1))
				start := time.Now()
				var mu sync.Mutex
				var without, with []time.Time // when mails are sent
				for time.Since(start) < messages*one {
					time.Sleep(time.Duration(random.ExpFloat64() * 12 * float64(one)))
					for range 1 + random.IntN(10) {
						due := time.Now()
						if n := len(without); n > 0 {
							due = base.Later(due, without[n-1].Add(one))
						}
						without = append(without, due)
						mails.Go(func() {
							r.wait(ctx, false)
							all.Add(1)
							mu.Lock()
							defer mu.Unlock()
							with = append(with, time.Now())
						})
						if random.IntN(2) == 0 {
							time.Sleep(time.Duration(random.Float64() * float64(one)))
						}
					}
				}
				mails.Wait()
				for i, due := range without {
					if late := with[i].Sub(due); late > one+time.Microsecond {
						t.Fatalf("mail %d left %v too late, one message takes %v", i, late, one)
					}
				}
				n := math.Floor(time.Since(start).Seconds()*perSecond+0.01) + 1 // times are whole nanoseconds
				if got := float64(all.Load()); got > n || got < n-2 || bulk.Load() < messages/4 {
					t.Errorf("%v messages left, the rate allows %v; %d of broadcasts", got, n, bulk.Load())
				}
				stop()
				senders.Wait()
			})
		})
	}
}

func TestMailAboveRateStopsBroadcasts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRateLimit(10)
		var mails sync.WaitGroup
		for range 100 {
			mails.Go(func() { r.wait(t.Context(), false) })
		}
		synctest.Wait()
		start := time.Now()
		r.wait(t.Context(), true)
		if waited := time.Since(start); waited < 9900*time.Millisecond {
			t.Errorf("a broadcast came after %v", waited)
		}
		mails.Wait()
	})
}

func TestRateWaitEndsWithContext(t *testing.T) {
	for _, mails := range []int{0, 5} {
		t.Run(fmt.Sprint(mails), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRateLimit(0.1)
				if !r.wait(t.Context(), true) {
					t.Fatal("the first token is not free")
				}
				ctx, stop := context.WithCancel(t.Context())
				var waiting sync.WaitGroup
				for i := range 20 {
					waiting.Go(func() {
						if r.wait(ctx, i >= mails) {
							t.Error("a message left though the server stops")
						}
					})
				}
				synctest.Wait()
				stop()
				waiting.Wait()
				if r.bulkToken != nil || len(r.bulkSlot) != 0 || r.wait(ctx, false) || r.wait(ctx, true) {
					t.Error("something is left behind")
				}
				start := time.Now()
				if !r.wait(t.Context(), false) || mails == 0 && time.Since(start) > 10*time.Second {
					t.Errorf("the token of the one that gave up is lost: the next one took %v", time.Since(start))
				}
			})
		})
	}
}

func TestLimitsThrottleTeamsInWarning(t *testing.T) {
	t.Parallel()
	l := newLimits(relayurl.Relay{Daily: 10_000}, 0)
	l.inWarning = func(teamID string) bool { return teamID == "slow" }
	slow, fast := int64(100), int64(100_000)
	now := time.Unix(1_800_000_000, 0)
	begun := map[string]int64{}
	for range 400 { // a scan every 0.26 s
		now = now.Add(260 * time.Millisecond)
		queues := []pacing.BulkQueue{{ID: "a", TeamID: "slow", Remaining: slow - begun["a"]}, {ID: "b", TeamID: "slow", Remaining: slow}, {ID: "c", TeamID: "fast", Remaining: fast}}
		for _, turn := range l.shareBulk(now, queues, 0, 10) {
			begun[turn.ID] += int64(turn.N)
		}
	}
	if n := begun["a"] + begun["b"]; n < 102 || n > 105 {
		t.Errorf("%d messages in 104 seconds", n)
	}
	if begun["c"] < 3800 {
		t.Errorf("the other team had only %d", begun["c"])
	}
}

func TestBulkSharesLeaveRoomForPending(t *testing.T) {
	t.Parallel()
	l := newLimits(relayurl.Relay{Daily: 100}, 0)
	now := time.Unix(1_800_000_000, 0)
	queue := []pacing.BulkQueue{{ID: "a", TeamID: "a", Remaining: 1000}}
	for _, test := range []struct{ pending, want int64 }{{0, 70}, {30, 40}, {70, 0}, {90, 0}} {
		n := int64(0)
		for _, turn := range l.shareBulk(now, queue, test.pending, 1000) {
			n += int64(turn.N)
		}
		if n != test.want {
			t.Errorf("%d begin beside %d, want %d", n, test.pending, test.want)
		}
	}
}

func TestSpeedIsMeasured(t *testing.T) {
	t.Parallel()
	busy := []pacing.BulkQueue{{ID: "a", TeamID: "a", Remaining: 1000}}
	last := []pacing.BulkQueue{{ID: "a", TeamID: "a", Remaining: 5}}
	for _, test := range []struct {
		name   string
		relay  relayurl.Relay
		queues []pacing.BulkQueue
		every  time.Duration
		want   float64
	}{
		{"nothing is known yet", relayurl.Relay{Connections: 3}, nil, time.Second, 60},
		{"a busy relay", relayurl.Relay{Connections: 3}, busy, 2 * time.Millisecond, 500},
		{"a relay with spare capacity", relayurl.Relay{Connections: 3}, last, 2 * time.Second, 60},
		{"a relay that stood still", relayurl.Relay{Connections: 3}, busy, time.Minute, 60},
		{"a rate", relayurl.Relay{Rate: 14}, nil, time.Second, 14},
		{"a rate that is reached", relayurl.Relay{Rate: 14}, busy, time.Second / 13, 14},
		{"a rate out of reach", relayurl.Relay{Rate: 1000}, busy, 10 * time.Millisecond, 100},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLimits(test.relay, 0)
			now := time.Unix(1_800_000_000, 0)
			for range 5000 {
				l.shareBulk(now, test.queues, 0, 10)
				minute, _, _ := l.reserve(now, "team", true)
				now = now.Add(test.every)
				l.moveToNow(minute, now, true)
			}
			if got := l.speed(); math.Abs(got-test.want) > test.want/50 {
				t.Errorf("%.1f messages a second, want %.1f", got, test.want)
			}
		})
	}
}

func TestMeasuredSpeedAdapts(t *testing.T) {
	t.Parallel()
	m := newMeter(relayurl.Relay{Connections: 1})
	m.busy(true)
	now := time.Unix(1_800_000_000, 0)
	for _, step := range []struct {
		every time.Duration
		n     int
	}{{10 * time.Millisecond, 20_000}, {40 * time.Millisecond, 5000}} {
		for range step.n {
			now = now.Add(step.every)
			m.sent(now)
		}
		if want := 1 / step.every.Seconds(); math.Abs(m.estimate()-want) > want/20 {
			t.Errorf("%.1f messages a second, want %.1f", m.estimate(), want)
		}
	}
}
