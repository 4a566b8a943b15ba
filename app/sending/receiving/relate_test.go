package receiving_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/rules/mailauth"
	"mailer/app/rules/verdict"
	"mailer/app/sending/mail"
	"mailer/app/sending/receiving"
	"mailer/app/tenants/teams"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// TestReplyAddresses: mail gets one only if the team switched that on, its domain receives, and it has no reply_to. Mail
// to the address is tied to the email although it refers to nothing.
func TestReplyAddresses(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	f := newFixture(t)
	f.service.Check = func(context.Context, mailauth.Input) app.ReceivedAuth { return app.ReceivedAuth{DMARC: app.AuthPass} }
	on := true
	send := func(from string, replyTo ...string) *app.Email {
		t.Helper()
		in := testserver.Message("bob@example.net")
		in.From, in.ReplyTo = from, replyTo
		id, err := f.Services.Mail.SendEmail(t.Context(), f.Key, in, mail.SendOptions{})
		testserver.Must(t, err)
		email, err := f.Services.Mail.GetEmail(t.Context(), f.Key, id)
		testserver.Must(t, err)
		return email
	}
	if got := send("ann@one.test").ReplyTo; len(got) != 0 {
		t.Errorf("before it is switched on: %v", got)
	}
	_, err := f.Services.Teams.UpdateTeamSettings(t.Context(), f.Key, teams.SettingsChange{ReplyAddresses: &on})
	testserver.Must(t, err)
	if s, err := f.Services.Teams.TeamSettings(t.Context(), f.Key.TeamID); err != nil || !s.ReplyAddresses {
		t.Errorf("%+v, %v", s, err)
	}
	if got := send("ann@" + testserver.TestDomain).ReplyTo; len(got) != 0 {
		t.Errorf("from a domain that does not receive: %v", got)
	}
	if got := send("ann@one.test", "x@y.test").ReplyTo; len(got) != 1 || got[0].Mailbox() != "x@y.test" {
		t.Errorf("with a reply_to: %v", got)
	}
	email := send("ann@one.test")
	if len(email.ReplyTo) != 1 || !strings.HasPrefix(email.ReplyTo[0].Local, "reply+") || email.ReplyTo[0].Domain != "one.test" {
		t.Fatalf("%v", email.ReplyTo)
	}
	address := email.ReplyTo[0].Mailbox()
	copied, err := f.Services.Resends.ResendEmail(t.Context(), f.Key, email.ID, nil, mail.SendOptions{})
	testserver.Must(t, err)
	if again, err := f.Services.Mail.GetEmail(t.Context(), f.Key, copied); err != nil || len(again.ReplyTo) != 1 || again.ReplyTo[0].Mailbox() == address {
		t.Errorf("sent again: %v, %v", again.ReplyTo, err)
	}
	for i, tt := range []struct {
		from, to        string
		answers, proven bool
	}{
		{"bob@example.net", strings.ToUpper(address), true, true},
		{"eve@example.net", address, true, false},
		{"bob@example.net", "reply+abc@one.test", false, false},
		{"bob@example.net", strings.Replace(address, "one.test", "two.test", 1), false, false},
	} {
		testserver.Must(t, f.deliver(fmt.Sprintf("From: %s\r\nMessage-ID: <r%d@x.test>\r\n\r\nYes\r\n", tt.from, i), tt.to))
		team := btoi(strings.HasSuffix(tt.to, "two.test"))
		if got := f.received(team)[0]; (got.Answers == email.ID) != tt.answers || got.Proven != tt.proven {
			t.Errorf("from %s to %s: answers %q, proven %t", tt.from, tt.to, got.Answers, got.Proven)
		}
	}
}

// TestAnswersAreShown in the timeline and the verdict of an email, and in the history of its contact.
func TestAnswersAreShown(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	f := newFixture(t)
	contact := f.AddContact("bob@example.net", false)
	f.SQL("UPDATE contacts SET first_name = 'Bob'")
	id, err := f.Services.Mail.SendEmail(t.Context(), f.Key, testserver.Message("bob@example.net"), mail.SendOptions{})
	testserver.Must(t, err)
	answer := func(n int, header string, auth app.ReceivedAuth) {
		f.service.Check = func(context.Context, mailauth.Input) app.ReceivedAuth { return auth }
		testserver.Must(t, f.deliver(fmt.Sprintf("From: bob@example.net\r\nSubject: Re\r\n%sIn-Reply-To: <%s>\r\nMessage-ID: <s%d@x.test>\r\n\r\nYes\r\n", header, app.EmailMessageID(id, testserver.TestDomain), n), "ann@one.test"))
	}
	pass := app.ReceivedAuth{DMARC: app.AuthPass}
	answer(1, "", app.ReceivedAuth{})
	answer(2, "Auto-Submitted: auto-replied\r\n", pass)
	code := func() string {
		v, err := f.Services.Queue.Verdict(t.Context(), f.Key, id)
		testserver.Must(t, err)
		return string(v.Code)
	}
	if v := code(); v == "answered" {
		t.Error("a claim and an automatic reply are an answer")
	}
	f.SQL("UPDATE recipients SET state = 'sent'")
	f.SQL("INSERT INTO events (email_id, id, type, detail, created_at) SELECT email_id, ?, 'sent', '{}', created_at - 721000 FROM (SELECT answers AS email_id, created_at FROM received_emails ORDER BY id DESC LIMIT 1) AS a", app.NewID())
	answer(3, "", pass)
	if v := code(); v != "answered" {
		t.Errorf("%s, want answered", v)
	}
	events, _, err := f.Services.Mail.ListEvents(t.Context(), f.Key, id, app.Page{Limit: 100})
	testserver.Must(t, err)
	var kinds []string
	for _, ev := range events {
		if ev.Detail.ReceivedID != "" {
			kinds = append(kinds, string(ev.Type)+": "+ev.Detail.Message)
		}
	}
	if got, want := strings.Join(kinds, "\n"), "answered: Bob answered after 12 minutes\nauto_answered: An automatic reply of Bob arrived"; !strings.HasPrefix(got, want) || !strings.Contains(got, "answer_claimed: bob@example.net claims to answer") {
		t.Errorf("got\n%s", got)
	}
	testserver.Must(t, f.deliver("From: bob@example.net\r\nMessage-ID: <new@x.test>\r\n\r\nA question\r\n", "ann@one.test"))
	seen := 0
	for page, n := (app.Page{Limit: 2}), 0; n < 10; n++ {
		h, err := f.Services.Previews.ContactHistory(t.Context(), f.Key, contact.ID, page)
		testserver.Must(t, err)
		for _, m := range h.Mail {
			if seen++; (seen < 5) != m.Received || (seen == 5) != (m.ID == id) || m.Received && seen > 1 && (m.Answers != id || len(m.Events) != 1) {
				t.Errorf("line %d of the history: %+v", seen, m)
			}
		}
		if !h.More {
			break
		}
		page.After = h.SearchedTo
	}
	if seen != 5 {
		t.Errorf("%d lines in the history, want 5", seen)
	}
}

// TestAnswerToBroadcast is tied to the recipient's mail, by its Message-ID and by its reply address, and names the broadcast.
func TestAnswerToBroadcast(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		service := w.Services.Receiving
		service.DiskFree = func() (free, size int64, err error) { return 100 << 30, 200 << 30, nil }
		service.Check = func(context.Context, mailauth.Input) app.ReceivedAuth { return app.ReceivedAuth{DMARC: app.AuthPass} }
		var payloads []string
		service.OnSignal = func(_ *db.Tx, s app.Signal) error {
			payloads = append(payloads, string(s.Payload))
			return nil
		}
		w.SQL("UPDATE domains SET receiving = 1, receives = 1, receives_at = ?", clock.Now().UnixMilli())
		on := true
		_, err := w.Services.Teams.UpdateTeamSettings(t.Context(), w.Key, teams.SettingsChange{ReplyAddresses: &on})
		testserver.Must(t, err)
		bob := w.AddContact("bob@example.net", false)
		eve := w.AddContact("eve@example.net", false)
		b := w.SendNewsletter("<p>Hello</p>", nil)
		time.Sleep(time.Minute)
		id := w.EmailIDTo(b, "bob@example.net")
		email, err := w.Services.Mail.GetEmail(t.Context(), w.Key, id)
		testserver.Must(t, err)
		if len(email.ReplyTo) != 1 || !app.IsReplyAddress(email.ReplyTo[0].Mailbox()) {
			t.Fatalf("Reply-To %v", email.ReplyTo)
		}
		for i, m := range []struct{ to, header string }{
			{"ann@" + testserver.TestDomain, "References: <x@y.test> <" + email.MessageID + ">\r\n"},
			{email.ReplyTo[0].Mailbox(), ""},
		} {
			text := fmt.Sprintf("From: bob@example.net\r\n%sMessage-ID: <b%d@x.test>\r\n\r\nYes\r\n", m.header, i)
			target, err := service.Recipient(t.Context(), m.to)
			testserver.Must(t, err)
			testserver.Must(t, service.Take(t.Context(), receiving.Delivery{MailFrom: "bob@example.net", RemoteIP: netip.MustParseAddr("192.0.2.7"), To: []receiving.Target{target}, Raw: strings.NewReader(text), Size: int64(len(text))}))
			if len(payloads) != i+1 || !strings.Contains(payloads[i], id) || !strings.Contains(payloads[i], b.ID) {
				t.Errorf("to %s: %q", m.to, payloads)
			}
		}
		if v, err := w.Services.Queue.Verdict(t.Context(), w.Key, id); err != nil || v.Code != verdict.Answered {
			t.Errorf("%+v, %v", v, err)
		}
		for op, value := range map[string]string{app.OpWithinDays: "1", app.OpInBroadcast: b.ID, app.OpIsFalse: ""} {
			filter := testserver.FilterOn(app.FieldReplied, op, value)
			for _, c := range []*app.Contact{bob, eve} {
				picks, err := db.Get(t.Context(), w.DB, func(r *db.Reader) (bool, error) {
					stored, err := r.Contact(w.Key.TeamID, c.ID)
					if err != nil {
						return false, err
					}
					return r.Picks(filter, &stored)
				})
				if want := (c == bob) == (op != app.OpIsFalse); err != nil || picks != want {
					t.Errorf("replied %s picks %s: %t, %v", op, c.Email, picks, err)
				}
			}
		}
	})
}
