package engine

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"testing"
	"time"

	"mailer/app"
)

// TestPostgresRefusingWrites makes the database fail each write to settings as with a full disk,
// or as a read-only database. New work is refused with the matching error; a critical write waits
// and is written once the database accepts writes.
func TestPostgresRefusingWrites(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]error{postgresDiskFull: ErrFull, postgresReadOnly: ErrUnreachable} {
		t.Run(code, func(t *testing.T) { takesNoWrites(t, code, want) })
	}
}

func takesNoWrites(t *testing.T, code string, want error) {
	dsn := newRemote(t)
	d, err := Open(t.Context(), Options{Path: dsn, Schema: SmallSchema(t), Lazy: true, Create: true, Lock: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	admin, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	do := func(text string) {
		t.Helper()
		if _, err := admin.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	do(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '` + code + `'; END $$`)
	do(`CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON settings FOR EACH ROW EXECUTE FUNCTION refuse()`)
	set := func(name string) func(*Tx) error {
		return func(tx *Tx) error { return tx.SetSetting(name, []byte("1")) }
	}
	if err := d.Write(t.Context(), set("new")); !errors.Is(err, want) {
		t.Errorf("new work: %v, want %v", err, want)
	}
	wait := d.WriteCriticalAsync(t.Context(), set("result"))
	written := make(chan error, 1)
	go func() { written <- wait() }()
	select {
	case err := <-written:
		t.Fatalf("a result was answered while there is no room: %v", err)
	case <-time.After(3 * reconnectInterval):
	}
	if err := d.Write(t.Context(), set("other")); !errors.Is(err, want) {
		t.Errorf("new work while a result waits: %v, want %v", err, want)
	}
	do(`DROP TRIGGER refuse ON settings`)
	select {
	case err := <-written:
		if err != nil {
			t.Errorf("the result that waited: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the result is not written though there is room")
	}
	deadline := time.Now().Add(patience)
	for d.Write(t.Context(), set("again")) != nil {
		if time.Now().After(deadline) {
			t.Fatalf("new work is not taken though there is room: %v", d.Err())
		}
		time.Sleep(outageTick)
	}
	for name, kept := range map[string]bool{"new": false, "result": true, "other": false, "again": true} {
		err := d.Read(context.Background(), func(r *Reader) error { _, err := r.Setting(name); return err })
		if kept != (err == nil) {
			t.Errorf("%s: %v, kept should be %v", name, err, kept)
		}
	}
}

// TestClientWaitingForCriticalWriteIsRefused checks that a client is refused after a short time
// and its closure is never run, while a critical write without a client keeps waiting.
func TestClientWaitingForCriticalWriteIsRefused(t *testing.T) {
	t.Parallel()
	dsn := newRemote(t)
	d, err := Open(t.Context(), Options{Path: dsn, Schema: SmallSchema(t), Lazy: true, Create: true, Lock: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	admin, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	do := func(text string) {
		t.Helper()
		if _, err := admin.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	do(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '` + postgresDiskFull + `'; END $$`)
	do(`CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON settings FOR EACH ROW EXECUTE FUNCTION refuse()`)
	write := func(name string) chan error {
		done := make(chan error, 1)
		go func() {
			done <- d.WriteCritical(app.WithClientWaiting(t.Context()), func(tx *Tx) error { return tx.SetSetting(name, []byte("1")) })
		}()
		return done
	}
	result := d.WriteCriticalAsync(t.Context(), func(tx *Tx) error { return tx.SetSetting("result", []byte("1")) })
	for d.refusal() == nil {
		time.Sleep(outageTick)
	}
	began := time.Now()
	for name, done := range map[string]chan error{"a": write("a"), "b": write("b")} {
		select {
		case err := <-done:
			if !errors.Is(err, ErrFull) {
				t.Errorf("%s: %v, want that there is no room", name, err)
			}
		case <-time.After(patience):
			t.Fatalf("%s is not answered", name)
		}
	}
	if took := time.Since(began); took < clientTimeout {
		t.Errorf("they were answered after %s", took)
	}
	do(`DROP TRIGGER refuse ON settings`)
	if err := result(); err != nil {
		t.Errorf("the result that waited: %v", err)
	}
	if err := d.WriteCritical(app.WithClientWaiting(t.Context()), func(tx *Tx) error { return tx.SetSetting("c", []byte("1")) }); err != nil {
		t.Errorf("once there is room: %v", err)
	}
	for name, kept := range map[string]bool{"a": false, "b": false, "result": true, "c": true} {
		_, err := Get(t.Context(), d, func(r *Reader) ([]byte, error) { return r.Setting(name) })
		if kept != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
