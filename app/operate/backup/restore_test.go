package backup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/kit/seal"
	"mailer/app/operate/backup"
	"mailer/app/sending/mail"
	"mailer/app/sending/queue"
	"mailer/app/testing/testserver"
	"mailer/db"
	"mailer/db/dbtest"
)

// restoreOptions restores file in place of w's database with its own key.
func restoreOptions(w *testserver.Server, file string) backup.Restoring {
	w.T.Helper()
	return backup.Restoring{File: file, Database: w.Path, Schema: dbtest.Schema(w.T), Fits: func(context.Context, *db.DB) error { return nil }}
}

// write makes a backup of w's database in its directory.
func write(w *testserver.Server, name string) backup.Made {
	w.T.Helper()
	made, err := w.Services.Backup.Write(w.T.Context(), filepath.Join(filepath.Dir(w.Path), name), nil)
	testserver.Must(w.T, err)
	return made
}

// classes leaves mail of each kind that can wait and returns the ids of the emails.
func classes(w *testserver.Server, key *app.Key, from string) map[string]string {
	w.T.Helper()
	ids := map[string]string{}
	for _, class := range []string{"due", "scheduled", "retry", "begun", "committed", "manual"} {
		in := testserver.Message(class + "@example.net")
		in.From = strings.ReplaceAll(in.From, testserver.TestDomain, from)
		if class == "scheduled" {
			in.ScheduledAt = "in 1 hour"
		}
		id, err := w.Services.Mail.SendEmail(w.T.Context(), key, in, mail.SendOptions{})
		testserver.Must(w.T, err)
		ids[class] = id
	}
	retry, committed, started, manual := w.Unit(ids["retry"]), w.Unit(ids["committed"]), w.Unit(ids["begun"]), w.Unit(ids["manual"])
	w.WriteDB(func(tx *db.Tx) error {
		err := errors.Join(tx.BeginAttempt(*retry), tx.BeginAttempt(*committed), tx.BeginAttempt(*started))
		retry.Attempts, committed.Attempts = 1, 1
		return errors.Join(err, tx.RequeueUnit(*retry, 1, tx.Now.Add(time.Minute)), tx.MarkCommitted(*committed, committed.Relay, ""), tx.HoldUnit(*manual, app.HoldManual))
	})
	return ids
}

func TestRestoreDoesNotResend(t *testing.T) {
	testserver.SynctestDays(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Always(testserver.Accept))
		w := testserver.New(t, relay)
		other := w.AddTeam("other", "other.example")
		mails := []map[string]string{classes(w, w.Key, testserver.TestDomain), classes(w, other, "other.example")}
		half := w.StoreBroadcast(app.DefaultRegion, 10, time.Now())
		w.AdvanceBroadcast(half, 4, 2, 0, 0) // 2 were sent
		w.StoreBroadcast(app.DefaultRegion, 5, time.Now().Add(time.Hour))
		made := write(w, "copy.db")
		testserver.Must(t, w.DB.Close())
		testserver.Sleep(4 * 24 * time.Hour) // longer than mail may wait

		done, err := backup.Restore(t.Context(), restoreOptions(w, made.File))
		testserver.Must(t, err)
		if done.Held != 2*5+8+5 || done.BackupAt == nil || *done.BackupAt != made.At || done.SetAside == nil {
			t.Errorf("%+v", done)
		}
		if _, err := os.Stat(*done.SetAside); err != nil {
			t.Error(err)
		}
		w.Open()
		w.Start()
		fresh := w.Send("fresh@example.net")
		testserver.Sleep(50 * time.Hour)
		w.WantLastEvent(fresh, app.Sent)
		for address, n := range testserver.Received(relay) {
			if address != "fresh@example.net" || n != 1 {
				t.Errorf("%d mails for %s", n, address)
			}
		}
		for i, ids := range mails {
			for class, id := range ids {
				if got := strings.Join(w.SQL("SELECT state || ' ' || held FROM units WHERE email_id = ?", id), ","); got != "held restored" && (class != "manual" || got != "held manual") {
					t.Errorf("%d %s: %q", i, class, got)
				}
				types := w.SQL("SELECT type FROM events WHERE email_id = ? ORDER BY id", id)
				if class != "manual" && !slices.Contains(types, string(app.EventHeld)) || slices.Contains(types, string(app.EventInDoubt)) != (class == "committed") {
					t.Errorf("%d %s: %q", i, class, types)
				}
			}
		}
		if got := w.SQL("SELECT held FROM broadcasts"); !slices.Equal(got, []string{"restored", "restored"}) {
			t.Errorf("the broadcasts are %q", got)
		}
		if got := w.SQL("SELECT email_id FROM doubts ORDER BY id"); len(got) != 2 {
			t.Errorf("doubts: %q", got)
		}
		if w.Log.Contains("did not end well") {
			t.Error("the restored server takes the backup for a crash")
		}
		_, err = w.Services.Queue.Release(t.Context(), queue.Filter{Restored: true})
		testserver.Must(t, err)
		testserver.Sleep(5 * time.Minute)
		for i, ids := range mails {
			for _, class := range []string{"due", "retry", "begun", "scheduled"} { // its time is long past
				if got := w.SQL("SELECT last_event FROM emails WHERE id = ?", ids[class]); !slices.Equal(got, []string{"sent"}) {
					t.Errorf("%d %s is %q once it was released", i, class, got)
				}
			}
		}
	})
}

func TestRestoreRefusesUnusableFiles(t *testing.T) {
	testserver.SQLiteOnly(t) // PostgreSQL has its own backup tools
	w := testserver.New(t)
	w.Send("a@example.net")
	made := write(w, "copy.db")
	dir := filepath.Dir(w.Path)
	damagedBytes, err := os.ReadFile(made.File)
	testserver.Must(t, err)
	for i := range 4096 {
		damagedBytes[len(damagedBytes)/2/4096*4096+i] = 0xa5
	}
	damaged, text, foreign := filepath.Join(dir, "damaged.db"), filepath.Join(dir, "text"), filepath.Join(dir, "foreign.db")
	testserver.Must(t, errors.Join(os.WriteFile(damaged, damagedBytes, 0o600), os.WriteFile(text, []byte("age-encryption.org/v1"), 0o600)))
	older, err := os.ReadFile(made.File)
	testserver.Must(t, err)
	copy(older[60:64], []byte{0, 0, 0, 99}) // user_version
	testserver.Must(t, os.WriteFile(foreign, older, 0o600))

	if _, err := backup.Restore(t.Context(), restoreOptions(w, made.File)); !errors.Is(err, db.ErrInUse) {
		t.Errorf("while a server runs: %v", err)
	}
	testserver.Must(t, w.DB.Close())
	before, err := os.ReadFile(w.Path)
	testserver.Must(t, err)
	wrongKey := restoreOptions(w, made.File)
	wrongKey.Fits = func(context.Context, *db.DB) error { return seal.ErrSeal }
	for what, c := range map[string]struct {
		in   backup.Restoring
		want error
	}{
		"damaged": {restoreOptions(w, damaged), db.ErrDamaged}, "text": {restoreOptions(w, text), db.ErrNotDatabase}, "missing": {restoreOptions(w, "none.db"), db.ErrNotFound},
		"another version": {restoreOptions(w, foreign), db.ErrNew}, "itself": {restoreOptions(w, w.Path), db.ErrConflict}, "another key": {wrongKey, seal.ErrSeal},
	} {
		if _, err := backup.Restore(t.Context(), c.in); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	after, err := os.ReadFile(w.Path)
	testserver.Must(t, err)
	if string(after) != string(before) {
		t.Error("the database was changed")
	}
	if left, _ := filepath.Glob(w.Path + ".*"); !slices.Equal(left, []string{w.Path + ".lock"}) {
		t.Errorf("left behind: %q", left)
	}
}

func TestPlainCopyIsRestored(t *testing.T) {
	testserver.SQLiteOnly(t) // PostgreSQL has its own backup tools
	w := testserver.New(t)
	id := w.Send("a@example.net")
	dir := t.TempDir()
	for _, side := range []string{"", "-wal"} { // a copy by cp; most data is in the log
		b, err := os.ReadFile(w.Path + side)
		testserver.Must(t, err)
		testserver.Must(t, os.WriteFile(filepath.Join(dir, "plain.db"+side), b, 0o644))
	}
	in := restoreOptions(w, filepath.Join(dir, "plain.db"))
	in.Database = filepath.Join(dir, "mailer.db")
	done, err := backup.Restore(t.Context(), in)
	testserver.Must(t, err)
	if done.SetAside != nil || done.Held != 1 || done.BackupAt != nil || done.Database != in.Database {
		t.Errorf("%+v", done)
	}
	if info, err := os.Stat(in.Database); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	testserver.Must(t, w.DB.Close())
	w.Path = in.Database
	w.Open()
	w.WantLastEvent(id, app.Queued)
}

func TestInterruptedRestoreCreatesNoDatabase(t *testing.T) {
	testserver.SQLiteOnly(t) // PostgreSQL has its own backup tools
	w := testserver.New(t)
	made := write(w, "copy.db")
	testserver.Must(t, w.DB.Close())
	// A kill between the two renames of a damaged database.
	testserver.Must(t, os.Rename(w.Path, w.Path+".before"))
	testserver.Must(t, os.WriteFile(w.Path+".restoring", []byte("half"), 0o600))
	in := restoreOptions(w, made.File)
	if _, err := db.Open(t.Context(), db.Options{Path: w.Path, Schema: in.Schema, Create: true}); err == nil || !strings.Contains(err.Error(), "run mailer restore again") {
		t.Errorf("open: %v", err)
	}
	_, err := backup.Restore(t.Context(), in)
	testserver.Must(t, err)
	w.Open()
}
