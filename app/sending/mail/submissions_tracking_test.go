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

// htmlLetter is a message of a tool with an HTML part and a file.
func htmlLetter(html string, fields ...string) string {
	return lines(append(append([]string{"From: ann@example.com", "To: bo@example.org", "Subject: Hello", "Message-ID: <1@tool.example>", "Date: Mon, 23 Nov 2026 08:00:00 +0100"}, fields...),
		"Content-Type: multipart/mixed; boundary=b", "", "--b", "Content-Type: text/html; charset=utf-8", "", html,
		"--b", "Content-Type: application/pdf; name=a.pdf", "Content-Transfer-Encoding: base64", "", "PGEgaHJlZj0iaHR0cHM6Ly9hLnRlc3QvMCI+", "--b--")...)
}

func TestOpensAndClicksOfAMessageBySMTPAreRecorded(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Firstly(testserver.Says(app.StageData, 451, "later"), testserver.Says(app.StageDot, 451, "later")))
		w := testserver.Tracked(t, relay)
		other := w.AddTeam("Other", "other.example")
		html := "<body>" + testserver.Links(2) + "</body>"
		id, err := submit(w, htmlLetter(html), "bo@example.org")
		testserver.Must(t, err)
		w.SetTracking(app.Domain{}) // what was accepted keeps its tracking
		plain, err := w.Server.Mail.Submissions.Accept(t.Context(), other, &mail.Submission{Recipients: []string{"bo@example.org"},
			Message: []byte(strings.Replace(htmlLetter(html), "ann@example.com", "ann@other.example", 1))})
		testserver.Must(t, err)
		testserver.Later(time.Hour)

		tries := relay.Seen(id)
		if len(tries) != 3 {
			t.Fatalf("%d attempts", len(tries))
		}
		before, after, _ := strings.Cut(htmlLetter(html), html)
		sent := string(tries[0].M.Mail.Raw)
		changed, ok := strings.CutPrefix(sent, before)
		changed, also := strings.CutSuffix(changed, after)
		if !ok || !also || strings.Count(changed, testserver.TrackBase+"/t/c/") != 2 || strings.Count(changed, testserver.TrackBase+"/t/o/") != 1 || strings.Contains(changed, "a.test") {
			t.Errorf("left as %s", sent)
		}
		for _, try := range tries[1:] {
			if string(try.M.Mail.Raw) != sent {
				t.Errorf("another attempt has the bytes %s", try.M.Mail.Raw)
			}
		}
		if got := w.Email(id); got.HTML != html {
			t.Errorf("read back as %s", got.HTML)
		}
		raw, err := w.Server.Mail.GetCaptured(t.Context(), w.Key, id)
		testserver.Must(t, err)
		if !strings.HasSuffix(string(raw), htmlLetter(html)) {
			t.Errorf("the message reads %s", raw)
		}
		if got := string(relay.Seen(plain)[0].M.Mail.Raw); !strings.Contains(got, html) || w.Sql(`SELECT count(*) FROM contents WHERE email_id = ? AND tracking IS NULL`, plain)[0] != "1" {
			t.Errorf("of a team that tracks nothing left %s", got)
		}

		w.Look(id, testserver.Chrome)
		testserver.Later(4 * time.Second)
		w.Click(id, 1, 2, testserver.Chrome)
		testserver.Later(4 * time.Second)
		synctest.Wait()
		w.WantHits(id, "opened clicked1", app.Clicked)
		if ev := w.EventOf(id, app.EventType(app.Clicked)); ev.Recipient != "bo@example.org" {
			t.Errorf("clicked %+v", ev)
		}
	})
}

func TestOnlyMailThatCanBeTrackedCountsAsTracked(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Tracked(t, relay)
		long := "<p>" + strings.Repeat("x", 900) + testserver.Links(1)
		for name, c := range map[string]struct {
			message string
			tracked bool
		}{
			"HTML":        {htmlLetter(testserver.Links(1)), true},
			"without":     {plainLetter(), false},
			"signed":      {strings.Replace(htmlLetter(testserver.Links(1)), "multipart/mixed", "multipart/signed", 1), false},
			"by DKIM":     {htmlLetter(testserver.Links(1), "DKIM-Signature: v=1; d=elsewhere.example; b=x"), false},
			"a long line": {htmlLetter(long), false},
			"two of them": {strings.Replace(htmlLetter(testserver.Links(1)), "application/pdf", "text/html", 1), false},
		} {
			id, err := submit(w, c.message, "bo@example.org")
			testserver.Must(t, err)
			if got := w.Email(id).Tracking; (got != nil) != c.tracked {
				t.Errorf("%s: %+v", name, got)
			}
			testserver.Later(time.Second)
			if got := string(relay.Seen(id)[0].M.Mail.Raw); strings.Contains(got, testserver.TrackBase+"/t/") != c.tracked || !c.tracked && got != c.message {
				t.Errorf("%s left as %s", name, got)
			}
		}
	})
}

func TestAMessageBySMTPIsTrackedWhenItIsSentAgain(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Tracked(t, relay)
		w.SetTracking(app.Domain{})
		id, err := submit(w, htmlLetter(testserver.Links(1)), "bo@example.org")
		testserver.Must(t, err)
		w.SetTracking(app.Domain{OpenTracking: true})
		again, err := w.Server.Mail.Again.ResendEmail(t.Context(), w.Key, id, nil, mail.SendOptions{})
		testserver.Must(t, err)
		testserver.Later(time.Second)
		for id, want := range map[string]int{id: 0, again: 1} {
			if got := string(relay.Seen(id)[0].M.Mail.Raw); strings.Count(got, testserver.TrackBase+"/t/o/") != want || strings.Contains(got, "/t/c/") {
				t.Errorf("left as %s", got)
			}
		}
	})
}

// BenchmarkSubmission is what accepting a message with HTML costs.
func BenchmarkSubmission(b *testing.B) {
	for name, d := range map[string]app.Domain{"tracked": {OpenTracking: true, ClickTracking: true}, "untracked": {}} {
		b.Run(name, func(b *testing.B) {
			w := testserver.Idle(b, testserver.NewRelay(nil))
			w.Server.Settings.BaseURL = testserver.TrackBase
			w.SetTracking(d)
			message := htmlLetter(strings.Repeat("<p>"+testserver.Links(1)+strings.Repeat("words ", 50)+"\r\n", 60))
			for b.Loop() {
				if _, err := submit(w, message, "bo@example.org"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
