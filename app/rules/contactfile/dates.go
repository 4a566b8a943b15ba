package contactfile

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"mailer/app/kit/schedule"
)

// Types of date columns by the order of day, month and year. Dates and times in ISO 8601 are
// accepted by all. Values are stored as strings like 2026-12-24.
const (
	dayFirst   = "date_dmy"
	monthFirst = "date_mdy"
	yearFirst  = "date_ymd"
)

// dateOrders are the names of the orders in errors.
var dateOrders = map[string]string{dayFirst: "day.month.year", monthFirst: "month/day/year", yearFirst: "year-month-day"}

// numericDate matches a numeric date with one kind of separator, and an ignored time of day.
var numericDate = regexp.MustCompile(`^(\d{1,4})([./-])\s?(\d{1,2})([./-])\s?(\d{1,4})\.?(?:[ T]\d{1,2}:\d{2}(?::\d{2})?)?$`)

// parseDate parses a date in one order. The error names the order if the date has another one:
// mixed columns are not guessed.
func parseDate(text, order string) (string, error) {
	if t, err := schedule.ParseMoment(text); err == nil {
		if t.Year() < 1 {
			return "", errors.New("must be a date in the order " + dateOrders[order])
		}
		return text[:len(time.DateOnly)], nil // the day in its own zone
	}
	if date, ok := dateIn(text, order); ok {
		return date, nil
	}
	for _, other := range []string{dayFirst, monthFirst, yearFirst} {
		if _, ok := dateIn(text, other); ok {
			return "", fmt.Errorf("has a date in the order %s among dates in the order %s", dateOrders[other], dateOrders[order])
		}
	}
	return "", errors.New("must be a date in the order " + dateOrders[order] + ", with a year of four digits")
}

// dateIn parses a numeric date.
func dateIn(text, order string) (string, bool) {
	m := numericDate.FindStringSubmatch(text)
	if m == nil || m[2] != m[4] {
		return "", false
	}
	d, mo, y := m[1], m[3], m[5]
	switch order {
	case monthFirst:
		d, mo = mo, d
	case yearFirst:
		d, y = y, d
	}
	if len(y) != 4 || len(d) > 2 {
		return "", false
	}
	day, _ := strconv.Atoi(d)
	month, _ := strconv.Atoi(mo)
	date := fmt.Sprintf("%s-%02d-%02d", y, month, day)
	_, err := time.Parse(time.DateOnly, date)
	return date, err == nil
}
