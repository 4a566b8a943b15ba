package mailroutes_test

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/rules/erase"
	"mailer/app/rules/feedback"
	"mailer/app/rules/mailauth"
	"mailer/app/rules/webhook"
	"mailer/app/sending/mailroutes"
	"mailer/app/sending/receiving"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// fixture is a server whose first team receives for example.com, and the second for two.test.
type fixture struct {
	*testserver.Server
	relay   *testserver.FakeRelay
	service *mailroutes.Service
	second  *app.Key
	auth    app.ReceivedAuth
	from    string // envelope sender
	n       int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	relay := testserver.NewRelay(nil)
	w := testserver.New(t, relay)
	f := &fixture{Server: w, relay: relay, service: w.Services.MailRoutes, second: w.AddTeam("Second", "two.test"), from: "bob@example.net",
		auth: app.ReceivedAuth{SPF: app.AuthPass, DKIM: app.AuthPass, DMARC: app.AuthPass, FromAligned: true}}
	w.SQL("UPDATE domains SET receiving = 1, receives = 1, receives_at = ?", clock.Now().UnixMilli())
	f.prepare()
	w.Start()
	return f
}

// prepare makes the services receive.
func (f *fixture) prepare() {
	f.Services.Receiving.DiskFree = func() (free, size int64, err error) { return 100 << 30, 200 << 30, nil }
	f.Services.Receiving.Check = func(context.Context, mailauth.Input) app.ReceivedAuth { return f.auth }
	f.service = f.Services.MailRoutes
}

// message returns a message with an own Message-ID. head are more fields.
func (f *fixture) message(head string) string {
	f.n++
	return fmt.Sprintf("From: Bob Öz <bob@example.net>\r\nSubject: hello\r\nMessage-ID: <m%d@example.net>\r\n%s\r\nHello\r\n", f.n, head)
}

// deliver takes a message, and waits until its work is done.
func (f *fixture) deliver(text string, to ...string) {
	f.T.Helper()
	in := receiving.Delivery{RemoteIP: netip.MustParseAddr("192.0.2.7"), Helo: "peer.test", MailFrom: f.from, Raw: strings.NewReader(text), Size: int64(len(text))}
	for _, address := range to {
		target, err := f.Services.Receiving.Recipient(f.T.Context(), address)
		testserver.Must(f.T, err)
		in.To = append(in.To, target)
	}
	testserver.Must(f.T, f.Services.Receiving.Take(f.T.Context(), in))
	synctest.Wait()
	testserver.Sleep(time.Second)
	synctest.Wait()
}

// route creates a route of the first team.
func (f *fixture) route(match string, actions ...app.RouteAction) app.MailRoute {
	f.T.Helper()
	m, err := f.service.Create(f.T.Context(), f.Key, app.MailRouteInput{Match: match, Actions: actions})
	testserver.Must(f.T, err)
	synctest.Wait()
	return m
}

func to(address string) app.RouteAction { return app.RouteAction{Type: app.RouteForward, To: address} }

var (
	webhookAction = app.RouteAction{Type: app.RouteWebhook}
	dropAction    = app.RouteAction{Type: app.RouteDrop}
)

var links = regexp.MustCompile(`https://mail\.example\.com/forwarding/([\w-]+)`)

// sentTo returns the messages that the relay got for an address, oldest first.
func (f *fixture) sentTo(address string) (all []app.Outgoing) {
	f.T.Helper()
	for _, id := range f.SQL("SELECT e.id FROM emails AS e JOIN recipients AS r ON r.email_id = e.id WHERE r.address = ? ORDER BY e.id", address) {
		for _, transaction := range f.relay.Transactions(id) {
			all = append(all, transaction.Message)
		}
	}
	return all
}

// tokenIn returns the token of the link in a message.
func (f *fixture) tokenIn(m app.Outgoing) string {
	f.T.Helper()
	found := links.FindStringSubmatch(m.Mail.Text)
	if found == nil {
		f.T.Fatalf("no link in %q", m.Mail.Text)
	}
	return found[1]
}

// agree presses the button in the mail that asks an address.
func (f *fixture) agree(address string) (token string) {
	f.T.Helper()
	testserver.Sleep(time.Second)
	synctest.Wait()
	sent := f.sentTo(address)
	if len(sent) != 1 {
		f.T.Fatalf("%d mails to %s", len(sent), address)
	}
	token = f.tokenIn(sent[0])
	_, err := f.service.Decide(f.T.Context(), token, true)
	testserver.Must(f.T, err)
	return token
}

// effects returns the effects of received emails, oldest first.
func (f *fixture) effects() (out string) {
	f.T.Helper()
	rows, _, err := f.Services.Receiving.List(f.T.Context(), f.Key, app.Page{Limit: 100})
	testserver.Must(f.T, err)
	for i := len(rows) - 1; i >= 0; i-- {
		for _, e := range rows[i].Effects {
			out += string(e.Status) + ": " + e.Reason + "\n"
			if (e.Status == app.EffectAccepted) != (e.EmailID != "") {
				f.T.Errorf("%+v", e)
			}
		}
	}
	return out
}

func TestActionsOfSeveralRecipientsAreUnited(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		f := newFixture(t)
		for _, key := range []*app.Key{f.Key, f.second} {
			_, err := f.Services.Webhooks.CreateWebhook(t.Context(), key, webhook.Input{Endpoint: "https://in.example.com", Events: []webhook.EventName{webhook.EmailReceived}})
			testserver.Must(t, err)
		}
		f.route("drop@example.com", dropAction)
		f.route("quiet@example.com", to("ann@example.org"))
		f.route("loud@example.com", webhookAction)
		for _, tt := range []struct {
			to             string
			stored, events int
		}{
			{"drop@example.com", 0, 0}, {"quiet@example.com", 1, 0}, {"loud@example.com", 1, 1}, {"other@example.com", 1, 1},
			{"drop@example.com quiet@example.com", 1, 0}, {"drop@example.com loud@example.com", 1, 1}, {"quiet@example.com drop@example.com other@example.com", 1, 1},
			{"drop@example.com drop@two.test", 1, 1}, // routes of another team do nothing
		} {
			f.SQL("DELETE FROM received_emails")
			f.SQL("DELETE FROM webhook_events")
			f.deliver(f.message(""), strings.Fields(tt.to)...)
			events := f.SQL("SELECT id FROM webhook_events WHERE type = 'email.received'")
			if got := f.Count("received_emails"); got != fmt.Sprint(tt.stored) || len(events) != tt.events {
				t.Errorf("%s: %s stored, %d events", tt.to, got, len(events))
			}
		}
	})
}

func TestForwardedMail(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		f := newFixture(t)
		m := f.route("Support@example.com", webhookAction, to("Ann@EXAMPLE.org"))
		if len(m.Destinations) != 1 || m.Destinations[0].Status() != app.ForwardWaiting || m.Match != "support@example.com" || m.Actions[1].To != "ann@example.org" {
			t.Fatalf("%+v", m)
		}
		f.deliver(f.message(""), "support@example.com")
		f.agree("ann@example.org")
		body := "From: \"Bob @ Evil\" <bob@example.net>\r\nReply-To: desk@example.net\r\nMessage-ID: <x1@example.net>\r\nSubject: Your invoice\r\nReferences: <a@example.net>\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" +
			"--b\r\nContent-Type: text/html\r\n\r\n<html><body><p>Hi {{{UNSUBSCRIBE_URL}}} <img src=\"cid:pic\"></p></body></html>\r\n" +
			"--b\r\nContent-Type: image/png; name=\"../p.png\"\r\nContent-ID: <pic>\r\nContent-Disposition: inline; filename=\"../p.png\"\r\n\r\nPNG\r\n" +
			"--b\r\nContent-Type: message/rfc822\r\nContent-Disposition: attachment\r\n\r\nSubject: inner\r\n\r\nx\r\n--b--\r\n"
		f.deliver(body, "support@example.com")
		sent := f.sentTo("ann@example.org")
		if got := f.effects(); got != "skipped: The owner of the address has not agreed\naccepted: \n" || len(sent) != 2 {
			t.Fatalf("%s%d mails", got, len(sent))
		}
		got := sent[1]
		if from := got.Mail.From.String(); from != "Bob Evil via example.com <support@example.com>" {
			t.Errorf("from %s", from)
		}
		if len(got.Mail.ReplyTo) != 1 || got.Mail.ReplyTo[0].Mailbox() != "desk@example.net" || got.Mail.Subject != "Your invoice" || !strings.HasSuffix(got.EnvelopeFrom, "example.com") || strings.Contains(got.EnvelopeFrom, "bob") {
			t.Errorf("%+v", got)
		}
		if !strings.Contains(got.Mail.HTML, `cid:pic`) || strings.Contains(got.Mail.HTML, "{{{") || !strings.Contains(got.Mail.HTML, "/forwarding/") || strings.Index(got.Mail.HTML, "/forwarding/") > strings.Index(got.Mail.HTML, "</body>") {
			t.Errorf("HTML %s", got.Mail.HTML)
		}
		headers := fmt.Sprint(got.Mail.Headers)
		if !strings.Contains(headers, "{X-Mailer-Forwarded 1}") || !strings.Contains(headers, "{References <a@example.net> <x1@example.net>}") || strings.Contains(headers, "Auto-Submitted") {
			t.Errorf("headers %s", headers)
		}
		if len(got.Mail.Attachments) != 2 || got.Mail.Attachments[0].ContentID != "pic" || strings.ContainsAny(got.Mail.Attachments[0].Filename, "/") || string(got.Mail.Attachments[0].Content) != "PNG" {
			t.Errorf("files %+v", got.Mail.Attachments)
		}
		// The same Message-ID is forwarded once, also by way of another address.
		f.route("info@example.com", to("ann@example.org"))
		f.deliver(body+"more\r\n", "info@example.com")
		if len(f.sentTo("ann@example.org")) != 2 {
			t.Error("forwarded twice")
		}
		// The link in it stops it, and can't start it again.
		token := f.tokenIn(got)
		if v, err := f.service.Page(t.Context(), token); err != nil || v.MayAgree || v.Status != app.ForwardAgreed || v.Address != "ann@example.org" {
			t.Errorf("%+v, %v", v, err)
		}
		_, err := f.service.Decide(t.Context(), token, true)
		testserver.WantCode(t, err, app.CodeNotFound)
		v, err := f.service.Decide(t.Context(), token, false)
		if err != nil || v.Status != app.ForwardStopped {
			t.Errorf("%+v, %v", v, err)
		}
		f.deliver(f.message(""), "support@example.com")
		if got := f.effects(); len(f.sentTo("ann@example.org")) != 2 || !strings.HasSuffix(got, "skipped: The owner of the address stopped it\n") {
			t.Error(got)
		}
		if m, err := f.service.Update(t.Context(), f.Key, m.ID, app.MailRoutePatch{Actions: m.Actions}); err != nil || m.Destinations[0].Status() != app.ForwardStopped {
			t.Errorf("the team started it again: %+v, %v", m, err)
		}
		for _, bad := range []string{"", "x", token + "x", token[:len(token)-1]} {
			_, err := f.service.Page(t.Context(), bad)
			testserver.WantCode(t, err, app.CodeNotFound)
		}
	})
}

// TestTeamNeverSeesLinkThatAgrees: else a team could agree in the name of a stranger.
func TestTeamNeverSeesLinkThatAgrees(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		f := newFixture(t)
		f.route("+x", to("ann@example.org"))
		testserver.Sleep(time.Second)
		token := f.tokenIn(f.sentTo("ann@example.org")[0])
		for _, id := range f.SQL("SELECT id FROM emails") {
			email := f.Email(id)
			if strings.Contains(email.Text+email.HTML, "/forwarding/") {
				t.Errorf("the team sees %q", email.Text)
			}
		}
		for _, column := range f.Traces(token) {
			t.Errorf("the token is in %s", column)
		}
	})
}

func TestWhatIsNotForwarded(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		f := newFixture(t)
		f.route("in@example.com", to("ann@example.org"))
		f.agree("ann@example.org")
		want := ""
		for _, tt := range []struct {
			auth app.ReceivedAuth
			head string
			want string
		}{
			{app.ReceivedAuth{DMARC: app.AuthPass}, "", "accepted: "},
			{app.ReceivedAuth{DMARC: app.AuthNone}, "", "accepted: "},
			{app.ReceivedAuth{DMARC: app.AuthFail}, "", "skipped: DMARC failed: it may be a forgery"},
			{app.ReceivedAuth{DMARC: app.AuthFail, FromAligned: true}, "", "skipped: DMARC failed: it may be a forgery"},
			{app.ReceivedAuth{DMARC: app.AuthTempError}, "", "skipped: DMARC could not be checked: it may be a forgery"},
			{app.ReceivedAuth{DMARC: app.AuthPermError}, "", "skipped: DMARC could not be checked: it may be a forgery"},
			{app.ReceivedAuth{DMARC: app.AuthPermError, FromAligned: true}, "", "accepted: "},
			{app.ReceivedAuth{DMARC: app.AuthPass}, "x-mailer-forwarded: 7\r\n", "skipped: It was forwarded before"},
			{app.ReceivedAuth{DMARC: app.AuthPass}, strings.Repeat("Received: from a by b\r\n", 60), "skipped: It passed too many servers: it may be in a loop"},
			{app.ReceivedAuth{DMARC: app.AuthPass}, "Auto-Submitted: auto-replied\r\n", "accepted: "},
		} {
			f.auth = tt.auth
			f.deliver(f.message(tt.head), "in@example.com")
			want += tt.want + "\n"
		}
		if got := f.effects(); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		f.from = "Ann@EXAMPLE.org" // its own vacation responder does not see its answers again and again
		f.deliver(f.message("Auto-Submitted: auto-replied\r\n"), "in@example.com")
		if got := f.effects(); got != want+"skipped: A program answered from the address itself\n" {
			t.Error(got)
		}
		sent := f.sentTo("ann@example.org")
		if last := fmt.Sprint(sent[len(sent)-1].Mail.Headers); !strings.Contains(last, "{Auto-Submitted auto-replied}") {
			t.Error(last)
		}
	})
}

// TestRefusalsOfForwardedMail pause its destination, and harm neither the team's rates nor other mail to the address.
func TestRefusalsOfForwardedMail(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		f := newFixture(t)
		m := f.route("in@example.com", to("ann@example.org"))
		f.agree("ann@example.org")
		before := f.TeamOutcome()
		f.AddWebhook("hooks.test", webhook.RouteDestinationPaused)
		f.relay.SetScript(func(m *app.Outgoing, _ int) testserver.Answer {
			if strings.HasPrefix(m.Mail.Subject, "hello") {
				return testserver.ReplyPerRecipient(map[string]int{"ann@example.org": 550})
			}
			return nil
		})
		for range 3 {
			f.deliver(f.message(""), "in@example.com")
		}
		f.relay.SetScript(nil)
		for range 2 { // the relay accepts, and reports a refusal and a complaint later
			f.deliver(f.message(""), "in@example.com")
			sent := f.sentTo("ann@example.org")
			report := testserver.HardBounce(sent[len(sent)-1].EmailID, "ann@example.org", "5.1.1")
			if f.n%2 == 0 {
				report = feedback.Report{EmailID: sent[len(sent)-1].EmailID, Recipient: "ann@example.org", Kind: feedback.Complained}
			}
			f.Report(report)
		}
		f.deliver(f.message(""), "in@example.com")
		if got := f.effects(); !strings.HasSuffix(got, "accepted: \nskipped: The address is paused: it refused 5 emails in a row\n") {
			t.Error(got)
		}
		if events := f.SQL("SELECT payload FROM webhook_events WHERE type = 'route.destination_paused'"); len(events) != 1 || !strings.Contains(events[0], `"destination":"ann@example.org","refusals":5,"route_ids":["`+m.ID+`"],"result":"`) {
			t.Errorf("events: %q", events)
		}
		if after := f.TeamOutcome(); after != before || f.Count("suppressions") != "0" {
			t.Errorf("rates %+v, before %+v, %s suppressions", after, before, f.Count("suppressions"))
		}
		if got, err := f.service.Get(t.Context(), f.Key, m.ID); err != nil || got.Destinations[0].Status() != app.ForwardPaused {
			t.Errorf("%+v, %v", got, err)
		}
		if m, err := f.service.Update(t.Context(), f.Key, m.ID, app.MailRoutePatch{Actions: m.Actions}); err != nil || m.Destinations[0].Status() != app.ForwardAgreed {
			t.Errorf("resumed: %+v, %v", m, err)
		}
		f.deliver(f.message(""), "in@example.com")
		if got := f.effects(); !strings.HasSuffix(got, "accepted: \n") {
			t.Error(got)
		}
	})
}

// TestCrashForwardsOnce: the process ends after the email was stored, and after it was forwarded.
func TestCrashForwardsOnce(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		f := newFixture(t)
		f.route("in@example.com", to("ann@example.org"))
		f.agree("ann@example.org")
		target, err := f.Services.Receiving.Recipient(t.Context(), "in@example.com")
		testserver.Must(t, err)
		text := f.message("")
		f.Services.StopClaiming() // the dispatcher does nothing
		synctest.Wait()
		testserver.Must(t, f.Services.Receiving.Take(t.Context(), receiving.Delivery{To: []receiving.Target{target}, RemoteIP: netip.MustParseAddr("192.0.2.7"), Raw: strings.NewReader(text), Size: int64(len(text))}))
		for range 2 {
			relay := testserver.NewRelay(nil)
			f.Server = f.Crash(relay)
			f.prepare()
			f.Start()
			testserver.Sleep(5 * time.Second)
			synctest.Wait()
			if n := f.SQL("SELECT count(*) FROM emails WHERE forward_id IS NOT NULL"); n[0] != "1" {
				t.Fatalf("%s mails", n[0])
			}
			if got := f.effects(); got != "accepted: \n" {
				t.Error(got)
			}
		}
	})
}

func TestAnswers(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		f := newFixture(t)
		template := f.PublishTemplate(f.Key, "thanks", app.TemplateContent{Subject: "We got it", HTML: "<p>Dear {{{FIRST_NAME|friend}}} of {{{CITY}}}</p>",
			Variables: []app.TemplateVariable{{Key: "CITY", Type: app.StringProperty}}})
		answer := app.RouteAction{Type: app.RouteReply, TemplateID: template.ID}
		m := f.route("in@example.com", answer)
		c := f.AddContact("bob@example.net", false)
		f.SQL("UPDATE contacts SET first_name = 'Bob' WHERE id = ?", c.ID)
		text := f.message("")
		f.deliver(text, "in@example.com")
		sent := f.sentTo("bob@example.net")
		if len(sent) != 1 || f.effects() != "accepted: \n" {
			t.Fatalf("%d answers, %s", len(sent), f.effects())
		}
		headers := fmt.Sprint(sent[0].Mail.Headers)
		if !strings.Contains(headers, "{Auto-Submitted auto-replied}") || !strings.Contains(headers, "{In-Reply-To <m1@example.net>}") || strings.Contains(sent[0].Mail.HTML+sent[0].Mail.Text, "Hello") ||
			!strings.Contains(sent[0].Mail.HTML, "Dear Bob of") || sent[0].Mail.From.Mailbox() != "in@example.com" {
			t.Errorf("%s, %+v", headers, sent[0].Mail)
		}
		want := "accepted: \n"
		pass := f.auth
		for _, tt := range []struct {
			from, author, head string
			auth               app.ReceivedAuth
			want               string
		}{
			{"bob@example.net", "bob@example.net", "", pass, "skipped: The address got an answer of the route in the last 7 days"},
			{"", "eve@example.net", "", pass, "skipped: It has no sender to answer"},
			{"eve@example.net", "eve@example.net", "", app.ReceivedAuth{DMARC: app.AuthNone, SPF: app.AuthPass, FromAligned: true}, "skipped: Its sender is not proven by DMARC"},
			{"eve@example.net", "eve@example.net", "Auto-Submitted: auto-replied\r\n", pass, "skipped: A program or a mailing list sent it"},
			{"eve@example.net", "eve@example.net", "Precedence: bulk\r\n", pass, "skipped: A program or a mailing list sent it"},
			{"eve@example.net", "eve@example.net", "List-Id: <a.b>\r\n", pass, "skipped: A program or a mailing list sent it"},
			{"eve@example.net", "eve@example.net", "X-Mailer-Forwarded: 1\r\n", pass, "skipped: It was forwarded"},
			{"victim@example.org", "eve@example.net", "", pass, "skipped: Its envelope sender is not proven"},
			{"victim@example.net", "eve@example.net", "", app.ReceivedAuth{DMARC: app.AuthPass, SPF: app.AuthFail, FromAligned: true}, "skipped: Its envelope sender is not proven"},
			{"ann@example.com", "ann@example.com", "", pass, "skipped: It came from an own address"},
			{"no@example.net", "no@example.net", "", pass, "skipped: All recipients are suppressed"},
			{"eve@example.net", "eve@example.net", "", pass, "accepted: "},
		} {
			if tt.from == "no@example.net" {
				_, err := f.Services.Suppressions.AddSuppression(t.Context(), f.Key, app.SuppressionInput{Email: tt.from})
				testserver.Must(t, err)
			}
			f.from, f.auth = tt.from, tt.auth
			f.deliver(strings.Replace(f.message(tt.head), "bob@example.net", tt.author, 1), "in@example.com")
			want += tt.want + "\n"
		}
		if got := f.effects(); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		if _, err := f.Services.Templates.DeleteTemplate(t.Context(), f.Key, template.ID); app.CodeOf(err) != app.CodeConflict {
			t.Errorf("a template that a route uses was deleted: %v", err)
		}
		// At most 100 answers of a route in a day.
		f.auth = pass
		effects := make([][]byte, 100)
		testserver.Must(t, f.DB.Write(t.Context(), func(tx *db.Tx) error {
			for i := range effects {
				w := &db.RouteWork{TeamID: f.Key.TeamID, Effect: []byte{byte(i)}, CreatedAt: tx.Now, ReceivedID: app.NewID()}
				if err := tx.InsertRouteWork(w, m.ID, tx.Now); err != nil {
					return err
				}
			}
			return nil
		}))
		f.from = "late@example.net"
		f.deliver(strings.Replace(f.message(""), "bob@", "late@", 1), "in@example.com")
		if got := f.effects(); !strings.HasSuffix(got, "skipped: The route has sent 100 answers in 24 hours\n") {
			t.Error(got)
		}
	})
}

func TestRoutesKeepTheirOrder(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	w := testserver.New(t)
	s := w.Services.MailRoutes
	ids := map[string]string{}
	put := func(name string, at int) {
		m, err := s.Create(t.Context(), w.Key, app.MailRouteInput{Match: "+" + name, Actions: []app.RouteAction{dropAction}, Position: at})
		testserver.Must(t, err)
		ids[name] = m.ID
	}
	want := func(want string) {
		t.Helper()
		rows, _, err := s.List(t.Context(), w.Key, app.Page{Limit: 100})
		testserver.Must(t, err)
		got := ""
		for i := range rows {
			got += rows[i].Match[1:]
			if rows[i].Position != i+1 {
				t.Errorf("%s has position %d", rows[i].Match, rows[i].Position)
			}
		}
		if got != want {
			t.Errorf("order %s, want %s", got, want)
		}
	}
	put("a", 0)
	put("b", 0)
	put("c", 1)
	put("d", 3)
	want("cadb")
	_, err := s.Update(t.Context(), w.Key, ids["c"], app.MailRoutePatch{Position: 4})
	testserver.Must(t, err)
	want("adbc")
	_, err = s.Update(t.Context(), w.Key, ids["b"], app.MailRoutePatch{Position: 1, Match: "+e"})
	testserver.Must(t, err)
	want("eadc")
	testserver.Must(t, s.Delete(t.Context(), w.Key, ids["a"]))
	want("edc")
	for _, at := range []int{-1, 5} {
		_, err := s.Create(t.Context(), w.Key, app.MailRouteInput{Match: "+z", Actions: []app.RouteAction{dropAction}, Position: at})
		testserver.WantCode(t, err, app.CodeValidation)
	}
	_, err = s.Update(t.Context(), w.Key, ids["d"], app.MailRoutePatch{Position: 4})
	testserver.WantCode(t, err, app.CodeValidation)
	other := w.AddTeam("Second", "two.test")
	for _, err := range []error{s.Delete(t.Context(), other, ids["d"]), second(s.Get(t.Context(), other, ids["d"])), second(s.Update(t.Context(), other, ids["d"], app.MailRoutePatch{Match: "+q"}))} {
		testserver.WantCode(t, err, app.CodeNotFound)
	}
	want("edc")
}

func second(_ app.MailRoute, err error) error { return err }

// TestNobodyIsAskedOften: a team can't use the mail that asks as spam.
func TestNobodyIsAskedOften(t *testing.T) {
	testserver.SynctestDays(t, func(t *testing.T) {
		f := newFixture(t)
		create := func(address string) error {
			_, err := f.service.Create(t.Context(), f.Key, app.MailRouteInput{Match: "+x", Actions: []app.RouteAction{to(address)}})
			return err
		}
		asked := func(address string, want int) {
			t.Helper()
			testserver.Sleep(time.Second)
			if n := len(f.SQL("SELECT e.id FROM emails AS e JOIN recipients AS r ON r.email_id = e.id WHERE r.address = ?", address)); n != want {
				t.Errorf("%s was asked %d times, want %d", address, n, want)
			}
		}
		for range 3 {
			testserver.Must(t, create("ann@example.org"))
		}
		asked("ann@example.org", 1)
		testserver.Sleep(8 * 24 * time.Hour)
		testserver.Must(t, create("ann@example.org"))
		asked("ann@example.org", 2)
		token := f.tokenIn(f.sentTo("ann@example.org")[0])
		_, err := f.service.Decide(t.Context(), token, false)
		testserver.Must(t, err)
		testserver.Sleep(8 * 24 * time.Hour)
		testserver.Must(t, create("ann@example.org"))
		asked("ann@example.org", 2)
		_, err = f.Services.Suppressions.AddSuppression(t.Context(), f.Key, app.SuppressionInput{Email: "no@example.org"})
		testserver.Must(t, err)
		testserver.WantCode(t, create("no@example.org"), app.CodeValidation)
		asked("no@example.org", 0)
		for i := range 20 {
			testserver.Must(t, create(fmt.Sprintf("p%d@example.org", i)))
		}
		testserver.WantCode(t, create("q@example.org"), app.CodeValidation)
		testserver.Must(t, f.service.Erase(t.Context(), f.Key.TeamID, func(string) *erase.Set { return erase.NewSet([]string{"p1@example.org"}) }))
		testserver.WantCode(t, create("q@example.org"), app.CodeValidation)
		testserver.Sleep(25 * time.Hour)
		testserver.Must(t, create("q@example.org"))
		testserver.Must(t, create("p1@example.org"))
		asked("p1@example.org", 1)
		for i, want := range []string{"", "", "validation_error: `actions[0].to` can't be asked now: 3 teams of this server asked its owner in the last 24 hours; try again tomorrow"} {
			key := f.AddTeam(fmt.Sprintf("T%d", i), fmt.Sprintf("t%d.test", i))
			_, err := f.service.Create(t.Context(), key, app.MailRouteInput{Match: "+x", Actions: []app.RouteAction{to("q@EXAMPLE.org")}})
			if got := fmt.Sprint(err); got != want && !(want == "" && err == nil) {
				t.Errorf("team %d: %s", i, got)
			}
		}
		asked("q@example.org", 3)
	})
}
