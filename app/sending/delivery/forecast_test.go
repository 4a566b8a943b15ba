package delivery_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/delivery"
	"mailer/app/testing/testserver"
	"mailer/db"
)

var planRelay = relayurl.Relay{Region: app.DefaultRegion, Rate: 10, Daily: 100}

func wantNear(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if (got - want).Abs() > 200*time.Millisecond {
		t.Errorf("%s finishes after %v, want %v", what, got, want)
	}
}

// The expanded, begun and sent recipients of a broadcast add up to its audience, whatever is
// reserved.
func TestForecastCountsMailInProgress(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelayOf(planRelay, nil))
		first := w.StoreBroadcast(app.DefaultRegion, 60, time.Now())
		w.AdvanceBroadcast(first, 40, 10, 5, 0)
		for range 15 {
			w.Services.Delivery.Queues()[0].Limits().Reserve(time.Now(), true)
		}
		plan := w.ForecastBroadcast(&app.Broadcast{ID: app.NewID(), TeamID: w.Key.TeamID, Relay: app.DefaultRegion, Audience: 50})
		day := delivery.DayMinutes * time.Minute
		if plan.Now != 10 || plan.TooLarge || plan.Warning == nil || plan.Warning.Days != 2 || !strings.Contains(plan.Warning.Message, "10 of 50") {
			t.Errorf("%+v, %+v", plan, plan.Warning)
		}
		wantNear(t, "the new one", time.Until(plan.FinishesAt), day+3900*time.Millisecond)
		wantNear(t, "the first one", w.FinishTimes(first)[first.ID], 2900*time.Millisecond)
		if large := w.ForecastBroadcast(&app.Broadcast{ID: app.NewID(), TeamID: w.Key.TeamID, Relay: app.DefaultRegion, Audience: 24*70 - 59}); !large.TooLarge {
			t.Errorf("%+v", large)
		}
		other := w.ForecastBroadcast(&app.Broadcast{ID: app.NewID(), TeamID: "another", Relay: app.DefaultRegion, Audience: 10})
		if other.Now != 10 || other.Warning != nil {
			t.Errorf("another team's: %+v", other)
		}
	})
}

func TestForecastUsesQueueOrder(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelayOf(planRelay, nil))
		later := w.StoreBroadcast(app.DefaultRegion, 40, time.Now().Add(-time.Second))
		earlier := w.StoreBroadcast(app.DefaultRegion, 50, time.Now().Add(-time.Minute))
		scheduled := w.StoreBroadcast(app.DefaultRegion, 10, time.Now().Add(48*time.Hour))
		gone := w.StoreBroadcast("elsewhere", 10, time.Now())
		draft := &app.Broadcast{ID: app.NewID(), TeamID: w.Key.TeamID, Status: app.DraftBroadcast}
		got := w.FinishTimes(later, earlier, scheduled, gone, draft)
		if len(got) != 3 {
			t.Errorf("%v", got)
		}
		day := delivery.DayMinutes * time.Minute
		wantNear(t, "the earlier one", got[earlier.ID], 6900*time.Millisecond)
		wantNear(t, "the later one", got[later.ID], day+1900*time.Millisecond)
		wantNear(t, "the scheduled one", got[scheduled.ID], 48*time.Hour+900*time.Millisecond)
		plan := w.ForecastBroadcast(&app.Broadcast{ID: app.NewID(), TeamID: w.Key.TeamID, Relay: app.DefaultRegion, Audience: 100, ScheduledAt: time.Now().Add(72 * time.Hour)})
		if plan.Now != 60 {
			t.Errorf("%d of 100 leave three days later, beside 10 of the day before", plan.Now)
		}
		if other := w.ForecastBroadcast(&app.Broadcast{Relay: "elsewhere", Audience: 3}); other.Now != 3 || !other.FinishesAt.IsZero() || other.TooLarge {
			t.Errorf("a relay that is not there: %+v", other)
		}
	})
}

func TestForecastFollowsSending(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelayOf(planRelay, nil))
		first := w.StoreBroadcast(app.DefaultRegion, 60, time.Now())
		wantNear(t, "before", w.FinishTimes(first)[first.ID], 5900*time.Millisecond)
		w.AdvanceBroadcast(first, 30, 0, 0, 0)
		wantNear(t, "in the same second", w.FinishTimes(first)[first.ID], 5900*time.Millisecond)
		time.Sleep(500 * time.Millisecond)
		second := w.StoreBroadcast(app.DefaultRegion, 5, time.Now())
		got := w.FinishTimes(second, first)
		wantNear(t, "one that has just been sent", got[second.ID], 800*time.Millisecond)
		wantNear(t, "the one before", got[first.ID], 3400*time.Millisecond)
		time.Sleep(900 * time.Millisecond)
		if at := w.FinishTimes(second)[second.ID]; at < 0 {
			t.Errorf("finishes %v ago", -at)
		}
	})
}

func TestForecastIncludesRetries(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelayOf(planRelay, nil))
		b := w.StoreBroadcast(app.DefaultRegion, 60, time.Now())
		w.AdvanceBroadcast(b, 60, 3, 0, 2*time.Hour)
		wantNear(t, "it", w.FinishTimes(b)[b.ID], 2*time.Hour)
	})
}

func TestForecastUsesMeasuredSpeed(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 5}, nil))
		b := &app.Broadcast{ID: app.NewID(), TeamID: w.Key.TeamID, Relay: app.DefaultRegion, Audience: 30_000}
		plan := w.ForecastBroadcast(b)
		wantNear(t, "by a guess", time.Until(plan.FinishesAt), 300*time.Second)
		if plan.Now != 30_000 || plan.Warning != nil {
			t.Errorf("%+v", plan)
		}
		l := w.Services.Delivery.Queues()[0].Limits()
		l.Meter().Busy(true)
		for range 2000 {
			minute, _, _ := l.Reserve(time.Now(), true)
			time.Sleep(2 * time.Millisecond)
			l.MoveToNow(minute, time.Now(), true)
		}
		wantNear(t, "as measured", time.Until(w.ForecastBroadcast(b).FinishesAt), 60*time.Second)
	})
}

// BenchmarkFinishTimes forecasts a list with 20 queued broadcasts and a day of counted mail.
func BenchmarkFinishTimes(b *testing.B) {
	w := testserver.New(b, testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Rate: 50, Daily: 100_000}, nil))
	now := time.Now()
	testserver.Must(b, w.DB.Write(b.Context(), func(tx *db.Tx) error {
		for m := range delivery.DayMinutes {
			if err := tx.AddUsage(app.DefaultRegion, now.Add(-time.Duration(m)*time.Minute), 40, 20); err != nil {
				return err
			}
		}
		return nil
	}))
	var rows []app.Broadcast
	for range 20 {
		rows = append(rows, *w.StoreBroadcast(app.DefaultRegion, 70_000, now))
	}
	for _, age := range []time.Duration{0, delivery.ForecastTTL} {
		b.Run(fmt.Sprint("age ", age), func(b *testing.B) {
			for b.Loop() {
				w.Services.Delivery.Queues()[0].Forecaster().Age(age)
				if _, err := w.Services.Broadcasts.FinishTimes(b.Context(), rows); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
