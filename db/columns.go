package db

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
)

// nullText stores "" as NULL.
func nullText(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// nullBytes stores an empty slice as NULL.
func nullBytes(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

// nullTime stores the zero time as NULL.
func nullTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// asJSON encodes a JSON column; an empty list is NULL.
func asJSON[T any](v []T) (any, error) {
	if len(v) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode column: %w", err)
	}
	return string(b), nil
}

// pointerColumn encodes a JSON column; nil is NULL.
func pointerColumn[T any](v *T) (any, error) {
	if v == nil {
		return nil, nil
	}
	return jsonText(v)
}

// fromJSON decodes a JSON column; NULL leaves v unchanged.
func fromJSON(column sql.NullString, v any) error {
	if !column.Valid {
		return nil
	}
	if err := json.Unmarshal([]byte(column.String), v); err != nil {
		return fmt.Errorf("decode column: %w", err)
	}
	return nil
}

// hashColumn scans an app.AddressHash.
type hashColumn app.AddressHash

// Scan implements sql.Scanner.
func (h *hashColumn) Scan(v any) error {
	b, ok := v.([]byte)
	if !ok || len(b) != len(h) {
		return errors.New("a column for an address hash holds something else")
	}
	copy(h[:], b)
	return nil
}

// jsonText encodes a JSON column that is never NULL.
func jsonText(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode column: %w", err)
	}
	return string(b), nil
}

// milli returns a time as stored in a column: milliseconds since 1970.
func milli(t time.Time) int64 { return t.UnixMilli() }

// fromMilli returns the time of a column in UTC; 0 and NULL are the zero time.
func fromMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
