package retention_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/operate/retention"
	"mailer/app/rules/feedback"
	"mailer/app/rules/tracking"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
	"mailer/db"
)

const day = 24 * time.Hour

// synctestDays runs fn with a fake clock. Ids never go back within a process, so the clock starts
// where the last test ended, and tests do not run in parallel.
func synctestDays(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		id := app.NewID()
		ms, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64)
		testserver.Must(t, err)
		time.Sleep(time.Until(time.UnixMilli(ms + 1)))
		fn(t)
	})
}

// withRetention returns a server with a retention and running cron.
func withRetention(t *testing.T, kept app.Retention) *testserver.Server {
	t.Helper()
	w := testserver.New(t, testserver.NewRelay(nil))
	w.Services.Settings.Keep = kept
	w.Start()
	return w
}

// sleepStopped lets time pass with the server stopped and then deletes old mail: a day of a
// running server costs thousands of clock checks.
func sleepStopped(w *testserver.Server, d time.Duration) {
	w.T.Helper()
	kept := w.Services.Settings.Keep
	if !w.Stopped {
		w.Stop()
		w.Open()
		w.Services.Settings.Keep, w.Stopped = kept, true
	}
	testserver.Sleep(d)
	run(w)
}

// restart starts the server again.
func restart(w *testserver.Server) {
	w.T.Helper()
	w.Stopped = false
	w.Start()
}

// fullEmail returns an email with all kinds of content.
func fullEmail(to ...string) *app.EmailInput {
	in := testserver.Message(to...)
	in.HTML = "<p>" + strings.Repeat("long ", 2000) + `</p><a href="https://a.test/x">x</a>`
	in.Headers = map[string]string{"X-One": "1"}
	in.Attachments = []app.Attachment{{ID: app.NewID(), Filename: "a.bin", ContentType: "application/octet-stream", Content: []byte(strings.Repeat("z", 700<<10)), Size: 700 << 10}}
	return in
}

func sendAs(w *testserver.Server, key *app.Key, in *app.EmailInput) string {
	w.T.Helper()
	id, err := w.Services.Mail.SendEmail(w.T.Context(), key, in, mail.SendOptions{})
	testserver.Must(w.T, err)
	return id
}

// run deletes old mail once.
func run(w *testserver.Server) {
	w.T.Helper()
	testserver.Must(w.T, w.Services.Retention.Run(w.T.Context()))
}

// left returns what remains of an email: "all", "row" or "nothing".
func left(w *testserver.Server, key *app.Key, id string) string {
	w.T.Helper()
	email, err := w.Services.Mail.GetEmail(w.T.Context(), key, id)
	var refusal *app.Error
	switch {
	case errors.As(err, &refusal) && refusal.Code == app.CodeNotFound:
		for _, table := range []string{"recipients", "events", "contents", "attachments", "captures", "provider_ids"} {
			if n := w.SQL(`SELECT count(*) FROM `+table+` WHERE email_id = ?`, id)[0]; n != "0" {
				w.T.Errorf("%s rows of %s are left of email %s", n, table, id)
			}
		}
		return "nothing"
	case err != nil:
		w.T.Fatal(err)
	case email.HTML == "" && email.Text == "" && len(email.Attachments) == 0 && !email.ContentDeletedAt.IsZero():
		return "row"
	}
	return "all"
}

func TestRetentionPerTeam(t *testing.T) {
	testserver.BothEngines(t)
	synctestDays(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		w.Services.Settings.Keep = app.Retention{Content: 30 * day, Emails: 90 * day}
		other := w.AddTeam("other", "other.example")
		ever, err := retention.ParseChoice("0")
		testserver.Must(t, err)
		week, err := retention.ParseChoice("1w")
		testserver.Must(t, err)
		if _, err := w.Services.Retention.SetTeam(t.Context(), other.TeamID, retention.Change{Content: week, Emails: ever}); err != nil {
			t.Fatal(err)
		}
		w.Start()
		in := fullEmail("bob@example.net")
		in.From = "ann@other.example"
		sent := time.Now()
		mine, theirs := sendAs(w, w.Key, fullEmail("bob@example.net")), sendAs(w, other, in)
		testserver.Sleep(time.Minute)
		w.WantLastEvent(mine, app.Sent)
		for _, tc := range []struct {
			after        time.Duration
			mine, theirs string
		}{
			{7*day - time.Hour, "all", "all"}, {8 * day, "all", "row"}, {30*day - time.Hour, "all", "row"}, {32 * day, "row", "row"},
			{90*day - time.Hour, "row", "row"}, {95 * day, "nothing", "row"}, {800 * day, "nothing", "row"},
		} {
			sleepStopped(w, time.Until(sent.Add(tc.after)))
			if mine, theirs := left(w, w.Key, mine), left(w, other, theirs); mine != tc.mine || theirs != tc.theirs {
				t.Errorf("after %s there is %s of one team's mail, and %s of the other's; want %s, %s", retention.FormatRetention(tc.after), mine, theirs, tc.mine, tc.theirs)
			}
		}
		if got := w.Count("audit_logs WHERE action = 'team.retention'"); got != "1" {
			t.Errorf("%s entries of the audit log", got)
		}
	})
}

func TestRetentionCountsFromLastResult(t *testing.T) {
	synctestDays(t, func(t *testing.T) {
		w := withRetention(t, app.Retention{Content: 2 * day, Emails: 4 * day})
		late, scheduled := w.SendTaken("eve@example.net"), w.SendAt("in 9 days")
		sleepStopped(w, 47*time.Hour)
		w.Report(feedback.Report{Source: app.SourceGeneric, ID: "1", Kind: feedback.Delivered, EmailID: late, Recipient: "eve@example.net"})
		sleepStopped(w, 47*time.Hour)
		if got := left(w, w.Key, late); got != "all" {
			t.Errorf("there is %s of what was delivered 47 hours ago", got)
		}
		sleepStopped(w, 2*time.Hour)
		if got := left(w, w.Key, late); got != "row" {
			t.Errorf("there is %s of what was delivered two days ago", got)
		}
		w.Report(feedback.Report{Source: app.SourceGeneric, ID: "2", Kind: feedback.Complained, EmailID: late, Recipient: "eve@example.net"})
		w.Suppression("eve@example.net")
		sleepStopped(w, 3*day+22*time.Hour)
		if got := left(w, w.Key, late); got != "row" {
			t.Errorf("there is %s of what was complained about less than four days ago", got)
		}
		sleepStopped(w, 3*time.Hour)
		if got := left(w, w.Key, late); got != "nothing" {
			t.Errorf("there is %s of what was complained about four days ago", got)
		}
		w.Report(feedback.Report{Source: app.SourceGeneric, ID: "3", Kind: feedback.Bounced, EmailID: late, Recipient: "eve@example.net"})
		sleepStopped(w, time.Hour)
		if got := left(w, w.Key, scheduled); got != "all" {
			t.Errorf("there is %s of what was not over", got)
		}
		sleepStopped(w, day)
		restart(w) // later than it should
		testserver.Sleep(time.Minute)
		sleepStopped(w, 49*time.Hour)
		w.WantLastEvent(scheduled, app.Sent)
		if got := left(w, w.Key, scheduled); got != "row" {
			t.Errorf("there is %s of what left two days ago", got)
		}
		sleepStopped(w, 2*day)
		if got := left(w, w.Key, scheduled); got != "nothing" {
			t.Errorf("there is %s of what left four days ago", got)
		}
	})
}

func TestMailInDoubtIsNotDeleted(t *testing.T) {
	synctestDays(t, func(t *testing.T) {
		w := withRetention(t, app.Retention{Emails: day})
		id := w.SendTaken("bob@example.net")
		doubt := app.Doubt{ID: app.NewID(), TeamID: w.Key.TeamID, EmailID: id, Recipients: []string{"bob@example.net"}, Relay: app.DefaultRegion, CreatedAt: time.Now()}
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.InsertDoubt(doubt) }))
		sleepStopped(w, 3*day)
		if got := left(w, w.Key, id); got != "all" {
			t.Errorf("there is %s of mail in doubt", got)
		}
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.SettleDoubts(id, "by hand") }))
		sleepStopped(w, 2*day)
		if got := left(w, w.Key, id); got != "nothing" {
			t.Errorf("there is %s once the doubt is settled", got)
		}
		if got := w.SQL(`SELECT recipients FROM doubts`); len(got) != 1 || got[0] != "[]" {
			t.Error("the settled doubt is deleted, or still contains the address")
		}
		sleepStopped(w, 91*day)
		testserver.Must(t, w.Services.Jobs.Purge(t.Context()))
		if w.Count("doubts") != "0" {
			t.Error("a doubt that was settled 91 days ago is still there")
		}
	})
}

func TestDeletedContentIsReported(t *testing.T) {
	testserver.BothEngines(t)
	synctestDays(t, func(t *testing.T) {
		w := withRetention(t, app.Retention{Content: day})
		in := fullEmail("bob@example.net")
		id := sendAs(w, w.Key, in)
		w.SQL(`INSERT INTO captures (email_id, message, created_at) VALUES (?, CAST('0' AS BLOB), 1)`, id)
		testserver.Sleep(time.Minute)
		sleepStopped(w, 3*day)
		if got := left(w, w.Key, id); got != "row" {
			t.Fatalf("there is %s", got)
		}
		_, insights := w.Services.Mail.GetInsights(t.Context(), w.Key, id)
		_, raw := w.Services.Mail.GetCaptured(t.Context(), w.Key, id)
		_, file := w.Services.Mail.GetAttachment(t.Context(), w.Key, id, in.Attachments[0].ID)
		for what, err := range map[string]error{"insights": insights, "raw": raw, "attachment": file} {
			testserver.WantCode(t, err, app.CodeNotFound)
			if err == nil || !strings.Contains(err.Error(), "was deleted on") {
				t.Errorf("%s: %v", what, err)
			}
		}
		rows, more, err := w.Services.Mail.ListAttachments(t.Context(), w.Key, id, app.Page{Limit: 10})
		if len(rows) != 0 || more || err != nil {
			t.Errorf("attachments %v, %v, %v", rows, more, err)
		}
		w.WantUndamaged()
		w.Erase("bob@example.net")
		if n := w.CountTraces("bob@example.net"); n != 0 {
			t.Errorf("%d traces of an erased address", n)
		}
		testserver.Must(t, w.DeleteEmail(id))
		if got := left(w, w.Key, id); got != "nothing" {
			t.Errorf("there is %s of what was deleted by hand", got)
		}
	})
}

func TestLinksSurviveDeletion(t *testing.T) {
	synctestDays(t, func(t *testing.T) {
		w := withRetention(t, app.Retention{Emails: day, Broadcasts: day})
		news := w.AddTopic("news", app.OptIn, app.PublicTopic)
		send := func(to ...string) (id, link string) {
			in := fullEmail(to...)
			in.TopicID = news.ID
			id = sendAs(w, w.Key, in)
			page := w.Email(id).Unsubscribe
			return id, page[strings.LastIndex(page, "/")+1:]
		}
		single, alone := send("bob@example.net")
		shared, both := send("ann@example.net", "eve@example.net")
		w.AddSubscribers(2)
		b := w.SendNewsletter(testserver.Links(1), nil)
		testserver.Sleep(time.Minute)
		recipient := w.EmailIDTo(b, testserver.SubscriberAddress(1))
		click := tracking.ClickToken(w.Services.Sealer, tracking.ClickLink{TeamID: w.Key.TeamID, EmailID: single, Host: "mail.test", Links: 1, Target: "https://a.test/x"})
		sleepStopped(w, 3*day)
		if got := left(w, w.Key, single) + " " + left(w, w.Key, shared) + " " + w.Count("broadcast_recipients"); got != "nothing nothing 0" {
			t.Fatalf("there is %s", got)
		}
		for _, link := range []string{alone, both, w.PageToken(app.UnsubscribePage, app.PageLink{TeamID: w.Key.TeamID, Source: recipient, Address: w.AddressHash(testserver.SubscriberAddress(1))})} {
			if _, err := w.Services.Pages.Unsubscribe(t.Context(), link); err != nil {
				t.Error(err)
			}
		}
		for _, who := range []string{"bob@example.net", "ann@example.net", "eve@example.net"} {
			in := testserver.Message(who)
			in.TopicID = news.ID
			_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
			testserver.WantCode(t, err, app.CodeAllRecipientsSuppressed)
		}
		if to, ok := w.Services.Mail.FollowLink(t.Context(), "mail.test", click, nil); !ok || to.Orphaned || to.Location != "https://a.test/x" {
			t.Errorf("a link leads to %+v, %v", to, ok)
		}
		restart(w)
		w.Click(single, 0, 1, testserver.Chrome)
		w.Click(recipient, 0, 1, testserver.Chrome)
		w.LoadPixel(recipient, testserver.Chrome)
		testserver.Sleep(time.Minute)
		if n := w.Rows(`SELECT count(*) FROM events AS v WHERE NOT EXISTS (SELECT 1 FROM emails AS e WHERE e.id = v.email_id)`); n != "0\n" { // refused sends have records
			t.Errorf("%s events of mail that is gone", n)
		}
		w.Erase("ann@example.net")
		if n := w.Count("former_envelopes"); n != "1" {
			t.Errorf("%s hashes of recipients after one was erased", n)
		}
		w.SQL(`DELETE FROM domains WHERE team_id = ?`, w.Key.TeamID)
		if to, _ := w.Services.Mail.FollowLink(t.Context(), "mail.test", click, nil); !to.Orphaned {
			t.Error("a link leads on for a team that has no domain")
		}
	})
}

func TestBroadcastCountsSurviveDeletion(t *testing.T) {
	synctestDays(t, func(t *testing.T) {
		w := withRetention(t, app.Retention{Broadcasts: 10 * day})
		w.AddSubscribers(450)
		b := w.SendNewsletter(testserver.Links(2), nil)
		testserver.Sleep(time.Minute)
		late := w.EmailIDTo(b, testserver.SubscriberAddress(3))
		w.Click(late, 1, 2, testserver.Chrome)
		sleepStopped(w, 8*day)
		restart(w)
		w.Click(late, 0, 2, testserver.Chrome)
		testserver.Sleep(time.Minute)
		before := w.Broadcast(b.ID)
		sleepStopped(w, 3*day)
		if got := w.Count("broadcast_recipients"); got != "1" {
			t.Errorf("%s recipients are there, want the one who clicked", got)
		}
		sleepStopped(w, 8*day)
		for _, table := range []string{"broadcast_recipients", "broadcast_clicks", "events", "too_young"} {
			if got := w.Count(table); got != "0" {
				t.Errorf("%s rows of %s are left", got, table)
			}
		}
		if after := w.Broadcast(b.ID); after.Counts.Sent != 450 || after.Counts.Clicked != 1 || fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("the broadcast is %+v, was %+v", after, before)
		}
		if got := w.Recipients(b, ""); got != "" {
			t.Errorf("recipients %s", got)
		}
		w.Report(feedback.Report{Source: app.SourceGeneric, ID: "9", Kind: feedback.Bounced, EmailID: late, Recipient: testserver.SubscriberAddress(3)})
		if got := w.Count("events"); got != "0" {
			t.Errorf("%s events", got)
		}
	})
}

func TestDamagedMailIsNotDeleted(t *testing.T) {
	synctestDays(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		in := testserver.Message("bob@example.net")
		in.HTML = strings.Repeat("harmed ", 100)
		harmed, sound := sendAs(w, w.Key, in), w.Send("bob@example.net")
		testserver.Sleep(time.Minute)
		w.Corrupt("harmed harmed harmed")
		sleepStopped(w, 3*day)
		w.Services.Settings.Keep = app.Retention{Content: day, Emails: day}
		run(w)
		if got := left(w, w.Key, sound) + w.Count("contents"); got != "nothing1" {
			t.Errorf("there is %s", got)
		}
		_, err := w.Services.Mail.GetEmail(t.Context(), w.Key, harmed)
		testserver.WantCode(t, err, app.CodeInternal)
		testserver.Must(t, w.DB.Err())
	})
}

func TestMailBeingDeletedIsNotResent(t *testing.T) {
	synctestDays(t, func(t *testing.T) {
		w := withRetention(t, app.Retention{Content: day})
		id := sendAs(w, w.Key, fullEmail("bob@example.net"))
		testserver.Sleep(time.Minute)
		there := func() error {
			return w.DB.Read(t.Context(), func(r *db.Reader) error { return r.HasContent(id) })
		}
		testserver.Must(t, there())
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
			if err := tx.MarkContentDeleted(id); err != nil {
				return err
			}
			_, err := tx.DeleteContentPiece(id)
			return err
		}))
		if err := there(); !errors.Is(err, db.ErrNotFound) {
			t.Errorf("half of its files are gone, and it may be sent again: %v", err)
		}
		sleepStopped(w, 3*day)
		if got := left(w, w.Key, id) + w.Count("attachment_pieces"); got != "row0" {
			t.Errorf("there is %s of it in the end", got)
		}
	})
}
