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
// the one before.
const (
	GuardrailWeek = 7 * 24 * time.Hour
	GuardrailDay  = 24 * time.Hour
)

// line is where a rate becomes too high: per sends in a hundred thousand, of at
// least that many.
type line struct{ bounces, leastBounces, complaints, leastComplaints int64 }

// The rates that a team or region must not reach, and the sends without which no rate means anything.
var (
	warningLine = line{4_000, 1, 50, 2}
	pausedLine  = line{5_000, 10, 100, 3}
	regionLine  = line{4_000, 10, 80, 3}
)

// The fewest sends of a window whose rates count.
const (
	MinTeamSends   = 100
	minRegionSends = 1_000
)

// crossed reports whether one of the rates reaches the line.
func (l line) crossed(o Outcome, leastSends int64) bool {
	return o.Sent >= leastSends && (reaches(o.HardBounced, o.Sent, l.bounces, l.leastBounces) || reaches(o.Complained, o.Sent, l.complaints, l.leastComplaints))
}

// reaches reports whether n, which are at least so many, are at least a rate of sent,
// in hundred thousandths.
func reaches(n, sent, rate, least int64) bool {
	return n >= least && n*100_000 >= sent*rate
}

// JudgeTeam returns the state of a team by what became of its mail in the last 7 days,
// and today and yesterday. It follows from the counts alone, so that it clears by
// itself.
func JudgeTeam(week, lately Outcome) Guardrail {
	switch {
	case pausedLine.crossed(lately, MinTeamSends):
		return GuardrailPaused
	case warningLine.crossed(week, MinTeamSends):
		return GuardrailWarning
	}
	return GuardrailOK
}

// JudgeRegion reports whether broadcasts of a region rest, by what became of all its
// mail in the last 24 hours and in 7 days.
func JudgeRegion(day, week Outcome) (paused bool) {
	return regionLine.crossed(day, minRegionSends) || regionLine.crossed(week, minRegionSends)
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

// Words say what the rates are.
func (o Outcome) Words() string {
	return fmt.Sprintf("%.2f %% hard bounces and %.3f %% complaints of %d sends", 100*o.HardBounceRate(), 100*o.ComplaintRate(), o.Sent)
}

// GuardrailData is the data of deliverability.warning and deliverability.paused.
type GuardrailData struct {
	TeamID         string    `json:"team_id"`
	Status         Guardrail `json:"guardrail_status"`
	Window         string    `json:"window"` // "7_days", or "today_and_yesterday"
	EmailsSent     int64     `json:"emails_sent"`
	HardBounced    int64     `json:"hard_bounced"`
	Complained     int64     `json:"complained"`
	HardBounceRate float64   `json:"hard_bounce_rate"`
	ComplaintRate  float64   `json:"complaint_rate"`
	Enforced       bool      `json:"enforced"` // sends are refused; else it is only told
}
