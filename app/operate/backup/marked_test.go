package backup_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/operate/backup"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// waiting leaves mail that waits, and some that is past its dot.
func waiting(w *testserver.World) map[string]string {
	w.T.Helper()
	ids := map[string]string{}
	for _, class := range []string{"due", "other", "dotted"} {
		ids[class] = w.Send(class + "@example.net")
	}
	w.Sql(`UPDATE units SET state = 'dotted', attempts = 1 WHERE email_id = ?`, ids["dotted"])
	return ids
}

// wantHeld sends an email, lets minutes pass, and looks that nothing else left.
func wantHeld(w *testserver.World, relay *testserver.FakeRelay, ids map[string]string) {
	w.T.Helper()
	fresh := w.Send("fresh@example.net")
	testserver.Sleep(2 * time.Minute)
	w.WantLast(fresh, app.Sent)
	for address, n := range testserver.Received(relay) {
		if address != "fresh@example.net" || n != 1 {
			w.T.Errorf("%d mails for %s", n, address)
		}
	}
	for class, id := range ids {
		if got := strings.Join(w.Sql("SELECT state || ' ' || held FROM units WHERE email_id = ?", id), ","); got != "held restored" {
			w.T.Errorf("%s: %q", class, got)
		}
	}
	if got := w.Sql("SELECT email_id FROM doubts"); !slices.Equal(got, []string{ids["dotted"]}) {
		w.T.Errorf("doubts: %q", got)
	}
}

// TestADumpThatWasRestoredSentAgainWhatHadLeft has the database be what pg_restore makes of a
// dump: the server notices.
func TestADumpThatWasRestoredSentAgainWhatHadLeft(t *testing.T) {
	testserver.Elsewhere(t)
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Always(testserver.Accept))
		w := testserver.Idle(t, relay)
		ids := waiting(w)
		w.Change(func(tx *db.Tx) error { return tx.NoteOrigin() })
		w.Sql(`UPDATE origin SET transaction = 1`)
		w.Start()
		wantHeld(w, relay, ids)
		if !w.Log.Has("was restored since") {
			t.Error("the log does not say so")
		}
	})
}

// TestWhatWaitsIsHeldWhereTheOperatorSaysThatTheDatabaseWasRestored: a snapshot of a disk, or of
// a provider, looks like a restart.
func TestWhatWaitsIsHeldWhereTheOperatorSaysThatTheDatabaseWasRestored(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Always(testserver.Accept))
		w := testserver.Idle(t, relay)
		ids := waiting(w)
		if !testserver.IsElsewhere() { // where a server of a test is silent for hours
			if _, err := backup.Mark(t.Context(), restoring(w, "")); !errors.Is(err, db.ErrInUse) {
				t.Errorf("it is marked beside a server: %v", err)
			}
		}
		testserver.Must(t, w.DB.Close())
		done, err := backup.Mark(t.Context(), restoring(w, ""))
		testserver.Must(t, err)
		if done.Held != 3 || done.SetAside != nil {
			t.Errorf("%+v", done)
		}
		w.Open()
		w.Start()
		wantHeld(w, relay, ids)
	})
}
