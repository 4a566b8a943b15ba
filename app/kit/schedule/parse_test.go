package schedule_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"mailer/app"
	"mailer/app/kit/schedule"
)

// scheduleNow is a Wednesday, in the US Wednesday morning.
var scheduleNow = time.Date(2026, 8, 5, 11, 52, 1, 858e6, time.UTC)

// TestParseSchedule: the right column is in UTC.
func TestParseSchedule(t *testing.T) {
	for _, c := range [][2]string{
		// ISO 8601 as programming languages write it
		{"2026-08-05T11:52:01.858Z", "2026-08-05T11:52:01.858Z"},             // JavaScript
		{"2026-08-05T11:52:01Z", "2026-08-05T11:52:01Z"},                     // Go
		{"2026-08-05T11:52:01-0700", "2026-08-05T18:52:01Z"},                 // Go example
		{"2026-08-05T11:52:01+0000", "2026-08-05T11:52:01Z"},                 // PHP, Ruby
		{"2026-08-05T11:52:01+00:00", "2026-08-05T11:52:01Z"},                // PHP, Python
		{"2026-08-05T11:52:01", "2026-08-05T11:52:01Z"},                      // Python, naive
		{"2026-08-05T11:52:01.123456", "2026-08-05T11:52:01.123456Z"},        // Python, naive
		{"2026-08-05T11:52:01.123456+02:00", "2026-08-05T09:52:01.123456Z"},  // Python
		{"2026-08-05T11:52:01.1234567Z", "2026-08-05T11:52:01.1234567Z"},     // .NET
		{"2026-08-05T11:52:01.123456789Z", "2026-08-05T11:52:01.123456789Z"}, // Java, Rust
		{"2026-08-05 11:52:01 +0200", "2026-08-05T09:52:01Z"},                // Ruby's to_s
		{"2026-08-05 11:52:01 UTC", "2026-08-05T11:52:01Z"},                  // Ruby's to_s
		{"2026-08-05 11:52:01.858+00", "2026-08-05T11:52:01.858Z"},           // PostgreSQL
		{"2026-08-05 11:52:01,5", "2026-08-05T11:52:01.5Z"},                  // comma of ISO 8601
		{"2026-08-05T11:52", "2026-08-05T11:52:00Z"},                         // datetime-local of HTML
		{"2026-08-05T11:52Z", "2026-08-05T11:52:00Z"},
		{"2026-08-05 11:52", "2026-08-05T11:52:00Z"},
		{"2026-08-05 11:52Z", "2026-08-05T11:52:00Z"},
		{"2026-08-05t11:52:01z", "2026-08-05T11:52:01Z"},
		{"2026-08-05 11:52 z", "2026-08-05T11:52:00Z"},
		{"  2026-08-05    11:52:01  ", "2026-08-05T11:52:01Z"},
		{"2026-08-05T11:52-07", "2026-08-05T18:52:00Z"},
		{"2026-08-05T11:52+05:45", "2026-08-05T06:07:00Z"},
		{"2026-08-05T11:52-00:00", "2026-08-05T11:52:00Z"},
		{"2026-08-06T01:00+14:00", "2026-08-05T11:00:00Z"},
		{"2026-08-05T01:00-12:00", "2026-08-05T13:00:00Z"},
		{"2026-08-05 11:52 ET", "2026-08-05T15:52:00Z"},
		{"2026-08-05T11:52:01 gmt", "2026-08-05T11:52:01Z"},
		{"2026-08-05T00:00", "2026-08-05T00:00:00Z"},
		{"2026-08-05T23:59:59.999999999", "2026-08-05T23:59:59.999999999Z"},

		// past times are returned unchanged
		{"2025-01-01T00:00:00Z", "2025-01-01T00:00:00Z"},
		{"1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"},
		{"2024-02-29T09:00", "2024-02-29T09:00:00Z"},
		{"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"}, // Go's zero time
		{"today at 9am", "2026-08-05T09:00:00Z"},

		// the end of the 30 days
		{"2026-09-04T11:52:01.858Z", "2026-09-04T11:52:01.858Z"},
		{"in 30 days", "2026-09-04T11:52:01.858Z"},
		{"in 720 hours", "2026-09-04T11:52:01.858Z"},
		{"in 2592000 seconds", "2026-09-04T11:52:01.858Z"},
		{"2026-09-05T01:52:01.858+14:00", "2026-09-04T11:52:01.858Z"},

		// in
		{"in 1 min", "2026-08-05T11:53:01.858Z"},
		{"in 5 min", "2026-08-05T11:57:01.858Z"},
		{"in 1 hour", "2026-08-05T12:52:01.858Z"},
		{"in 2 hours", "2026-08-05T13:52:01.858Z"},
		{"in 2 days", "2026-08-07T11:52:01.858Z"},
		{"in 3 days", "2026-08-08T11:52:01.858Z"},
		{"in an hour", "2026-08-05T12:52:01.858Z"},
		{"in a minute", "2026-08-05T11:53:01.858Z"},
		{"in a day", "2026-08-06T11:52:01.858Z"},
		{"in a week", "2026-08-12T11:52:01.858Z"},
		{"in 4 weeks", "2026-09-02T11:52:01.858Z"},
		{"in 30 seconds", "2026-08-05T11:52:31.858Z"},
		{"in 30 secs", "2026-08-05T11:52:31.858Z"},
		{"in 1 sec", "2026-08-05T11:52:02.858Z"},
		{"in 10 mins", "2026-08-05T12:02:01.858Z"},
		{"in 90 minutes", "2026-08-05T13:22:01.858Z"},
		{"in 1 hr", "2026-08-05T12:52:01.858Z"},
		{"in 2 hrs", "2026-08-05T13:52:01.858Z"},
		{"in 0 min", "2026-08-05T11:52:01.858Z"},
		{"in 0000000000000000000007 min", "2026-08-05T11:59:01.858Z"},
		{" IN   1  Min ", "2026-08-05T11:53:01.858Z"},

		// today, tomorrow
		{"tomorrow at 9am", "2026-08-06T09:00:00Z"},
		{"tomorrow at 9 am", "2026-08-06T09:00:00Z"},
		{"tomorrow 9:30 pm", "2026-08-06T21:30:00Z"},
		{"tomorrow 9:30pm", "2026-08-06T21:30:00Z"},
		{"Tomorrow At 9AM", "2026-08-06T09:00:00Z"},
		{"tomorrow at 9 a.m.", "2026-08-06T09:00:00Z"},
		{"tomorrow at 9p.m. UTC", "2026-08-06T21:00:00Z"},
		{"tomorrow at 09am", "2026-08-06T09:00:00Z"},
		{"tomorrow at 9:30", "2026-08-06T09:30:00Z"},
		{"tomorrow at 0:30", "2026-08-06T00:30:00Z"},
		{"tomorrow at 00:00", "2026-08-06T00:00:00Z"},
		{"tomorrow at 23:59", "2026-08-06T23:59:00Z"},
		{"tomorrow at 12am", "2026-08-06T00:00:00Z"},
		{"tomorrow at 12:30am", "2026-08-06T00:30:00Z"},
		{"tomorrow at 12pm", "2026-08-06T12:00:00Z"},
		{"tomorrow at 12:30 pm", "2026-08-06T12:30:00Z"},
		{"tomorrow at 11:59pm", "2026-08-06T23:59:00Z"},
		{"tomorrow at noon", "2026-08-06T12:00:00Z"},
		{"tomorrow noon ET", "2026-08-06T16:00:00Z"},
		{"today at 17:00", "2026-08-05T17:00:00Z"},
		{"today 5pm", "2026-08-05T17:00:00Z"},
		{"tomorrow at 17:00 +02:00", "2026-08-06T15:00:00Z"},
		{"tomorrow at 5pm -0700", "2026-08-07T00:00:00Z"},

		// tonight
		{"tonight at 8", "2026-08-05T20:00:00Z"},
		{"tonight 8:15", "2026-08-05T20:15:00Z"},
		{"tonight at 8pm", "2026-08-05T20:00:00Z"},
		{"tonight at 20:00", "2026-08-05T20:00:00Z"},
		{"tonight at 11:59", "2026-08-05T23:59:00Z"},
		{"tonight at 6 PT", "2026-08-06T01:00:00Z"},
		{"tonight at 5pm", "2026-08-05T17:00:00Z"},
		{"tonight at midnight", "2026-08-06T00:00:00Z"},
		{"tonight at midnight CT", "2026-08-06T05:00:00Z"},

		// weekdays, from a Wednesday at 11:52
		{"Friday at 3pm ET", "2026-08-07T19:00:00Z"},
		{"friday at 3pm", "2026-08-07T15:00:00Z"},
		{"fri 3pm", "2026-08-07T15:00:00Z"},
		{"next monday at 10:00", "2026-08-10T10:00:00Z"},
		{"monday at 10:00", "2026-08-10T10:00:00Z"},
		{"tuesday at noon", "2026-08-11T12:00:00Z"},
		{"Wednesday at 12:00", "2026-08-05T12:00:00Z"},
		{"Wednesday at 11:53", "2026-08-05T11:53:00Z"},
		{"Wednesday at 11:52", "2026-08-12T11:52:00Z"},
		{"next Wednesday at 12:00", "2026-08-12T12:00:00Z"},
		{"next Wednesday at 9am", "2026-08-12T09:00:00Z"},
		{"wed at 9am ET", "2026-08-05T13:00:00Z"},
		{"next thursday at 9am", "2026-08-06T09:00:00Z"},
		{"thu at 9am", "2026-08-06T09:00:00Z"},
		{"thur at 9am", "2026-08-06T09:00:00Z"},
		{"thurs at 9am", "2026-08-06T09:00:00Z"},
		{"sat at 9am", "2026-08-08T09:00:00Z"},
		{"saturday at 9am", "2026-08-08T09:00:00Z"},
		{"sun at 9am", "2026-08-09T09:00:00Z"},
		{"sunday at 9am", "2026-08-09T09:00:00Z"},
		{"mon at 9am", "2026-08-10T09:00:00Z"},
		{"tue at 9am", "2026-08-11T09:00:00Z"},
		{"tues at 9am", "2026-08-11T09:00:00Z"},

		// zones
		{"tomorrow at 9am UTC", "2026-08-06T09:00:00Z"},
		{"tomorrow at 9am GMT", "2026-08-06T09:00:00Z"},
		{"tomorrow at 9am Z", "2026-08-06T09:00:00Z"},
		{"tomorrow at 9am ET", "2026-08-06T13:00:00Z"},
		{"tomorrow at 9am CT", "2026-08-06T14:00:00Z"},
		{"tomorrow at 9am MT", "2026-08-06T15:00:00Z"},
		{"tomorrow at 9am PT", "2026-08-06T16:00:00Z"},
		{"tomorrow at 9am EST", "2026-08-06T14:00:00Z"}, // fixed: RFC 5322 4.3
		{"tomorrow at 9am EDT", "2026-08-06T13:00:00Z"},
		{"tomorrow at 9am CST", "2026-08-06T15:00:00Z"},
		{"tomorrow at 9am CDT", "2026-08-06T14:00:00Z"},
		{"tomorrow at 9am MST", "2026-08-06T16:00:00Z"},
		{"tomorrow at 9am MDT", "2026-08-06T15:00:00Z"},
		{"tomorrow at 9am PST", "2026-08-06T17:00:00Z"},
		{"tomorrow at 9am PDT", "2026-08-06T16:00:00Z"},
	} {
		checkSchedule(t, c[0], scheduleNow, c[1])
	}
}

// checkSchedule also passes now in another location, which must not matter.
func checkSchedule(t *testing.T, in string, now time.Time, want string) {
	t.Helper()
	for _, now := range []time.Time{now, now.In(time.FixedZone("", 13*3600))} {
		got, err := schedule.Parse(in, now)
		if err != nil {
			t.Errorf("%q at %v: %v", in, now, err)
			continue
		}
		if got.Location() != time.UTC || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%q at %v: %v, want %s", in, now, got, want)
		}
	}
}

// TestParseScheduleRefuses: the right column is a part of the error message.
func TestParseScheduleRefuses(t *testing.T) {
	const form, exist, ambiguous, zoned = "ISO 8601 time such as", "date and time that exist", "say am or pm", "with a zone"
	const clock, far, evening = "at what time", "at most 30 days", "between 5pm and midnight"
	for _, c := range [][2]string{
		{"", "is empty"},
		{"   ", "is empty"},
		{strings.Repeat(" ", 95) + "in 1 min", "100 bytes"},
		{strings.Repeat("x", 101), "100 bytes"},
		{strings.Repeat("9", 100), form},

		// what other libraries accept
		{"banana", form},
		{"hello tomorrow my friend", form},
		{"25 December 2026 08:00", form},
		{"2026-12-05 11:52", far},

		// unknown words and forms
		{"now", form},
		{"in", form},
		{"in 5", form},
		{"in hour", form},
		{"in five minutes", form},
		{"in half an hour", form},
		{"in 1.5 hours", form},
		{"in -5 min", form},
		{"in +5 min", form},
		{"in 5 m", form},
		{"in 5min", form},
		{"in a month", form},
		{"in 1 year", form},
		{"in 1 s", form},
		{"in 5 minss", form},
		{"in 1 hour please", form},
		{"in 1 hour ET", form},
		{"in 1 hour 30 minutes", form},
		{"1 hour from now", form},
		{"an hour", form},
		{"9am tomorrow", form},
		{"at 9am", form},
		{"9am", form},
		{"noon", form},
		{"midnight", form},
		{"yesterday at 9am", form},
		{"next", form},
		{"next week", form},
		{"next tomorrow at 9am", form},
		{"next next monday at 9am", form},
		{"last friday at 9am", form},
		{"on friday at 9am", form},
		{"freitag at 9am", form},
		{"demain at 9am", form},
		{"tomorrow morning", form},
		{"tomorrow at", clock},
		{"tomorrow", clock},
		{"friday", clock},
		{"next friday", clock},
		{"tomorrow at at 9am", form},
		{"tomorrow at am", form},
		{"tomorrow at 9.30pm", form},
		{"tomorrow at 9:3pm", form},
		{"tomorrow at 9:300", form},
		{"tomorrow at 009am", form},
		{"tomorrow at 930pm", form},
		{"tomorrow at 0900", form},
		{"tomorrow at 9:00:00", form},
		{"tomorrow at 9:", form},
		{"tomorrow at :30", form},
		{"tomorrow at 9xm", form},
		{"tomorrow at -9am", form},
		{"tomorrow at 9h", form},
		{"friday, 3pm", form},
		{"1786017121", form},
		{"1786017121858", form},
		{"2026/08/05 11:52", form},
		{"05/08/2026 11:52", form},
		{"08-05-2026 11:52", form},
		{"20260805T115201Z", form},
		{"2026-W32-3T11:52", form},
		{"2026-217T11:52", form},
		{"26-08-05T11:52", form},
		{"+2026-08-05T11:52", form},
		{"2026-8-5 11:52", form},
		{"2026-08-05 9:30", form},
		{"2026-08-05 9am", form},
		{"2026-08-05 at 11:52", form},
		{"2026-08-05T11", form},
		{"2026-08-05T1152", form},
		{"2026-08-05_11:52", form},
		{"2026-08-05 T11:52", form},
		{"2026-08-05T11:52:01.", form},
		{"2026-08-05T11:52:01.Z", form},
		{"2026-08-05T11:52:01.1234567890Z", form},
		{"2026-08-05", clock},
		{"Wed, 05 Aug 2026 11:52:01 GMT", form},
		{"Wed Aug 05 2026 11:52:01 GMT+0000", form}, // JavaScript's toString
		{"Aug 5 2026 11:52", form},
		{"2026-08-05\t11:52", form},
		{"2026-08-05 11:52\n", form},
		{"tomorrow\u00a0at 9am", form},
		{"in 2 wee\u212as", form}, // a Kelvin sign: k in lower case
		{"2026-08-05T11:52\u221207:00", form},
		{"in ５ min", form},
		{"in 5 min\x00", form},
		{"\xff", form},

		// dates and times that do not exist
		{"2026-02-29T11:52", exist},
		{"2026-02-30T11:52", exist},
		{"2026-08-32T11:52", exist},
		{"2026-08-00T11:52", exist},
		{"2026-00-05T11:52", exist},
		{"2026-13-05T11:52", exist},
		{"2026-04-31T11:52", exist},
		{"2026-08-05T24:00", exist},
		{"2026-08-05T25:00", exist},
		{"2026-08-05T11:60", exist},
		{"2026-08-05T11:52:60Z", exist},
		{"0000-06-01T00:00Z", exist},
		{"0001-01-01T00:00+01:00", exist},
		{"tomorrow at 25:00", exist},
		{"tomorrow at 24:00", exist},
		{"tomorrow at 9:60", exist},
		{"tomorrow at 13pm", exist},
		{"tomorrow at 0am", exist},
		{"tomorrow at 0:30pm", exist},
		{"tomorrow at 99", exist},

		// ambiguous
		{"tomorrow at 9", ambiguous},
		{"tomorrow at 17", ambiguous},
		{"tomorrow 0", ambiguous},
		{"Friday at 3 ET", ambiguous},
		{"friday 12", ambiguous},
		{"tonight at 5", ambiguous},
		{"tonight at 12", ambiguous},
		{"tonight at 20", ambiguous},
		{"today at midnight", "midnight"},
		{"tomorrow at midnight", "midnight"},
		{"friday midnight ET", "midnight"},
		{"tonight at 9am", evening},
		{"tonight at 12am", evening},
		{"tonight at 4:59pm", evening},
		{"tonight at 3:00", evening},
		{"tonight at noon", evening},
		{"tonight at 12:00", evening},

		// zones and other suffixes
		{"tomorrow at 9am please", zoned},
		{"tomorrow at 9am in London", zoned},
		{"tomorrow at 9am am", zoned},
		{"tomorrow at 12 noon", ambiguous},
		{"tomorrow at 9am sharp ET", zoned},
		{"tomorrow at 9am ET ET", zoned},
		{"tomorrow at 9am CET", zoned},
		{"tomorrow at 9am BST", zoned},
		{"tomorrow at 9am IST", zoned},
		{"tomorrow at 9am AST", zoned},
		{"tomorrow at 9am E", zoned},
		{"tomorrow at 9am ETT", zoned},
		{"tomorrow at 9am EEST", zoned},
		{"tomorrow at 9am Eastern", zoned},
		{"tomorrow at 9am America/New_York", zoned},
		{"tomorrow at 9am UTC+2", zoned},
		{"tomorrow at 9am +2", zoned},
		{"tomorrow at 9am +02", zoned},
		{"tomorrow at 9am -", zoned},
		{"tomorrow at 9am - 11am", zoned},
		{"tomorrow at 9:00 - 11:00", zoned},
		{"tomorrow at 9:00-11:00", form},
		{"tomorrow at 9:00 to 11:00", zoned},
		{"tomorrow at 9am or friday at 3pm", zoned},
		{"2026-08-05T11:52 pm", zoned},
		{"2026-08-05T11:52pm", zoned},
		{"2026-08-05T11:52:1", zoned},
		{"2026-08-05T11:52:", zoned},
		{"2026-08-05T11:52.5", zoned},
		{"2026-08-05T11:52ZZ", zoned},
		{"2026-08-05T11:52Z Z", zoned},
		{"2026-08-05T11:52:01 02:00", zoned}, // a + that was decoded to a space
		{"2026-08-05T11:52:01+2", zoned},
		{"2026-08-05T11:52:01+2:00", zoned},
		{"2026-08-05T11:52:01+02:0", zoned},
		{"2026-08-05T11:52:01+02:60", zoned},
		{"2026-08-05T11:52:01+02:00:00", zoned},
		{"2026-08-05T11:52:01+020", zoned},
		{"2026-08-05T11:52:01+02000", zoned},
		{"2026-08-05T11:52:01+14:01", zoned},
		{"2026-08-05T11:52:01-12:01", zoned},
		{"2026-08-05 11:52-13:00", zoned},
		{"2026-08-05 11:52 -12", zoned},
		{"2026-08-05T11:52:01+0200 CEST", zoned},
		{"2026-08-05 11:52:01.858 +0000 UTC", zoned}, // Go's Time.String
		{"2026-08-05T11:52:01+02:00[Europe/Paris]", zoned},
		{"2026-08-05T11:52:01Z; DROP TABLE emails", zoned},

		// too far
		{"2026-09-04T11:52:01.858000001Z", far},
		{"2026-09-04T11:52:02", far},
		{"9999-12-31T23:59:59.999999999-12:00", far},
		{"in 31 days", far},
		{"in 721 hours", far},
		{"in 2592001 seconds", far},
		{"in 5 weeks", far},
		{"in 9223372036854775807 weeks", far},
		{"in 99999999999999999999999 weeks", far},
	} {
		got, err := schedule.Parse(c[0], scheduleNow)
		if err == nil {
			t.Errorf("%q is read as %v", c[0], got)
			continue
		}
		if !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%q: %q, want something with %q", c[0], err, c[1])
		}
	}
}

// TestParseScheduleDayOfZone: "today" is the day in the given zone.
func TestParseScheduleDayOfZone(t *testing.T) {
	now := time.Date(2026, 8, 8, 2, 0, 0, 0, time.UTC) // Saturday; in the US Friday evening
	for _, c := range [][2]string{
		{"today at 11pm", "2026-08-08T23:00:00Z"},
		{"today at 11pm PT", "2026-08-08T06:00:00Z"},
		{"tomorrow at 9am", "2026-08-09T09:00:00Z"},
		{"tomorrow at 9am ET", "2026-08-08T13:00:00Z"},
		{"friday at 11pm ET", "2026-08-08T03:00:00Z"},
		{"friday at 10pm ET", "2026-08-15T02:00:00Z"}, // this minute is not in the future
		{"next friday at 11pm ET", "2026-08-15T03:00:00Z"},
		{"friday at 11pm", "2026-08-14T23:00:00Z"},
		{"saturday at 9am", "2026-08-08T09:00:00Z"},
		{"saturday at 9am +14:00", "2026-08-14T19:00:00Z"}, // 4pm in that zone
	} {
		checkSchedule(t, c[0], now, c[1])
	}
}

func TestParseScheduleSummerTime(t *testing.T) {
	const skipped = "error"
	for _, c := range [][3]string{ // now, text, result
		// begins on Sunday, 8 March 2026, 2:00
		{"2026-03-07T12:00:00Z", "tomorrow at 1:59am ET", "2026-03-08T06:59:00Z"},
		{"2026-03-07T12:00:00Z", "tomorrow at 2:00am ET", skipped},
		{"2026-03-07T12:00:00Z", "tomorrow at 2:59 PT", skipped},
		{"2026-03-07T12:00:00Z", "2026-03-08 02:30 CT", skipped},
		{"2026-03-07T12:00:00Z", "2026-03-08 02:30 CST", "2026-03-08T08:30:00Z"},
		{"2026-03-07T12:00:00Z", "2026-03-08 02:30", "2026-03-08T02:30:00Z"},
		{"2026-03-07T12:00:00Z", "tomorrow at 3am ET", "2026-03-08T07:00:00Z"},
		{"2026-03-07T12:00:00Z", "Friday at 3pm ET", "2026-03-13T19:00:00Z"},
		{"2026-03-06T12:00:00Z", "Friday at 3pm ET", "2026-03-06T20:00:00Z"},
		{"2026-03-08T06:30:00Z", "sunday at 2:30am ET", skipped},                // 1:30 EST
		{"2026-03-08T07:10:00Z", "sunday at 2:30am ET", "2026-03-15T06:30:00Z"}, // 3:10 EDT
		{"2026-03-08T16:00:00Z", "sunday at 2:30am ET", "2026-03-15T06:30:00Z"},
		{"2026-03-08T06:30:00Z", "next sunday at 2:30am ET", "2026-03-15T06:30:00Z"},
		{"2026-03-01T16:00:00Z", "next sunday at 2:30am ET", skipped},
		// ends on Sunday, 1 November 2026, 2:00
		{"2026-10-31T12:00:00Z", "tomorrow at 12:59am ET", "2026-11-01T04:59:00Z"},
		{"2026-10-31T12:00:00Z", "tomorrow at 1:30am ET", "2026-11-01T05:30:00Z"},
		{"2026-10-31T12:00:00Z", "tomorrow at 1:30am EST", "2026-11-01T06:30:00Z"},
		{"2026-10-31T12:00:00Z", "tomorrow at 2am ET", "2026-11-01T07:00:00Z"},
		{"2026-10-31T12:00:00Z", "tomorrow at 9am PT", "2026-11-01T17:00:00Z"},
		{"2026-10-31T12:00:00Z", "today at 9am PT", "2026-10-31T16:00:00Z"},
		{"2026-11-01T05:10:00Z", "sunday at 1:30am ET", "2026-11-01T05:30:00Z"}, // 1:10 EDT
		{"2026-11-01T06:10:00Z", "sunday at 1:30am ET", "2026-11-08T06:30:00Z"}, // 1:10 EST: the first 1:30 is over
		// first and last possible days of the rule
		{"2015-03-07T12:00:00Z", "2015-03-08 03:00 ET", "2015-03-08T07:00:00Z"},
		{"2020-03-07T12:00:00Z", "2020-03-08 01:59 MT", "2020-03-08T08:59:00Z"},
		{"2021-03-13T12:00:00Z", "2021-03-14 12:00 MT", "2021-03-14T18:00:00Z"},
		{"2021-11-06T12:00:00Z", "2021-11-07 01:59 PT", "2021-11-07T08:59:00Z"},
		{"2021-11-06T12:00:00Z", "2021-11-07 02:00 PT", "2021-11-07T10:00:00Z"},
	} {
		now, err := time.Parse(time.RFC3339, c[0])
		if err != nil {
			t.Fatal(err)
		}
		if c[2] != skipped {
			checkSchedule(t, c[1], now, c[2])
			continue
		}
		if got, err := schedule.Parse(c[1], now); err == nil || !strings.Contains(err.Error(), "skip") {
			t.Errorf("%q at %s: %v, %v, want the refusal of a skipped hour", c[1], c[0], got, err)
		}
	}
}

// TestScheduleZonesAgreeWithTZData compares the rule of this package with the zone files hour by
// hour around each change and at random times between.
func TestScheduleZonesAgreeWithTZData(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for word, name := range map[string]string{
		"ET": "America/New_York", "CT": "America/Chicago", "MT": "America/Denver", "PT": "America/Los_Angeles",
	} {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for year := 2007; year <= 2037; year++ {
			begin, end := schedule.SummerTime(year)
			for h := range 36 {
				d := time.Duration(h-12) * time.Hour
				checkZone(t, word, loc, begin.Add(8*time.Hour+d))
				checkZone(t, word, loc, end.Add(8*time.Hour+d))
			}
			for range 50 {
				checkZone(t, word, loc, time.Date(year, 1, 1, 0, rnd.IntN(365*24*60), 0, 0, time.UTC))
			}
		}
	}
}

func checkZone(t *testing.T, word string, loc *time.Location, at time.Time) {
	t.Helper()
	const layout = "2006-01-02 15:04:05"
	shown := at.In(loc).Format(layout)
	z, err := schedule.ReadZone(strings.ToLower(word))
	if err != nil {
		t.Fatal(err)
	}
	if got := z.Wall(at).Format(layout); got != shown {
		t.Errorf("%s at %v: clocks show %s, not %s", word, at, shown, got)
	}
	want := at
	if before := at.Add(-time.Hour); before.In(loc).Format(layout) == shown {
		want = before // the hour occurs twice
	}
	if got, err := schedule.Parse(shown+" "+word, at); err != nil || !got.Equal(want) {
		t.Errorf("%s %s: %v, %v, want %v", shown, word, got, err, want)
	}
}

// TestParseScheduleRoundTrip parses every notation of an instant.
func TestParseScheduleRoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	layouts := []struct {
		layout string
		unit   time.Duration // precision of the layout
		zoned  bool
	}{
		{time.RFC3339Nano, time.Nanosecond, true},
		{app.TimeLayout, time.Millisecond, false},
		{"2006-01-02T15:04:05.000000", time.Microsecond, false},
		{"2006-01-02T15:04:05.000000000Z07:00", time.Nanosecond, true},
		{"2006-01-02T15:04:05,0000000-07:00", 100 * time.Nanosecond, true},
		{"2006-01-02T15:04:05-0700", time.Second, true},
		{"2006-01-02T15:04:05Z0700", time.Second, true},
		{"2006-01-02 15:04:05 -0700", time.Second, true},
		{"2006-01-02 15:04:05.000 Z07:00", time.Millisecond, true},
		{"2006-01-02 15:04 -07:00", time.Minute, true},
		{"2006-01-02T15:04Z07:00", time.Minute, true},
		{"2006-01-02 15:04", time.Minute, false},
		{"2006-01-02 15:04:05 UTC", time.Second, false},
	}
	for range 3000 {
		// The years 1 to 9999 with every allowed offset.
		at := time.Unix(rnd.Int64N(315537897600-2*86400)-62135596800+86400, rnd.Int64N(1e9)).UTC()
		offset := rnd.IntN(26*60+1) - 12*60
		for _, l := range layouts {
			want := at.Truncate(l.unit)
			shown := want
			if l.zoned {
				shown = want.In(time.FixedZone("", offset*60))
			}
			text := shown.Format(l.layout)
			got, err := schedule.Parse(text, want)
			if err != nil || !got.Equal(want) || got.Location() != time.UTC {
				t.Fatalf("%q: %v, %v, want %v", text, got, err, want)
			}
		}
	}
}

// TestParseScheduleWeekdays: a weekday is in the future, at most a week ahead, on that day and at
// that hour.
func TestParseScheduleWeekdays(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 5000 {
		now := scheduleNow.Add(time.Duration(rnd.Int64N(int64(60 * schedule.Day))))
		wd, hour, minute := time.Weekday(rnd.IntN(7)), rnd.IntN(24), rnd.IntN(60)
		clock := time.Date(2000, 1, 1, hour, minute, 0, 0, time.UTC)
		for _, layout := range []string{"15:04", "3:04pm", "3:04 PM"} {
			text := wd.String() + " at " + clock.Format(layout)
			got, err := schedule.Parse(text, now)
			if err != nil || !got.After(now) || got.Sub(now) > schedule.Week ||
				got.Weekday() != wd || got.Hour() != hour || got.Minute() != minute {
				t.Fatalf("%q at %v: %v, %v", text, now, got, err)
			}
			next, err := schedule.Parse("next "+text, now)
			if err != nil || next.YearDay() == now.YearDay() || next.Sub(now.Truncate(schedule.Day)) >= 8*schedule.Day ||
				next.Weekday() != wd || next.Hour() != hour || next.Minute() != minute {
				t.Fatalf("%q at %v: %v, %v", "next "+text, now, next, err)
			}
		}
	}
}

// TestParseScheduleHasNoMonotonicReading: a monotonic reading would make equal results differ.
func TestParseScheduleHasNoMonotonicReading(t *testing.T) {
	got, err := schedule.Parse("in 0 min", time.Now())
	if err != nil || strings.Contains(got.String(), "m=") {
		t.Errorf("%v, %v", got, err)
	}
}

// FuzzParseSchedule checks that no input panics and that a result is in UTC, not too far in the
// future, independent of case and spaces, and survives formatting and parsing.
func FuzzParseSchedule(f *testing.F) {
	for _, s := range []string{
		"2026-08-05T11:52:01.858Z", "2026-08-05 11:52:01,5 -0700", "2026-03-08 02:30 ET", "2026-08-05T11:52+02",
		"in 1 min", "in an hour", "in 999999999999 weeks", "tomorrow at 9am", "Friday at 3pm ET",
		"next monday at 10:00", "tonight at 8", "tonight at midnight PST", "today noon", "tomorrow 9:30 p.m. +05:45",
		"banana", "",
	} {
		f.Add(s, int64(0))
		f.Add(s, int64(216*24*3600)) // in March
	}
	f.Fuzz(func(t *testing.T, s string, later int64) {
		now := scheduleNow.Add(time.Duration(later%(400*86400)) * time.Second)
		got, err := schedule.Parse(s, now)
		if err != nil {
			if !got.IsZero() || err.Error() == "" || len(err.Error()) > 200 {
				t.Fatalf("%q: %v, %q", s, got, err)
			}
			return
		}
		if len(s) > schedule.MaxScheduleInput || got.Location() != time.UTC || got.Sub(now) > 30*schedule.Day || got.Year() < 1 {
			t.Fatalf("%q at %v: %v", s, now, got)
		}
		again, err := schedule.Parse(got.Format(time.RFC3339Nano), now)
		if err != nil || again != got {
			t.Fatalf("%q at %v: %v, which is read back as %v, %v", s, now, got, again, err)
		}
		other := strings.ToUpper(strings.ReplaceAll(strings.Trim(s, " "), " ", "  "))
		if again, err := schedule.Parse(other, now); len(other) <= schedule.MaxScheduleInput && (err != nil || again != got) {
			t.Fatalf("%q is %v, but %q is %v, %v", s, got, other, again, err)
		}
	})
}
