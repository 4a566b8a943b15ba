package teams_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

// fillTeam adds rows to nearly every table for the team of w.Key, with sent and waiting mail.
func fillTeam(w *testserver.Server) {
	w.T.Helper()
	ctx := w.T.Context()
	w.AddTopic("news", app.OptIn, app.PublicTopic)
	w.AddSegment(nil)
	w.PublishTemplate(w.Key, "hello", app.TemplateContent{HTML: "<p>x</p>"})
	w.AddSubscribers(3)
	_, err := w.Services.Suppressions.AddSuppression(ctx, w.Key, app.SuppressionInput{Email: "eve@example.org"})
	testserver.Must(w.T, err)
	_, _, err = w.Services.Teams.CreateKey(ctx, w.Key.TeamID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleOwner})
	testserver.Must(w.T, err)
	_, err = w.Services.Brands.SetLogo(ctx, w.Key.TeamID, testLogo(w.T, 1))
	testserver.Must(w.T, err)
	in := testserver.Message("bob@example.net")
	in.Attachments = []app.Attachment{{Filename: "a.txt", Content: []byte(strings.Repeat("x", 300_000))}}
	_, err = w.Services.Mail.SendEmail(ctx, w.Key, in, mail.SendOptions{IdempotencyKey: "k"})
	testserver.Must(w.T, err)
	w.SendAt("in 1 hour")
	w.SendNewsletter("<p>news</p>", nil)
}

// counts returns the row counts of all tables that hold data of teams.
func counts(w *testserver.Server) string {
	var b strings.Builder
	own := []string{"settings", "feedback", "relay_usage", "relay_states", "audit_logs"}
	for _, name := range w.Tables("") {
		if !slices.Contains(own, name) {
			fmt.Fprintf(&b, "%s %s\n", name, w.Count(name))
		}
	}
	return b.String()
}

func TestDeletedTeamLeavesOnlyItsAuditLog(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		first := w.Key
		fillTeam(w)
		testserver.Sleep(30 * time.Second)
		before := counts(w)
		w.Key = w.AddTeam("second", testserver.TestDomain)
		fillTeam(w)
		testserver.Sleep(30 * time.Second)
		if both := counts(w); both == before {
			t.Fatal("the second team has nothing")
		}
		team, err := w.Services.Teams.FindTeam(t.Context(), "second")
		testserver.Must(t, err)
		d, err := w.Services.Teams.BeginDeletion(t.Context(), team)
		testserver.Must(t, err)
		if d.Dropped() != 1 || d.Size.Emails != 2 || d.Size.Contacts != 3 {
			t.Errorf("%+v", d)
		}
		if keys, err := w.Services.Teams.ListKeys(t.Context(), team.ID); err != nil || len(keys) != 0 {
			t.Errorf("keys %v, %v", keys, err)
		}
		_, err = w.Services.Teams.FindTeam(t.Context(), "second")
		testserver.WantCode(t, err, app.CodeNotFound)
		again, err := w.Services.Teams.CreateTeam(t.Context(), "second") // the name is free
		testserver.Must(t, err)
		testserver.Sleep(time.Minute)
		if left := w.SQL(`SELECT count(*) FROM teams WHERE id = ?`, team.ID)[0]; left != "0" {
			t.Errorf("the team is still there; log:\n%s", w.Log.String())
		}
		third, err := w.Services.Teams.BeginDeletion(t.Context(), again)
		testserver.Must(t, err)
		if third.Rows() != 0 {
			t.Errorf("%+v", third)
		}
		testserver.Sleep(10 * time.Second)
		if after := counts(w); after != before {
			t.Errorf("left:\n%s\nwant\n%s", after, before)
		}
		log := w.SQL(`SELECT action FROM audit_logs WHERE team_id = ? AND action LIKE 'team.%' ORDER BY id`, team.ID)
		if strings.Join(log, " ") != "team.create team.update team.delete" {
			t.Errorf("log %v", log)
		}
		if n := len(w.SQL(`SELECT id FROM emails WHERE team_id = ?`, first.TeamID)); n != 2 {
			t.Errorf("the first team has %d emails", n)
		}
	})
}

func TestTeamDeletionRefusals(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		hang := make(chan struct{})
		w := testserver.Start(t, testserver.NewRelay(testserver.Always(testserver.ReplyAfter(hang))))
		team, err := w.Services.Teams.FindTeam(t.Context(), "")
		testserver.Must(t, err)
		_, err = w.Services.Teams.BeginDeletion(t.Context(), team)
		testserver.WantCode(t, err, app.CodeConflict)
		w.AddTeam("second", "second.example")
		w.Send("bob@example.net")
		synctest.Wait()
		_, err = w.Services.Teams.BeginDeletion(t.Context(), team)
		testserver.WantCode(t, err, app.CodeConflict)
		close(hang)
		testserver.Sleep(time.Second)
		_, err = w.Services.Teams.BeginDeletion(t.Context(), team)
		testserver.Must(t, err)
		testserver.Sleep(time.Minute)
		if n := w.Count("teams"); n != "1" {
			t.Errorf("%s teams", n)
		}
	})
}

func TestTeamDeletionResumesAfterCrash(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		w := testserver.Start(t, testserver.NewRelay(nil))
		first := w.Key
		w.Key = w.AddTeam("second", testserver.TestDomain)
		for range 300 {
			w.SendAt("in 1 hour")
		}
		team, err := w.Services.Teams.FindTeam(t.Context(), "second")
		testserver.Must(t, err)
		w.Key = first
		_, err = w.CommandServices().Teams.BeginDeletion(t.Context(), team)
		testserver.Must(t, err)
		relay := testserver.NewRelay(nil)
		next := w.Crash(relay)
		if n := next.Count("emails"); n != "300" {
			t.Fatalf("%s emails at the crash", n)
		}
		next.Start()
		id := next.Send("bob@example.net")
		testserver.Sleep(time.Minute)
		if n := next.Count("emails"); n != "1" {
			t.Errorf("%s emails", n)
		}
		next.WantLastEvent(id, app.Sent)
		if n := len(relay.Transactions("")); n != 1 {
			t.Errorf("%d transactions", n)
		}
	})
}

func TestRenameTeam(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		w.AddTeam("second", "second.example")
		team, err := w.Services.Teams.FindTeam(t.Context(), "second")
		testserver.Must(t, err)
		_, err = w.Services.Teams.RenameTeam(t.Context(), &team, app.DefaultTeam)
		testserver.WantCode(t, err, app.CodeConflict)
		_, err = w.Services.Teams.RenameTeam(t.Context(), &team, " ")
		testserver.WantCode(t, err, app.CodeValidation)
		renamed, err := w.Services.Teams.RenameTeam(t.Context(), &team, "shop")
		testserver.Must(t, err)
		found, err := w.Services.Teams.FindTeam(t.Context(), "shop")
		testserver.Must(t, err)
		if found.ID != team.ID || renamed.Name != "shop" {
			t.Errorf("%+v %+v", found, renamed)
		}
	})
}
