package engine

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mailer/app"
	"mailer/db/dbtest"
)

// TestExternalPostgresLock holds a lock that groups of writes need in a transaction of another
// program. New work is refused and the log names the holder; a critical write waits; writes
// continue once the lock is released.
func TestExternalPostgresLock(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]string{
		"the row of all groups": `SELECT * FROM changes FOR UPDATE`,
		"a table":               `LOCK TABLE settings IN SHARE ROW EXCLUSIVE MODE`,
		"a table, for all":      `LOCK TABLE settings`,
		"a row":                 `UPDATE settings SET value = value WHERE name = 'there'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			heldUp(t, lock, time.Second)
		})
	}
	t.Run("a table, for less time than a search for the holder takes", func(t *testing.T) {
		t.Parallel()
		heldUp(t, `LOCK TABLE settings`, 20*time.Millisecond)
	})
}

func heldUp(t *testing.T, lock string, timeout time.Duration) {
	dsn, log := newRemote(t), &dbtest.Log{}
	d, err := Open(t.Context(), Options{Path: dsn, Schema: SmallSchema(t), Lazy: true, Lock: true, Log: slog.New(slog.NewTextHandler(log, nil)), locks: timeout})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	set := func(name string) func(*Tx) error {
		return func(tx *Tx) error { return tx.SetSetting(name, []byte("1")) }
	}
	if err := d.Write(t.Context(), set("there")); err != nil {
		t.Fatal(err)
	}
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	for _, text := range []string{`BEGIN`, lock} {
		if _, err := c.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Write(t.Context(), set("there")); !errors.Is(err, ErrLocked) {
		t.Errorf("a write that waited for the lock: %v", err)
	}
	for deadline := time.Now().Add(patience); !errors.Is(d.Err(), ErrLocked); time.Sleep(outageTick) {
		if time.Now().After(deadline) {
			t.Fatalf("the store says %v of itself", d.Err())
		}
	}
	if err := d.Write(t.Context(), set("there")); !errors.Is(err, ErrLocked) {
		t.Errorf("a write that comes later: %v", err)
	}
	if err := d.WriteCritical(app.WithClientWaiting(t.Context()), set("there")); !errors.Is(err, ErrLocked) {
		t.Errorf("an opt-out: %v", err)
	}
	result := d.WriteCriticalAsync(t.Context(), set("there"))
	deadline := time.Now().Add(patience) // on a slow machine only a later probe finds it
	for text := log.String(); !strings.Contains(text, lock) || !strings.Contains(text, "the process"); text = log.String() {
		if time.Now().After(deadline) {
			t.Fatalf("the log does not name who holds it:\n%s", text)
		}
		time.Sleep(outageTick)
	}
	if _, err := c.Exec(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if err := result(); err != nil {
		t.Errorf("a result that waited: %v", err)
	}
	deadline = time.Now().Add(patience)
	for d.Write(t.Context(), set("again")) != nil {
		if time.Now().After(deadline) {
			t.Fatalf("new work is not taken though the lock is gone: %v", d.Err())
		}
		time.Sleep(outageTick)
	}
}
