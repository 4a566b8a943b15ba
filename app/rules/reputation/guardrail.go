// Package reputation evaluates bounce and complaint counts: of a team, for its guardrail and
// score, and of a region. It does no I/O and keeps no state. Callers pass counts and time.
//
// It can't fail. If too little was sent for meaningful rates, it concludes nothing.
package reputation

import (
	"fmt"
	"slices"
	"time"
)

// Guardrail is the state of a team compared with the rates at which providers act.
type Guardrail string

// The states, best first.
const (
	GuardrailOK      Guardrail = "ok"
	GuardrailWarning Guardrail = "warning" // its broadcasts are slowed down
	GuardrailPaused  Guardrail = "paused"  // its mail is refused
)

// Worse reports whether g is worse than other.
func (g Guardrail) Worse(other Guardrail) bool {
	order := []Guardrail{GuardrailOK, GuardrailWarning, GuardrailPaused}
	return slices.Index(order, g) > slices.Index(order, other)
}

// Windows of guardrails. A team is paused for this UTC day and the day before; a team that sends
// little, for a week.
const (
	GuardrailWeek = 7 * 24 * time.Hour
	GuardrailDay  = 24 * time.Hour
)

// Window names the period of a judgement in the data of its event.
type Window string

// The windows for teams.
const (
	WindowWeek Window = "7_days"
	WindowDay  Window = "today_and_yesterday"
)

// limits are the rates that are too high: per 100,000 sends, with a minimum number.
type limits struct{ bounces, leastBounces, complaints, leastComplaints int64 }

// The limits of teams and regions.
var (
	warningLimits = limits{4_000, 1, 50, 2}
	pauseLimits   = limits{5_000, 10, 100, 3}
	regionLimits  = limits{4_000, 10, 80, 3}
)

// The minimum numbers of sends in a window for meaningful rates.
const (
	MinTeamSends   = 100
	minRegionSends = 1_000
)

// The numbers that pause a team with fewer than MinTeamSends in a week: rates are meaningless
// then, and its mail uses shared addresses.
const (
	smallTeamBounces    = 10
	smallTeamComplaints = 3
	// smallTeamPausedFor is the number of sends below which a paused team is still judged by
	// numbers. Otherwise mail in progress, or a window that moves by an hour, could end and
	// restart the pause.
	smallTeamPausedFor = MinTeamSends * 6 / 5
)

// exceeded reports whether one of the rates reaches its limit.
func (l limits) exceeded(o Outcome, leastSends int64) bool {
	return o.Sent >= leastSends && (reaches(o.HardBounced, o.Sent, l.bounces, l.leastBounces) || reaches(o.Complained, o.Sent, l.complaints, l.leastComplaints))
}

// reaches reports whether n is at least least, and at least rate per 100,000 of sent.
func reaches(n, sent, rate, least int64) bool {
	return n >= least && n*100_000 >= sent*rate
}

// Judgement is the state of a team with the outcomes that led to it.
type Judgement struct {
	State  Guardrail
	Window Window
	Rates  Outcome // in the window
}

// JudgeTeam returns the state of a team with the previous state before, from its outcomes in the
// last 7 days, and today and yesterday. A team with fewer than 100 sends in 7 days is judged by
// numbers, others by rates. Since it depends on counts only, a state ends automatically.
func JudgeTeam(before Guardrail, week, lately Outcome) Judgement {
	switch {
	case isSmall(before, week) && (week.HardBounced >= smallTeamBounces || week.Complained >= smallTeamComplaints):
		return Judgement{GuardrailPaused, WindowWeek, week}
	case pauseLimits.exceeded(lately, MinTeamSends):
		return Judgement{GuardrailPaused, WindowDay, lately}
	case warningLimits.exceeded(week, MinTeamSends):
		return Judgement{GuardrailWarning, WindowWeek, week}
	}
	return Judgement{GuardrailOK, WindowWeek, week}
}

// isSmall reports whether a team sent too little in a week for rates.
func isSmall(before Guardrail, week Outcome) bool {
	if before == GuardrailPaused {
		return week.Sent < smallTeamPausedFor
	}
	return week.Sent < MinTeamSends
}

// RegionOutcome counts the outcomes of a region.
type RegionOutcome struct {
	Outcome
	// WorstBounced and WorstComplained are the highest numbers of hard bounces and complaints of a
	// single team, not always of the same team.
	WorstBounced, WorstComplained int64
}

// JudgeRegion reports whether broadcasts of a region are paused, from its outcomes in the last 24
// hours and 7 days.
//
// A pause protects the relay's account, which all teams share. If one team causes the problem,
// pausing that team is sufficient. Therefore no team's bounces or complaints count for more than
// those of all others together. A region is paused if its rate exceeds the limit and the other
// teams contribute half of it: a single team never pauses a region, and two equally bad teams do.
// Sends count in full, as the provider counts them.
func JudgeRegion(day, week RegionOutcome) (paused bool) {
	return regionLimits.exceeded(day.shared(), minRegionSends) || regionLimits.exceeded(week.shared(), minRegionSends)
}

// shared returns the outcomes with no team having more than half of the bounces or complaints.
func (o RegionOutcome) shared() Outcome {
	sum := o.Outcome
	sum.HardBounced = atMostHalf(o.HardBounced, o.WorstBounced)
	sum.Complained = atMostHalf(o.Complained, o.WorstComplained)
	return sum
}

// atMostHalf returns a sum with its largest part reduced to the sum of the others.
func atMostHalf(sum, largest int64) int64 {
	others := sum - largest
	return others + min(largest, others)
}

// HardBounceRate returns a fraction of 1; 0 if nothing was sent.
func (o Outcome) HardBounceRate() float64 { return rateOf(o.HardBounced, o.Sent) }

// ComplaintRate returns a fraction of 1; 0 if nothing was sent.
func (o Outcome) ComplaintRate() float64 { return rateOf(o.Complained, o.Sent) }

// rateOf returns at most 1: late bounces may exceed the sends of the window.
func rateOf(n, sent int64) float64 {
	if sent == 0 {
		return 0
	}
	return min(1, float64(n)/float64(sent))
}

// Description returns the rates as text.
func (o Outcome) Description() string {
	return fmt.Sprintf("%.2f %% hard bounces and %.3f %% complaints of %d sends", 100*o.HardBounceRate(), 100*o.ComplaintRate(), o.Sent)
}

// GuardrailData is the data of deliverability.warning and deliverability.paused.
type GuardrailData struct {
	TeamID         string    `json:"team_id"`
	Status         Guardrail `json:"guardrail_status"`
	Window         Window    `json:"window"`
	EmailsSent     int64     `json:"emails_sent"`
	HardBounced    int64     `json:"hard_bounced"`
	Complained     int64     `json:"complained"`
	HardBounceRate float64   `json:"hard_bounce_rate"`
	ComplaintRate  float64   `json:"complaint_rate"`
	Enforced       bool      `json:"enforced"` // sends are refused; otherwise only reported
}

// Data returns the event data of a judgement. enforced: sends of a paused team are refused.
func (j Judgement) Data(teamID string, enforced bool) GuardrailData {
	return GuardrailData{TeamID: teamID, Status: j.State, Window: j.Window, EmailsSent: j.Rates.Sent, HardBounced: j.Rates.HardBounced,
		Complained: j.Rates.Complained, HardBounceRate: j.Rates.HardBounceRate(), ComplaintRate: j.Rates.ComplaintRate(), Enforced: enforced}
}
