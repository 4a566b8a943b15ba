// Package reputation judges by counts how mail fares: of a team, for its guardrail and
// its score, and of a region. The store, the services and the doors may import it; it
// does no I/O, keeps no state, and is told the counts and the time.
//
// Failure policy: it can't fail. Where too little was sent for a rate to mean
// anything, nothing is concluded.
package reputation

import (
	"fmt"
	"slices"
	"time"
)

// Guardrail is how a team stands to the rates at which providers act.
type Guardrail string

// The states, the best first.
const (
	GuardrailOK      Guardrail = "ok"
	GuardrailWarning Guardrail = "warning" // its broadcasts drip
	GuardrailPaused  Guardrail = "paused"  // nothing new is accepted from it
)

// Worse reports whether g is a worse state than other.
func (g Guardrail) Worse(other Guardrail) bool {
	order := []Guardrail{GuardrailOK, GuardrailWarning, GuardrailPaused}
	return slices.Index(order, g) > slices.Index(order, other)
}

// The windows of guardrails. A team is paused for what happened on this UTC day and
// the one before; one that sends little, for that of a week.
const (
	GuardrailWeek = 7 * 24 * time.Hour
	GuardrailDay  = 24 * time.Hour
)

// Window names what a state of a team follows from, in the data of its event.
type Window string

// The windows by which teams are judged.
const (
	WindowWeek Window = "7_days"
	WindowDay  Window = "today_and_yesterday"
)

// limits is where a rate becomes too high: per sends in a hundred thousand, of at
// least that many.
type limits struct{ bounces, leastBounces, complaints, leastComplaints int64 }

// The rates that a team or region must not reach, and the sends without which no rate means anything.
var (
	warningLimits = limits{4_000, 1, 50, 2}
	pauseLimits   = limits{5_000, 10, 100, 3}
	regionLimits  = limits{4_000, 10, 80, 3}
)

// The fewest sends of a window whose rates count.
const (
	MinTeamSends   = 100
	minRegionSends = 1_000
)

// What pauses a team with fewer than MinTeamSends in a week: of so few, no rate means
// anything, and its mail still leaves from the addresses of all.
const (
	smallTeamBounces    = 10
	smallTeamComplaints = 3
	// smallTeamPausedFor is below how many sends a team that is paused stays judged by
	// numbers. What it had under way when it was paused, and a week that moves on by an
	// hour, would else let it out and in again.
	smallTeamPausedFor = MinTeamSends * 6 / 5
)

// exceeded reports whether one of the rates reaches the line.
func (l limits) exceeded(o Outcome, leastSends int64) bool {
	return o.Sent >= leastSends && (reaches(o.HardBounced, o.Sent, l.bounces, l.leastBounces) || reaches(o.Complained, o.Sent, l.complaints, l.leastComplaints))
}

// reaches reports whether n, which are at least so many, are at least a rate of sent,
// in hundred thousandths.
func reaches(n, sent, rate, least int64) bool {
	return n >= least && n*100_000 >= sent*rate
}

// Judgement is the state of a team and what it follows from.
type Judgement struct {
	State  Guardrail
	Window Window
	Rates  Outcome // of the window
}

// JudgeTeam returns the state of a team, which was before, by what became of its mail
// in the last 7 days, and today and yesterday. A team with fewer than 100 sends in 7
// days is judged by numbers, any other by rates. It follows from the counts, so that
// it clears by itself.
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

// isSmall reports whether a team sent too little for rates in a week.
func isSmall(before Guardrail, week Outcome) bool {
	if before == GuardrailPaused {
		return week.Sent < smallTeamPausedFor
	}
	return week.Sent < MinTeamSends
}

// RegionOutcome counts what became of all recipients of a region.
type RegionOutcome struct {
	Outcome
	// WorstBounced are the most hard bounces, and WorstComplained the most complaints,
	// that any one of its teams has: not always the same one.
	WorstBounced, WorstComplained int64
}

// JudgeRegion reports whether broadcasts of a region rest, by what became of all its
// mail in the last 24 hours and in 7 days.
//
// A region rests to keep the relay's account, which all its teams share. But where all
// that is bad comes from one team, to pause that team is enough, and the others need not
// wait for it. So in the sum no team's bounces or complaints count for more than those
// of all others together, which is half. A region rests, then, when its rate crosses the
// line and the teams beside the worst bring half of what the line takes: one team alone,
// big or small, never pauses it, nor does the only team of a region, and two that are as
// bad as each other do. Sends count in full, as the provider counts them.
func JudgeRegion(day, week RegionOutcome) (paused bool) {
	return regionLimits.exceeded(day.shared(), minRegionSends) || regionLimits.exceeded(week.shared(), minRegionSends)
}

// shared returns the counts in which no team has more than half of what is bad.
func (o RegionOutcome) shared() Outcome {
	sum := o.Outcome
	sum.HardBounced = atMostHalf(o.HardBounced, o.WorstBounced)
	sum.Complained = atMostHalf(o.Complained, o.WorstComplained)
	return sum
}

// atMostHalf returns a sum whose largest part is cut to what the others are together.
func atMostHalf(sum, largest int64) int64 {
	others := sum - largest
	return others + min(largest, others)
}

// HardBounceRate is a part of 1; 0 where nothing was sent.
func (o Outcome) HardBounceRate() float64 { return rateOf(o.HardBounced, o.Sent) }

// ComplaintRate is a part of 1; 0 where nothing was sent.
func (o Outcome) ComplaintRate() float64 { return rateOf(o.Complained, o.Sent) }

// rateOf is at most 1: what comes back late may be more than what was sent since.
func rateOf(n, sent int64) float64 {
	if sent == 0 {
		return 0
	}
	return min(1, float64(n)/float64(sent))
}

// Description say what the rates are.
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
	Enforced       bool      `json:"enforced"` // sends are refused; else it is only told
}

// Data returns what events say of a judgement of a team. enforced: its sends are refused
// where it is paused.
func (j Judgement) Data(teamID string, enforced bool) GuardrailData {
	return GuardrailData{TeamID: teamID, Status: j.State, Window: j.Window, EmailsSent: j.Rates.Sent, HardBounced: j.Rates.HardBounced,
		Complained: j.Rates.Complained, HardBounceRate: j.Rates.HardBounceRate(), ComplaintRate: j.Rates.ComplaintRate(), Enforced: enforced}
}
