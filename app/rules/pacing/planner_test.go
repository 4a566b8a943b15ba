package pacing

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 8, 17, 12, 0, 0, 0, time.UTC)

// planned returns the queues of a forecast from entries as in queuesOf.
func planned(t testing.TB, entries ...any) (queues []PlannedQueue) {
	t.Helper()
	for _, q := range queuesOf(t, entries...) {
		queues = append(queues, PlannedQueue{BulkQueue: q})
	}
	return queues
}

func minutesAgo(n int64) int64 { return noon.Unix()/60 - n }

// windows returns the duration of n windows of a daily limit, and more.
func windows(n int, more time.Duration) time.Duration {
	return time.Duration(n)*DayMinutes*time.Minute + more
}

// TestPlan has hand-computed cases: the last queue is planned at noon with 10 messages in a second
// and a daily limit of 100 by default.
func TestPlan(t *testing.T) {
	for _, test := range []struct {
		name    string
		f       Forecast
		finish  time.Duration // after noon
		now     int64
		warning string // code and days
	}{
		{"all of it at once", Forecast{Queues: planned(t, "a1", 70)}, 6900 * time.Millisecond, 70, ""},
		{"the rest after a day", Forecast{Queues: planned(t, "a1", 100)}, windows(1, 2900*time.Millisecond), 70, "paced 2"},
		{"one message too many", Forecast{Queues: planned(t, "a1", 71)}, windows(1, 0), 70, "paced 2"},
		{"24 waves", Forecast{Queues: planned(t, "a1", 24*70)}, windows(23, 6900*time.Millisecond), 70, "paced 24"},
		{"25 waves are too large", Forecast{Queues: planned(t, "a1", 24*70+1)}, -1, 70, ""},
		{"behind one of the team", Forecast{Queues: planned(t, "a1", 60, "a2", 50)}, windows(1, 3900*time.Millisecond), 10, "paced 2"},
		{"behind one that takes all", Forecast{Queues: planned(t, "a1", 100, "a2", 10)}, windows(1, 1800*time.Millisecond), 0, "queued_behind 2"},
		{"beside one of another team", Forecast{Queues: planned(t, "a1", 100, "b1", 50)}, windows(1, 2800*time.Millisecond), 35, "paced 2"},
		{"beside a small one of another team", Forecast{Queues: planned(t, "a1", 10, "b1", 60)}, 6900 * time.Millisecond, 60, ""},
		{"three", Forecast{Queues: planned(t, "a1", 20, "a2", 20, "a3", 100)}, windows(1, 6900*time.Millisecond), 30, "paced 2"},
		{"a share that bulk used an hour ago", Forecast{Queues: planned(t, "a1", 5), Usage: []UsageMinute{{minutesAgo(60), 70, 70}}},
			windows(1, -time.Hour+400*time.Millisecond), 0, "queued_behind 1"},
		{"a share that bulk used in part", Forecast{Queues: planned(t, "a1", 50), Usage: []UsageMinute{{minutesAgo(60), 40, 40}}},
			windows(1, -time.Hour+1900*time.Millisecond), 30, "paced 1"},
		{"bulk that was forgotten", Forecast{Queues: planned(t, "a1", 70), Usage: []UsageMinute{{minutesAgo(DayMinutes), 70, 70}}}, 6900 * time.Millisecond, 70, ""},
		{"a limit that transactional mail used in part", Forecast{Queues: planned(t, "a1", 50), Usage: []UsageMinute{{minutesAgo(600), 60, 0}}},
			windows(1, 900*time.Millisecond), 40, "paced 2"},
		{"a limit that transactional mail used up", Forecast{Queues: planned(t, "a1", 50), Usage: []UsageMinute{{minutesAgo(600), 100, 0}}},
			windows(1, -10*time.Hour+4900*time.Millisecond), 0, "queued_behind 1"},
		{"rate alone", Forecast{Daily: -1, Queues: planned(t, "a1", 1000)}, 99900 * time.Millisecond, 1000, ""},
		{"rate alone, beside a large one", Forecast{Daily: -1, Queues: planned(t, "a1", 100_000, "b1", 100)}, 19800 * time.Millisecond, 100, ""},
		{"rate alone, four of two teams", Forecast{Daily: -1, Queues: planned(t, "a1", 1000, "a2", 1000, "b1", 5000, "a3", 100)}, 59400 * time.Millisecond, 100, ""},
		{"rate alone, large beside small", Forecast{Daily: -1, Queues: planned(t, "a1", 100, "b1", 1000)}, 109900 * time.Millisecond, 1000, ""},
		{"rate alone for more than 24 days", Forecast{Daily: -1, Queues: planned(t, "a1", 24*864_000+1200)}, -1, 24*864_000 + 1200, ""},
		{"half the rate is used by transactional mail", Forecast{Daily: -1, Queues: planned(t, "a1", 3000), Usage: steady(300, 0)}, 599800 * time.Millisecond, 3000, ""},
		{"no rate is left", Forecast{Daily: -1, Queues: planned(t, "a1", 3000), Usage: steady(600, 0)}, -1, 3000, ""},
		{"nobody", Forecast{Queues: planned(t, "a1", 0)}, 0, 0, ""},
		{"a team that drips", Forecast{Daily: -1, Queues: drip(planned(t, "a1", 100))}, 99 * time.Second, 100, ""},
		{"two of a team that drips", Forecast{Daily: -1, Queues: drip(planned(t, "a1", 1000, "a2", 100))}, 198 * time.Second, 100, ""},
		{"a team that drips leaves the speed to others", Forecast{Daily: -1, Queues: append(drip(planned(t, "a1", 10_000)), planned(t, "b1", 5401)...)}, 600 * time.Second, 5401, ""},
		{"a large limit", Forecast{Daily: 1_000_000, Queues: planned(t, "a1", 600_000)}, 59999900 * time.Millisecond, 600_000, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := test.f
			f.Now, f.Speed = noon, 10
			switch f.Daily {
			case 0:
				f.Daily, f.Share = 100, 70
			case -1:
				f.Daily = 0
			default:
				f.Share = f.Daily * 7 / 10
			}
			checkPlan(t, f, test.finish, test.now, test.warning)
		})
	}
}

func checkPlan(t *testing.T, f Forecast, finish time.Duration, now int64, warning string) {
	t.Helper()
	last := len(f.Queues) - 1
	plan, got := f.Plan(last), ""
	if plan.Warning != nil {
		got = fmt.Sprint(plan.Warning.Code, " ", plan.Warning.Days)
		words := fmt.Sprintf("%d of %d emails can leave", now, f.Queues[last].Remaining)
		if !strings.Contains(plan.Warning.Message, words) || !strings.Contains(plan.Warning.Message, minuteText(plan.FinishesAt)) {
			t.Errorf("it says %q", plan.Warning.Message)
		}
	}
	sum, days := int64(0), map[time.Time]bool{}
	for _, w := range plan.Waves {
		sum, days[w.At] = sum+w.Count, true
	}
	if !plan.TooLarge && (sum != f.Queues[last].Remaining || len(days) != len(plan.Waves)) {
		t.Errorf("waves %v of %d emails", plan.Waves, f.Queues[last].Remaining)
	}
	if plan.Now != now || plan.TooLarge != (finish < 0) || got != warning {
		t.Errorf("%d now, warning %q, too large %v; want %d, %q", plan.Now, got, plan.TooLarge, now, warning)
	}
	if off := plan.FinishesAt.Sub(noon) - finish; finish >= 0 && off.Abs() > 20*time.Millisecond {
		t.Errorf("finishes after %v, want %v", plan.FinishesAt.Sub(noon), finish)
	}
}

func steady(mail, bulk int64) (usage []UsageMinute) {
	for m := range int64(DayMinutes) {
		usage = append(usage, UsageMinute{minutesAgo(m), mail + bulk, bulk})
	}
	return usage
}

func drip(queues []PlannedQueue) []PlannedQueue {
	for i := range queues {
		queues[i].Drip = true
	}
	return queues
}

func TestPlanOfAScheduledBroadcast(t *testing.T) {
	f := Forecast{Now: noon.Add(17500 * time.Millisecond), Speed: 10, Daily: 100, Share: 70, Queues: planned(t, "a1", 30, "a2", 100)}
	f.Queues[1].From = noon.Add(3*time.Hour + 20*time.Second)
	plan := f.Plan(1)
	if want := noon.Add(windows(1, 3*time.Hour+2900*time.Millisecond)); plan.Now != 40 || plan.FinishesAt.Sub(want).Abs() > 100*time.Millisecond {
		t.Errorf("%d at once, finishes at %v, want 40, %v", plan.Now, plan.FinishesAt, want)
	}
	if w := plan.Warning; w == nil || w.Code != WarningPaced || w.Days != 2 || !strings.Contains(w.Message, "at 2026-08-17 15:00 UTC") {
		t.Errorf("warning %+v", w)
	}
	if first := f.Finishes()[0].Sub(f.Now); first.Round(time.Millisecond) != 2900*time.Millisecond {
		t.Errorf("the first one takes %v", first)
	}
}

func TestPlanWithoutSpeed(t *testing.T) {
	for _, speed := range []float64{0, -1, math.NaN()} {
		f := Forecast{Now: noon, Speed: speed, Queues: planned(t, "a1", 1)}
		if plan := f.Plan(0); !plan.TooLarge || !plan.FinishesAt.IsZero() {
			t.Errorf("speed %v: %+v", speed, plan)
		}
	}
}

// TestPlanAgreesWithThePolicy simulates random mixtures message by message with ShareBulk and
// compares the end of each broadcast.
func TestPlanAgreesWithThePolicy(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	late, n := 0, 0
	for range 100 {
		f := Forecast{Now: noon.Add(time.Duration(random.Int64N(int64(time.Minute)))), Speed: 0.2 + 3*random.Float64()}
		if random.IntN(4) > 0 {
			f.Daily = 20 + random.Int64N(2000)
			f.Share = f.Daily * 7 / 10
		}
		for i := range 1 + random.IntN(5) {
			f.Queues = append(f.Queues, PlannedQueue{BulkQueue: BulkQueue{ID: fmt.Sprint(i), TeamID: fmt.Sprint(random.IntN(3)),
				Remaining: 1 + random.Int64N(2000), Drip: false}})
		}
		if f.Daily > 0 && random.IntN(2) == 0 {
			f.Usage = []UsageMinute{{minutesAgo(random.Int64N(1440)), f.Share / 2, f.Share / 2}}
		}
		want, got := simulate(f), f.Finishes()
		for i := range want {
			if want[i].IsZero() { // longer than the simulation
				continue
			}
			n++
			off, took := got[i].Sub(want[i]), want[i].Sub(f.Now)
			if off.Abs() > max(took/20, time.Minute) {
				late++
				t.Logf("off by %v of %v: queue %d of %+v", off, took, i, f)
			}
		}
	}
	if n < 150 || late*100 > n*2 {
		t.Errorf("%d of %d are off by more than 5 %%", late, n)
	}
}

// simulate sends the broadcasts of a forecast without transactional mail, one message at a time.
// Times are zero after 10 days.
func simulate(f Forecast) []time.Time {
	finish := make([]time.Time, len(f.Queues))
	used := map[int64]int64{}
	for _, u := range f.Usage {
		used[u.Minute] += u.Bulk
	}
	var queues []BulkQueue
	for _, q := range f.Queues {
		queues = append(queues, q.BulkQueue)
	}
	after := ""
	every := time.Duration(float64(time.Second) / f.Speed)
	for at := f.Now; at.Sub(f.Now) < 10*24*time.Hour; {
		window := int64(-1)
		if f.Daily > 0 {
			window = f.Share
			for m, n := range used {
				if m > at.Unix()/60-DayMinutes {
					window -= n
				} else {
					delete(used, m)
				}
			}
		}
		turns := ShareBulk(queues, window, 1, after)
		if len(turns) == 0 {
			if !slices.ContainsFunc(queues, func(q BulkQueue) bool { return q.Remaining > 0 }) {
				break
			}
			at = at.Truncate(time.Minute).Add(time.Minute)
			continue
		}
		after = turns[0].ID
		i := slices.IndexFunc(queues, func(q BulkQueue) bool { return q.ID == after })
		if queues[i].Remaining--; queues[i].Remaining == 0 {
			finish[i] = at
		}
		used[at.Unix()/60]++
		at = at.Add(every)
	}
	return finish
}

// FuzzPlan checks that no forecast panics, goes back in time, or finishes earlier for a larger
// audience.
func FuzzPlan(f *testing.F) {
	f.Add(int64(100), int64(70), 10.0, int64(100), int64(50), int64(0), int64(30), uint16(3), uint8(1))
	f.Add(int64(0), int64(0), 0.01, int64(1), int64(50_000), int64(9), int64(0), uint16(700), uint8(6))
	f.Add(int64(1000), int64(700), 3.0, int64(4000), int64(300), int64(500), int64(200), uint16(1439), uint8(3))
	f.Fuzz(func(t *testing.T, daily, share int64, speed float64, audience, ahead, mail, bulk int64, ago uint16, kinds uint8) {
		if daily < 0 || share < 0 || share > daily || mail < 0 || bulk < 0 || mail > 1<<40 || bulk > 1<<40 {
			return
		}
		plan := func(audience int64) Plan {
			f := Forecast{Now: noon.Add(time.Duration(ago) * time.Millisecond), Speed: speed, Daily: daily, Share: share,
				Usage: []UsageMinute{{minutesAgo(int64(ago)), mail + bulk, bulk}}, Queues: planned(t, "a1", int(ahead), "b1", int(ahead/2), "a2", int(audience))}
			f.Queues[0].Drip, f.Queues[2].Drip = kinds&1 != 0, kinds&1 != 0
			if kinds&2 != 0 {
				f.Queues[1].From = noon.Add(time.Duration(ago) * time.Minute)
			}
			if kinds&4 != 0 {
				f.Queues[2].From = noon.Add(time.Duration(ago) * time.Hour)
			}
			plan := f.Plan(2)
			if plan.Now < 0 || plan.Now > max(0, audience) || !plan.FinishesAt.IsZero() && plan.FinishesAt.Before(f.Now) {
				t.Fatalf("%+v", plan)
			}
			if plan.Warning != nil && (plan.Warning.Days < 1 || plan.Warning.Days > 24+1+int(ago)/24) {
				t.Fatalf("%+v", plan.Warning)
			}
			return plan
		}
		if audience > 1<<40 {
			return
		}
		small, large := plan(audience), plan(audience+1+audience/3)
		slack := time.Second + small.FinishesAt.Sub(noon)/50
		if small.FinishesAt.IsZero() && !large.FinishesAt.IsZero() || !large.FinishesAt.IsZero() && large.FinishesAt.Before(small.FinishesAt.Add(-slack)) {
			t.Fatalf("%d leave until %v, more until %v", audience, small.FinishesAt, large.FinishesAt)
		}
	})
}
