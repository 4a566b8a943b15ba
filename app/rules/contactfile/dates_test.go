package contactfile

import (
	"strings"
	"testing"
)

func TestDateOrders(t *testing.T) {
	for _, tt := range []struct{ text, order, want, fault string }{
		{"24.12.2026", dayFirst, "2026-12-24", ""},
		{"4. 1. 2026", dayFirst, "2026-01-04", ""},
		{"24/12/2026 18:30", dayFirst, "2026-12-24", ""},
		{"24-12-2026", dayFirst, "2026-12-24", ""},
		{"2026-12-24", dayFirst, "2026-12-24", ""},
		{"2026-12-24T23:30:00-05:00", monthFirst, "2026-12-24", ""},
		{"12/24/2026", monthFirst, "2026-12-24", ""},
		{"1/4/2026", monthFirst, "2026-01-04", ""},
		{"2026/12/24", yearFirst, "2026-12-24", ""},
		{"2026.1.4.", yearFirst, "2026-01-04", ""},
		{"29.2.2028", dayFirst, "2028-02-29", ""},
		{"12/24/2026", dayFirst, "", "month/day/year among dates in the order day.month.year"},
		{"24.12.2026", monthFirst, "", "day.month.year among dates in the order month/day/year"},
		{"2026/12/24", dayFirst, "", "year-month-day among"},
		{"29.2.2027", dayFirst, "", "must be a date"},
		{"24.12.26", dayFirst, "", "four digits"},
		{"24.12/2026", dayFirst, "", "must be a date"},
		{"soon", yearFirst, "", "must be a date"},
		{"0000-01-01", yearFirst, "", "must be a date"},
	} {
		got, err := parseDate(tt.text, tt.order)
		if got != tt.want || (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%s in %s: %q %v, want %q %q", tt.text, tt.order, got, err, tt.want, tt.fault)
		}
	}
}

func TestBadValue(t *testing.T) {
	long := strings.Repeat("x", maxBadValue)
	for text, want := range map[string]string{
		"12,5 €": "12,5 €", "a\x00b\nc": "abc", "": "",
		"ann " + long:                "ann…",
		long:                         long,
		long + "y":                   "",
		"a b@example.com" + long:     "a…",
		strings.Repeat("日本 ", 200):   strings.TrimSpace(strings.Repeat("日本 ", 106)) + "…",
		"\xff\xfe" + "no UTF-8 \xff": "no UTF-8",
	} {
		if got := badValue(text); got != want {
			t.Errorf("%.20q… gives %q, want %q", text, got, want)
		}
	}
}
