package reputation

import (
	"math"
	"math/rand/v2"
	"testing"

	"mailer/app"
)

// along interpolates between ordered points.
func along(x float64, points [][2]float64) float64 {
	for i, p := range points {
		if x < p[0] {
			if i == 0 {
				return p[1]
			}
			q := points[i-1]
			return q[1] + (x-q[0])*(p[1]-q[1])/(p[0]-q[0])
		}
	}
	return points[len(points)-1][1]
}

// referenceScore is a second implementation, in percent and by interpolation.
func referenceScore(o Outcome, state Guardrail) (score, content, outcome float64, known [3]bool) {
	if o.Scored > 0 {
		content, known[1] = float64(o.Points)/float64(100*o.Scored), true
	}
	if o.Sent >= 100 {
		bounces := math.Min(100, 100*float64(o.HardBounced)/float64(o.Sent))
		complaints := math.Min(100, 100*float64(o.Complained)/float64(o.Sent))
		outcome = 10 - along(complaints, [][2]float64{{0.1, 0}, {0.3, 6}, {1, 10}}) - along(bounces, [][2]float64{{2, 0}, {5, 4}, {10, 6}})
		outcome, known[2] = math.Max(outcome, 0), true
	}
	switch {
	case known[1] && known[2]:
		score = (2*content + 3*outcome) / 5
		if score > outcome+1.5 {
			score = outcome + 1.5
		}
	case known[1]:
		score = content
	case known[2]:
		score = outcome
	}
	known[0] = known[1] || known[2]
	if state == GuardrailPaused && score > 4.9 {
		score = 4.9
	}
	if state == GuardrailWarning && score > 6.9 {
		score = 6.9
	}
	return score, content, outcome, known
}

func TestDeliverabilityEqualsReference(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 30))
	bands := map[app.Band]int{}
	for range 1000 {
		o := Outcome{Sent: r.Int64N(300)}
		if r.IntN(3) > 0 {
			o.Sent = r.Int64N(100_000)
		}
		o.HardBounced = int64(float64(o.Sent) * 0.13 * math.Pow(r.Float64(), 3))
		o.Complained = int64(float64(o.Sent) * 0.013 * math.Pow(r.Float64(), 3))
		if r.IntN(5) > 0 {
			o.Scored = r.Int64N(o.Sent + 1)
			o.Points = o.Scored * r.Int64N(1001)
		}
		state := []Guardrail{GuardrailOK, GuardrailOK, GuardrailWarning, GuardrailPaused}[r.IntN(4)]
		score, content, outcome, known := referenceScore(o, state)
		d := NewDeliverability(o, state)
		for i, got := range []*float64{d.Score, d.ContentScore, d.OutcomeScore} {
			want := []float64{score, content, outcome}[i]
			if (got != nil) != known[i] || got != nil && math.Abs(*got-want) > 0.0051 {
				t.Fatalf("%+v, %s: value %d is %v, want %g (known: %t)", o, state, i, got, want, known[i])
			}
		}
		if d.InsufficientOutcomes() != (o.Sent < 100) || (d.HardBounceRate == nil) != (o.Sent == 0) {
			t.Fatalf("%+v gives %+v", o, d)
		}
		bands[d.Band()]++
	}
	if len(bands) != 5 { // and none
		t.Errorf("the histories were all in %v", bands)
	}
}

func TestDeliverabilityLimits(t *testing.T) {
	for _, c := range []struct {
		o    Outcome
		want float64
	}{
		{Outcome{Sent: 1000}, 10},
		{Outcome{Sent: 1000, Complained: 1}, 10},
		{Outcome{Sent: 1000, Complained: 2}, 7},
		{Outcome{Sent: 1000, Complained: 3}, 4},
		{Outcome{Sent: 1000, Complained: 10}, 0},
		{Outcome{Sent: 1000, HardBounced: 20}, 10},
		{Outcome{Sent: 1000, HardBounced: 50}, 6},
		{Outcome{Sent: 1000, HardBounced: 100}, 4},
		{Outcome{Sent: 1000, HardBounced: 1000}, 4},
		{Outcome{Sent: 1000, HardBounced: 1000, Complained: 10}, 0},
	} {
		if d := NewDeliverability(c.o, GuardrailOK); *d.OutcomeScore != c.want {
			t.Errorf("%+v: %g, want %g", c.o, *d.OutcomeScore, c.want)
		}
	}
}
