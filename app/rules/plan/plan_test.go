package plan

import (
	"slices"
	"testing"
	"time"

	"mailer/app/rules/webhook"
)

func date(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestPeriod(t *testing.T) {
	for _, tt := range []struct{ since, now, start, end string }{
		{"2026-01-15T00:00:00Z", "2026-01-15T00:00:00Z", "2026-01-15T00:00:00Z", "2026-02-15T00:00:00Z"},
		{"2026-01-15T00:00:00Z", "2026-02-14T23:59:59Z", "2026-01-15T00:00:00Z", "2026-02-15T00:00:00Z"},
		{"2026-01-15T00:00:00Z", "2026-02-15T00:00:00Z", "2026-02-15T00:00:00Z", "2026-03-15T00:00:00Z"},
		{"2026-01-15T00:00:00Z", "2027-01-01T00:00:00Z", "2026-12-15T00:00:00Z", "2027-01-15T00:00:00Z"},
		{"2026-01-31T00:00:00Z", "2026-02-10T00:00:00Z", "2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z"},
		{"2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z", "2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z"},
		{"2026-01-31T00:00:00Z", "2026-04-30T12:00:00Z", "2026-04-30T00:00:00Z", "2026-05-31T00:00:00Z"},
		{"2024-02-29T00:00:00Z", "2025-02-28T00:00:00Z", "2025-02-28T00:00:00Z", "2025-03-29T00:00:00Z"},
		{"2026-03-10T00:00:00Z", "2026-01-01T00:00:00Z", "2026-03-10T00:00:00Z", "2026-04-10T00:00:00Z"}, // a clock set back
	} {
		p := Plan{Name: Pro, Since: date(t, tt.since)}
		start, end := p.Period(date(t, tt.now))
		if !start.Equal(date(t, tt.start)) || !end.Equal(date(t, tt.end)) {
			t.Errorf("since %s, at %s: %s to %s, want %s to %s", tt.since, tt.now, start, end, tt.start, tt.end)
		}
	}
}

func TestTerms(t *testing.T) {
	for name, want := range map[Name]Terms{
		"free":    {PerDay: 100, Domains: 3, Contacts: 1000, Attachments: 1 << 20, Images: 100 << 20, OpenRuns: 1000},
		"starter": {PerDay: 1500, Domains: 10, Attachments: 1 << 20, Images: 250 << 20},
		"pro":     {PerMonth: 100000, OverageUSD: 0.3, Attachments: 5 << 20, Images: 500 << 20},
		"scale":   {PerMonth: 500000, OverageUSD: 0.2, Attachments: 10 << 20, Images: 1 << 30},
	} {
		if got, ok := name.Terms(); !ok || got != want {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
	if _, ok := Name("gold").Terms(); ok {
		t.Error("gold is a plan")
	}
}

func TestPlanInput(t *testing.T) {
	for _, tt := range []struct {
		in Input
		ok bool
	}{
		{Input{Name: Free}, true},
		{Input{Name: Pro, Included: 1, Overage: true}, true},
		{Input{Name: Scale}, true},
		{Input{Name: "gold"}, false},
		{Input{}, false},
		{Input{Name: Pro, Included: -1}, false},
		{Input{Name: Starter, Included: 10}, false},
		{Input{Name: Free, Overage: true}, false},
	} {
		if err := tt.in.Validate(); (err == nil) != tt.ok {
			t.Errorf("%+v: %v", tt.in, err)
		}
	}
}

func TestPeriodContinuesWithNextMonthlyPlan(t *testing.T) {
	began, now := date(t, "2026-01-15T00:00:00Z"), date(t, "2026-02-03T10:00:00Z")
	pro := Plan{Name: Pro, Since: began}
	if next := pro.Next(Input{Name: Scale, Included: 7, Overage: true}, now); !next.Since.Equal(began) || next.Included() != 7 || next.PeriodMax() != 35 {
		t.Errorf("scale after pro: %+v", next)
	}
	free := pro.Next(Input{Name: Free}, now)
	if next := free.Next(Input{Name: Pro}, now); !next.Since.Equal(date(t, "2026-02-03T00:00:00Z")) || next.Included() != 100000 || next.PeriodMax() != 100000 {
		t.Errorf("pro after free: %+v", next)
	}
}

func TestQuotaEventsAreReportedOnce(t *testing.T) {
	var names []webhook.EventName
	reported := QuotaFree
	for _, used := range []int64{0, 79, 80, 81, 99, 100, 120} {
		level := LevelOf(used, 100)
		names = append(names, QuotaEvents(reported, level)...)
		reported = max(reported, level)
	}
	if want := []webhook.EventName{webhook.QuotaWarning, webhook.QuotaReached}; !slices.Equal(names, want) {
		t.Errorf("events %q", names)
	}
	if got := QuotaEvents(QuotaFree, LevelOf(500, 100)); len(got) != 2 {
		t.Errorf("a leap gives %q", got)
	}
}
