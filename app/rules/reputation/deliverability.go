package reputation

import (
	"math"
	"time"

	"mailer/app"
)

// DeliverabilityWindow is what a team's deliverability looks back on.
const DeliverabilityWindow = 30 * 24 * time.Hour

// Deliverability is how well a team's mail fares. Scores are 0 to
// 10, rates parts of 1; nil: not known.
type Deliverability struct {
	Score, ContentScore, OutcomeScore *float64
	HardBounceRate, ComplaintRate     *float64
	Sent, Scored                      int64 // recipients
	Guardrail                         Guardrail
}

// ceilings are what a score is at most while a guardrail holds a team.
var ceilings = map[Guardrail]float64{GuardrailWarning: 6.9, GuardrailPaused: 4.9}

// NewDeliverability scores what became of a team's mail of the window.
func NewDeliverability(o Outcome, state Guardrail) Deliverability {
	d := Deliverability{Sent: o.Sent, Scored: o.Scored, Guardrail: state}
	if o.Sent > 0 {
		d.HardBounceRate, d.ComplaintRate = new(o.HardBounceRate()), new(o.ComplaintRate())
	}
	if o.Scored > 0 {
		d.ContentScore = new(float64(o.Points) / 100 / float64(o.Scored))
	}
	if !d.InsufficientOutcomes() {
		d.OutcomeScore = new(outcomeScore(o.HardBounceRate(), o.ComplaintRate()))
	}
	if d.Score = together(d.ContentScore, d.OutcomeScore); d.Score == nil {
		return d
	}
	if most, held := ceilings[state]; held {
		*d.Score = min(*d.Score, most)
	}
	for _, score := range []*float64{d.Score, d.ContentScore, d.OutcomeScore} {
		if score != nil {
			*score = math.Round(*score*100) / 100
		}
	}
	return d
}

// InsufficientOutcomes reports whether too little was sent for rates to mean anything.
func (d *Deliverability) InsufficientOutcomes() bool { return d.Sent < MinTeamSends }

// Band is that of the score; empty: there is none.
func (d *Deliverability) Band() app.Band {
	if d.Score == nil {
		return ""
	}
	return app.BandOf(*d.Score)
}

// outcomeScore is 10 less what bounces and complaints cost: complaints up to 6 from
// 0.1 to 0.3 % and 4 more up to 1 %, hard bounces up to 4 from 2 to 5 % and 2 more up
// to 10 %; 0 at least.
func outcomeScore(bounces, complaints float64) float64 {
	lost := 6*between(complaints, 0.001, 0.003) + 4*between(complaints, 0.003, 0.01) +
		4*between(bounces, 0.02, 0.05) + 2*between(bounces, 0.05, 0.10)
	return max(0, 10-lost)
}

// between is how far x has come from one value to another: 0 to 1.
func between(x, from, to float64) float64 { return min(1, max(0, (x-from)/(to-from))) }

// together weighs content and outcome. Good content makes up for little of a bad
// outcome.
func together(content, outcome *float64) *float64 {
	switch {
	case outcome == nil && content == nil:
		return nil
	case outcome == nil:
		return new(*content)
	case content == nil:
		return new(*outcome)
	}
	return new(min(0.4**content+0.6**outcome, *outcome+1.5))
}
