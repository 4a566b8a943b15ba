//go:build perf

package db

import (
	"errors"
	"testing"
	"time"
)

// TestPerfTruncateLogDoesNotWaitForReader compares TruncateLog with and without a reader.
// With the busy timeout of writes it would take five seconds.
func TestPerfTruncateLogDoesNotWaitForReader(t *testing.T) {
	d := openFile(t)
	truncate := func(want error) time.Duration {
		write(t, d, func(tx *Tx) error { return tx.SetSetting("x", []byte("1")) })
		start := time.Now()
		if err := d.TruncateLog(t.Context()); !errors.Is(err, want) {
			t.Errorf("empty the log: %v, want %v", err, want)
		}
		return time.Since(start)
	}
	alone := truncate(nil)
	write(t, d, func(tx *Tx) error { return tx.SetSetting("x", []byte("0")) }) // the reader's snapshot is in the log
	err := d.Read(t.Context(), func(r *Reader) error {
		if _, err := r.Setting("x"); err != nil {
			return err
		}
		if took := truncate(ErrBusy); took > alone+2*time.Second {
			t.Errorf("the writer stood still for %s under a reader, for %s without", took, alone)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
