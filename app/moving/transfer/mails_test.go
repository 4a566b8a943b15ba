package transfer_test

import (
	"path/filepath"
	"testing"

	"mailer/app"
	"mailer/app/moving/transfer"
	"mailer/app/rules/archive"
	"mailer/app/sending/broadcasts"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

// TestBroadcastWithoutSenderBecomesDraft: a campaign whose sender can't be imported becomes a
// draft without sender.
func TestBroadcastWithoutSenderBecomesDraft(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		w.AddSubscribers(2)
		team, err := w.Services.Teams.FindTeam(t.Context(), "")
		testserver.Must(t, err)
		dir := filepath.Join(t.TempDir(), "archive")
		out, err := archive.Create(dir)
		testserver.Must(t, err)
		testserver.Must(t, out.Put(archive.Broadcasts, &archive.Broadcast{ID: "7", Name: "News", Subject: "s", HTML: "<p>x</p>", Status: app.DraftBroadcast}))
		testserver.Must(t, out.Finish(&archive.Team{Source: archive.SourceListmonk}))
		r, err := archive.Open(dir)
		testserver.Must(t, err)
		report, err := w.Services.Transfer.Import(t.Context(), &team, r, transfer.Options{Apply: true})
		testserver.Must(t, err)
		if len(report.Broadcasts) != 1 || !report.Broadcasts[0].Draft || len(report.Cannot) > 0 {
			t.Fatalf("%+v, %+v", report.Broadcasts, report.Cannot)
		}
		rows, _, err := w.Services.Broadcasts.ListBroadcasts(t.Context(), w.Key, app.Page{Limit: 5})
		testserver.Must(t, err)
		id := rows[0].ID
		if from := rows[0].From.String(); from != "" {
			t.Errorf("from %q", from)
		}
		_, err = w.Services.Broadcasts.SendBroadcast(t.Context(), w.Key, id, "", mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeValidation)
		_, err = w.Services.Broadcasts.TestBroadcast(t.Context(), w.Key, id, []string{"me@example.net"}, "", mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeValidation)
		_, err = w.Services.Reviews.PreviewBroadcast(t.Context(), w.Key, id, broadcasts.Look{})
		testserver.Must(t, err)
		_, err = w.Services.Broadcasts.UpdateBroadcast(t.Context(), w.Key, id, app.BroadcastPatch{From: "ann@" + testserver.TestDomain})
		testserver.Must(t, err)
		_, err = w.Services.Broadcasts.SendBroadcast(t.Context(), w.Key, id, "", mail.SendOptions{})
		testserver.Must(t, err)
	})
}
