package schedule

import (
	"errors"
	"strconv"
	"time"
)

// units maps the letters of a span to durations.
var units = map[byte]time.Duration{
	's': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'y': 365 * 24 * time.Hour,
}

// maxSpan limits a span, so that sums of times do not overflow.
const maxSpan = 100 * 365 * 24 * time.Hour

// ParseSpan parses a duration: whole numbers of seconds, minutes, hours, days or years of 365
// days, the largest unit first, like 10m, 1h30m or 3d, or 0.
func ParseSpan(text string) (time.Duration, error) {
	wrong := errors.New("must be a time span like 10m, 2h or 3d")
	if text == "0" {
		return 0, nil
	}
	if text == "" {
		return 0, wrong
	}
	sum, last := time.Duration(0), 2*maxSpan
	for text != "" {
		end := 0
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		if end == 0 || end > 10 || end == len(text) {
			return 0, wrong
		}
		n, err := strconv.ParseInt(text[:end], 10, 64)
		unit := units[text[end]]
		if err != nil || unit == 0 || unit >= last || n > int64(maxSpan/unit) {
			return 0, wrong
		}
		sum, last, text = sum+time.Duration(n)*unit, unit, text[end+1:]
	}
	if sum > maxSpan {
		return 0, wrong
	}
	return sum, nil
}
