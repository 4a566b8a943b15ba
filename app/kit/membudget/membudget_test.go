package membudget

import (
	"context"
	"errors"
	"testing"
)

// refusing is a budget that refuses more than limit bytes.
type refusing struct{ reserved, limit int64 }

var errRefused = errors.New("refused")

func (r *refusing) Reserve(_ context.Context, bytes int64) error { return r.ReserveNow(bytes) }
func (r *refusing) ReserveNow(bytes int64) error {
	if r.reserved += bytes; r.reserved > r.limit {
		return errRefused
	}
	return nil
}

// TestCounter: small rows are free, the others are reserved while they are read.
func TestCounter(t *testing.T) {
	b := &refusing{limit: 3 * FreeBytes}
	c := NewCounter(With(t.Context(), b))
	read := func(rows, bytes int) (n int, err error) {
		for ; n < rows && err == nil; n++ {
			err = c.Add(int64(bytes))
		}
		return n, err
	}
	if _, err := read(64, FreeBytes/64); err != nil || b.reserved != 0 {
		t.Errorf("small rows reserve %d bytes: %v", b.reserved, err)
	}
	if n, err := read(1000, FreeBytes/2); !errors.Is(err, errRefused) || n > 8 {
		t.Errorf("%d rows, %d bytes, %v", n, b.reserved, err)
	}
	if err := NewCounter(t.Context()).Add(1 << 40); err != nil {
		t.Errorf("without a budget: %v", err)
	}
}
