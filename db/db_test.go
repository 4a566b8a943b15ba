package db_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"mailer/app"
	"mailer/db"
	"mailer/db/dbtest"
	"mailer/db/engine"
)

// TestMain runs the garbage collector less often than a server does: most garbage is that
// of closed databases.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	dbtest.RaiseParallelism()
	os.Exit(m.Run())
}

func schema(t testing.TB) string {
	t.Helper()
	return dbtest.Schema(t)
}

func open(t testing.TB, path string) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), db.Options{Path: path, Schema: schema(t), Create: true, Lock: true, Lazy: true, Reserve: 4096})
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

func setting(t testing.TB, d *db.DB, name string) string {
	t.Helper()
	var value []byte
	err := d.Read(context.Background(), func(r *db.Reader) (err error) {
		value, err = r.Setting(name)
		return err
	})
	if errors.Is(err, db.ErrNotFound) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(value)
}

func TestFailedClosureRollsBackAlone(t *testing.T) {
	d := open(t, db.NewFile(t))
	// The first closure holds the writer until the others are queued, so that
	// they share its successor's commit.
	queued := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := d.Write(t.Context(), func(*db.Tx) error { <-queued; return nil }); err != nil {
			t.Error(err)
		}
	})
	boom := errors.New("boom")
	waits := make([]func() error, 10)
	for i := range waits {
		waits[i] = d.WriteCriticalAsync(t.Context(), func(tx *db.Tx) error {
			if err := tx.SetSetting(fmt.Sprint("s", i), []byte("x")); err != nil {
				return err
			}
			switch i {
			case 3:
				return boom
			case 6:
				panic("boom")
			}
			return nil
		})
	}
	close(queued)
	for i, wait := range waits {
		err := wait()
		want, failed := "x", i == 3 || i == 6
		if failed {
			want = ""
		}
		if (err != nil) != failed || (i == 3 && !errors.Is(err, boom)) {
			t.Errorf("closure %d: error %v", i, err)
		}
		if got := setting(t, d, fmt.Sprint("s", i)); got != want {
			t.Errorf("setting %d is %q, want %q", i, got, want)
		}
	}
	wg.Wait()
}

func TestNestedWritePanics(t *testing.T) {
	t.Parallel()
	d := open(t, db.NewFile(t))
	err := d.Write(t.Context(), func(*db.Tx) error {
		return d.Write(context.Background(), func(*db.Tx) error { return nil })
	})
	if err == nil {
		t.Fatal("a nested Write succeeded")
	}
	if !strings.Contains(err.Error(), "pass the *Tx on instead") {
		t.Errorf("the error has no advice: %v", err)
	}
	if err := d.Write(t.Context(), func(*db.Tx) error { return nil }); err != nil {
		t.Fatalf("the writer did not survive: %v", err)
	}
}

func TestGetReturnsClosureResult(t *testing.T) {
	d := open(t, db.NewFile(t))
	if err := d.Write(t.Context(), func(tx *db.Tx) error { return tx.SetSetting("a", []byte("one")) }); err != nil {
		t.Fatal(err)
	}
	got, err := db.Get(t.Context(), d, func(r *db.Reader) ([]byte, error) { return r.Setting("a") })
	if string(got) != "one" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := db.Get(t.Context(), d, func(r *db.Reader) ([]byte, error) { return r.Setting("b") }); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("a missing setting: %v", err)
	}
	rows, more, err := db.GetPage(t.Context(), d, func(*db.Reader) ([]int, bool, error) { return []int{1, 2}, true, nil })
	if len(rows) != 2 || !more || err != nil {
		t.Errorf("page %v, %t, %v", rows, more, err)
	}
	refuse := errors.New("no")
	rows, more, err = db.GetPage(t.Context(), d, func(*db.Reader) ([]int, bool, error) { return nil, false, refuse })
	if rows != nil || more || !errors.Is(err, refuse) {
		t.Errorf("page %v, %t, %v", rows, more, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	n, err := db.Get(t.Context(), d, func(*db.Reader) (int, error) { return 1, nil })
	if n != 0 || !errors.Is(err, db.ErrClosed) {
		t.Errorf("after Close: %d, %v", n, err)
	}
}

func TestAfterCommitRunsOnlyAfterCommit(t *testing.T) {
	d := open(t, db.NewFile(t))
	var ran []string
	for _, name := range []string{"good", "bad"} {
		_ = d.Write(t.Context(), func(tx *db.Tx) error {
			tx.AfterCommit(func() { ran = append(ran, name) })
			if name == "bad" {
				return errors.New("no")
			}
			return nil
		})
	}
	if len(ran) != 1 || ran[0] != "good" {
		t.Fatalf("ran %q", ran)
	}
}

func TestCanceledWriteDoesNothing(t *testing.T) {
	d := open(t, db.NewFile(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := d.Write(ctx, func(tx *db.Tx) error { return tx.SetSetting("a", []byte("x")) })
	if !errors.Is(err, context.Canceled) || setting(t, d, "a") != "" {
		t.Fatalf("err %v, setting %q", err, setting(t, d, "a"))
	}
}

func TestSecondServerIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	if engine.InUse(path) {
		t.Fatal("in use before it is opened")
	}
	open(t, path)
	if !engine.InUse(path) {
		t.Fatal("not in use while it is open")
	}
	if _, err := db.Open(t.Context(), db.Options{Path: path, Schema: schema(t), Lazy: true, Lock: true}); !errors.Is(err, db.ErrInUse) {
		t.Fatalf("second server: %v", err)
	}
	second, err := db.Open(t.Context(), db.Options{Path: path, Schema: schema(t), Lazy: true})
	if err != nil {
		t.Fatalf("a command beside the server: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestMissingDatabaseIsNotCreated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	if _, err := db.Open(t.Context(), db.Options{Path: path, Schema: schema(t), Lazy: true}); !errors.Is(err, db.ErrNotFound) {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("the file was made")
	}
}

func TestDatabaseFilesArePrivate(t *testing.T) {
	dir := t.TempDir()
	d := open(t, filepath.Join(dir, "x.db"))
	if err := d.Write(t.Context(), func(tx *db.Tx) error { return tx.SetSetting("a", []byte("b")) }); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.MasterKeys(filepath.Join(dir, "x.db.key"), true); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 5 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", entry.Name(), info.Mode())
		}
	}
}

func TestCloseCompletesQueuedWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	d, err := db.Open(t.Context(), db.Options{Path: path, Schema: schema(t), Lazy: true, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	started, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = d.Write(t.Context(), func(*db.Tx) error { close(started); <-release; return nil })
	})
	<-started
	wait := d.WriteCriticalAsync(t.Context(), func(tx *db.Tx) error { return tx.SetSetting("late", []byte("x")) })
	wg.Go(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	close(release)
	if err := wait(); err != nil {
		t.Fatalf("queued before Close: %v", err)
	}
	wg.Wait()
	if err := d.Write(t.Context(), func(*db.Tx) error { return nil }); !errors.Is(err, db.ErrClosed) {
		t.Fatalf("after Close: %v", err)
	}
	again := open(t, path)
	if setting(t, again, "late") != "x" {
		t.Fatal("a queued write is not on disk")
	}
}

// benchEmail is an email of 5 KB to one recipient.
func benchEmail(team string) *app.Email {
	id := app.NewID()
	from, _ := app.ParseAddress("Mailer <hello@example.com>")
	to, _ := app.ParseAddress("you@example.org")
	html := make([]byte, 5<<10)
	for i := range html {
		html[i] = "abcdefg "[i%8]
	}
	return &app.Email{ID: id, TeamID: team, Relay: "us-east-1", MessageID: id + "@example.com", CreatedAt: time.Now(),
		LastEvent: app.Queued, Mail: app.Mail{From: from, To: []app.Address{to}, Subject: "Hello", HTML: string(html)}}
}

// BenchmarkAccept measures the database's part of accepting an email, with as
// many writers as a group commit can hold.
func BenchmarkAccept(b *testing.B) {
	d := open(b, filepath.Join(b.TempDir(), "x.db"))
	var team app.Team
	if err := d.Read(b.Context(), func(r *db.Reader) (err error) { team, err = r.FindTeam(""); return err }); err != nil {
		b.Fatal(err)
	}
	b.SetParallelism(32)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			email := benchEmail(team.ID)
			err := d.Write(context.Background(), func(tx *db.Tx) error {
				if err := tx.InsertEmail(email, email.Recipients()); err != nil {
					return err
				}
				return tx.InsertUnit(app.Unit{EmailID: email.ID, TeamID: team.ID, Relay: email.Relay, NextAt: email.CreatedAt, Since: email.CreatedAt, Size: email.Size()})
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
