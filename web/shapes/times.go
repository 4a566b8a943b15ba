package shapes

import (
	"time"

	"mailer/app"
	"mailer/app/kit/schedule"
)

// Time reads a moment in ISO 8601, as callers write one; nothing is the zero time.
// Errors: CodeValidation naming the field.
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
