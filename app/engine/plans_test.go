package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/pacing"
	"mailer/app/relays"
	"mailer/db"
)

var planRelay = relays.Relay{Region: app.DefaultRegion, Rate: 10, Daily: 100}

// sentBroadcast stores a broadcast that was sent to so many contacts: queued, or
// scheduled where at is to come.
func (w *world) sentBroadcast(relay string, audience int64, at time.Time) *app.Broadcast {
	w.t.Helper()
	now := time.Now()
	b := &app.Broadcast{ID: app.NewID(), TeamID: w.key.TeamID, From: app.Address{Local: "ann", Domain: testDomain}, CreatedAt: now,
		Status: app.QueuedBroadcast, Relay: relay, Audience: audience, QueuedAt: at, Mails: app.NewMails()}
	if at.After(now) {
		b.Status, b.ScheduledAt, b.QueuedAt = app.ScheduledBroadcast, at, time.Time{}
	}
	must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error {
		if err := tx.InsertBroadcast(b); err != nil {
			return err
		}
		return tx.SendBroadcast(b)
	}))
	return b
}

// begin moves a broadcast on by n emails, of which some wait, put off until since
// is not zero, and some are dotted.
func (w *world) begin(b *app.Broadcast, n, waiting, dotted int, putOff time.Duration) {
	w.t.Helper()
	must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error {
		if err := tx.BeginRecipients(b, n, waiting+dotted); err != nil {
			return err
		}
		for i := range waiting + dotted {
			u := app.Unit{EmailID: app.MailID(b.Mails, int64(i+1)), TeamID: b.TeamID, BroadcastID: b.ID, Relay: b.Relay, NextAt: tx.Now.Add(putOff), Size: 1}
			if putOff > 0 {
				u.Since = tx.Now
			}
			if err := tx.InsertUnit(u); err != nil {
				return err
			}
			if i < waiting {
				continue
			}
			if err := tx.MarkDotted(u, ""); err != nil {
				return err
			}
		}
		return tx.AddUsage(b.Relay, tx.Now, int64(n-waiting), int64(n-waiting))
	}))
}

func (w *world) plan(b *app.Broadcast) (plan pacing.Plan) {
	w.t.Helper()
	must(w.t, w.db.Read(w.t.Context(), func(r *db.Reader) (err error) {
		plan, err = w.e.planBroadcast(r, b)
		return err
	}))
	return plan
}

func (w *world) finishes(rows ...*app.Broadcast) map[string]time.Duration {
	w.t.Helper()
	var list []app.Broadcast
	for _, b := range rows {
		list = append(list, *b)
	}
	times, err := w.e.finishTimes(w.t.Context(), list)
	must(w.t, err)
	out := map[string]time.Duration{}
	for id, at := range times {
		out[id] = time.Until(at)
	}
	return out
}

func near(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if (got - want).Abs() > 200*time.Millisecond {
		t.Errorf("%s finishes after %v, want %v", what, got, want)
	}
}

// TestPlanCountsWhatIsOnItsWay has a broadcast in mid-send: what is written down,
// what was begun and what left add up to its audience, whatever is reserved.
func TestPlanCountsWhatIsOnItsWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelayOf(planRelay, nil))
		first := w.sentBroadcast(app.DefaultRegion, 60, time.Now())
		w.begin(first, 40, 10, 5, 0)
		for range 15 {
			w.e.lanes[0].limits.reserve(time.Now(), true)
		}
		plan := w.plan(&app.Broadcast{ID: app.NewID(), TeamID: w.key.TeamID, Relay: app.DefaultRegion, Audience: 50})
		day := dayMinutes * time.Minute
		if plan.Now != 10 || plan.TooLarge || plan.Warning == nil || plan.Warning.Days != 2 || !strings.Contains(plan.Warning.Message, "10 of 50") {
			t.Errorf("%+v, %+v", plan, plan.Warning)
		}
		near(t, "the new one", time.Until(plan.FinishesAt), day+3900*time.Millisecond)
		near(t, "the first one", w.finishes(first)[first.ID], 2900*time.Millisecond)
		if large := w.plan(&app.Broadcast{ID: app.NewID(), TeamID: w.key.TeamID, Relay: app.DefaultRegion, Audience: 24*70 - 59}); !large.TooLarge {
			t.Errorf("%+v", large)
		}
		other := w.plan(&app.Broadcast{ID: app.NewID(), TeamID: "another", Relay: app.DefaultRegion, Audience: 10})
		if other.Now != 10 || other.Warning != nil {
			t.Errorf("another team's: %+v", other)
		}
	})
}

func TestPlanOfBroadcastsThatWereNotSentInTheOrderOfTheirIDs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelayOf(planRelay, nil))
		later := w.sentBroadcast(app.DefaultRegion, 40, time.Now().Add(-time.Second))
		earlier := w.sentBroadcast(app.DefaultRegion, 50, time.Now().Add(-time.Minute))
		scheduled := w.sentBroadcast(app.DefaultRegion, 10, time.Now().Add(48*time.Hour))
		gone := w.sentBroadcast("elsewhere", 10, time.Now())
		draft := &app.Broadcast{ID: app.NewID(), TeamID: w.key.TeamID, Status: app.DraftBroadcast}
		got := w.finishes(later, earlier, scheduled, gone, draft)
		if len(got) != 3 {
			t.Errorf("%v", got)
		}
		day := dayMinutes * time.Minute
		near(t, "the earlier one", got[earlier.ID], 6900*time.Millisecond)
		near(t, "the later one", got[later.ID], day+1900*time.Millisecond)
		near(t, "the scheduled one", got[scheduled.ID], 48*time.Hour+900*time.Millisecond)
		plan := w.plan(&app.Broadcast{ID: app.NewID(), TeamID: w.key.TeamID, Relay: app.DefaultRegion, Audience: 100, ScheduledAt: time.Now().Add(72 * time.Hour)})
		if plan.Now != 60 {
			t.Errorf("%d of 100 leave three days later, beside 10 of the day before", plan.Now)
		}
		if elsewhere := w.plan(&app.Broadcast{Relay: "elsewhere", Audience: 3}); elsewhere.Now != 3 || !elsewhere.FinishesAt.IsZero() || elsewhere.TooLarge {
			t.Errorf("a relay that is not there: %+v", elsewhere)
		}
	})
}

func TestFinishTimesAreLive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelayOf(planRelay, nil))
		first := w.sentBroadcast(app.DefaultRegion, 60, time.Now())
		near(t, "before", w.finishes(first)[first.ID], 5900*time.Millisecond)
		w.begin(first, 30, 0, 0, 0)
		near(t, "in the same second", w.finishes(first)[first.ID], 5900*time.Millisecond)
		time.Sleep(500 * time.Millisecond)
		second := w.sentBroadcast(app.DefaultRegion, 5, time.Now())
		got := w.finishes(second, first)
		near(t, "one that has just been sent", got[second.ID], 800*time.Millisecond)
		near(t, "the one before", got[first.ID], 3400*time.Millisecond)
		time.Sleep(900 * time.Millisecond)
		if at := w.finishes(second)[second.ID]; at < 0 {
			t.Errorf("finishes %v ago", -at)
		}
	})
}

func TestEmailsThatWerePutOffFinishWithTheirNextTry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelayOf(planRelay, nil))
		b := w.sentBroadcast(app.DefaultRegion, 60, time.Now())
		w.begin(b, 60, 3, 0, 2*time.Hour)
		near(t, "it", w.finishes(b)[b.ID], 2*time.Hour)
	})
}

func TestPlanWithoutLimitsGoesByTheMeasuredSpeed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 5}, nil))
		b := &app.Broadcast{ID: app.NewID(), TeamID: w.key.TeamID, Relay: app.DefaultRegion, Audience: 30_000}
		plan := w.plan(b)
		near(t, "by a guess", time.Until(plan.FinishesAt), 300*time.Second)
		if plan.Now != 30_000 || plan.Warning != nil {
			t.Errorf("%+v", plan)
		}
		l := w.e.lanes[0].limits
		l.meter.busy(true)
		for range 2000 {
			minute, _, _ := l.reserve(time.Now(), true)
			time.Sleep(2 * time.Millisecond)
			l.renew(minute, time.Now(), true)
		}
		near(t, "as measured", time.Until(w.plan(b).FinishesAt), 60*time.Second)
	})
}

// BenchmarkFinishTimes asks for a list while 20 broadcasts are queued and a day of
// mail is counted.
func BenchmarkFinishTimes(b *testing.B) {
	w := idle(b, newRelayOf(relays.Relay{Region: app.DefaultRegion, Rate: 50, Daily: 100_000}, nil))
	now := time.Now()
	must(b, w.db.Write(b.Context(), func(tx *db.Tx) error {
		for m := range dayMinutes {
			if err := tx.AddUsage(app.DefaultRegion, now.Add(-time.Duration(m)*time.Minute), 40, 20); err != nil {
				return err
			}
		}
		return nil
	}))
	var rows []app.Broadcast
	for range 20 {
		rows = append(rows, *w.sentBroadcast(app.DefaultRegion, 70_000, now))
	}
	for _, age := range []time.Duration{0, planFresh} {
		b.Run(fmt.Sprint("age ", age), func(b *testing.B) {
			for b.Loop() {
				w.e.lanes[0].plans.at = w.e.lanes[0].plans.at.Add(-age)
				if _, err := w.e.finishTimes(b.Context(), rows); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
