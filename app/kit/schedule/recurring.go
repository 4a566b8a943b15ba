package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Recurring is a schedule of one time a day, a week or a month. The zero value is invalid.
type Recurring struct {
	every        string // daily, weekly or monthly
	weekday      time.Weekday
	day          int // of the month, from 1; months that are shorter use their last one
	hour, minute int
}

var errRecurring = errors.New(`must be like "daily 09:00", "weekly friday 09:00" or "monthly 1 09:00"`)

// ParseRecurring reads a schedule: "daily HH:MM", "weekly DAY HH:MM" or "monthly N HH:MM". Case does not
// matter. Errors describe the form.
func ParseRecurring(text string) (r Recurring, err error) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) < 2 {
		return r, errRecurring
	}
	r.every = words[0]
	switch {
	case r.every == "daily" && len(words) == 2:
	case r.every == "weekly" && len(words) == 3:
		day := time.Sunday
		for ; day <= time.Saturday && strings.ToLower(day.String()) != words[1]; day++ {
		}
		if day > time.Saturday {
			return r, fmt.Errorf("must name a day of the week in English, like friday: %w", errRecurring)
		}
		r.weekday = day
	case r.every == "monthly" && len(words) == 3:
		if r.day, err = strconv.Atoi(words[1]); err != nil || r.day < 1 || r.day > 31 {
			return r, errRecurring
		}
	default:
		return r, errRecurring
	}
	at, err := time.Parse("15:04", words[len(words)-1])
	if err != nil {
		return r, errRecurring
	}
	r.hour, r.minute = at.Hour(), at.Minute()
	return r, nil
}

// String returns the schedule as ParseRecurring reads it.
func (r Recurring) String() string {
	at := fmt.Sprintf(" %02d:%02d", r.hour, r.minute)
	switch r.every {
	case "weekly":
		return r.every + " " + strings.ToLower(r.weekday.String()) + at
	case "monthly":
		return r.every + " " + strconv.Itoa(r.day) + at
	}
	return r.every + at
}

// Next returns the first time of the schedule after a time, in a zone. A time of day that a day does not
// have, because clocks go forward, is moved as far; one that a day has twice counts once.
func (r Recurring) Next(after time.Time, zone *time.Location) time.Time {
	y, m, d := after.In(zone).Date()
	for i := 0; ; i++ {
		day := time.Date(y, m, d+i, 12, 0, 0, 0, zone)
		if !r.on(day) {
			continue
		}
		if at := time.Date(y, m, d+i, r.hour, r.minute, 0, 0, zone); at.After(after) {
			return at
		}
	}
}

// on reports whether the schedule has a time on a day.
func (r Recurring) on(day time.Time) bool {
	switch r.every {
	case "weekly":
		return day.Weekday() == r.weekday
	case "monthly":
		last := time.Date(day.Year(), day.Month()+1, 0, 12, 0, 0, 0, time.UTC).Day()
		return day.Day() == min(r.day, last)
	}
	return true
}
