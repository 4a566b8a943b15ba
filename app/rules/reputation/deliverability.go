package reputation

import (
	"math"
	"time"

	"mailer/app"
)

// DeliverabilityWindow is the period that a team's deliverability covers.
const DeliverabilityWindow = 30 * 24 * time.Hour

// Deliverability is the deliverability score of a team. Scores are 0 to 10, rates are fractions of
// 1; nil: unknown.
type Deliverability struct {
	Score, ContentScore, OutcomeScore *float64
	HardBounceRate, ComplaintRate     *float64
	Sent, Scored                      int64 // recipients
	Guardrail                         Guardrail
}

// ceilings are the maximum scores of a team with a guardrail warning or pause.
var ceilings = map[Guardrail]float64{GuardrailWarning: 6.9, GuardrailPaused: 4.9}

// NewDeliverability computes the score from a team's outcomes in the window.
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
	if ceiling, held := ceilings[state]; held {
		*d.Score = min(*d.Score, ceiling)
	}
	for _, score := range []*float64{d.Score, d.ContentScore, d.OutcomeScore} {
		if score != nil {
			*score = math.Round(*score*100) / 100
		}
	}
	return d
}

// InsufficientOutcomes reports whether too little was sent for meaningful rates.
func (d *Deliverability) InsufficientOutcomes() bool { return d.Sent < MinTeamSends }

// Band returns the band of the score; empty: no score.
func (d *Deliverability) Band() app.Band {
	if d.Score == nil {
		return ""
	}
	return app.BandOf(*d.Score)
}

// outcomeScore returns 10 minus the penalties for complaints (up to 6 from 0.1 to 0.3 %, and 4
// more up to 1 %) and hard bounces (up to 4 from 2 to 5 %, and 2 more up to 10 %), at least 0.
func outcomeScore(bounces, complaints float64) float64 {
	lost := 6*between(complaints, 0.001, 0.003) + 4*between(complaints, 0.003, 0.01) +
		4*between(bounces, 0.02, 0.05) + 2*between(bounces, 0.05, 0.10)
	return max(0, 10-lost)
}

// between returns the position of x between two values: 0 to 1.
func between(x, from, to float64) float64 { return min(1, max(0, (x-from)/(to-from))) }

// together combines content and outcome scores. Good content compensates little for bad outcomes.
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
