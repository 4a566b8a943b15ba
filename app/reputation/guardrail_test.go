package reputation

import (
	"math/big"
	"testing"
)

func TestTeamsAreJudgedAtTheLines(t *testing.T) {
	counts := func(sent, hard, complained int64) Outcome {
		return Outcome{Sent: sent, HardBounced: hard, Complained: complained}
	}
	for _, c := range []struct {
		name         string
		week, lately Outcome
		want         Guardrail
	}{
		{"nothing", counts(0, 0, 0), counts(0, 0, 0), GuardrailOK},
		{"bounces without sends", counts(0, 50, 50), counts(0, 50, 50), GuardrailOK},
		{"under the floor of sends", counts(99, 99, 99), counts(99, 99, 99), GuardrailOK},
		{"bounces at the warning", counts(100, 4, 0), counts(0, 0, 0), GuardrailWarning},
		{"bounces under the warning", counts(100, 3, 0), counts(0, 0, 0), GuardrailOK},
		{"bounces just under the warning", counts(2501, 100, 0), counts(0, 0, 0), GuardrailOK},
		{"bounces of many at the warning", counts(2500, 100, 0), counts(0, 0, 0), GuardrailWarning},
		{"complaints at the warning", counts(4000, 0, 2), counts(0, 0, 0), GuardrailWarning},
		{"complaints just under the warning", counts(4001, 0, 2), counts(0, 0, 0), GuardrailOK},
		{"one complaint", counts(100, 0, 1), counts(100, 0, 1), GuardrailOK},
		{"two complaints of few", counts(100, 0, 2), counts(100, 0, 2), GuardrailWarning},
		{"bounces at the pause", counts(200, 10, 0), counts(200, 10, 0), GuardrailPaused},
		{"bounces at the pause, but nine", counts(180, 9, 0), counts(180, 9, 0), GuardrailWarning},
		{"bounces just under the pause", counts(201, 10, 0), counts(201, 10, 0), GuardrailWarning},
		{"bounces at the pause of few", counts(99, 20, 0), counts(99, 20, 0), GuardrailOK},
		{"complaints at the pause", counts(3000, 0, 3), counts(3000, 0, 3), GuardrailPaused},
		{"complaints just under the pause", counts(3001, 0, 3), counts(3001, 0, 3), GuardrailWarning},
		{"the pause is of lately", counts(100_000, 10, 0), counts(100, 10, 0), GuardrailPaused},
		{"the pause is over", counts(200, 10, 0), counts(0, 0, 0), GuardrailWarning},
	} {
		if got := JudgeTeam(c.week, c.lately); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestRegionsAreJudgedAtTheLines(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Outcome
		want bool
	}{
		{"nothing", Outcome{}, false},
		{"under the floor of sends", Outcome{Sent: 999, HardBounced: 999, Complained: 999}, false},
		{"bounces at the line", Outcome{Sent: 1000, HardBounced: 40}, true},
		{"bounces under the line", Outcome{Sent: 1000, HardBounced: 39}, false},
		{"complaints at the line", Outcome{Sent: 3750, Complained: 3}, true},
		{"complaints under the line", Outcome{Sent: 3751, Complained: 3}, false},
		{"two complaints", Outcome{Sent: 1000, Complained: 2}, false},
	} {
		if got := JudgeRegion(c.o, Outcome{}); got != c.want {
			t.Errorf("%s in a day: %t, want %t", c.name, got, c.want)
		}
		if got := JudgeRegion(Outcome{}, c.o); got != c.want {
			t.Errorf("%s in a week: %t, want %t", c.name, got, c.want)
		}
	}
}

func TestWorseStates(t *testing.T) {
	if !GuardrailPaused.Worse(GuardrailWarning) || !GuardrailWarning.Worse(GuardrailOK) || GuardrailOK.Worse(GuardrailOK) || GuardrailWarning.Worse(GuardrailPaused) {
		t.Error("the order of the states is wrong")
	}
}

// percent tells whether n of sent are at least thousandths of a percent, exactly.
func percent(n, sent uint32, thousandths int64) bool {
	return sent > 0 && big.NewRat(int64(n)*100_000, int64(sent)).Cmp(big.NewRat(thousandths, 1)) >= 0
}

func FuzzGuardrails(f *testing.F) {
	f.Add(uint32(200), uint32(10), uint32(0))
	f.Add(uint32(3000), uint32(0), uint32(3))
	f.Add(uint32(1<<32-1), uint32(1<<31), uint32(7))
	f.Fuzz(func(t *testing.T, sent, hard, complained uint32) {
		o := Outcome{Sent: int64(sent), HardBounced: int64(hard), Complained: int64(complained)}
		want := GuardrailOK
		switch {
		case sent < 100:
		case hard >= 10 && percent(hard, sent, 5000), complained >= 3 && percent(complained, sent, 100):
			want = GuardrailPaused
		case percent(hard, sent, 4000), complained >= 2 && percent(complained, sent, 50):
			want = GuardrailWarning
		}
		if got := JudgeTeam(o, o); got != want {
			t.Errorf("%+v: %s, want %s", o, got, want)
		}
		region := sent >= 1000 && (hard >= 10 && percent(hard, sent, 4000) || complained >= 3 && percent(complained, sent, 80))
		if got := JudgeRegion(o, o); got != region {
			t.Errorf("region %+v: %t, want %t", o, got, region)
		}
		if r := o.HardBounceRate(); r < 0 || r > 1 {
			t.Errorf("rate %g", r)
		}
	})
}
