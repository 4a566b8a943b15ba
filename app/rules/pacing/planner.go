package pacing

import (
	"fmt"
	"math"
	"time"
)

// MaxPlan is how far ahead a broadcast may finish.
const MaxPlan = 24 * 24 * time.Hour

// Plan is what the planner foretells of a broadcast.
type Plan struct {
	FinishesAt time.Time // when its last message leaves; zero: nobody can say
	// Now is how many messages the day's window allows at the moment, at that of
	// ScheduledAt for a scheduled broadcast.
	Now      int64
	TooLarge bool // it needs more than MaxPlan
	Warning  *PlanWarning
	Waves    []Wave // how many leave from a time on, day by day; none: nobody can say
}

// Wave is messages of a broadcast that leave within a day from a time on.
type Wave struct {
	At    time.Time
	Count int64
}

// PlanWarning says that a broadcast does not leave all at once.
type PlanWarning struct {
	Code    string `json:"code"` // WarningPaced or WarningQueuedBehind
	Days    int    `json:"days"` // begun ones, from now until it finishes
	Message string `json:"message"`
}

// The codes of a PlanWarning.
const (
	WarningPaced        = "paced"         // a part can leave now
	WarningQueuedBehind = "queued_behind" // nothing can leave now
)

// Forecast is what the planner goes by: a relay and all its open broadcasts.
type Forecast struct {
	Now   time.Time
	Speed float64 // messages a second that the relay takes, of all kinds
	Daily int64   // messages in 24 h; 0: no limit
	Share int64   // of Daily, what broadcasts may use
	// Usage is what was sent in the last DayMinutes, in any order. Its transactional
	// part is foretold to come again, a day later each time.
	Usage  []UsageMinute
	Queues []PlannedQueue // in the order in which they were queued, or will be
}

// PlannedQueue is an open broadcast as the planner sees it.
type PlannedQueue struct {
	BulkQueue
	From time.Time // when it is queued; past or zero: it is
}

// Finishes foretells when the last message of each queue leaves, never before Now;
// zero for those that take longer than MaxPlan from the moment when the last of
// them is queued, and for all where Speed says nothing.
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

// Plan foretells one of the queues.
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

// waves are what a watched queue sent, in days from a time on. Parts of a message count
// once they make a whole one, and together they are all that it has.
func (q *flow) waves(from time.Time) (out []Wave) {
	sent, told := 0.0, int64(0)
	for day, n := range q.days {
		sent += n
		whole := int64(math.Round(sent))
		if day == len(q.days)-1 {
			whole = q.remaining
		}
		if whole > told {
			out = append(out, Wave{from.Add(time.Duration(day) * 24 * time.Hour), whole - told})
			told = whole
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
