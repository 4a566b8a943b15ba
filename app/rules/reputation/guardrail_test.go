package reputation

import (
	"math/big"
	"testing"
)

// counts returns an outcome.
func counts(sent, hard, complained int64) Outcome {
	return Outcome{Sent: sent, HardBounced: hard, Complained: complained}
}

func TestJudgeTeamLimits(t *testing.T) {
	for _, c := range []struct {
		name         string
		week, lately Outcome
		want         Guardrail
	}{
		{"nothing", counts(0, 0, 0), counts(0, 0, 0), GuardrailOK},
		{"bounces without sends", counts(0, 10, 0), counts(0, 10, 0), GuardrailPaused},
		{"few sends, nine bounces and two complaints", counts(99, 9, 2), counts(99, 9, 2), GuardrailOK},
		{"few sends, ten bounces", counts(99, 10, 0), counts(0, 0, 0), GuardrailPaused},
		{"few sends, three complaints", counts(3, 0, 3), counts(0, 0, 0), GuardrailPaused},
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
		{"complaints at the pause", counts(3000, 0, 3), counts(3000, 0, 3), GuardrailPaused},
		{"complaints just under the pause", counts(3001, 0, 3), counts(3001, 0, 3), GuardrailWarning},
		{"the pause is of lately", counts(100_000, 10, 0), counts(100, 10, 0), GuardrailPaused},
		{"the pause is over", counts(200, 10, 0), counts(0, 0, 0), GuardrailWarning},
	} {
		got := JudgeTeam(GuardrailOK, c.week, c.lately)
		if got.State != c.want {
			t.Errorf("%s: %s, want %s", c.name, got.State, c.want)
		}
		if want := map[Window]Outcome{WindowWeek: c.week, WindowDay: c.lately}[got.Window]; got.Rates != want {
			t.Errorf("%s: %+v of the window %s, want %+v", c.name, got.Rates, got.Window, want)
		}
	}
}

func TestSmallTeamUsesWeek(t *testing.T) {
	for _, c := range []struct {
		week, lately Outcome
		want         Window
	}{
		{counts(99, 0, 3), counts(99, 0, 3), WindowWeek},
		{counts(100, 0, 3), counts(100, 0, 3), WindowDay},
		{counts(100, 0, 3), counts(0, 0, 0), WindowWeek}, // in warning
	} {
		if got := JudgeTeam(GuardrailOK, c.week, c.lately); got.Window != c.want {
			t.Errorf("%+v: %s, want %s", c.week, got.Window, c.want)
		}
	}
}

// TestPausedTeamStaysPausedAtHundredSends: mail in progress is still sent after a pause at 99
// sends.
func TestPausedTeamStaysPausedAtHundredSends(t *testing.T) {
	for _, c := range []struct {
		before Guardrail
		sent   int64
		want   Guardrail
	}{
		{GuardrailOK, 99, GuardrailPaused}, {GuardrailPaused, 100, GuardrailPaused}, {GuardrailPaused, 119, GuardrailPaused},
		{GuardrailPaused, 120, GuardrailWarning}, {GuardrailWarning, 119, GuardrailWarning}, {GuardrailWarning, 100, GuardrailWarning},
		{GuardrailWarning, 99, GuardrailPaused},
	} {
		if got := JudgeTeam(c.before, counts(c.sent, 0, 3), Outcome{}).State; got != c.want {
			t.Errorf("%s with %d sends becomes %s, want %s", c.before, c.sent, got, c.want)
		}
	}
	if got := JudgeTeam(GuardrailPaused, counts(99, 0, 2), Outcome{}).State; got != GuardrailOK {
		t.Errorf("with a complaint less it is %s", got)
	}
}

func TestJudgeRegionLimits(t *testing.T) {
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
		o := RegionOutcome{Outcome: c.o}
		if got := JudgeRegion(o, RegionOutcome{}); got != c.want {
			t.Errorf("%s in a day: %t, want %t", c.name, got, c.want)
		}
		if got := JudgeRegion(RegionOutcome{}, o); got != c.want {
			t.Errorf("%s in a week: %t, want %t", c.name, got, c.want)
		}
	}
}

func TestSingleTeamDoesNotPauseRegion(t *testing.T) {
	for _, c := range []struct {
		name string
		o    RegionOutcome
		want bool
	}{
		{"three complaints of one small team", RegionOutcome{counts(3000, 0, 3), 0, 3}, false},
		{"the same of three teams", RegionOutcome{counts(3000, 0, 3), 0, 1}, true},
		{"the only team of the region", RegionOutcome{counts(10_000, 5_000, 5_000), 5_000, 5_000}, false},
		{"half the volume, all of it bad", RegionOutcome{counts(20_000, 10_000, 10_000), 10_000, 10_000}, false},
		{"half the volume, the others under half the line", RegionOutcome{counts(20_000, 10_399, 10_007), 10_000, 10_000}, false},
		{"half the volume, the others' bounces at half the line", RegionOutcome{counts(20_000, 10_400, 0), 10_000, 0}, true},
		{"half the volume, the others' complaints at half the line", RegionOutcome{counts(20_000, 0, 10_008), 0, 10_000}, true},
		{"two big bad teams", RegionOutcome{counts(20_000, 0, 200), 0, 100}, true},
		{"bounces of one, complaints of another", RegionOutcome{counts(20_000, 2_000, 200), 2_000, 200}, false},
		{"many that are a little bad", RegionOutcome{counts(20_000, 800, 0), 8, 0}, true},
		{"many under the line", RegionOutcome{counts(20_000, 799, 15), 8, 1}, false},
	} {
		if got := JudgeRegion(c.o, RegionOutcome{}); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

func TestWorse(t *testing.T) {
	if !GuardrailPaused.Worse(GuardrailWarning) || !GuardrailWarning.Worse(GuardrailOK) || GuardrailOK.Worse(GuardrailOK) || GuardrailWarning.Worse(GuardrailPaused) {
		t.Error("the order of the states is wrong")
	}
}

// percent reports exactly whether n of sent are at least thousandths of a percent.
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
			if hard >= 10 || complained >= 3 {
				want = GuardrailPaused
			}
		case hard >= 10 && percent(hard, sent, 5000), complained >= 3 && percent(complained, sent, 100):
			want = GuardrailPaused
		case percent(hard, sent, 4000), complained >= 2 && percent(complained, sent, 50):
			want = GuardrailWarning
		}
		if got := JudgeTeam(GuardrailOK, o, o).State; got != want {
			t.Errorf("%+v: %s, want %s", o, got, want)
		}
		// A second judgement changes nothing.
		if again := JudgeTeam(want, o, o).State; again != want {
			t.Errorf("%+v: %s, then %s", o, want, again)
		}
		region := sent >= 1000 && (hard >= 10 && percent(hard, sent, 4000) || complained >= 3 && percent(complained, sent, 80))
		if got := JudgeRegion(RegionOutcome{Outcome: o}, RegionOutcome{Outcome: o}); got != region {
			t.Errorf("region %+v: %t, want %t", o, got, region)
		}
		if alone := (RegionOutcome{o, o.HardBounced, o.Complained}); JudgeRegion(alone, alone) {
			t.Errorf("region %+v: one team alone pauses it", o)
		}
		if r := o.HardBounceRate(); r < 0 || r > 1 {
			t.Errorf("rate %g", r)
		}
	})
}
