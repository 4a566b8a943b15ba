package engine

import (
	"context"
	"strconv"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/relays"
	"mailer/db"
)

func TestAStepOfTheClockIsToldFromTheTimeThatPasses(t *testing.T) {
	cases := []struct{ wall, monotonic, want time.Duration }{
		{10 * time.Second, 10 * time.Second, 0},
		{29 * time.Second, 20 * time.Second, 0},                              // nine seconds: not worth it
		{30*time.Second + 3*time.Hour, 30 * time.Second, 3 * time.Hour},      // put forward
		{40*time.Second + 3*time.Hour, 40 * time.Second, 0},                  // and left there
		{50*time.Second + time.Hour, 50 * time.Second, -2 * time.Hour},       // put back by part of it
		{60 * time.Second, 60 * time.Second, -time.Hour},                     // and by the rest
		{70*time.Second - 240*time.Hour, 70 * time.Second, -240 * time.Hour}, // and by days
	}
	c := newClock()
	for i, tc := range cases {
		if got := c.moved(tc.wall, tc.monotonic); got != tc.want {
			t.Errorf("%d: moved by %s, want %s", i, got, tc.want)
		}
	}
}

// ahead writes into the database what a server with a clock that was ahead leaves
// there: units to be tried at a time of that clock, and the clock itself.
func (w *world) ahead(by time.Duration, ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		u := *w.unit(id)
		must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error { return tx.RequeueUnit(u, u.Attempts, tx.Now.Add(by)) }))
	}
	must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error {
		return tx.SetSetting(clockSetting, strconv.AppendInt(nil, tx.Now.Add(by).UnixMilli(), 10))
	}))
}

func TestMailOfAServerWhoseClockWasAheadDoesNotWaitForThatTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		id, later := w.send("bob@example.net"), w.sendAt("in 2 hours")
		w.ahead(5*time.Hour, id)
		w.start()
		sleep(2 * time.Second)
		w.wantLast(id, app.Sent)
		w.wantLast(later, app.Scheduled) // at its own time, by whatever clock
		sleep(2*time.Hour - 4*time.Second)
		w.wantLast(later, app.Scheduled)
		sleep(4 * time.Second)
		w.wantLast(later, app.Sent)
	})
}

func TestARetryKeepsItsDelayWhenTheClockIsPutBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(always(byName(map[string]int{"bob@example.net": 451}))))
		id := w.send("bob@example.net")
		sleep(2 * time.Second)
		delay := time.Until(w.unit(id).NextAt)
		w.ahead(delay+5*time.Hour, id)
		must(t, w.e.advance(t.Context(), 5*time.Hour))
		if got := time.Until(w.unit(id).NextAt); got != delay {
			t.Errorf("the next try is in %s, want %s", got, delay)
		}
	})
}

func TestAdvanceGoesThroughAllUnits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		for range purgeChunk + 10 {
			w.send("bob@example.net")
		}
		w.sql("UPDATE units SET next_at = next_at + 3600000 RETURNING email_id")
		must(t, w.e.advance(t.Context(), time.Hour))
		if late := w.sql("SELECT count(*) FROM units WHERE next_at > ?", strconv.FormatInt(time.Now().UnixMilli(), 10))[0]; late != "0" {
			t.Errorf("%s units still wait", late)
		}
	})
}

func TestADeliveryOfAServerWhoseClockWasAheadDoesNotWaitForThatTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		w.send("bob@example.net")
		contact := app.ContactInput{Email: "carl@example.net"}
		_, err := w.e.CreateContact(t.Context(), w.key, contact)
		must(t, err)
		w.sql("UPDATE deliveries SET next_at = next_at + 18000000 RETURNING webhook_id")
		must(t, w.e.advance(t.Context(), 5*time.Hour))
		now := strconv.FormatInt(time.Now().UnixMilli(), 10)
		if n := w.sql("SELECT count(*) FROM deliveries WHERE next_at <= ?", now)[0]; n != "1" {
			t.Errorf("%s deliveries are due, want 1", n)
		}
	})
}

func TestTheDayOfARelayGoesOnWhenTheClockIsPutBack(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	ahead := now.Add(100 * 24 * time.Hour)
	l := newLimits(relays.Relay{Region: "r", Daily: 3}, 0)
	take := func(at time.Time, want bool) int64 {
		t.Helper()
		minute, _, ok := l.reserve(at, false)
		if ok != want {
			t.Errorf("a place at %s: %v, want %v", at, ok, want)
		}
		return minute
	}
	take(now.Add(-time.Hour), true)
	early := take(ahead.Add(-time.Hour), true) // which the first has left
	take(ahead, true)
	l.putBack(now, ahead.Sub(now))
	take(now, true)
	take(now, false)
	take(now.Add(23*time.Hour-time.Minute), false)
	take(now.Add(23*time.Hour+time.Minute), true)
	take(now.Add(23*time.Hour+time.Minute), false)
	take(now.Add(24*time.Hour+time.Minute), true)
	l.unreserve(early, false) // of a minute that has not come by now
	sum := usage{}
	for _, u := range l.minutes {
		sum.sent += u.sent
	}
	if sum.sent != l.total.sent {
		t.Errorf("minutes hold %d, the total is %d", sum.sent, l.total.sent)
	}
}

func TestUseCountedAheadIsMovedWithTheClock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 1, Daily: 5}, nil))
		name, now := app.DefaultRegion, time.Now()
		must(t, w.db.Write(t.Context(), func(tx *db.Tx) error {
			for _, at := range []time.Duration{-time.Hour, 0, 4 * time.Hour, 5 * time.Hour} {
				if err := tx.AddUsage(name, now.Add(at), 1, 0); err != nil {
					return err
				}
			}
			return nil
		}))
		w.ahead(5 * time.Hour)
		w.start()
		want := map[int64]int64{now.Unix()/60 - 60: 2, now.Unix() / 60: 2}
		w.read(func(r *db.Reader) error {
			rows, err := r.Usage(name, 0)
			got := map[int64]int64{}
			for _, u := range rows {
				got[u.Minute] = u.Sent
			}
			if len(got) != 2 || got[now.Unix()/60] != want[now.Unix()/60] || got[now.Unix()/60-60] != want[now.Unix()/60-60] {
				t.Errorf("counted %v, want %v", got, want)
			}
			return err
		})
	})
}

func TestADayThatIsUsedUpIsLookedAtAgainOnceThePausesEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 1, Daily: 1}, nil))
		first := w.send("bob@example.net")
		sleep(2 * time.Second)
		second := w.send("eve@example.net")
		sleep(2 * time.Second)
		w.wantLast(first, app.Sent)
		w.wantLast(second, app.Queued)
		l := w.e.lanes[0]
		l.limits.mu.Lock()
		l.limits.minutes, l.limits.total = [dayMinutes]usage{}, usage{} // as it is once two days were slept through
		l.limits.mu.Unlock()
		w.e.reopenLanes()
		w.due(second)
		sleep(2 * time.Second)
		w.wantLast(second, app.Sent)
	})
}

func TestPausesEndWhenTheClockWasMoved(t *testing.T) {
	bubble(t, func(t *testing.T) {
		down := true
		w := serving(t, newRelay(func(*app.Outgoing, int) answer {
			if down {
				return trouble(app.StageConnect, "no route to host")
			}
			return accept
		}))
		id := w.send("bob@example.net")
		sleep(30 * time.Minute) // by now it pauses for longer than a test waits
		down = false
		sleep(time.Second)
		w.wantLast(id, app.Queued)
		w.e.clock.ahead = -48 * time.Hour
		must(t, w.e.checkClock(context.Background(), time.Now()))
		w.due(id)
		sleep(2 * time.Second)
		w.wantLast(id, app.Sent)
	})
}

func TestAPacemakerThatWasRewoundBeatsOnAndStops(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		w.ahead(time.Hour) // the clock that the next beat corrects
		w.e.rewindCron()
		sleep(2 * time.Minute)
		w.read(func(r *db.Reader) error {
			noted, err := r.Setting(clockSetting)
			ms, _ := strconv.ParseInt(string(noted), 10, 64)
			if at := time.UnixMilli(ms); at.After(time.Now()) || time.Since(at) > 90*time.Second {
				t.Errorf("the clock was last noted at %s, it is %s", at, time.Now())
			}
			return err
		})
		w.stop()
		w.e.rewindCron() // a step that was noticed too late: the bubble would not end
	})
}
