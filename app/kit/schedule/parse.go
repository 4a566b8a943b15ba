// Package schedule parses the times that callers write: ISO 8601 and a few English phrases. It has
// no dependencies within the module, does no I/O and keeps no state. Callers pass the current
// time.
//
// Failure policy: ambiguous input and unknown words are refused. Errors may be shown to the caller
// and do not name a field.
package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Durations.
const (
	// MaxAhead is how far in the future mail can be scheduled.
	MaxAhead = 30 * Day

	// Day is 24 hours, regardless of clock changes.
	Day  = 24 * time.Hour
	week = 7 * Day

	maxScheduleInput = 100 // bytes
)

// Error messages of Parse that are used more than once.
const (
	scheduleForm = "must be an ISO 8601 time such as 2026-08-05T11:52:01Z, or a phrase such as in 1 hour, " +
		"tomorrow at 9am or Friday at 3pm ET"
	scheduleNoClock   = "must say at what time, as in 2026-08-05T09:00Z or tomorrow at 9am"
	scheduleNoSuch    = "must be a date and time that exist"
	scheduleAmbiguous = "must say am or pm, as in 9am, or give the minutes, as in 17:00"
	scheduleTooFar    = "must be at most 30 days ahead"
	scheduleZone      = "must end after the time or with a zone: UTC, GMT, Z, ET, CT, MT, PT or an offset such as -07:00"
	scheduleMidnight  = "must not say midnight, which could be either end of the day: use 00:00"
	scheduleTonight   = "must be between 5pm and midnight when it says tonight"
)

// Parse reads a scheduled_at: the time to send at, in UTC. Case does not
// matter, nor do surrounding or repeated spaces. What has two readings is
// refused, and so is every word it does not know. It understands
//
//   - ISO 8601 and RFC 3339: date, T or a space, hours and minutes, seconds and
//     up to nine decimals if wanted, then a zone if wanted: 2026-08-05T11:52:01.858Z,
//     2026-08-05 13:52 +0200.
//   - in N (or a, an) seconds, minutes, hours, days (of 24 hours) or weeks; also
//     sec, min, hr.
//   - today, tonight, tomorrow, a weekday or next and a weekday, at if wanted,
//     then a clock time and, if wanted, a zone: Friday at 3pm ET. "Today" is the
//     day that it is in that zone.
//
// A weekday is today only if its time is still ahead, else it is the first such
// day after today; next and a weekday is always the latter. The clock is 9am,
// 9:30 pm, 17:00 or noon. Hours with minutes are read from 00:00 to 23:59; a
// bare hour, as in "at 9" or "at 17", is refused, as is midnight. Tonight is
// from 5pm to midnight: with it, bare hours from 6 to 11 are evening hours and
// midnight is the end of today.
//
// A zone is UTC, GMT, Z, an offset from -12:00 to +14:00 (with or without colon,
// and +02 right behind an ISO time), one of EST, EDT, CST, CDT, MST, MDT, PST,
// PDT, which are fixed (RFC 5322 4.3), or ET, CT, MT, PT, which keep summer time
// by the rule of the US since 2007. Without a zone it is UTC. An hour that
// summer time skips is refused; of one that occurs twice, the first is taken.
//
// More than 30 days after now is an error. The past is not, and is returned as it
// is, be it the zero time. Errors say what is wrong and name no field.
func Parse(s string, now time.Time) (time.Time, error) {
	words, err := Words(s)
	if err != nil {
		return time.Time{}, err
	}
	now = now.UTC() // removes the monotonic reading too: the result is a wall time
	var t time.Time
	if digit(words[0][0]) {
		t, err = ParseISO(strings.Join(words, " "))
	} else {
		t, err = parsePhrase(words, now)
	}
	switch {
	case err != nil:
		return time.Time{}, err
	case t.Year() < 1: // an offset can lead outside the years that timestamps can show
		return time.Time{}, errors.New(scheduleNoSuch)
	case t.After(now.Add(MaxAhead)):
		return time.Time{}, errors.New(scheduleTooFar)
	}
	return t, nil
}

// Words splits s into words in lower case and returns at least one. Only printable ASCII is
// accepted, since lower-casing turns some other letters into ASCII.
func Words(s string) ([]string, error) {
	if len(s) > maxScheduleInput {
		return nil, fmt.Errorf("is longer than %d bytes", maxScheduleInput)
	}
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return nil, errors.New(scheduleForm)
		}
	}
	words := strings.Fields(strings.ToLower(s))
	if len(words) == 0 {
		return nil, errors.New("is empty")
	}
	return words, nil
}

// ParseMoment parses a time in ISO 8601 with offset, Z or without a zone (UTC), or a date, which
// means its first moment in UTC.
func ParseMoment(s string) (time.Time, error) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, nil
	}
	words, err := Words(s)
	if err != nil {
		return time.Time{}, err
	}
	return ParseISO(strings.Join(words, " "))
}

// ParseISO parses lower-case text with single spaces.
func ParseISO(s string) (time.Time, error) {
	const minute = "0000-00-00 00:00"
	switch {
	case hasShape(s, "0000-00-00") && len(s) == len("0000-00-00"):
		return time.Time{}, errors.New(scheduleNoClock)
	case !hasShape(s, minute):
		return time.Time{}, errors.New(scheduleForm)
	}
	wall, err := wallTime(number(s[:4]), number(s[5:7]), number(s[8:10]), number(s[11:13]), number(s[14:16]))
	if err != nil {
		return time.Time{}, err
	}
	seconds, rest, err := readSeconds(s[len(minute):])
	if err != nil {
		return time.Time{}, err
	}
	z, err := readISOZone(rest)
	if err != nil {
		return time.Time{}, err
	}
	return z.instant(wall.Add(seconds))
}

// wallTime returns a wall time as if it were in UTC; a zone converts it to an instant.
func wallTime(year, month, dayOfMonth, hour, minute int) (time.Time, error) {
	t := time.Date(year, time.Month(month), dayOfMonth, hour, minute, 0, 0, time.UTC)
	if t.Month() != time.Month(month) || hour > 23 || minute > 59 { // time.Date turns 30 February into March
		return time.Time{}, errors.New(scheduleNoSuch)
	}
	return t, nil
}

// readSeconds parses optional ":SS" with a decimal fraction of up to nine digits, with a point or
// a comma (ISO 8601), at the front of s. Leap seconds are refused, since system clocks do not have
// them.
func readSeconds(s string) (d time.Duration, rest string, err error) {
	if !hasShape(s, ":00") {
		return 0, s, nil
	}
	sec := number(s[1:3])
	if sec > 59 {
		return 0, "", errors.New(scheduleNoSuch)
	}
	d, s = time.Duration(sec)*time.Second, s[3:]
	if s == "" || s[0] != '.' && s[0] != ',' {
		return d, s, nil
	}
	s = s[1:]
	n := 0
	for unit := 100 * time.Millisecond; n < len(s) && digit(s[n]) && n < 9; unit /= 10 {
		d += time.Duration(s[n]-'0') * unit
		n++
	}
	if n == 0 || n < len(s) && digit(s[n]) {
		return 0, "", errors.New(scheduleForm)
	}
	return d, s[n:], nil
}

func parsePhrase(words []string, now time.Time) (time.Time, error) {
	if words[0] == "in" {
		return parseDelay(words[1:], now)
	}
	d, words, ok := readDay(words)
	if !ok {
		return time.Time{}, errors.New(scheduleForm)
	}
	if len(words) > 0 && words[0] == "at" {
		words = words[1:]
	}
	if len(words) == 0 {
		return time.Time{}, errors.New(scheduleNoClock)
	}
	clock, words, err := readClock(words, d.tonight)
	if err != nil {
		return time.Time{}, err
	}
	z, err := readZone(strings.Join(words, " "))
	if err != nil {
		return time.Time{}, err
	}
	return d.at(clock, z, now)
}

// parseDelay parses the words after "in".
func parseDelay(words []string, now time.Time) (time.Time, error) {
	if len(words) != 2 {
		return time.Time{}, errors.New(scheduleForm)
	}
	unit, ok := delayUnit(words[1])
	if !ok {
		return time.Time{}, errors.New(scheduleForm)
	}
	if words[0] == "a" || words[0] == "an" {
		return now.Add(unit), nil
	}
	if strings.Trim(words[0], "0123456789") != "" {
		return time.Time{}, errors.New(scheduleForm)
	}
	n, err := strconv.Atoi(words[0])
	if err != nil || n > int(MaxAhead/unit) { // before the product can overflow
		return time.Time{}, errors.New(scheduleTooFar)
	}
	return now.Add(time.Duration(n) * unit), nil
}

// delayUnit returns the duration of a unit. Months and years have no fixed length and are refused.
func delayUnit(word string) (time.Duration, bool) {
	switch strings.TrimSuffix(word, "s") {
	case "second", "sec":
		return time.Second, true
	case "minute", "min":
		return time.Minute, true
	case "hour", "hr":
		return time.Hour, true
	case "day":
		return Day, true
	case "week":
		return week, true
	}
	return 0, false
}

// dayPhrase is a named day, relative to the current day.
type dayPhrase struct {
	ahead     int  // days after today, unless byWeekday
	tonight   bool // the time is in the evening
	byWeekday bool
	weekday   time.Weekday
	next      bool // never today
}

func readDay(words []string) (d dayPhrase, rest []string, ok bool) {
	switch words[0] {
	case "today":
		return dayPhrase{}, words[1:], true
	case "tonight":
		return dayPhrase{tonight: true}, words[1:], true
	case "tomorrow":
		return dayPhrase{ahead: 1}, words[1:], true
	case "next":
		d.next, words = true, words[1:]
	}
	if len(words) == 0 {
		return dayPhrase{}, nil, false
	}
	d.byWeekday = true
	d.weekday, ok = readWeekday(words[0])
	return d, words[1:], ok
}

func readWeekday(word string) (time.Weekday, bool) {
	switch word {
	case "sunday", "sun":
		return time.Sunday, true
	case "monday", "mon":
		return time.Monday, true
	case "tuesday", "tues", "tue":
		return time.Tuesday, true
	case "wednesday", "wed":
		return time.Wednesday, true
	case "thursday", "thurs", "thur", "thu":
		return time.Thursday, true
	case "friday", "fri":
		return time.Friday, true
	case "saturday", "sat":
		return time.Saturday, true
	}
	return 0, false
}

// at returns the instant at which clocks in zone z show clock on the day.
func (d dayPhrase) at(clock time.Duration, z zone, now time.Time) (time.Time, error) {
	local := z.wall(now)
	today := local.Truncate(Day)
	if !d.byWeekday {
		return z.instant(today.AddDate(0, 0, d.ahead).Add(clock))
	}
	ahead := (int(d.weekday) - int(today.Weekday()) + 7) % 7
	if ahead > 0 {
		return z.instant(today.AddDate(0, 0, ahead).Add(clock))
	}
	wall := today.Add(clock)
	t, err := z.instant(wall)
	// A wall time that is skipped has no instant; wall times are compared instead.
	past := err == nil && !t.After(now) || err != nil && !wall.After(local)
	if d.next || past {
		return z.instant(wall.Add(week))
	}
	return t, err
}

// readClock parses a time of day from the first one or two words and returns it as the time since
// midnight on clocks. words must not be empty.
func readClock(words []string, tonight bool) (clock time.Duration, rest []string, err error) {
	word, rest := words[0], words[1:]
	switch {
	case word == "noon" && tonight:
		return 0, nil, errors.New(scheduleTonight)
	case word == "noon":
		return 12 * time.Hour, rest, nil
	case word == "midnight" && tonight:
		return Day, rest, nil
	case word == "midnight":
		return 0, nil, errors.New(scheduleMidnight)
	}
	half := strings.TrimLeft(word, "0123456789:")
	digits := strings.TrimSuffix(word, half)
	if half == "" && len(rest) > 0 && halfOfDay(rest[0]) != "" {
		half, rest = rest[0], rest[1:]
	}
	if half != "" && halfOfDay(half) == "" {
		return 0, nil, errors.New(scheduleForm)
	}
	clock, err = readHour(digits, halfOfDay(half), tonight)
	return clock, rest, err
}

// halfOfDay returns "am" or "pm", or "" for other words.
func halfOfDay(word string) string {
	switch word {
	case "am", "a.m.":
		return "am"
	case "pm", "p.m.":
		return "pm"
	}
	return ""
}

// readHour parses "9", "09", "9:30" or "09:30" in a half of the day; "" means the 24-hour clock.
func readHour(s, half string, tonight bool) (time.Duration, error) {
	hours, minutes, colon := strings.Cut(s, ":")
	if !hasShape(hours, "0") || len(hours) > 2 || !hasShape(hours[1:], "00"[:len(hours)-1]) {
		return 0, errors.New(scheduleForm)
	}
	if colon && (len(minutes) != 2 || !hasShape(minutes, "00")) {
		return 0, errors.New(scheduleForm)
	}
	h, m := number(hours), number(minutes)
	if h > 23 || m > 59 || half != "" && (h < 1 || h > 12) {
		return 0, errors.New(scheduleNoSuch)
	}
	switch {
	case half != "":
		h %= 12 // 12am is 00:00, 12pm is noon
		if half == "pm" {
			h += 12
		}
	case tonight && h >= 6 && h <= 11:
		h += 12
	case !colon:
		return 0, errors.New(scheduleAmbiguous)
	}
	if tonight && h < 17 {
		return 0, errors.New(scheduleTonight)
	}
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute, nil
}

// hasShape reports whether s begins like shape, in which 0 matches a digit, a space matches a
// space or t, and other characters match themselves.
func hasShape(s, shape string) bool {
	if len(s) < len(shape) {
		return false
	}
	for i := 0; i < len(shape); i++ {
		c := shape[i]
		if c == '0' && !digit(s[i]) || c != '0' && c != s[i] && (c != ' ' || s[i] != 't') {
			return false
		}
	}
	return true
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// number returns the value of a few digits, 0 for none.
func number(digits string) int {
	n := 0
	for i := 0; i < len(digits); i++ {
		n = n*10 + int(digits[i]-'0')
	}
	return n
}
