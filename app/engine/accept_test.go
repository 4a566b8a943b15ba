package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/relays"
	"mailer/db"
)

func TestAcceptingWritesEverythingOrNothing(t *testing.T) {
	w := idle(t, newRelay(nil))
	claim := &idempotencyClaim{owner: &inflight{}, team: w.key.TeamID, route: routeEmails, key: "k", hash: [32]byte{1}}
	boom := errors.New("boom")
	email, err := newEmail(w.key, letter("bob@example.net"))
	must(t, err)
	write := func(tx *db.Tx) error { return errors.Join(w.e.accept(tx, email), claim.keep(tx, email.ID)) }
	err = w.db.Write(t.Context(), func(tx *db.Tx) error { return errors.Join(write(tx), boom) })
	if !errors.Is(err, boom) {
		t.Fatal(err)
	}
	w.wantNothing()
	w.read(func(r *db.Reader) error {
		if _, _, err := r.IdempotentAnswer(w.key.TeamID, routeEmails, "k", time.Time{}); !errors.Is(err, db.ErrNotFound) {
			t.Errorf("an answer was kept: %v", err)
		}
		return nil
	})
	must(t, w.db.Write(t.Context(), write))
	if w.unit(email.ID) == nil {
		t.Error("no unit")
	}
	w.wantLast(email.ID, app.Queued)
	w.read(func(r *db.Reader) error {
		_, answer, err := r.IdempotentAnswer(w.key.TeamID, routeEmails, "k", time.Time{})
		if answer != email.ID {
			t.Errorf("the answer kept is %q", answer)
		}
		return err
	})
}

// wantNothing checks that no email and no unit is there.
func (w *world) wantNothing() {
	w.t.Helper()
	emails, _, err := w.e.ListEmails(w.t.Context(), w.key, app.Page{Limit: 100})
	must(w.t, err)
	w.read(func(r *db.Reader) error {
		relays, err := r.UnitRelays()
		if len(emails) != 0 || len(relays) != 0 {
			w.t.Errorf("%d emails, units at %v after a refusal", len(emails), relays)
		}
		return err
	})
}

func TestAnAcceptedEmailReadsBackAsItWasSent(t *testing.T) {
	w := idle(t, newRelay(nil))
	in := letter("Bob <bob@example.net>", "BOB@example.NET")
	in.Cc, in.Bcc, in.ReplyTo = []string{"cc@example.net", "bob@Example.net"}, []string{"secret@example.net"}, []string{"r@example.org"}
	in.HTML = "<p>Grüße</p>"
	in.Headers = map[string]string{"X-B": "2", "X-A": "1"}
	in.Tags = []app.Tag{{Name: "a", Value: "b"}}
	in.Attachments = []app.Attachment{{Filename: "1.txt", Content: []byte("one")}, {Filename: "2.bin", Content: []byte{0, 1, 2}}}
	id, err := w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
	must(t, err)
	w.read(func(r *db.Reader) error {
		open, err := r.OpenRecipients(app.Unit{EmailID: id})
		if !slices.Equal(open, []string{"bob@example.net", "cc@example.net", "secret@example.net"}) {
			t.Errorf("envelope %q", open)
		}
		return err
	})
	e := w.email(id)
	want, err := in.Validate()
	must(t, err)
	got := e.Mail
	for i := range got.Attachments {
		a, err := w.e.attachment(t.Context(), w.key.TeamID, id, got.Attachments[i].ID, true)
		must(t, err)
		want.Attachments[i].ID, got.Attachments[i].Content = a.ID, a.Content
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", *want) {
		t.Errorf("read back\n%+v\nsent\n%+v", got, *want)
	}
	if e.MessageID != id+"@example.com" || e.KeyID != w.key.ID || e.LastEvent != app.Queued || e.Relay != app.DefaultRegion {
		t.Errorf("email %+v", e)
	}
}

func TestRefusedSendsLeaveNothing(t *testing.T) {
	w := idle(t, newRelay(nil))
	w.addDomain(w.key.TeamID, "pending.example", app.DefaultRegion, app.DomainPending)
	w.addTeam("Other", "other.example")
	from := func(address string) *app.EmailInput {
		in := letter("bob@example.net")
		in.From = address
		return in
	}
	big := letter("bob@example.net")
	big.Attachments = []app.Attachment{{Filename: "a", Content: make([]byte, 26<<20)}}
	scoped := *w.key
	scoped.Permission, scoped.DomainName = app.SendingAccess, "elsewhere.example"
	for name, c := range map[string]struct {
		key  *app.Key
		in   *app.EmailInput
		code app.Code
		word string
	}{
		"shape":             {w.key, letter(), app.CodeValidation, "`to`"},
		"unknown domain":    {w.key, from("x@nowhere.example"), app.CodeValidation, "nowhere.example"},
		"unverified domain": {w.key, from("x@pending.example"), app.CodeValidation, "pending"},
		"foreign domain":    {w.key, from("x@other.example"), app.CodeValidation, "not added"},
		"subdomain":         {w.key, from("x@sub.example.com"), app.CodeValidation, "sub.example.com"},
		"key's domain":      {&scoped, letter("bob@example.net"), app.CodeRestrictedAPIKey, "elsewhere.example"},
		"attachments":       {w.key, big, app.CodePayloadTooLarge, "attachments"},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the second call shows that the first left its key free
				_, err := w.e.SendEmail(t.Context(), c.key, c.in, SendOptions{IdempotencyKey: name, Payload: []byte("x")})
				wantCode(t, err, c.code)
				if err != nil && !strings.Contains(err.Error(), c.word) {
					t.Errorf("%v does not say %q", err, c.word)
				}
			}
			w.wantNothing()
			if _, err := w.e.SendEmail(t.Context(), w.key, from("x@pending.example"), SendOptions{IdempotencyKey: name, Payload: []byte("y")}); app.CodeOf(err) != app.CodeValidation {
				t.Errorf("another payload after a refusal: %v", err)
			}
		})
	}
}

func TestTheChecksOfASendComeInOrder(t *testing.T) {
	w := idle(t, newRelay(nil))
	scoped := *w.key
	scoped.Permission, scoped.DomainName = app.SendingAccess, testDomain
	opts := SendOptions{IdempotencyKey: "k", Payload: []byte("first")}
	_, err := w.e.SendEmail(t.Context(), &scoped, letter("bob@example.net"), opts)
	must(t, err)
	opts.Payload = []byte("second")
	in := letter()
	in.From = "x@nowhere.example"
	in.Attachments = []app.Attachment{{Filename: "a", Content: make([]byte, 26<<20)}}
	step := func(want app.Code) {
		t.Helper()
		_, err := w.e.SendEmail(t.Context(), &scoped, in, opts)
		wantCode(t, err, want)
	}
	step(app.CodeValidation) // no recipient
	in.To = []string{"bob@example.net"}
	step(app.CodeRestrictedAPIKey)
	scoped.DomainName = ""
	step(app.CodeInvalidIdempotent)
	opts.IdempotencyKey = "other"
	step(app.CodeValidation) // unknown domain, before the size of the attachments
	in.From = "x@" + testDomain
	step(app.CodePayloadTooLarge)
	in.Attachments[0].Content = in.Attachments[0].Content[:25<<20]
	_, err = w.e.SendEmail(t.Context(), &scoped, in, opts)
	must(t, err)
}

func TestCaptureTakesMailOfAnyDomain(t *testing.T) {
	w := idle(t)
	relay := newRelayOf(relays.Relay{Region: app.CaptureRegion}, nil)
	w.stop()
	w.relays, w.cfg.Capture = []*fakeRelay{relay}, true
	w.open()
	must(t, w.e.Start(t.Context()))
	defer stopNow(w.e)
	in := letter("bob@example.net")
	in.From = "x@nowhere.example"
	id, err := w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
	must(t, err)
	if got := w.email(id).Relay; got != app.CaptureRegion {
		t.Errorf("relay %q", got)
	}
	// A command beside the server goes by the server's transport.
	cfg := w.cfg
	cfg.Routes, cfg.Capture = nil, false
	cli, err := New(t.Context(), cfg)
	must(t, err)
	_, err = cli.SendEmail(t.Context(), w.key, in, SendOptions{})
	must(t, err)
}

func TestTheSameKeyAndPayloadGivesTheSameId(t *testing.T) {
	w := idle(t, newRelay(nil))
	send := func(key *app.Key, k, payload string) (string, error) {
		in := letter("bob@example.net")
		if key != w.key {
			in.From = "x@other.example"
		}
		return w.e.SendEmail(t.Context(), key, in, SendOptions{IdempotencyKey: k, Payload: []byte(payload)})
	}
	first, err := send(w.key, "k", "a")
	must(t, err)
	again, err := send(w.key, "k", "a")
	must(t, err)
	if first != again {
		t.Errorf("ids %s and %s", first, again)
	}
	_, err = send(w.key, "k", "b")
	wantCode(t, err, app.CodeInvalidIdempotent)
	other, err := send(w.addTeam("Other", "other.example"), "k", "b")
	must(t, err)
	if other == first {
		t.Error("another team got the answer of this one")
	}
	_, err = send(w.key, strings.Repeat("ü", 257), "a")
	wantCode(t, err, app.CodeInvalidIdempotencyKey)
	_, err = send(w.key, strings.Repeat("ü", 256), "a")
	must(t, err)
	emails, _, err := w.e.ListEmails(t.Context(), w.key, app.Page{Limit: 100})
	must(t, err)
	if len(emails) != 2 {
		t.Errorf("%d emails, want 2", len(emails))
	}
}

func TestFiftyParallelSendsWithOneKeyMakeOneEmail(t *testing.T) {
	w := idle(t, newRelay(nil))
	ids := make(chan string, 50)
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			<-begin
			id, err := w.e.SendEmail(t.Context(), w.key, letter("bob@example.net"), SendOptions{IdempotencyKey: "k", Payload: []byte("x")})
			if err != nil {
				wantCode(t, err, app.CodeConcurrentIdempotent)
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
	emails, _, err := w.e.ListEmails(t.Context(), w.key, app.Page{Limit: 100})
	must(t, err)
	if len(emails) != 1 || emails[0].ID != first {
		t.Errorf("%d emails", len(emails))
	}
}

func TestAnIdempotencyKeyEndsAfter24Hours(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		send := func(payload string) (string, error) {
			return w.e.SendEmail(t.Context(), w.key, letter("bob@example.net"), SendOptions{IdempotencyKey: "k", Payload: []byte(payload)})
		}
		first, err := send("a")
		must(t, err)
		time.Sleep(24*time.Hour - time.Second)
		must(t, w.e.purge(t.Context()))
		again, err := send("a")
		must(t, err)
		if again != first {
			t.Error("forgotten before 24 hours")
		}
		time.Sleep(2 * time.Second)
		second, err := send("b")
		must(t, err)
		if second == first {
			t.Error("kept beyond 24 hours")
		}
		time.Sleep(25 * time.Hour)
		must(t, w.e.purge(t.Context()))
		w.read(func(r *db.Reader) error {
			if _, _, err := r.IdempotentAnswer(w.key.TeamID, routeEmails, "k", time.Time{}); !errors.Is(err, db.ErrNotFound) {
				t.Errorf("the row is still there: %v", err)
			}
			return nil
		})
	})
}

func TestADrainingServerAcceptsNothing(t *testing.T) {
	w := idle(t, newRelay(nil))
	w.e.Drain()
	_, err := w.e.SendEmail(t.Context(), w.key, letter("bob@example.net"), SendOptions{})
	wantCode(t, err, app.CodeServiceUnavailable)
	w.wantNothing()
}
