package mail_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/mail"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
)

func TestAcceptIsAtomic(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	claim := mail.NewIdempotencyClaim(w.Key.TeamID, mail.RouteEmails, "k", [32]byte{1})
	boom := errors.New("boom")
	email, err := mail.NewEmail(w.Key, testserver.Message("bob@example.net"))
	testserver.Must(t, err)
	write := func(tx *db.Tx) error { return errors.Join(w.Services.Mail.Accept(tx, email), claim.Keep(tx, email.ID)) }
	err = w.DB.Write(t.Context(), func(tx *db.Tx) error { return errors.Join(write(tx), boom) })
	if !errors.Is(err, boom) {
		t.Fatal(err)
	}
	wantNothing(w)
	w.Read(func(r *db.Reader) error {
		if _, _, err := r.IdempotentAnswer(db.IdempotencyKey{TeamID: w.Key.TeamID, Route: mail.RouteEmails, Key: "k"}, time.Time{}); !errors.Is(err, db.ErrNotFound) {
			t.Errorf("an answer was kept: %v", err)
		}
		return nil
	})
	testserver.Must(t, w.DB.Write(t.Context(), write))
	if w.Unit(email.ID) == nil {
		t.Error("no unit")
	}
	w.WantLastEvent(email.ID, app.Queued)
	w.Read(func(r *db.Reader) error {
		_, answer, err := r.IdempotentAnswer(db.IdempotencyKey{TeamID: w.Key.TeamID, Route: mail.RouteEmails, Key: "k"}, time.Time{})
		if answer != email.ID {
			t.Errorf("the answer kept is %q", answer)
		}
		return err
	})
}

func TestAcceptedEmailReadsBack(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	in := testserver.Message("Bob <bob@example.net>", "BOB@example.NET")
	in.Cc, in.Bcc, in.ReplyTo = []string{"cc@example.net", "bob@Example.net"}, []string{"secret@example.net"}, []string{"r@example.org"}
	in.HTML = "<p>Grüße</p>"
	in.Headers = map[string]string{"X-B": "2", "X-A": "1"}
	in.Tags = []app.Tag{{Name: "a", Value: "b"}}
	in.Attachments = []app.Attachment{{Filename: "1.txt", Content: []byte("one")}, {Filename: "2.bin", Content: []byte{0, 1, 2}}}
	id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
	testserver.Must(t, err)
	w.Read(func(r *db.Reader) error {
		open, err := r.OpenRecipients(app.Unit{EmailID: id})
		if !slices.Equal(open, []string{"bob@example.net", "cc@example.net", "secret@example.net"}) {
			t.Errorf("envelope %q", open)
		}
		return err
	})
	e := w.Email(id)
	want, err := in.Validate()
	testserver.Must(t, err)
	got := e.Mail
	for i := range got.Attachments {
		a, err := w.Services.Mail.Attachment(t.Context(), w.Key, id, got.Attachments[i].ID)
		testserver.Must(t, err)
		want.Attachments[i].ID, got.Attachments[i].Content = a.ID, a.Content
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", *want) {
		t.Errorf("read back\n%+v\nsent\n%+v", got, *want)
	}
	if e.MessageID != id+"@example.com" || e.KeyID != w.Key.ID || e.LastEvent != app.Queued || e.Relay != app.DefaultRegion {
		t.Errorf("email %+v", e)
	}
}

func TestRefusedSendLeavesNothing(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	w.AddDomain(w.Key.TeamID, "pending.example", app.DefaultRegion, app.DomainPending)
	w.AddTeam("Other", "other.example")
	from := func(address string) *app.EmailInput {
		in := testserver.Message("bob@example.net")
		in.From = address
		return in
	}
	big := testserver.Message("bob@example.net")
	big.Attachments = []app.Attachment{{Filename: "a", Content: make([]byte, 26<<20)}}
	scoped := *w.Key
	scoped.Permission, scoped.DomainName = app.SendingAccess, "elsewhere.example"
	for name, c := range map[string]struct {
		key  *app.Key
		in   *app.EmailInput
		code app.Code
		word string
	}{
		"shape":             {w.Key, testserver.Message(), app.CodeValidation, "`to`"},
		"unknown domain":    {w.Key, from("x@nowhere.example"), app.CodeValidation, "nowhere.example"},
		"unverified domain": {w.Key, from("x@pending.example"), app.CodeValidation, "pending"},
		"foreign domain":    {w.Key, from("x@other.example"), app.CodeValidation, "not added"},
		"subdomain":         {w.Key, from("x@sub.example.com"), app.CodeValidation, "sub.example.com"},
		"key's domain":      {&scoped, testserver.Message("bob@example.net"), app.CodeRestrictedAPIKey, "elsewhere.example"},
		"attachments":       {w.Key, big, app.CodePayloadTooLarge, "attachments"},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the second call shows that the first released its key
				_, err := w.Services.Mail.SendEmail(t.Context(), c.key, c.in, mail.SendOptions{IdempotencyKey: name, Payload: []byte("x")})
				testserver.WantCode(t, err, c.code)
				if err != nil && !strings.Contains(err.Error(), c.word) {
					t.Errorf("%v does not say %q", err, c.word)
				}
			}
			wantNothing(w)
			if _, err := w.Services.Mail.SendEmail(t.Context(), w.Key, from("x@pending.example"), mail.SendOptions{IdempotencyKey: name, Payload: []byte("y")}); app.CodeOf(err) != app.CodeValidation {
				t.Errorf("another payload after a refusal: %v", err)
			}
		})
	}
}

// TestUnverifiedDomainIsExplained checks that the error of the Write has facts only, and that every
// way to send adds what to do.
func TestUnverifiedDomainIsExplained(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	w.AddDomain(w.Key.TeamID, "pending.example", app.DefaultRegion, app.DomainVerified)
	in := testserver.Message("bob@example.net")
	in.From = "x@pending.example"
	sent, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
	testserver.Must(t, err)
	w.SQL(`UPDATE domains SET status = 'pending' WHERE name = 'pending.example'`)

	email, err := mail.NewEmail(w.Key, in)
	testserver.Must(t, err)
	err = w.DB.Write(t.Context(), func(tx *db.Tx) error { return w.Services.Mail.Accept(tx, email) })
	var cause *app.UnverifiedDomain
	if !errors.As(err, &cause) || *cause != (app.UnverifiedDomain{TeamID: w.Key.TeamID, Name: "pending.example"}) {
		t.Errorf("the error of the Write is %v", err)
	}

	batch := func(permissive bool) (string, error) {
		opts := mail.SendOptions{IdempotencyKey: "k", Payload: []byte("x")}
		result, err := w.Services.Mail.SendBatch(t.Context(), w.Key, []mail.BatchItem{{Input: in}}, permissive, opts)
		if err != nil || !permissive {
			return "", err
		}
		return "", &app.Error{Code: app.CodeValidation, Message: result.Errors[0].Message}
	}
	const says = "`from` uses the domain pending.example, which is not verified (its status is pending): the DKIM record TXT mailer._domainkey.pending.example is not known to be there, and " +
		"the SPF record TXT send.pending.example is not known to be there. Publish what `mailer domains records pending.example` shows, then run `mailer domains verify pending.example` or POST /domains/"
	for _, way := range []struct {
		name, before string
		send         func() (string, error)
	}{
		{"one email", "", func() (string, error) { return w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{}) }},
		{"a strict batch", "emails.0: ", func() (string, error) { return batch(false) }},
		{"a permissive batch", "", func() (string, error) { return batch(true) }},
		{"its repetition", "", func() (string, error) { return batch(true) }},
		{"a resend", "", func() (string, error) {
			return w.Services.Mail.Resends.ResendEmail(t.Context(), w.Key, sent, nil, mail.SendOptions{})
		}},
		{"SMTP", "", func() (string, error) {
			return submit(w, lines("From: x@pending.example", "", "x"), "bob@example.net")
		}},
		{"account mail", "", func() (string, error) {
			return "", w.Services.Mail.Accounts.Send(t.Context(), w.Key.TeamID, "x@pending.example", "bob@example.net", "s", "x")
		}},
	} {
		_, err := way.send()
		var refusal *app.Error
		if !errors.As(err, &refusal) || refusal.Code != app.CodeValidation || !strings.HasPrefix(refusal.Message, way.before+says) || refusal.Err != nil {
			t.Errorf("%s: %v", way.name, err)
		}
	}
}

func TestSendCheckOrder(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	scoped := *w.Key
	scoped.Permission, scoped.DomainName = app.SendingAccess, testserver.TestDomain
	opts := mail.SendOptions{IdempotencyKey: "k", Payload: []byte("first")}
	_, err := w.Services.Mail.SendEmail(t.Context(), &scoped, testserver.Message("bob@example.net"), opts)
	testserver.Must(t, err)
	opts.Payload = []byte("second")
	in := testserver.Message()
	in.From = "x@nowhere.example"
	in.Attachments = []app.Attachment{{Filename: "a", Content: make([]byte, 26<<20)}}
	step := func(want app.Code) {
		t.Helper()
		_, err := w.Services.Mail.SendEmail(t.Context(), &scoped, in, opts)
		testserver.WantCode(t, err, want)
	}
	step(app.CodeValidation) // no recipient
	in.To = []string{"bob@example.net"}
	step(app.CodeRestrictedAPIKey)
	scoped.DomainName = ""
	step(app.CodeInvalidIdempotent)
	opts.IdempotencyKey = "other"
	step(app.CodeValidation) // unknown domain, before the size of the attachments
	in.From = "x@" + testserver.TestDomain
	step(app.CodePayloadTooLarge)
	in.Attachments[0].Content = in.Attachments[0].Content[:25<<20]
	_, err = w.Services.Mail.SendEmail(t.Context(), &scoped, in, opts)
	testserver.Must(t, err)
}

func TestCaptureAcceptsAnyDomain(t *testing.T) {
	w := testserver.New(t)
	relay := testserver.NewRelayOf(relayurl.Relay{Region: app.CaptureRegion}, nil)
	w.Stop()
	w.Relays, w.Config.Capture = []*testserver.FakeRelay{relay}, true
	w.Open()
	testserver.Must(t, w.Services.Start(t.Context()))
	defer testserver.StopNow(w.Services)
	in := testserver.Message("bob@example.net")
	in.From = "x@nowhere.example"
	id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
	testserver.Must(t, err)
	if got := w.Email(id).Relay; got != app.CaptureRegion {
		t.Errorf("relay %q", got)
	}
	// A command uses the transport of the server.
	cfg := w.Config
	cfg.Routes, cfg.Capture = nil, false
	cli, err := server.New(t.Context(), cfg)
	testserver.Must(t, err)
	_, err = cli.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
	testserver.Must(t, err)
}

func TestIdempotentSendReturnsSameID(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	send := func(key *app.Key, k, payload string) (string, error) {
		in := testserver.Message("bob@example.net")
		if key != w.Key {
			in.From = "x@other.example"
		}
		return w.Services.Mail.SendEmail(t.Context(), key, in, mail.SendOptions{IdempotencyKey: k, Payload: []byte(payload)})
	}
	first, err := send(w.Key, "k", "a")
	testserver.Must(t, err)
	again, err := send(w.Key, "k", "a")
	testserver.Must(t, err)
	if first != again {
		t.Errorf("ids %s and %s", first, again)
	}
	_, err = send(w.Key, "k", "b")
	testserver.WantCode(t, err, app.CodeInvalidIdempotent)
	other, err := send(w.AddTeam("Other", "other.example"), "k", "b")
	testserver.Must(t, err)
	if other == first {
		t.Error("another team got the answer of this one")
	}
	_, err = send(w.Key, strings.Repeat("ü", 257), "a")
	testserver.WantCode(t, err, app.CodeInvalidIdempotencyKey)
	_, err = send(w.Key, strings.Repeat("ü", 256), "a")
	testserver.Must(t, err)
	emails, _, err := w.Services.Mail.ListEmails(t.Context(), w.Key, app.Page{Limit: 100})
	testserver.Must(t, err)
	if len(emails) != 2 {
		t.Errorf("%d emails, want 2", len(emails))
	}
}

func TestParallelSendsWithOneIdempotencyKey(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t, testserver.NewRelay(nil))
	ids := make(chan string, 50)
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			<-begin
			id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.Message("bob@example.net"), mail.SendOptions{IdempotencyKey: "k", Payload: []byte("x")})
			if err != nil {
				testserver.WantCode(t, err, app.CodeConcurrentIdempotent)
				return
			}
			ids <- id
		})
	}
	close(begin)
	wg.Wait()
	close(ids)
	first := <-ids
	for id := range ids {
		if id != first {
			t.Errorf("ids %s and %s", first, id)
		}
	}
	emails, _, err := w.Services.Mail.ListEmails(t.Context(), w.Key, app.Page{Limit: 100})
	testserver.Must(t, err)
	if len(emails) != 1 || emails[0].ID != first {
		t.Errorf("%d emails", len(emails))
	}
}

func TestIdempotencyKeyExpiresAfter24Hours(t *testing.T) {
	testserver.BothEngines(t)
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		send := func(payload string) (string, error) {
			return w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.Message("bob@example.net"), mail.SendOptions{IdempotencyKey: "k", Payload: []byte(payload)})
		}
		first, err := send("a")
		testserver.Must(t, err)
		time.Sleep(24*time.Hour - time.Second)
		testserver.Must(t, w.Services.Jobs.Purge(t.Context()))
		again, err := send("a")
		testserver.Must(t, err)
		if again != first {
			t.Error("forgotten before 24 hours")
		}
		time.Sleep(2 * time.Second)
		second, err := send("b")
		testserver.Must(t, err)
		if second == first {
			t.Error("kept beyond 24 hours")
		}
		time.Sleep(25 * time.Hour)
		testserver.Must(t, w.Services.Jobs.Purge(t.Context()))
		w.Read(func(r *db.Reader) error {
			if _, _, err := r.IdempotentAnswer(db.IdempotencyKey{TeamID: w.Key.TeamID, Route: mail.RouteEmails, Key: "k"}, time.Time{}); !errors.Is(err, db.ErrNotFound) {
				t.Errorf("the row is still there: %v", err)
			}
			return nil
		})
	})
}

func TestDrainingServerAcceptsNothing(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	w.Services.Drain()
	_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.Message("bob@example.net"), mail.SendOptions{})
	testserver.WantCode(t, err, app.CodeServiceUnavailable)
	wantNothing(w)
}
