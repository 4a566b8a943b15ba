package engine

import (
	"context"
	"errors"
	"testing"
	"time"
)

// postgresForTest opens a new PostgreSQL database.
func postgresForTest(t *testing.T) *DB {
	t.Helper()
	d, err := Open(t.Context(), Options{Path: newRemote(t), Schema: SmallSchema(t), Lazy: true, Create: true, Lock: true, Heartbeat: time.Hour, Gather: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d
}

const (
	longer  = `UPDATE settings SET value = value || 'x' WHERE name = 'n'`
	ofNoRow = `UPDATE settings SET value = 'x' WHERE name = 'nobody'`
	refused = `INSERT INTO units (email_id) VALUES ('x')`
)

func TestFailedQueuedWriteRunsGroupAgain(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]string{"of no row": ofNoRow, "refused": refused} {
		t.Run(name, func(t *testing.T) {
			d := postgresForTest(t)
			write := func(fn func(tx *Tx) error) error { return d.Write(context.Background(), fn) }
			if err := write(func(tx *Tx) error { return tx.Write(`INSERT INTO settings (name, value) VALUES ('n', '')`) }); err != nil {
				t.Fatal(err)
			}
			// The second statement fails when it is sent, and its closure ignores the error.
			var closureErr error
			err := write(func(tx *Tx) error {
				if err := tx.WriteOne(longer); err != nil {
					return err
				}
				closureErr = tx.WriteOne(fail)
				return nil
			})
			if fail == ofNoRow && (err != nil || !errors.Is(closureErr, ErrNotFound)) {
				t.Errorf("wrote %v, closureErr %v", err, closureErr)
			}
			if fail == refused && (err == nil || closureErr == nil) {
				t.Errorf("wrote %v, closureErr %v", err, closureErr)
			}
			if err := write(func(tx *Tx) error { return tx.WriteOne(longer) }); err != nil {
				t.Errorf("what follows fails too: %v", err)
			}
			var value []byte
			err = d.Read(context.Background(), func(r *Reader) error {
				return r.Row(`SELECT value FROM settings WHERE name = 'n'`, nil, &value)
			})
			if want := map[string]string{ofNoRow: "xx", refused: "x"}[fail]; err != nil || string(value) != want {
				t.Errorf("stands there: %q, %v, want %q", value, err, want)
			}
		})
	}
}

// TestQueuedWritesCopyArguments reuses the same arguments for several rows.
func TestQueuedWritesCopyArguments(t *testing.T) {
	t.Parallel()
	d := postgresForTest(t)
	args := make([]any, 0, 2)
	err := d.Write(t.Context(), func(tx *Tx) error {
		for _, name := range []string{"a", "b", "c"} {
			if err := tx.Write(`INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING`, append(args[:0], name, []byte(name))...); err != nil {
				return err
			}
		}
		return nil
	})
	n := 0
	if err == nil {
		err = d.Read(t.Context(), func(r *Reader) error {
			return r.Row(`SELECT count(*) FROM settings WHERE name IN ('a', 'b', 'c')`, nil, &n)
		})
	}
	if err != nil || n != 3 {
		t.Errorf("%d of 3 rows, %v", n, err)
	}
}

func TestPostgresFindsReplacedText(t *testing.T) {
	t.Parallel()
	d := postgresForTest(t)
	type name string
	for _, text := range []string{"a\x00b", "\x00", "c\xffd", "é", ""} {
		var found int
		err := d.Write(context.Background(), func(tx *Tx) error {
			if err := tx.Write(`INSERT INTO settings (name, value) VALUES (?, ?)`, name(text), []byte(text)); err != nil {
				return err
			}
			return tx.Row(`SELECT count(*) FROM settings WHERE name = ?`, []any{text}, &found)
		})
		if err != nil || found != 1 {
			t.Errorf("%q: found %d, %v", text, found, err)
		}
	}
}
