package delivery_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/feedback"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/delivery"
	"mailer/app/testing/testserver"
)

// returning is a test server that receives bounces. The MX of its domain's return path was found as
// live says, or was never checked if live is empty.
func returning(t *testing.T, live app.Live, relay *testserver.FakeRelay) *testserver.Server {
	t.Helper()
	w := testserver.New(t, relay)
	w.Services.Settings.BounceHost, w.Config.BounceHost = "mail.example.com", "mail.example.com"
	setMX(w, live)
	w.Start()
	return w
}

func statusReport(address, code string) string {
	return "Subject: Undelivered\r\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\n" +
		"Reporting-MTA: dns; mx.test\r\n\r\nFinal-Recipient: rfc822; " + address + "\r\nAction: failed\r\nStatus: " + code + "\r\nDiagnostic-Code: smtp; 550 " + code + " no\r\n\r\n--b--\r\n"
}

func abuseReport() string {
	return "Content-Type: multipart/report; report-type=feedback-report; boundary=b\r\n\r\n--b\r\nContent-Type: message/feedback-report\r\n\r\n" +
		"Feedback-Type: abuse\r\nVersion: 1\r\nUser-Agent: test\r\n\r\n--b--\r\n"
}

func TestReturnPathNeedsWorkingBounces(t *testing.T) {
	for name, c := range map[string]struct {
		live app.Live
		host string
		ses  bool
		want bool
	}{
		"found":              {app.LiveFound, "mail.example.com", false, true},
		"missing":            {app.LiveMissing, "mail.example.com", false, false},
		"another":            {app.LiveMismatch, "mail.example.com", false, false},
		"unknown":            {app.LiveUnknown, "mail.example.com", false, false},
		"never checked":      {"", "mail.example.com", false, false},
		"no listener":        {app.LiveFound, "", false, false},
		"provider's own way": {app.LiveFound, "mail.example.com", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				r := relayurl.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 587, Connections: 4}
				if c.ses {
					r.Profile = relayurl.ProfileSES
				}
				relay := testserver.NewRelayOf(r, nil)
				w := testserver.New(t, relay)
				w.Services.Settings.BounceHost = c.host
				setMX(w, c.live)
				w.Start()
				id := w.Send("bob@example.net")
				synctest.Wait()
				from := relay.Transactions(id)[0].Message.EnvelopeFrom
				path, ok := w.Services.ProviderEvents.ReadReturnPath(from)
				if ok != c.want || ok && (path != app.ReturnPath{EmailID: id, Recipient: 0} || !strings.HasSuffix(from, "@send.example.com")) || !ok && from != "ann@example.com" {
					t.Errorf("from %s: %+v, %v", from, path, ok)
				}
			})
		})
	}
}

func TestTrustedDomainUsesReturnPath(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, "", relay)
		w.CreateDomain(app.DomainInput{Name: "trusted.test", Trusted: true})
		id, err := w.SendFrom("trusted.test")
		testserver.Must(t, err)
		synctest.Wait()
		if from := relay.Transactions(id)[0].Message.EnvelopeFrom; !strings.HasSuffix(from, "@send.trusted.test") {
			t.Errorf("from %s", from)
		}
	})
}

func TestNewMXIsUsedSoon(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveMissing, relay)
		before := w.SendTaken("bob@example.net")
		setMX(w, app.LiveFound)
		time.Sleep(delivery.ReturnPathTTL)
		after := w.SendTaken("bob@example.net")
		if app.IsReturnPath(relay.Transactions(before)[0].Message.EnvelopeFrom) || !app.IsReturnPath(relay.Transactions(after)[0].Message.EnvelopeFrom) {
			t.Error("the finding does not decide")
		}
	})
}

func TestReturnPathNumbersSingleRecipient(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.InOrder(testserver.ReplyPerRecipient(map[string]int{"later@example.net": 451})))
		w := returning(t, app.LiveFound, relay)
		id := w.Send("yes@example.net", "later@example.net")
		synctest.Wait()
		time.Sleep(61 * time.Second)
		synctest.Wait()
		tries := relay.Transactions(id)
		first, _ := w.Services.ProviderEvents.ReadReturnPath(tries[0].Message.EnvelopeFrom)
		second, _ := w.Services.ProviderEvents.ReadReturnPath(tries[1].Message.EnvelopeFrom)
		if first.Recipient != app.AllRecipients || second.Recipient != 1 || first.EmailID != id || second.EmailID != id {
			t.Errorf("%+v, then %+v", first, second)
		}
	})
}

func TestBounceSettlesRecipientOnce(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveFound, relay)
		id := w.SendTaken("Bob@example.net")
		path := relay.Transactions(id)[0].Message.EnvelopeFrom
		for range 3 {
			testserver.Must(t, w.ReceiveBounce(path, statusReport("bob@example.net", "5.1.1")))
		}
		w.WantRecipientStates(id, "Bob@example.net bounced")
		if ev := w.OnlyEvent(id, app.EventType(app.Bounced)); ev.Detail.Diagnostic != "550 5.1.1 no" {
			t.Errorf("%+v", ev)
		}
		if s := w.Suppression("bob@example.net"); s.Origin != app.OriginBounce {
			t.Errorf("%+v", s)
		}
	})
}

func TestUnprovenBouncesDoNotSuppress(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveFound, relay)
		for _, code := range []string{"5.7.1", "5.2.2", "5.3.4", "5.0.0", "5.5.0", "5.6.1", "4.1.1"} {
			id := w.SendTaken("bob@example.net")
			testserver.Must(t, w.ReceiveBounce(relay.Transactions(id)[0].Message.EnvelopeFrom, statusReport("bob@example.net", code)))
			w.WantLastEvent(id, app.Bounced)
			if s := w.Suppression("bob@example.net"); s.ID != "" {
				t.Fatalf("%s suppressed: %+v", code, s)
			}
		}
	})
}

func TestComplaintSuppresses(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveFound, relay)
		id := w.SendTaken("bob@example.net")
		testserver.Must(t, w.ReceiveBounce(relay.Transactions(id)[0].Message.EnvelopeFrom, abuseReport()))
		w.WantLastEvent(id, app.Complained)
		if s := w.Suppression("bob@example.net"); s.Origin != app.OriginComplaint {
			t.Errorf("%+v", s)
		}
	})
}

func TestBounceOfOtherAddressSuppressesNobody(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveFound, relay)
		other := w.SendTaken("victim@example.net")
		id := w.SendTaken("bob@example.net")
		testserver.Must(t, w.ReceiveBounce(relay.Transactions(id)[0].Message.EnvelopeFrom, statusReport("victim@example.net", "5.1.1")))
		w.WantRecipientStates(other, "victim@example.net sent")
		w.WantRecipientStates(id, "bob@example.net bounced") // a forwarded mail bounced
		for _, address := range []string{"victim@example.net", "bob@example.net"} {
			if s := w.Suppression(address); s.ID != "" {
				t.Errorf("suppressed %+v", s)
			}
		}
	})
}

func TestBounceSettlesNamedRecipients(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveFound, relay)
		id := w.SendTaken("ann@example.net", "bob@example.net")
		path := relay.Transactions(id)[0].Message.EnvelopeFrom
		testserver.Must(t, w.ReceiveBounce(path, "Subject: failure notice\r\n\r\n550 5.1.1 unknown\r\n"))
		testserver.Must(t, w.ReceiveBounce(path, statusReport("victim@example.net", "5.1.1")))
		testserver.Must(t, w.ReceiveBounce(path, abuseReport()))
		w.WantRecipientStates(id, "ann@example.net sent, bob@example.net sent")
		testserver.Must(t, w.ReceiveBounce(path, statusReport("bob@example.net", "5.1.1")))
		w.WantRecipientStates(id, "ann@example.net sent, bob@example.net bounced")
		if s := w.Suppression("ann@example.net"); s.ID != "" {
			t.Errorf("suppressed %+v", s)
		}
	})
}

func TestRecipientCannotReportAnother(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveFound, relay)
		id := w.SendTaken("mallory@example.net", "victim@example.net")
		path := relay.Transactions(id)[0].Message.EnvelopeFrom
		testserver.Must(t, w.ReceiveBounce(path, statusReport("victim@example.net", "5.1.1")))
		testserver.Must(t, w.ReceiveBounce(path, strings.Replace(abuseReport(), "Version: 1", "Original-Rcpt-To: <victim@example.net>", 1)))
		w.WantRecipientStates(id, "mallory@example.net sent, victim@example.net bounced") // recorded without consequences
		if ev := w.OnlyEvent(id, app.EventType(app.Bounced)); ev.Detail.BounceType != string(app.BounceUndetermined) || !strings.Contains(ev.Detail.Message, "not proven") {
			t.Errorf("%+v", ev)
		}
		testserver.Must(t, w.ReceiveBounce(path, "X-Failed-Recipients: victim@example.net\r\nSubject: Mail delivery failed\r\n\r\n550 5.1.1 unknown\r\n"))
		if s := w.Suppression("victim@example.net"); s.ID != "" {
			t.Errorf("suppressed %+v", s)
		}
		if o := w.TeamOutcome(); o.HardBounced != 0 || o.Complained != 0 {
			t.Errorf("counted %+v", o)
		}
	})
}

func TestReturnPathExpires(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveFound, relay)
		id := w.SendTaken("bob@example.net")
		w.AgeEmails(feedback.ReturnPathRetention + time.Hour)
		testserver.Must(t, w.ReceiveBounce(relay.Transactions(id)[0].Message.EnvelopeFrom, statusReport("bob@example.net", "5.1.1")))
		w.WantLastEvent(id, app.Sent)
		if s := w.Suppression("bob@example.net"); s.ID != "" {
			t.Errorf("suppressed %+v", s)
		}
	})
}

func TestBounceOfDeletedEmail(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveFound, relay)
		id := w.SendTaken("bob@example.net")
		testserver.Must(t, w.Services.Mail.DeleteEmail(t.Context(), w.Key, id))
		testserver.Must(t, w.ReceiveBounce(relay.Transactions(id)[0].Message.EnvelopeFrom, statusReport("bob@example.net", "5.1.1")))
		if s := w.Suppression("bob@example.net"); s.ID != "" {
			t.Errorf("suppressed %+v", s)
		}
	})
}

func TestBounceWithFailingStore(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveFound, relay)
		id := w.SendTaken("bob@example.net")
		w.Stop()
		if err := w.ReceiveBounce(relay.Transactions(id)[0].Message.EnvelopeFrom, statusReport("bob@example.net", "5.1.1")); err == nil {
			t.Error("no error")
		}
	})
}

func TestDomainRecordsListReturnPathMX(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		mx := func(w *testserver.Server) (all []string) {
			d, err := w.Services.Domains.DomainByName(t.Context(), w.Key.TeamID, testserver.TestDomain)
			testserver.Must(t, err)
			for _, r := range w.Services.Domains.DomainRecords(&d) {
				if r.Type == "MX" {
					all = append(all, r.Name+" "+r.Value)
					if r.Required || r.Priority != 10 {
						t.Errorf("%+v", r)
					}
				}
			}
			return all
		}
		for host, want := range map[string]string{"Mail.Example.com": "send.example.com mail.example.com", "127.0.0.1": "", "localhost": "", "": ""} {
			w := testserver.New(t, testserver.NewRelay(nil))
			w.Config.BounceHost = host
			testserver.Must(t, w.DB.Close())
			w.Open()
			if got := strings.Join(mx(w), ","); got != want {
				t.Errorf("%q: %q, want %q", host, got, want)
			}
		}
		ses := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Host: "email-smtp.eu-west-1.amazonaws.com", Profile: relayurl.ProfileSES, Port: 587, Connections: 1}, nil)
		w := testserver.New(t, ses)
		w.Config.BounceHost = "mail.example.com"
		testserver.Must(t, w.DB.Close())
		w.Open()
		if got := strings.Join(mx(w), ","); got != "send.example.com feedback-smtp.eu-west-1.amazonses.com" {
			t.Errorf("with SES: %q", got)
		}
	})
}

func TestBroadcastBounceSettlesOneRecipient(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveFound, relay)
		w.AddSubscribers(3)
		draft := w.AddDraft()
		w.Queue(draft)
		time.Sleep(time.Minute)
		synctest.Wait()
		all := w.BroadcastRecipients(w.Broadcast(draft.ID))
		if len(all) != 3 {
			t.Fatalf("%d recipients", len(all))
		}
		for range 2 {
			testserver.Must(t, w.ReceiveBounce(relay.Transactions(all[1].ID)[0].Message.EnvelopeFrom, statusReport(all[1].Email, "5.1.1")))
		}
		if b := w.Broadcast(draft.ID); b.Counts.Bounced != 1 {
			t.Errorf("counted %+v", b.Counts)
		}
		for i, v := range w.BroadcastRecipients(w.Broadcast(draft.ID)) {
			if bounced := v.Seen&app.SeenBounced != 0; bounced != (i == 1) || (w.Suppression(v.Email).ID != "") != bounced {
				t.Errorf("%s: seen %b, %+v", v.Email, v.Seen, w.Suppression(v.Email))
			}
		}
	})
}
