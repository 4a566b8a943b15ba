package delivery

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/db"
)

// reservedSlot is a reservation of a test.
type reservedSlot struct {
	minute int64
	bulk   bool
}

// countReserved counts the reservations in the window of a minute, without optimizations.
func countReserved(reservations []reservedSlot, minute int64) (all, bulk int64) {
	for _, p := range reservations {
		if p.minute > minute-dayMinutes {
			all++
			if p.bulk {
				bulk++
			}
		}
	}
	return all, bulk
}

func TestLimitsCountTheLastDay(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		l := newLimits(relayurl.Relay{Daily: 20}, 0.5)
		var held []reservedSlot
		now := time.Unix(1_800_000_000, 0)
		for range 1000 {
			now = now.Add(time.Duration(random.ExpFloat64() * float64(time.Hour)))
			if random.IntN(200) == 0 {
				now = now.Add(3 * dayMinutes * time.Minute)
			}
			minute := now.Unix() / 60
			all, bulk := countReserved(held, minute)
			switch n := random.IntN(8); {
			case n == 0 && len(held) > 0:
				i := random.IntN(len(held))
				l.unreserve(held[i].minute, "team", held[i].bulk)
				held = slices.Delete(held, i, i+1)
			case n == 1 && len(held) > 0 && held[len(held)-1].minute > minute-dayMinutes:
				p := &held[len(held)-1]
				p.minute = l.moveToNow(p.minute, now, p.bulk)
			default:
				p := reservedSlot{minute, n%2 == 0}
				want := all < 20 && (!p.bulk || bulk < 10 && !now.Before(l.mailPriorityUntil))
				_, free, ok := l.reserve(now, "team", p.bulk)
				if ok != want || !ok && !free.After(now) {
					t.Fatalf("%d messages, %d of broadcasts, are reserved: reserve(bulk=%v) is %v, free %v", all, bulk, p.bulk, ok, free.Sub(now))
				}
				if ok {
					held = append(held, p)
				}
			}
			all, bulk = countReserved(held, minute)
			if want := max(0, min(20-all, 10-bulk)); !now.Before(l.mailPriorityUntil) && l.bulkRemaining(now) != want {
				t.Fatalf("%d messages of broadcasts are allowed, want %d", l.bulkRemaining(now), want)
			}
		}
	}
}

func TestBroadcastsLeaveReserveForMail(t *testing.T) {
	t.Parallel()
	l := newLimits(relayurl.Relay{Daily: 100}, 0)
	start := time.Unix(1_800_000_000, 0).Truncate(time.Minute)
	for range 10 {
		l.reserve(start.Add(-time.Hour), "team", false)
	}
	for i := range 70 {
		if _, _, ok := l.reserve(start, "team", true); !ok {
			t.Fatalf("message %d of broadcasts was refused", i)
		}
	}
	if _, free, ok := l.reserve(start, "team", true); ok || !free.Equal(start.Add(dayMinutes*time.Minute)) {
		t.Errorf("a broadcast may use more than its share: %v, free at %v", ok, free)
	}
	for i := range 20 {
		if _, _, ok := l.reserve(start, "team", false); !ok {
			t.Fatalf("mail %d was refused", i)
		}
	}
	_, free, ok := l.reserve(start, "team", false)
	if want := start.Add(dayMinutes*time.Minute - time.Hour); ok || !free.Equal(want) {
		t.Errorf("mail 21: %v, free at %v, want %v", ok, free, want)
	}
	day := start.Add(dayMinutes * time.Minute)
	if n := l.bulkRemaining(day); n != 70 {
		t.Errorf("%d messages are allowed a day later", n)
	}
}

func TestMailWaitingForDailyLimitGoesFirst(t *testing.T) {
	t.Parallel()
	l := newLimits(relayurl.Relay{Daily: 10}, 0.9)
	start := time.Unix(1_800_000_000, 0)
	for range 10 {
		l.reserve(start, "team", false)
	}
	_, free, _ := l.reserve(start.Add(time.Hour), "team", false)
	if _, _, ok := l.reserve(free, "team", true); ok || l.bulkRemaining(free) != 0 {
		t.Error("a broadcast used the capacity that mail waits for")
	}
	if _, _, ok := l.reserve(free.Add(time.Second), "team", false); !ok {
		t.Error("mail does not get the capacity at the promised time")
	}
	if _, _, ok := l.reserve(free.Add(mailPriority), "team", true); !ok {
		t.Error("broadcasts get nothing though no mail waits any more")
	}
}

func TestLimitsAfterClockMovedBack(t *testing.T) {
	t.Parallel()
	l := newLimits(relayurl.Relay{Daily: 10}, 0.5)
	now := time.Unix(1_800_000_000, 0)
	for range 4 {
		l.reserve(now, "team", true)
	}
	before := now.Add(-10 * time.Hour)
	minute, _, ok := l.reserve(before, "team", true)
	if !ok || minute != now.Unix()/60 || l.bulkRemaining(before) != 0 {
		t.Errorf("counted in minute %d of %d, %d messages are allowed", minute, now.Unix()/60, l.bulkRemaining(before))
	}
	l.unreserve(minute, "team", true)
	if n := l.bulkRemaining(now); n != 1 {
		t.Errorf("%d messages are allowed", n)
	}
}

func TestLimitsLoadUsageAtStart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		store := openStore(t)
		now := time.Now()
		must(t, store.Write(t.Context(), func(tx *db.Tx) error {
			for _, at := range []time.Time{now, now.Add(-time.Hour), now.Add(-24 * time.Hour), now.Add(-dayMinutes * time.Minute), now.Add(time.Hour)} {
				if err := tx.AddUsage(app.DefaultRegion, at, 100, 60); err != nil {
					return err
				}
			}
			return nil
		}))
		l := newLimits(relayurl.Relay{Region: app.DefaultRegion, Daily: 1000}, 0)
		must(t, l.load(t.Context(), store))
		if want := (usage{400, 240}); l.total != want {
			t.Errorf("%+v, want %+v", l.total, want)
		}
		if n := l.bulkRemaining(now); n != 700-240 {
			t.Errorf("%d are allowed", n)
		}
	})
}

// BenchmarkReserve reserves and moves one reservation per message as time passes.
func BenchmarkReserve(b *testing.B) {
	l := newLimits(relayurl.Relay{Daily: 1 << 60}, 0)
	now := time.Unix(1_800_000_000, 0)
	for range dayMinutes {
		l.reserve(now, "team", true)
		now = now.Add(time.Minute)
	}
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Second)
		minute, _, _ := l.reserve(now, "team", true)
		l.moveToNow(minute, now, true)
	}
}
