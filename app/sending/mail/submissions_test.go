package mail_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/apptest"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// submit submits a message.
func submit(w *testserver.Server, message string, to ...string) (string, error) {
	return w.Services.Mail.Submissions.Accept(w.T.Context(), w.Key, &mail.Submission{Recipients: to, Message: []byte(message)})
}

// lines joins lines to a message.
func lines(s ...string) string { return strings.Join(s, "\r\n") + "\r\n" }

func plainMessage(fields ...string) string {
	return lines(append([]string{"From: Ann <ann@example.com>", "To: Bob <bob@example.net>", "Subject: Hello"}, append(fields, "", "Hi Bob,", ".", "bye")...)...)
}

func TestSubmissionEqualsAPISend(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	id, err := submit(w, plainMessage("X-Mailer: tool 1", "X-Mailer-Tag: kind=welcome", "X-PM-Tag: first mail", "Bcc: eve@example.net", "X-SES-CONFIGURATION-SET: x"),
		"bob@example.net", "carol@Example.NET", "BOB@example.net")
	testserver.Must(t, err)
	e := w.Email(id)
	if e.Source != mail.SourceSMTP || e.Subject != "Hello" || e.Text != "Hi Bob,\r\n.\r\nbye\r\n" || e.From.String() != "Ann <ann@example.com>" {
		t.Errorf("email %+v", e)
	}
	if len(e.To) != 1 || e.To[0].Name != "Bob" || len(e.Bcc) != 1 || e.Bcc[0].Mailbox() != "carol@example.net" {
		t.Errorf("to %v, bcc %v", e.To, e.Bcc)
	}
	if !slices.Equal(e.Tags, []app.Tag{{Name: "kind", Value: "welcome"}, {Name: "tag", Value: "first_mail"}}) {
		t.Errorf("tags %v", e.Tags)
	}
	w.Read(func(r *db.Reader) error {
		open, err := r.OpenRecipients(app.Unit{EmailID: id})
		if !slices.Equal(open, []string{"bob@example.net", "carol@example.net"}) {
			t.Errorf("envelope %q", open)
		}
		return err
	})
	raw, err := w.Services.Mail.GetCaptured(t.Context(), w.Key, id)
	testserver.Must(t, err)
	text := string(raw)
	if strings.Contains(text, "eve@") || strings.Contains(text, "X-SES") || strings.Contains(text, "Tag:") || !strings.Contains(text, "X-Mailer: tool 1\r\n") ||
		!strings.HasPrefix(text, "X-Mailer-Email-ID: "+id+"\r\nMessage-ID: <"+id+"@example.com>\r\nDate: ") {
		t.Errorf("raw %q", text)
	}
	events, _, err := w.Services.Mail.ListEvents(t.Context(), w.Key, id, app.Page{Limit: 10})
	testserver.Must(t, err)
	if !slices.ContainsFunc(events, func(ev app.Event) bool {
		return ev.Type == app.EventHeadersRemoved && strings.Contains(ev.Detail.Message, "X-SES-CONFIGURATION-SET")
	}) {
		t.Errorf("timeline %+v", events)
	}
}

func TestRefusedSubmissions(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	w.AddDomain(w.Key.TeamID, "pending.example", app.DefaultRegion, app.DomainPending)
	for name, c := range map[string]struct {
		message string
		word    string
		to      []string
	}{
		"no recipient":      {plainMessage(), "`to`", []string{}},
		"bad recipient":     {plainMessage(), "nobody", []string{"nobody"}},
		"no From":           {lines("To: b@example.net", "", "x"), "`From`", nil},
		"two From":          {plainMessage("From: eve@example.com"), "`From`", nil},
		"two authors":       {lines("From: a@example.com, b@example.com", "", "x"), "`From`", nil},
		"unknown domain":    {lines("From: a@nowhere.example", "", "x"), "nowhere.example", nil},
		"unverified domain": {lines("From: a@pending.example", "", "x"), "pending", nil},
		"two Subject":       {plainMessage("SUBJECT: other"), "`Subject`", nil},
		"bare LF":           {"From: a@example.com\r\n\r\na\nb\r\n", "LF", nil},
		"bare CR":           {"From: a@example.com\r\n\r\na\rb\r\n", "CR", nil},
		"NUL":               {"From: a@example.com\r\n\r\na\x00b\r\n", "NUL", nil},
		"long line":         {lines("From: a@example.com", "", strings.Repeat("x", 999)), "998", nil},
		"no field":          {lines("From: a@example.com", "nonsense", "", "x"), "nonsense", nil},
		"blank before":      {lines("From : a@example.com", "", "x"), "header", nil},
		"Latin-1":           {plainMessage("X-A: caf\xe9"), "X-A", nil},
		"To":                {lines("From: a@example.com", "To: @@", "", "x"), "`To`", nil},
		"topic":             {plainMessage("X-Mailer-Topic: news"), "`X-Mailer-Topic`", nil},
		"tag":               {plainMessage("X-Mailer-Tag: nothing"), "`X-Mailer-Tag`", nil},
		"time":              {plainMessage("X-Mailer-Scheduled-At: soonish"), "scheduled_at", nil},
		"span":              {plainMessage("X-Mailer-Expires-In: 1s"), "expires_in", nil},
		"boundary":          {plainMessage("Content-Type: multipart/mixed"), "`Content-Type`", nil},
	} {
		t.Run(name, func(t *testing.T) {
			to := c.to
			if to == nil {
				to = []string{"bob@example.net"}
			}
			_, err := submit(w, c.message, to...)
			testserver.WantCode(t, err, app.CodeValidation)
			if err != nil && !strings.Contains(err.Error(), c.word) {
				t.Errorf("%v does not say %q", err, c.word)
			}
			wantNothing(w)
		})
	}
}

func TestSubmissionWithoutSubjectOrBody(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	for _, message := range []string{"From: a@example.com\r\n", "From: a@example.com\r\n\r\n", "From: a@example.com"} {
		id, err := submit(w, message, "bob@example.net")
		testserver.Must(t, err)
		if e := w.Email(id); e.Text != "" || len(e.To) != 0 || len(e.Bcc) != 1 {
			t.Errorf("%q became %+v", message, e)
		}
	}
}

func TestSubmissionIdempotency(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	first, err := submit(w, plainMessage("Resend-Idempotency-Key: k", "Message-ID: <1@tool.example>"), "bob@example.net")
	testserver.Must(t, err)
	again, err := submit(w, plainMessage("Resend-Idempotency-Key: k", "Message-ID: <2@tool.example>"), "bob@example.net")
	testserver.Must(t, err)
	if again != first {
		t.Errorf("a repeat became %s, the first is %s", again, first)
	}
	if got := w.Email(first).MessageID; got != "1@tool.example" {
		t.Errorf("Message-ID %q", got)
	}
	_, err = submit(w, plainMessage("Resend-Idempotency-Key: k"), "carol@example.net")
	testserver.WantCode(t, err, app.CodeInvalidIdempotent)
	_, err = submit(w, lines("From: a@example.com", "Resend-Idempotency-Key: k", "", "other"), "bob@example.net")
	testserver.WantCode(t, err, app.CodeInvalidIdempotent)
}

// rawOf returns the raw message of an email.
func rawOf(w *testserver.Server, id string) (raw []byte) {
	w.T.Helper()
	w.Read(func(r *db.Reader) error {
		email, _, err := r.Outgoing(w.Key.TeamID, id)
		if err == nil {
			raw = email.Raw
		}
		return err
	})
	return raw
}

func TestGeneratedSubmissionsAreKeptExactly(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	random := rand.New(rand.NewPCG(4, 2026))
	for range 60 {
		message := apptest.GeneratedMessage(random, testserver.TestDomain)
		id, err := submit(w, message, "bob@example.net")
		testserver.Must(t, err)
		if got := string(rawOf(w, id)); got != message {
			t.Fatalf("kept\n%.2000q\nof\n%.2000q", got, message)
		}
	}
	w.WantUndamaged()
}

func TestLargeSubmissionIsStoredInPieces(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	body := strings.Repeat(strings.Repeat("x", 70)+"\r\n", 20_000)
	message := "From: a@example.com\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n" + body
	id, err := submit(w, message, "bob@example.net")
	testserver.Must(t, err)
	if got := string(rawOf(w, id)); got != message {
		t.Errorf("%d bytes are kept of %d", len(got), len(message))
	}
	if n := w.SQL(`SELECT count(*) FROM raw_pieces WHERE email_id = ?`, id)[0]; n != "6" {
		t.Errorf("%s pieces", n)
	}
}

func TestDamagedPieceIsDetected(t *testing.T) {
	testserver.SQLiteOnly(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	id, err := submit(w, "From: a@example.com\r\n\r\n"+strings.Repeat(strings.Repeat("x", 70)+"\r\n", 20_000), "bob@example.net")
	testserver.Must(t, err)
	w.SQL(`UPDATE raw_pieces SET content = zeroblob(10) WHERE email_id = ? AND n = 3`, id)
	found, err := db.Check(t.Context(), w.Path)
	testserver.Must(t, err)
	if !slices.ContainsFunc(found, func(f db.Finding) bool { return !f.OK && strings.Contains(f.Found, "raw_pieces") }) {
		t.Errorf("a damaged piece is not found: %+v", found)
	}
}

func TestSubmissionLeavesOutSuppressed(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	_, err := w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: "bob@example.net"})
	testserver.Must(t, err)
	id, err := submit(w, plainMessage(), "bob@example.net", "carol@example.net")
	testserver.Must(t, err)
	w.WantRecipientStates(id, "bob@example.net suppressed, carol@example.net queued")
	_, err = submit(w, plainMessage(), "bob@example.net")
	testserver.WantCode(t, err, app.CodeAllRecipientsSuppressed)
	// An address in To that is no recipient does not count.
	_, err = submit(w, plainMessage(), "carol@example.net")
	testserver.Must(t, err)
	_, err = submit(w, lines("From: a@example.com", "To: carol@example.net", "", "x"), "bob@example.net")
	testserver.WantCode(t, err, app.CodeAllRecipientsSuppressed)
}

func TestSubmissionOfTopicGetsUnsubscribeHeaders(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	topic := w.AddTopic("News", app.OptIn, app.PrivateTopic)
	id, err := submit(w, plainMessage("X-Mailer-Topic: "+topic.ID, "List-Unsubscribe: <mailto:u@example.com>"), "bob@example.net")
	testserver.Must(t, err)
	raw, err := w.Services.Mail.GetCaptured(t.Context(), w.Key, id)
	testserver.Must(t, err)
	if n := strings.Count(string(raw), "List-Unsubscribe: "); n != 1 || !strings.Contains(string(raw), "List-Unsubscribe: <https://mail.example.com/unsubscribe/") || !strings.Contains(string(raw), "List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n") {
		t.Errorf("%d pairs in %q", n, raw)
	}
	pair := "List-Unsubscribe: <https://example.com/u>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click"
	id, err = submit(w, plainMessage("X-Mailer-Topic: "+topic.ID, pair), "bob@example.net")
	testserver.Must(t, err)
	raw, err = w.Services.Mail.GetCaptured(t.Context(), w.Key, id)
	testserver.Must(t, err)
	if !strings.Contains(string(raw), pair) || strings.Contains(string(raw), "mail.example.com/unsubscribe") {
		t.Errorf("a pair of the program's own became %q", raw)
	}
	_, err = submit(w, plainMessage("X-Mailer-Topic: "+app.NewID()), "bob@example.net")
	testserver.WantCode(t, err, app.CodeNotFound)
}

func TestResentSubmissionKeepsContent(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	message := lines("From: a@example.com", "To: bob@example.net, carol@example.net", "Date: Mon, 23 Nov 2026 08:00:00 +0100", "Message-ID: <1@tool.example>", "X-A:  odd   blanks", "", "Hi {{{UNSUBSCRIBE_URL}}}")
	id, err := submit(w, message, "bob@example.net")
	testserver.Must(t, err)
	want := strings.Replace(strings.Replace(message, "Date: Mon, 23 Nov 2026 08:00:00 +0100\r\n", "", 1), "Message-ID: <1@tool.example>\r\n", "", 1)
	for _, to := range [][]string{nil, {"Dave <dave@example.net>", "carol@example.net"}} {
		again, err := w.Services.Mail.Resends.ResendEmail(t.Context(), w.Key, id, to, mail.SendOptions{})
		testserver.Must(t, err)
		if got := string(rawOf(w, again)); got != want {
			t.Errorf("sent again as %q", got)
		}
		e := w.Email(again)
		wantTo, wantBcc := "bob@example.net queued", 0
		if to != nil {
			wantTo, wantBcc = "dave@example.net queued, carol@example.net queued", 1
		}
		if e.MessageID != again+"@example.com" || len(e.To) != 2 || len(e.Bcc) != wantBcc {
			t.Errorf("%+v", e)
		}
		w.WantRecipientStates(again, wantTo)
	}
}

func TestSubmissionsOfTwoTeams(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	other := w.AddTeam("Other", "other.example")
	send := func(key *app.Key, from string) (string, error) {
		return w.Services.Mail.Submissions.Accept(t.Context(), key, &mail.Submission{Recipients: []string{"bob@example.net"},
			Message: []byte(lines("From: "+from, "Resend-Idempotency-Key: k", "", "x"))})
	}
	mine, err := send(w.Key, "a@example.com")
	testserver.Must(t, err)
	theirs, err := send(other, "a@other.example")
	testserver.Must(t, err)
	if mine == theirs {
		t.Error("one team got the answer of another")
	}
	_, err = send(other, "a@example.com")
	testserver.WantCode(t, err, app.CodeInvalidIdempotent)
	_, err = w.Services.Mail.Submissions.Accept(t.Context(), other, &mail.Submission{Recipients: []string{"bob@example.net"}, Message: []byte(lines("From: a@example.com", "", "x"))})
	testserver.WantCode(t, err, app.CodeValidation)
	_, err = w.Services.Mail.GetCaptured(t.Context(), other, mine)
	testserver.WantCode(t, err, app.CodeNotFound)
	scoped := *w.Key
	scoped.Permission, scoped.DomainName = app.SendingAccess, "elsewhere.example"
	_, err = w.Services.Mail.Submissions.Accept(t.Context(), &scoped, &mail.Submission{Recipients: []string{"bob@example.net"}, Message: []byte(plainMessage())})
	testserver.WantCode(t, err, app.CodeRestrictedAPIKey)
}

func TestSubmissionScheduleAndDelete(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	id, err := submit(w, plainMessage("X-Mailer-Scheduled-At: in 2 hours", "X-Mailer-Expires-In: 1h"), "bob@example.net")
	testserver.Must(t, err)
	w.WantLastEvent(id, app.Scheduled)
	if got := w.SQL(`SELECT expires_in FROM units WHERE email_id = ?`, id)[0]; got != "3600000" {
		t.Errorf("expires in %s ms", got)
	}
	testserver.Must(t, w.Cancel(id))
	testserver.Must(t, w.DeleteEmail(id))
	if n := w.Count("raw_pieces"); n != "0" {
		t.Errorf("%s pieces are left", n)
	}
}
