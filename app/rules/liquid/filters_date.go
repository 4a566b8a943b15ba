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
		if !numeric.MatchString(s) {
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

// conversion formats one conversion of strftime; an unknown one stays as it is.
func conversion(t time.Time, c, flag byte) string {
	if layout, ok := composed[c]; ok {
		s := t.Format(layout)
		if flag == '^' {
			return strings.ToUpper(s)
		}
		return s
	}
	hour := (t.Hour()+11)%12 + 1
	padded := func(n, width int, pad byte) string {
		switch flag {
		case '-':
			return strconv.Itoa(n)
		case '_':
			pad = ' '
		case '0':
			pad = '0'
		}
		if pad == ' ' {
			return fmt.Sprintf("%*d", width, n)
		}
		return fmt.Sprintf("%0*d", width, n)
	}
	_, week := t.ISOWeek()
	weekday := (int(t.Weekday()) + 6) % 7 // from Monday
	switch c {
	case 'Y':
		return padded(t.Year(), 4, '0')
	case 'C':
		return padded(t.Year()/100, 2, '0')
	case 'y':
		return padded(t.Year()%100, 2, '0')
	case 'm':
		return padded(int(t.Month()), 2, '0')
	case 'd':
		return padded(t.Day(), 2, '0')
	case 'e':
		return padded(t.Day(), 2, ' ')
	case 'j':
		return padded(t.YearDay(), 3, '0')
	case 'H':
		return padded(t.Hour(), 2, '0')
	case 'k':
		return padded(t.Hour(), 2, ' ')
	case 'I':
		return padded(hour, 2, '0')
	case 'l':
		return padded(hour, 2, ' ')
	case 'M':
		return padded(t.Minute(), 2, '0')
	case 'S':
		return padded(t.Second(), 2, '0')
	case 'L':
		return fmt.Sprintf("%03d", t.Nanosecond()/1_000_000)
	case 'V':
		return padded(week, 2, '0')
	case 'U':
		return padded((t.YearDay()+6-int(t.Weekday()))/7, 2, '0')
	case 'W':
		return padded((t.YearDay()+6-weekday)/7, 2, '0')
	case 'u':
		return strconv.Itoa(weekday + 1)
	case 'w':
		return strconv.Itoa(int(t.Weekday()))
	case 's':
		return strconv.FormatInt(t.Unix(), 10)
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case '%':
		return "%"
	}
	return "%" + strings.Trim(string([]byte{flag}), "\x00") + string([]byte{c})
}
