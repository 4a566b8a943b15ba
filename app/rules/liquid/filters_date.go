package liquid

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// layouts are the forms in which a date can be written.
var layouts = []string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly, time.RFC1123Z, time.RFC1123, "January 2, 2006", "2 January 2006", "Jan 2, 2006", "2 Jan 2006",
}

// timeOf reads a date: a text, "now" or "today", or seconds since 1970 in UTC.
func (r *run) timeOf(v Value) (time.Time, bool) {
	if v.kind == stringKind {
		s := strings.TrimSpace(v.text)
		if s == "now" || s == "today" {
			return r.env.Now, true
		}
		for _, layout := range layouts {
			if t, err := time.Parse(layout, s); err == nil {
				return t, true
			}
		}
		if _, ok := numeric(v); !ok {
			return time.Time{}, false
		}
	} else if !v.isNumber() {
		return time.Time{}, false
	}
	const year9999 = 253402300799
	seconds := toNumber(v).float()
	return time.Unix(int64(seconds), 0).UTC(), math.Abs(seconds) <= year9999
}

// date formats a date by the conversions of strftime. A value that is no date stays.
func date(r *run, v Value, args []Value) Value {
	t, ok := r.timeOf(v)
	format := r.string(args[0])
	if !ok || format == "" {
		return v
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(format, "%")
		b.WriteString(before)
		if !found || !r.spend(1) || b.Len() > maxString {
			return r.made(b.String())
		}
		flag := byte(0)
		if after != "" && strings.IndexByte("-_0^", after[0]) >= 0 {
			flag, after = after[0], after[1:]
		}
		if after == "" {
			b.WriteString(format[len(before):])
			return r.made(b.String())
		}
		b.WriteString(conversion(t, after[0], flag))
		format = after[1:]
	}
}

// composed are conversions that stand for others.
var composed = map[byte]string{
	'F': "2006-01-02", 'T': "15:04:05", 'X': "15:04:05", 'R': "15:04", 'D': "01/02/06", 'x': "01/02/06", 'r': "03:04:05 PM",
	'c': "Mon Jan _2 15:04:05 2006", 'B': "January", 'b': "Jan", 'h': "Jan", 'A': "Monday", 'a': "Mon", 'p': "PM", 'P': "pm", 'z': "-0700", 'Z': "MST",
}

// numbers are conversions to a number.
var numbers = map[byte]struct {
	width int
	pad   byte
	value func(t time.Time) int
}{
	'Y': {4, '0', time.Time.Year}, 'C': {2, '0', func(t time.Time) int { return t.Year() / 100 }}, 'y': {2, '0', func(t time.Time) int { return t.Year() % 100 }},
	'm': {2, '0', func(t time.Time) int { return int(t.Month()) }}, 'd': {2, '0', time.Time.Day}, 'e': {2, ' ', time.Time.Day}, 'j': {3, '0', time.Time.YearDay},
	'H': {2, '0', time.Time.Hour}, 'k': {2, ' ', time.Time.Hour}, 'I': {2, '0', hour12}, 'l': {2, ' ', hour12},
	'M': {2, '0', time.Time.Minute}, 'S': {2, '0', time.Time.Second}, 'L': {3, '0', func(t time.Time) int { return t.Nanosecond() / 1_000_000 }},
	'V': {2, '0', func(t time.Time) int { _, week := t.ISOWeek(); return week }},
	'U': {2, '0', func(t time.Time) int { return (t.YearDay() + 6 - int(t.Weekday())) / 7 }},
	'W': {2, '0', func(t time.Time) int { return (t.YearDay() + 7 - weekday(t)) / 7 }},
	'u': {1, '0', weekday}, 'w': {1, '0', func(t time.Time) int { return int(t.Weekday()) }}, 's': {1, '0', func(t time.Time) int { return int(t.Unix()) }},
}

func hour12(t time.Time) int { return (t.Hour()+11)%12 + 1 }

// weekday returns the day of the week, 1 for Monday.
func weekday(t time.Time) int { return (int(t.Weekday())+6)%7 + 1 }

// conversion formats one conversion of strftime; an unknown one stays as it is.
func conversion(t time.Time, c, flag byte) string {
	n, isNumber := numbers[c]
	layout, isComposed := composed[c]
	switch {
	case isNumber && flag == '-':
		return strconv.Itoa(n.value(t))
	case isNumber && (flag == '_' || n.pad == ' ' && flag != '0'):
		return fmt.Sprintf("%*d", n.width, n.value(t))
	case isNumber:
		return fmt.Sprintf("%0*d", n.width, n.value(t))
	case isComposed && flag == '^':
		return strings.ToUpper(t.Format(layout))
	case isComposed:
		return t.Format(layout)
	case c == '%':
		return "%"
	}
	return "%" + strings.Trim(string([]byte{flag, c}), "\x00")
}
