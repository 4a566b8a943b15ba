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

// addWaiting leaves waiting mail, and some after its final dot.
func addWaiting(w *testserver.Server) map[string]string {
	w.T.Helper()
	ids := map[string]string{}
	for _, class := range []string{"due", "other", "committed"} {
		ids[class] = w.Send(class + "@example.net")
	}
	w.SQL(`UPDATE units SET state = 'committed', attempts = 1 WHERE email_id = ?`, ids["committed"])
	return ids
}

// wantHeld sends an email, lets minutes pass, and checks that no other mail was sent.
func wantHeld(w *testserver.Server, relay *testserver.FakeRelay, ids map[string]string) {
	w.T.Helper()
	fresh := w.Send("fresh@example.net")
	testserver.Sleep(2 * time.Minute)
	w.WantLastEvent(fresh, app.Sent)
	for address, n := range testserver.Received(relay) {
		if address != "fresh@example.net" || n != 1 {
			w.T.Errorf("%d mails for %s", n, address)
		}
	}
	for class, id := range ids {
		if got := strings.Join(w.SQL("SELECT state || ' ' || held FROM units WHERE email_id = ?", id), ","); got != "held restored" {
			w.T.Errorf("%s: %q", class, got)
		}
	}
	if got := w.SQL("SELECT email_id FROM doubts"); !slices.Equal(got, []string{ids["committed"]}) {
		w.T.Errorf("doubts: %q", got)
	}
}

// TestRestoredDumpDoesNotResend: the server detects that pg_restore made the database.
func TestRestoredDumpDoesNotResend(t *testing.T) {
	testserver.PostgresOnly(t)
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Always(testserver.Accept))
		w := testserver.New(t, relay)
		ids := addWaiting(w)
		w.WriteDB(func(tx *db.Tx) error { return tx.NoteOrigin() })
		w.SQL(`UPDATE origin SET transaction = 1`)
		w.Start()
		wantHeld(w, relay, ids)
		if !w.Log.Contains("was restored since") {
			t.Error("the log does not say so")
		}
	})
}

// TestMarkRestoredHoldsWaitingMail: the snapshot of a disk or of a provider looks like a restart.
func TestMarkRestoredHoldsWaitingMail(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Always(testserver.Accept))
		w := testserver.New(t, relay)
		ids := addWaiting(w)
		if !testserver.IsPostgres() { // where a test server has no heartbeat for hours
			if _, err := backup.MarkRestored(t.Context(), restoreOptions(w, "")); !errors.Is(err, db.ErrInUse) {
				t.Errorf("it is marked while a server runs: %v", err)
			}
		}
		testserver.Must(t, w.DB.Close())
		done, err := backup.MarkRestored(t.Context(), restoreOptions(w, ""))
		testserver.Must(t, err)
		if done.Held != 3 || done.SetAside != nil {
			t.Errorf("%+v", done)
		}
		w.Open()
		w.Start()
		wantHeld(w, relay, ids)
	})
}
