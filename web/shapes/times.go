package shapes

import (
	"time"

	"mailer/app"
	"mailer/app/kit/schedule"
)

// Time parses an ISO 8601 time; empty is the zero time. Errors: CodeValidation naming the field.
func Time(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := schedule.ParseMoment(text)
	if err != nil {
		return time.Time{}, app.Invalid(field, "must be a time like 2027-01-31T12:00:00Z")
	}
	return at, nil
}
