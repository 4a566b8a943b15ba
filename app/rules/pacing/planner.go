package pacing

import (
	"fmt"
	"math"
	"time"
)

// MaxPlan is the longest time that a broadcast may take.
const MaxPlan = 24 * 24 * time.Hour

// Plan is the forecast of a broadcast.
type Plan struct {
	FinishesAt time.Time // time of its last message; zero: unknown
	// Now is how many messages the daily limit allows immediately, or at ScheduledAt for a
	// scheduled broadcast.
	Now      int64
	TooLarge bool // it would take longer than MaxPlan
	Warning  *PlanWarning
	Waves    []Wave // messages by day; empty: unknown
}

// Wave is the messages of a broadcast within a day from a time.
type Wave struct {
	At    time.Time
	Count int64
}

// PlanWarning warns that a broadcast is not sent immediately.
type PlanWarning struct {
	Code    string `json:"code"` // WarningPaced or WarningQueuedBehind
	Days    int    `json:"days"` // started days from now until it finishes
	Message string `json:"message"`
}

// The codes of a PlanWarning.
const (
	WarningPaced        = "paced"         // a part can be sent now
	WarningQueuedBehind = "queued_behind" // nothing can be sent now
)

// Forecast is the input of the planner: a relay and all its open broadcasts.
type Forecast struct {
	Now   time.Time
	Speed float64 // messages in a second, of all kinds
	Daily int64   // messages in 24 h; 0: no limit
	Share int64   // part of Daily that broadcasts may use
	// Usage holds the messages of the last DayMinutes, in any order. The forecast repeats the
	// transactional ones each day.
	Usage  []UsageMinute
	Queues []PlannedQueue // in the order in which they are queued
}

// PlannedQueue is an open broadcast.
type PlannedQueue struct {
	BulkQueue
	From time.Time // when it is queued; past or zero: it is
}

// Finishes returns the time of the last message of each queue, never before Now. It is zero for
// queues that take longer than MaxPlan after the last one is queued, and for all if Speed is
// unknown.
func (f *Forecast) Finishes() []time.Time {
	last := f.Now
	for _, q := range f.Queues {
		if q.From.After(last) {
			last = q.From
		}
	}
	p := newPlanner(f)
	p.run(last.Add(MaxPlan), -1)
	finishes := make([]time.Time, len(f.Queues))
	for i := range p.queues {
		finishes[i] = p.finish(i)
	}
	return finishes
}

// Plan returns the forecast of one queue.
func (f *Forecast) Plan(i int) Plan {
	from := f.Now
	if f.Queues[i].From.After(from) {
		from = f.Queues[i].From
	}
	p := newPlanner(f)
	p.queues[i].watched = true
	p.run(from.Add(MaxPlan), i)
	plan := Plan{FinishesAt: p.finish(i), Now: max(0, p.queues[i].perRound)}
	plan.TooLarge = plan.FinishesAt.IsZero() || plan.FinishesAt.After(from.Add(MaxPlan))
	if !plan.TooLarge && plan.Now < f.Queues[i].Remaining {
		plan.Warning = f.warning(plan, f.Queues[i])
	}
	if !plan.TooLarge {
		plan.Waves = p.queues[i].waves(from)
	}
	return plan
}

// waves returns what a watched queue sent in days from a time. Fractions are rounded so that the
// sum is the total.
func (q *flow) waves(from time.Time) (out []Wave) {
	sent, reported := 0.0, int64(0)
	for day, n := range q.days {
		sent += n
		whole := int64(math.Round(sent))
		if day == len(q.days)-1 {
			whole = q.remaining
		}
		if whole > reported {
			out = append(out, Wave{from.Add(time.Duration(day) * 24 * time.Hour), whole - reported})
			reported = whole
		}
	}
	return out
}

func (f *Forecast) warning(plan Plan, q PlannedQueue) *PlanWarning {
	w := &PlanWarning{Code: WarningPaced, Days: max(1, int(math.Ceil(plan.FinishesAt.Sub(f.Now).Hours()/24)))}
	if plan.Now == 0 {
		w.Code = WarningQueuedBehind
	}
	when, days := "now", "1 day"
	if q.From.After(f.Now) {
		when = "at " + minuteText(q.From)
	}
	if w.Days > 1 {
		days = fmt.Sprintf("%d days", w.Days)
	}
	w.Message = fmt.Sprintf("%d of %d emails can leave %s; the last one is expected to leave at %s, within %s",
		plan.Now, q.Remaining, when, minuteText(plan.FinishesAt), days)
	return w
}

func minuteText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
