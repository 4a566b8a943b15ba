package automation

import (
	"testing"
	"time"
)

func TestLocalTimeAtClockChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone, wall, want string
	}{
		{"UTC", "2026-03-29 02:30", "2026-03-29T02:30:00Z"},
		{"Europe/Berlin", "2026-03-28 09:00", "2026-03-28T08:00:00Z"},
		{"Europe/Berlin", "2026-03-29 09:00", "2026-03-29T07:00:00Z"},
		{"Europe/Berlin", "2026-03-29 02:30", "2026-03-29T01:00:00Z"}, // does not exist: 03:00
		{"Europe/Berlin", "2026-10-25 02:30", "2026-10-25T00:30:00Z"}, // exists twice: the first
		{"Europe/Berlin", "2026-10-25 09:00", "2026-10-25T08:00:00Z"},
		{"America/New_York", "2026-03-08 02:00", "2026-03-08T07:00:00Z"},
		{"America/New_York", "2026-11-01 01:30", "2026-11-01T05:30:00Z"},
		{"Australia/Lord_Howe", "2026-10-04 02:15", "2026-10-03T15:30:00Z"}, // clocks go forward by half an hour
		{"Pacific/Apia", "2011-12-30 09:00", "2011-12-30T10:00:00Z"},        // a day that does not exist
		{"Asia/Kathmandu", "2026-06-01 00:00", "2026-05-31T18:15:00Z"},
	} {
		zone, ok := Zone(c.zone)
		if !ok {
			t.Fatalf("no zone %s", c.zone)
		}
		w, err := time.Parse("2006-01-02 15:04", c.wall)
		if err != nil {
			t.Fatal(err)
		}
		got := LocalTime(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), zone).UTC().Format(time.RFC3339)
		if got != c.want {
			t.Errorf("%s in %s: %s, want %s", c.wall, c.zone, got, c.want)
		}
	}
}
