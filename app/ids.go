package app

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"mailer/app/kit/clock"
)

// lastID is when the last id was made: in milliseconds, with 12 bits for parts of one.
var lastID atomic.Int64

// NewID makes a UUID v7: lower case, and strictly increasing within a process,
// so that the order of ids is the order of creation.
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

// idTime is a time as ids begin with it.
func idTime(t time.Time) int64 {
	ns := t.UnixNano()
	return ns/1e6<<12 | ns%1e6<<12/1e6
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
