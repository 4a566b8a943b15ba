package mail_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

// htmlMessage returns a message with an HTML part and a file.
func htmlMessage(html string, fields ...string) string {
	return lines(append(append([]string{"From: ann@example.com", "To: bo@example.org", "Subject: Hello", "Message-ID: <1@tool.example>", "Date: Mon, 23 Nov 2026 08:00:00 +0100"}, fields...),
		"Content-Type: multipart/mixed; boundary=b", "", "--b", "Content-Type: text/html; charset=utf-8", "", html,
		"--b", "Content-Type: application/pdf; name=a.pdf", "Content-Transfer-Encoding: base64", "", "PGEgaHJlZj0iaHR0cHM6Ly9hLnRlc3QvMCI+", "--b--")...)
}

func TestSubmissionOpensAndClicks(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.InOrder(testserver.ReplyWith(app.StageData, 451, "later"), testserver.ReplyWith(app.StageDot, 451, "later")))
		w := testserver.StartTracking(t, relay)
		other := w.AddTeam("Other", "other.example")
		html := "<body>" + testserver.Links(2) + "</body>"
		id, err := submit(w, htmlMessage(html), "bo@example.org")
		testserver.Must(t, err)
		w.SetTracking(app.Domain{}) // accepted mail keeps its tracking
		plain, err := w.Services.Mail.Submissions.Accept(t.Context(), other, &mail.Submission{Recipients: []string{"bo@example.org"},
			Message: []byte(strings.Replace(htmlMessage(html), "ann@example.com", "ann@other.example", 1))})
		testserver.Must(t, err)
		testserver.SleepAndSettle(time.Hour)

		tries := relay.Transactions(id)
		if len(tries) != 3 {
			t.Fatalf("%d attempts", len(tries))
		}
		before, after, _ := strings.Cut(htmlMessage(html), html)
		sent := string(tries[0].Message.Mail.Raw)
		changed, ok := strings.CutPrefix(sent, before)
		changed, also := strings.CutSuffix(changed, after)
		if !ok || !also || strings.Count(changed, testserver.TrackBase+"/t/c/") != 2 || strings.Count(changed, testserver.TrackBase+"/t/o/") != 1 || strings.Contains(changed, "a.test") {
			t.Errorf("left as %s", sent)
		}
		for _, try := range tries[1:] {
			if string(try.Message.Mail.Raw) != sent {
				t.Errorf("another attempt has the bytes %s", try.Message.Mail.Raw)
			}
		}
		if got := w.Email(id); got.HTML != html {
			t.Errorf("read back as %s", got.HTML)
		}
		raw, err := w.Services.Mail.GetCaptured(t.Context(), w.Key, id)
		testserver.Must(t, err)
		if !strings.HasSuffix(string(raw), htmlMessage(html)) {
			t.Errorf("the message reads %s", raw)
		}
		if got := string(relay.Transactions(plain)[0].Message.Mail.Raw); !strings.Contains(got, html) || w.SQL(`SELECT count(*) FROM contents WHERE email_id = ? AND tracking IS NULL`, plain)[0] != "1" {
			t.Errorf("of a team that tracks nothing left %s", got)
		}

		w.LoadPixel(id, testserver.Chrome)
		testserver.SleepAndSettle(4 * time.Second)
		w.Click(id, 1, 2, testserver.Chrome)
		testserver.SleepAndSettle(4 * time.Second)
		synctest.Wait()
		w.WantTrackingEvents(id, "opened clicked1", app.Clicked)
		if ev := w.OnlyEvent(id, app.EventType(app.Clicked)); ev.Recipient != "bo@example.org" {
			t.Errorf("clicked %+v", ev)
		}
	})
}

func TestOnlyTrackableSubmissionsAreTracked(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.StartTracking(t, relay)
		long := "<p>" + strings.Repeat("x", 900) + testserver.Links(1)
		for name, c := range map[string]struct {
			message string
			tracked bool
		}{
			"HTML":        {htmlMessage(testserver.Links(1)), true},
			"without":     {plainMessage(), false},
			"signed":      {strings.Replace(htmlMessage(testserver.Links(1)), "multipart/mixed", "multipart/signed", 1), false},
			"by DKIM":     {htmlMessage(testserver.Links(1), "DKIM-Signature: v=1; d=elsewhere.example; b=x"), false},
			"a long line": {htmlMessage(long), false},
			"two of them": {strings.Replace(htmlMessage(testserver.Links(1)), "application/pdf", "text/html", 1), false},
		} {
			id, err := submit(w, c.message, "bo@example.org")
			testserver.Must(t, err)
			if got := w.Email(id).Tracking; (got != nil) != c.tracked {
				t.Errorf("%s: %+v", name, got)
			}
			testserver.SleepAndSettle(time.Second)
			if got := string(relay.Transactions(id)[0].Message.Mail.Raw); strings.Contains(got, testserver.TrackBase+"/t/") != c.tracked || !c.tracked && got != c.message {
				t.Errorf("%s left as %s", name, got)
			}
		}
	})
}

func TestResentSubmissionIsTracked(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.StartTracking(t, relay)
		w.SetTracking(app.Domain{})
		id, err := submit(w, htmlMessage(testserver.Links(1)), "bo@example.org")
		testserver.Must(t, err)
		w.SetTracking(app.Domain{OpenTracking: true})
		again, err := w.Services.Mail.Resends.ResendEmail(t.Context(), w.Key, id, nil, mail.SendOptions{})
		testserver.Must(t, err)
		testserver.SleepAndSettle(time.Second)
		for id, want := range map[string]int{id: 0, again: 1} {
			if got := string(relay.Transactions(id)[0].Message.Mail.Raw); strings.Count(got, testserver.TrackBase+"/t/o/") != want || strings.Contains(got, "/t/c/") {
				t.Errorf("left as %s", got)
			}
		}
	})
}

// BenchmarkSubmission measures the acceptance of a message with HTML.
func BenchmarkSubmission(b *testing.B) {
	for name, d := range map[string]app.Domain{"tracked": {OpenTracking: true, ClickTracking: true}, "untracked": {}} {
		b.Run(name, func(b *testing.B) {
			w := testserver.New(b, testserver.NewRelay(nil))
			w.Services.Settings.BaseURL = testserver.TrackBase
			w.SetTracking(d)
			message := htmlMessage(strings.Repeat("<p>"+testserver.Links(1)+strings.Repeat("words ", 50)+"\r\n", 60))
			for b.Loop() {
				if _, err := submit(w, message, "bo@example.org"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
