package schedule_test

import (
	"testing"
	"time"

	"mailer/app/kit/schedule"
)

func TestRecurring(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, zone, after, want string }{
		{"daily 09:00", "UTC", "2026-03-01T08:59:00Z", "2026-03-01T09:00:00Z"},
		{"daily 09:00", "UTC", "2026-03-01T09:00:00Z", "2026-03-02T09:00:00Z"},
		{"Weekly FRIDAY 9:00", "UTC", "2026-03-01T00:00:00Z", "2026-03-06T09:00:00Z"},
		{"monthly 31 10:30", "UTC", "2026-02-01T00:00:00Z", "2026-02-28T10:30:00Z"},
		{"monthly 1 00:00", "UTC", "2026-12-31T23:59:59Z", "2027-01-01T00:00:00Z"},
		{"daily 09:00", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T07:00:00Z"},
		{"daily 09:00", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T08:00:00Z"},
		{"daily 02:30", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:30:00Z"}, // 02:30 is skipped
		{"daily 02:30", "Europe/Berlin", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"}, // 02:30 comes twice
	} {
		r, err := schedule.ParseRecurring(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		zone, err := time.LoadLocation(tt.zone)
		if err != nil {
			t.Fatal(err)
		}
		after, _ := time.Parse(time.RFC3339, tt.after)
		if got := r.Next(after, zone).UTC().Format(time.RFC3339); got != tt.want {
			t.Errorf("%s in %s after %s: %s, want %s", tt.text, tt.zone, tt.after, got, tt.want)
		}
		if again, err := schedule.ParseRecurring(r.String()); err != nil || again != r {
			t.Errorf("%s: %v", r, err)
		}
	}
	for _, text := range []string{"", "daily", "daily 24:00", "weekly 09:00", "weekly someday 09:00", "monthly 0 09:00", "monthly 32 09:00", "hourly 09:00", "daily 09:00 x"} {
		if r, err := schedule.ParseRecurring(text); err == nil {
			t.Errorf("%q is %s", text, r)
		}
	}
}
