package broadcasts_test

import (
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// change writes a draft without the checks of the API.
func change(w *testserver.Server, b *app.Broadcast) {
	testserver.Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error { return tx.UpdateBroadcast(b) }))
}

func TestBroadcastWithForeignTagsIsRefused(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		w.AddSubscribers(3)
		b := w.AddDraft()
		text := "Hello\n{% if a %}you{% endif %}"
		b.Subject, b.Preview, b.HTML, b.Text = "News of {{ Date }}", "Hi *|FNAME|*", "<p>Hello</p>\n<a href=\"{{ MessageURL }}\">x</a> <% y %>", &text
		change(w, b)
		send := func(at string) error {
			_, err := w.Services.Broadcasts.SendBroadcast(t.Context(), w.Key, b.ID, at, mail.SendOptions{})
			return err
		}
		for _, at := range []string{"", "in 1 hour"} {
			err := send(at)
			testserver.WantCode(t, err, app.CodeValidation)
			for _, named := range []string{"`subject`", "{{ Date }} (subject, line 1)", "*|FNAME|* (preview_text, line 1)", "{{ MessageURL }} (html, line 2)", "{% if a %} (text, line 2)"} {
				if !strings.Contains(err.Error(), named) {
					t.Errorf("%q does not name %s", err, named)
				}
			}
		}
		in := app.BroadcastInput{From: "ann@" + testserver.TestDomain, Subject: "s", HTML: "<p>{{ RootURL }}</p>", Send: true}
		_, err := w.Services.Broadcasts.CreateBroadcast(t.Context(), w.Key, in, mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeValidation)
		in.Send = false
		_, err = w.Services.Broadcasts.CreateBroadcast(t.Context(), w.Key, in, mail.SendOptions{})
		testserver.Must(t, err) // a draft may be incomplete
		plan, err := w.Services.Broadcasts.Reviews.PlanBroadcast(t.Context(), w.Key, b.ID, "")
		testserver.Must(t, err)
		if len(plan.RawTags) != 6 || plan.Recipients != 3 {
			t.Errorf("the plan names %+v", plan.RawTags)
		}
		if last := plan.RawTags[3]; last.Field != "html" || last.Line != 2 || last.Text != "<% y %>" || last.Certain {
			t.Errorf("the plan names %+v", last)
		}
		// A text that may be intended as is does not prevent sending.
		b.Subject, b.Preview, b.Text = "News", "", nil
		b.HTML = "<p>&#123;&#123; x }} &amp; <% y %> 100%% {{{FIRST_NAME|you}}}</p>"
		change(w, b)
		testserver.Must(t, send(""))
		testserver.Sleep(time.Minute)
		testserver.WantEachOnce(t, testserver.Received(relay), 3)
	})
}

func TestScheduledBroadcastWithForeignTags(t *testing.T) {
	testserver.BothEngines(t)
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		w.AddSubscribers(3)
		b := w.AddDraft()
		b.HTML = "<p>{{ RootURL }}</p>"
		change(w, b)
		w.SQL(`UPDATE broadcasts SET status = 'scheduled', relay = ?, audience = 3, scheduled_at = ? WHERE id = ?`, app.DefaultRegion, time.Now().Add(time.Hour).UnixMilli(), b.ID)
		testserver.Sleep(2 * time.Hour)
		if got := w.Broadcast(b.ID); got.Status != app.DraftBroadcast || !got.ScheduledAt.IsZero() || got.Relay != "" {
			t.Errorf("it is %+v", got)
		}
		if n := len(testserver.Received(relay)); n > 0 {
			t.Errorf("%d left", n)
		}
		if !w.Log.Contains("{{ RootURL }} (html, line 1)") {
			t.Error("the log does not say why")
		}
	})
}
