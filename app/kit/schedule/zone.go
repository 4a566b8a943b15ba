package schedule

import (
	"errors"
	"strings"
	"time"
)

// zone is a time zone: a fixed offset, optionally with the summer time of the United States. The
// rule is implemented here because zone files would add 450 KB to a static binary for four zones.
type zone struct {
	offset time.Duration // east of Greenwich, without summer time
	summer bool          // has US summer time
}

// summerTime returns the wall times at which US summer time begins (in winter time) and ends (in
// summer time) in a year: second Sunday of March to first Sunday of November, at 2 o'clock (15
// U.S.C. 260a, since 2007). Earlier years had other rules, which does not matter: past times are
// sent immediately.
func summerTime(year int) (begin, end time.Time) {
	return firstSunday(year, time.March).Add(week + 2*time.Hour),
		firstSunday(year, time.November).Add(2 * time.Hour)
}

func firstSunday(year int, month time.Month) time.Time {
	first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	return first.AddDate(0, 0, (7-int(first.Weekday()))%7)
}

// instant returns the first instant at which clocks in the zone show wall, or an error if they
// skip it.
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

// readISOZone parses what follows an ISO time: nothing, a space and a zone, or Z or an offset
// without a space.
func readISOZone(s string) (zone, error) {
	if s == "" || s == "z" {
		return zone{}, nil
	}
	if spaced, ok := strings.CutPrefix(s, " "); ok {
		return readZone(spaced)
	}
	if len(s) == len("+00") { // format of PostgreSQL; after a space it could be the end of a range
		s += ":00"
	}
	return readOffset(s)
}

// readZone parses a zone; "" is UTC.
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

// readOffset parses "+00:00" or "+0000"; s must not be empty. Offsets that no zone has are
// refused: 09:00-13:00 is more likely a range.
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
