package engine

import (
	"errors"
	"os"
	"testing"
)

func TestTruncateLogFailsUnderReader(t *testing.T) {
	d := openNew(t)
	set := func(value string) {
		t.Helper()
		if err := d.Write(t.Context(), func(tx *Tx) error { return tx.SetSetting("x", []byte(value)) }); err != nil {
			t.Fatal(err)
		}
	}
	set("1")
	err := d.Read(t.Context(), func(r *Reader) error {
		if _, err := r.Setting("x"); err != nil {
			return err
		}
		set("2")
		if err := d.TruncateLog(t.Context()); !errors.Is(err, ErrBusy) {
			t.Errorf("under a reader: %v", err)
		}
		set("3")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.TruncateLog(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(d.path + "-wal"); err != nil || info.Size() != 0 {
		t.Errorf("the log has %d bytes, %v", info.Size(), err)
	}
	set("4")
	var timeout string
	err = d.run(t.Context(), func(s *Conn) error {
		return s.conn.QueryRowContext(t.Context(), `PRAGMA busy_timeout`).Scan(&timeout)
	})
	if err != nil || timeout != "5000" {
		t.Errorf("busy_timeout is %s afterwards, %v", timeout, err)
	}
}
