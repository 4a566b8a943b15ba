package base

import (
	"strconv"

	"mailer/app"
)

// TextOrNull returns a text for JSON; nil, which is null, for an empty one.
func TextOrNull(s string) *string { return app.TextOrNull(s) }

// FormatBytes formats a number of bytes in powers of 1,000, as in "1.5 GB".
func FormatBytes(bytes int64) string {
	if bytes < 1000 {
		return strconv.FormatInt(bytes, 10) + " B"
	}
	n, unit := float64(bytes)/1000, 0
	for n >= 999.5 && unit < len(units)-1 {
		n /= 1000
		unit++
	}
	return strconv.FormatFloat(n, 'f', 1, 64) + " " + units[unit]
}

var units = []string{"kB", "MB", "GB", "TB", "PB"}
