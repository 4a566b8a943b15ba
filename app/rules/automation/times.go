package automation

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/kit/schedule"
)

// ParseDuration reads a duration: "30 minutes", "1 hour", "2 days", "1 week", or a span like 90m or 1h30m.
// It is at most 365 days.
func ParseDuration(text string) (time.Duration, error) {
	wrong := errors.New("must be a duration like 30 minutes, 2 hours, 3 days or 1 week, of at most 365 days")
	words := strings.Fields(strings.ToLower(text))
	var d time.Duration
	switch len(words) {
	case 1:
		span, err := schedule.ParseSpan(words[0])
		if err != nil {
			return 0, wrong
		}
		d = span
	case 2:
		n, err := strconv.Atoi(words[0])
		unit, ok := durations[strings.TrimSuffix(words[1], "s")]
		if err != nil || !ok || n < 0 || n > int(maxDelay/unit) {
			return 0, wrong
		}
		d = time.Duration(n) * unit
	default:
		return 0, wrong
	}
	if d > maxDelay {
		return 0, wrong
	}
	return d, nil
}

var durations = map[string]time.Duration{"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour}

func checkDuration(field, text string, required bool) error {
	if text == "" {
		if required {
			return app.Invalid(field, "is required")
		}
		return nil
	}
	d, err := ParseDuration(text)
	if err != nil {
		return app.Invalid(field, "%v", err)
	}
	if d <= 0 {
		return app.Invalid(field, "must be longer than 0")
	}
	return nil
}

// Zone returns a time zone by its name in the IANA database; ok is false for an unknown one.
func Zone(name string) (zone *time.Location, ok bool) {
	if name == "" || name == "Local" {
		return nil, false
	}
	zone, err := time.LoadLocation(name)
	return zone, err == nil
}

// ZoneOf returns the time zone of a contact: its property time_zone, else fallback, else UTC. unreadable
// reports that the property is there but names no zone.
func ZoneOf(c *app.Contact, fallback string) (zone *time.Location, unreadable bool) {
	if c != nil {
		if p, ok := c.Properties["time_zone"]; ok && p.Text != "" {
			if zone, ok := Zone(p.Text); ok {
				return zone, false
			}
			unreadable = true
		}
	}
	if zone, ok := Zone(fallback); ok {
		return zone, unreadable
	}
	return time.UTC, unreadable
}

// LocalTime returns the instant of a local time. One that does not exist, because clocks go forward, is
// the next that does; of one that exists twice it is the first.
func LocalTime(year int, month time.Month, day, hour, minute int, zone *time.Location) time.Time {
	wall := time.Date(year, month, day, hour, minute, 0, 0, time.UTC)
	_, before := wall.Add(-24 * time.Hour).In(zone).Zone()
	_, after := wall.Add(24 * time.Hour).In(zone).Zone()
	for _, offset := range []int{max(before, after), min(before, after)} { // the earlier instant first
		at := wall.Add(-time.Duration(offset) * time.Second).In(zone)
		if at.Day() == wall.Day() && at.Hour() == wall.Hour() && at.Minute() == wall.Minute() {
			return at
		}
	}
	// By the offset of the day before, the time is behind the moment at which the clocks went forward.
	forward, _ := wall.Add(-time.Duration(before) * time.Second).In(zone).ZoneBounds()
	return forward
}

// Due returns when a wait_until step is over that begins at now.
func (c *WaitUntilConfig) Due(now time.Time, zone *time.Location) time.Time {
	y, m, d := now.In(zone).Date()
	for i := range 8 {
		day := time.Date(y, m, d+i, 12, 0, 0, 0, time.UTC)
		if len(c.Weekdays) > 0 && !slices.ContainsFunc(c.Weekdays, func(name string) bool { return weekdays[strings.ToLower(name)] == day.Weekday() }) {
			continue
		}
		if at := LocalTime(day.Year(), day.Month(), day.Day(), c.Hour, c.Minute, zone); !at.Before(now) {
			return at
		}
	}
	return now // not possible: eight days have each weekday, and the eighth is after now
}

// ParseDate reads a date of a property: YYYY-MM-DD, or a time in RFC 3339, whose date is in its own offset.
func ParseDate(text string) (year int, month time.Month, day int, ok bool) {
	text = strings.TrimSpace(text)
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			year, month, day = t.Date()
			return year, month, day, true
		}
	}
	return 0, 0, 0, false
}

// OnDay returns when the trigger mailer:date starts a run for a date, in a zone, in a year: the year of the
// date itself unless the trigger is yearly. 29 February falls on the 28th in other years. ok is false
// for another year than that of a date that is not yearly.
func (c *TriggerConfig) OnDay(year int, date string, zone *time.Location) (at time.Time, ok bool) {
	y, m, d, readable := ParseDate(date)
	if !readable {
		return at, false
	}
	if c.Yearly {
		y = year
		if last := time.Date(y, m+1, 0, 0, 0, 0, 0, time.UTC).Day(); d > last {
			d = last
		}
	}
	day := time.Date(y, m, d+c.Days, 0, 0, 0, 0, time.UTC)
	return LocalTime(day.Year(), day.Month(), day.Day(), c.Hour, 0, zone), true
}

// Takes reports whether a contact takes the branch condition_met of a split. It is the same each time.
func (c *SplitConfig) Takes(automationID, stepKey, contactID string) bool {
	sum := sha256.Sum256([]byte(automationID + "\n" + stepKey + "\n" + contactID))
	return binary.BigEndian.Uint64(sum[:8])%10_000 < uint64(c.Percent)*100
}
