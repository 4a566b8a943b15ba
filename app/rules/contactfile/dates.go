package contactfile

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"mailer/app/kit/schedule"
)

// Types of columns that hold dates, by the order of day, month and year. Dates and times in
// ISO 8601 fit each of them. The values are stored as strings such as 2026-12-24.
const (
	dayFirst   = "date_dmy"
	monthFirst = "date_mdy"
	yearFirst  = "date_ymd"
)

// dateOrders are how errors write the orders.
var dateOrders = map[string]string{dayFirst: "day.month.year", monthFirst: "month/day/year", yearFirst: "year-month-day"}

// numericDate is a date in numbers, with one kind of separator, and a time of day behind it,
// which is left out.
var numericDate = regexp.MustCompile(`^(\d{1,4})([./-])\s?(\d{1,2})([./-])\s?(\d{1,4})\.?(?:[ T]\d{1,2}:\d{2}(?::\d{2})?)?$`)

// parseDate reads a date of one order. The error names it where the date is one of another
// order: a column of mixed orders is not guessed at.
func parseDate(text, order string) (string, error) {
	if t, err := schedule.ParseMoment(text); err == nil {
		if t.Year() < 1 {
			return "", errors.New("must be a date in the order " + dateOrders[order])
		}
		return text[:len(time.DateOnly)], nil // its own zone's day
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

// dateIn reads a date in numbers.
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
