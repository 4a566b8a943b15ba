package app

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

// NewID makes a UUID v7: lower case, and strictly increasing within a process,
// so that the order of ids is the order of creation.
func NewID() string {
	return uuid.Must(uuid.NewV7()).String()
}

// FirstID is not greater than any id that NewID made at t or later.
func FirstID(t time.Time) string {
	ms := t.UnixMilli()
	return fmt.Sprintf("%08x-%04x-7000-8000-000000000000", ms>>16&0xffffffff, ms&0xffff)
}

// ParseID checks that s is a UUID in its canonical 36-character form and gives
// it in lower case. Any version is read: ids of other services are unknown
// here, not malformed.
func ParseID(s string) (string, bool) {
	if len(s) != 36 {
		return "", false
	}
	id, err := uuid.Parse(s)
	if err != nil {
		return "", false
	}
	return id.String(), true
}

// TimeLayout is how every timestamp is written: UTC, milliseconds, Z.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// FormatTime writes t as the API does.
func FormatTime(t time.Time) string {
	return t.UTC().Format(TimeLayout)
}

// FormatTimePtr is FormatTime for an optional time: nil for the zero time.
func FormatTimePtr(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := FormatTime(t)
	return &s
}
