package app

import (
	"testing"
	"time"
)

func TestWaitedExcludesClockStops(t *testing.T) {
	at := func(minute int) time.Time { return time.Unix(int64(minute)*60, 0) }
	u := Unit{Since: at(10), ClockStops: []Span{{at(30), at(40)}}}
	stops := []Span{{at(35), at(50)}, {at(0), at(15)}, {at(90), time.Time{}}, {at(36), at(38)}}
	for minute, want := range map[int]int{5: 0, 12: 0, 20: 5, 30: 15, 45: 15, 60: 25, 90: 55, 500: 55} {
		if got := u.Waited(at(minute), stops); got != time.Duration(want)*time.Minute {
			t.Errorf("at %d it has run for %v, want %dm", minute, got, want)
		}
	}
	plain := Unit{}
	for d := range 80 {
		plain.Since = WaitedSince(at(120), time.Duration(d)*time.Minute, stops)
		if got := plain.Waited(at(120), stops); got != time.Duration(d)*time.Minute {
			t.Errorf("since %v it has run for %v, want %dm", plain.Since.Unix()/60, got, d)
		}
	}
	for d, want := range map[time.Duration]string{48 * time.Hour: "48h", 10 * time.Minute: "10m", 90 * time.Minute: "1h30m", 61 * time.Second: "1m1s", 0: "0s"} {
		if got := FormatSpan(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}
