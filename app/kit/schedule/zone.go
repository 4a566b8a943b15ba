package schedule

import (
	"errors"
	"strings"
	"time"
)

// zone is a place on the clock: a fixed offset or one with the summer time of the
// United States. The rule is here since a static binary that must run on hosts
// without zone files would carry 450 KB of them for four zones.
type zone struct {
	offset time.Duration // east of Greenwich, in winter
	summer bool          // keeps US summer time
}

// summerTime says what clocks with US summer time show, in winter time, when it
// begins, and, in summer time, when it ends (15 U.S.C. 260a, since 2007: second
// Sunday of March to first Sunday of November, at 2 o'clock). Earlier years had
// other Sundays, which matters to nobody: the past is sent at once.
func summerTime(year int) (begin, end time.Time) {
	return firstSunday(year, time.March).Add(week + 2*time.Hour),
		firstSunday(year, time.November).Add(2 * time.Hour)
}

func firstSunday(year int, month time.Month) time.Time {
	first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	return first.AddDate(0, 0, (7-int(first.Weekday()))%7)
}

// instant returns the first moment at which clocks in the zone show wall, or an
// error if they skip it.
func (z zone) instant(wall time.Time) (time.Time, error) {
	t := wall.Add(-z.offset)
	if !z.summer {
		return t, nil
	}
	begin, end := summerTime(wall.Year())
	switch {
	case wall.Before(begin) || !wall.Before(end):
		return t, nil
	case wall.Before(begin.Add(time.Hour)):
		return time.Time{}, errors.New("must be a time that exists: clocks in that zone skip this hour as summer time begins")
	}
	return t.Add(-time.Hour), nil
}

// wall returns what clocks in the zone show at t.
func (z zone) wall(t time.Time) time.Time {
	winter := t.UTC().Add(z.offset)
	if !z.summer {
		return winter
	}
	begin, end := summerTime(winter.Year())
	if winter.Before(begin) || !winter.Before(end.Add(-time.Hour)) {
		return winter
	}
	return winter.Add(time.Hour)
}

// readISOZone reads what follows an ISO time: nothing, a space and a zone, or Z
// or an offset without a space.
func readISOZone(s string) (zone, error) {
	if s == "" || s == "z" {
		return zone{}, nil
	}
	if spaced, ok := strings.CutPrefix(s, " "); ok {
		return readZone(spaced)
	}
	if len(s) == len("+00") { // as PostgreSQL writes it; after a space it could be the end of a range
		s += ":00"
	}
	return readOffset(s)
}

// readZone reads a zone that stands alone; "" is UTC.
func readZone(s string) (zone, error) {
	switch s {
	case "", "z", "utc", "gmt":
		return zone{}, nil
	}
	i := strings.IndexByte("ecmp", s[0]) // Eastern, Central, Mountain, Pacific
	if i < 0 {
		return readOffset(s)
	}
	winter := -time.Duration(5+i) * time.Hour
	switch s[1:] {
	case "t":
		return zone{winter, true}, nil
	case "st":
		return zone{winter, false}, nil
	case "dt":
		return zone{winter + time.Hour, false}, nil
	}
	return zone{}, errors.New(scheduleZone)
}

// readOffset reads "+00:00" or "+0000"; s must not be empty. Offsets that no place has are refused:
// 09:00-13:00 is more likely a range.
func readOffset(s string) (zone, error) {
	if s[0] != '+' && s[0] != '-' {
		return zone{}, errors.New(scheduleZone)
	}
	digits := s[1:]
	if hasShape(digits, "00:00") {
		digits = digits[:2] + digits[3:]
	}
	if len(digits) != 4 || !hasShape(digits, "0000") || number(digits[2:]) > 59 {
		return zone{}, errors.New(scheduleZone)
	}
	offset := time.Duration(number(digits[:2]))*time.Hour + time.Duration(number(digits[2:]))*time.Minute
	if s[0] == '-' {
		offset = -offset
	}
	if offset < -12*time.Hour || offset > 14*time.Hour {
		return zone{}, errors.New(scheduleZone)
	}
	return zone{offset: offset}, nil
}
