package app

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"mailer/app/kit/clock"
)

// lastID is the time of the last id: milliseconds, and 12 bits for fractions.
var lastID atomic.Int64

// NewID returns a UUID v7 in lower case. Ids of a process are strictly increasing, so that their
// order is the order of creation.
func NewID() string {
	id := uuid.New()
	at := idTime(clock.Now())
	for last := lastID.Load(); ; last = lastID.Load() {
		at = max(at, last+1)
		if lastID.CompareAndSwap(last, at) {
			break
		}
	}
	binary.BigEndian.PutUint64(id[:8], uint64(at>>12<<16|7<<12|at&0xfff))
	return id.String()
}

// idTime returns a time in the form of lastID.
func idTime(t time.Time) int64 {
	ns := t.UnixNano()
	return ns/1e6<<12 | ns%1e6<<12/1e6
}

// FirstID returns a lower bound for ids that NewID makes at t or later.
func FirstID(t time.Time) string {
	ms := t.UnixMilli()
	return fmt.Sprintf("%08x-%04x-7000-8000-000000000000", ms>>16&0xffffffff, ms&0xffff)
}

// ParseID returns s in lower case if it is a UUID in its canonical 36-character form. Any version
// is accepted: ids of other services are unknown, but not malformed.
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

// TimeLayout is the layout of every timestamp: UTC, milliseconds, Z.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// FormatTime formats t as in the API.
func FormatTime(t time.Time) string {
	return t.UTC().Format(TimeLayout)
}

// FormatTimePtr formats an optional time: nil for the zero time.
func FormatTimePtr(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := FormatTime(t)
	return &s
}
