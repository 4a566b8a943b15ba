package delivery_test

import (
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/rules/reputation"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// Assertions of this package's tests on a test server.

// wantDeleted checks that no table contains an email.
func wantDeleted(w *testserver.Server, id string) {
	w.T.Helper()
	_, err := w.Services.Mail.GetEmail(w.T.Context(), w.Key, id)
	testserver.WantCode(w.T, err, app.CodeNotFound)
	tables := w.Tables("email_id")
	if len(tables) < 7 {
		w.T.Fatalf("only %q have an email_id", tables)
	}
	for _, table := range tables {
		if n := w.SQL("SELECT count(*) FROM "+table+" WHERE email_id = ?", id)[0]; n != "0" {
			w.T.Errorf("%s rows in %s", n, table)
		}
	}
	if n := w.SQL("SELECT count(*) FROM emails WHERE id = ?", id)[0]; n != "0" {
		w.T.Error("the email is still there")
	}
}

// wantNoErrorLog checks that no error was logged.
func wantNoErrorLog(w *testserver.Server) {
	w.T.Helper()
	if w.Log.Contains("level=ERROR") {
		w.T.Errorf("log:\n%s", w.Log.String())
	}
}

// wantCounts compares the counters of the team and of its region, without scores.
func wantCounts(w *testserver.Server, sent, hard, complained int64) {
	w.T.Helper()
	want := reputation.Outcome{Sent: sent, HardBounced: hard, Complained: complained}
	got := w.TeamOutcome()
	if got.Scored, got.Points = 0, 0; got != want {
		w.T.Errorf("the team's counters are %+v, want %+v", got, want)
	}
	w.Read(func(r *db.Reader) error {
		got, err := r.RegionOutcome(app.DefaultRegion, 0)
		if got != want {
			w.T.Errorf("the region's counters are %+v, want %+v", got, want)
		}
		return err
	})
}

// setMX stores the result of a check of the return path's MX.
func setMX(w *testserver.Server, live app.Live) {
	w.T.Helper()
	testserver.Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		d, err := tx.DomainByName(w.Key.TeamID, testserver.TestDomain)
		if err != nil {
			return err
		}
		d.Checks = nil
		if live != "" {
			d.Checks = []app.RecordCheck{{Record: app.RecordSPF, Name: d.ReturnPathName(), Type: "MX", Live: live}}
		}
		return tx.SetDomainChecks(&d)
	}))
}

// wantCanceled checks that an email was canceled and nothing is left of its work.
func wantCanceled(w *testserver.Server, id string) {
	w.T.Helper()
	w.WantLastEvent(id, app.Canceled)
	w.OnlyEvent(id, app.EventType(app.Canceled))
	if u := w.Unit(id); u != nil {
		w.T.Errorf("its work is still open: %+v", u)
	}
	if n := w.SQL("SELECT count(*) FROM recipients WHERE email_id = ? AND state <> 'canceled'", id)[0]; n != "0" {
		w.T.Errorf("%s recipients still wait", n)
	}
	testserver.WantCode(w.T, w.Cancel(id), app.CodeValidation)
	testserver.WantCode(w.T, w.Reschedule(id, "in 1 hour"), app.CodeValidation)
}

// addOutcome adds to the counters of the test team.
func addOutcome(w *testserver.Server, o reputation.Outcome) {
	w.T.Helper()
	w.AddOutcome(w.Key.TeamID, o)
}

// wantAnnounced compares the deliverability webhook events of the test team.
func wantAnnounced(w *testserver.Server, want ...string) {
	w.T.Helper()
	got := strings.Fields(w.Rows(`SELECT type FROM webhook_events WHERE type LIKE 'deliverability.%' ORDER BY id`))
	if !slices.Equal(got, want) {
		w.T.Errorf("webhook events %q, want %q", got, want)
	}
}
