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

// returning is a world that takes bounces, whose domain's return path has a
// found MX or, with live empty, was never checked.
func returning(t *testing.T, live app.Live, relay *testserver.FakeRelay) *testserver.World {
	t.Helper()
	w := testserver.Idle(t, relay)
	w.Server.Settings.BounceHost, w.Config.BounceHost = "mail.example.com", "mail.example.com"
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

func TestReturnPathIsUsedOnlyWhereBouncesSurelyArrive(t *testing.T) {
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
			testserver.Bubble(t, func(t *testing.T) {
				r := relayurl.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 587, Connections: 4}
				if c.ses {
					r.Profile = relayurl.ProfileSES
				}
				relay := testserver.NewRelayOf(r, nil)
				w := testserver.Idle(t, relay)
				w.Server.Settings.BounceHost = c.host
				setMX(w, c.live)
				w.Start()
				id := w.Send("bob@example.net")
				synctest.Wait()
				from := relay.Seen(id)[0].M.EnvelopeFrom
				path, ok := w.Server.Reports.ReadReturnPath(from)
				if ok != c.want || ok && (path != app.ReturnPath{EmailID: id, Recipient: 0} || !strings.HasSuffix(from, "@send.example.com")) || !ok && from != "ann@example.com" {
					t.Errorf("from %s: %+v, %v", from, path, ok)
				}
			})
		})
	}
}

func TestTrustedDomainUsesItsReturnPathUnchecked(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, "", relay)
		w.Add(app.DomainInput{Name: "trusted.test", Trusted: true})
		id, err := w.SendFrom("trusted.test")
		testserver.Must(t, err)
		synctest.Wait()
		if from := relay.Seen(id)[0].M.EnvelopeFrom; !strings.HasSuffix(from, "@send.trusted.test") {
			t.Errorf("from %s", from)
		}
	})
}

func TestANewMXIsUsedSoon(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveMissing, relay)
		before := w.SentTo("bob@example.net")
		setMX(w, app.LiveFound)
		time.Sleep(delivery.ReturnPathTTL)
		after := w.SentTo("bob@example.net")
		if app.IsReturnPath(relay.Seen(before)[0].M.EnvelopeFrom) || !app.IsReturnPath(relay.Seen(after)[0].M.EnvelopeFrom) {
			t.Error("the finding does not decide")
		}
	})
}

func TestReturnPathNumbersTheOneRecipient(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Firstly(testserver.ByName(map[string]int{"later@example.net": 451})))
		w := returning(t, app.LiveFound, relay)
		id := w.Send("yes@example.net", "later@example.net")
		synctest.Wait()
		time.Sleep(61 * time.Second)
		synctest.Wait()
		tries := relay.Seen(id)
		first, _ := w.Server.Reports.ReadReturnPath(tries[0].M.EnvelopeFrom)
		second, _ := w.Server.Reports.ReadReturnPath(tries[1].M.EnvelopeFrom)
		if first.Recipient != app.AllRecipients || second.Recipient != 1 || first.EmailID != id || second.EmailID != id {
			t.Errorf("%+v, then %+v", first, second)
		}
	})
}

func TestABounceToAReturnPathSettlesItsRecipientOnce(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveFound, relay)
		id := w.SentTo("Bob@example.net")
		path := relay.Seen(id)[0].M.EnvelopeFrom
		for range 3 {
			testserver.Must(t, w.Came(path, statusReport("bob@example.net", "5.1.1")))
		}
		w.WantStates(id, "Bob@example.net bounced")
		if ev := w.EventOf(id, app.EventType(app.Bounced)); ev.Detail.Diagnostic != "550 5.1.1 no" {
			t.Errorf("%+v", ev)
		}
		if s := w.Suppressed("bob@example.net"); s.Origin != app.OriginBounce {
			t.Errorf("%+v", s)
		}
	})
}

func TestBouncesThatAreNotOfTheRecipientDoNotSuppress(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveFound, relay)
		for _, code := range []string{"5.7.1", "5.2.2", "5.3.4", "5.0.0", "5.5.0", "5.6.1", "4.1.1"} {
			id := w.SentTo("bob@example.net")
			testserver.Must(t, w.Came(relay.Seen(id)[0].M.EnvelopeFrom, statusReport("bob@example.net", code)))
			w.WantLast(id, app.Bounced)
			if s := w.Suppressed("bob@example.net"); s.ID != "" {
				t.Fatalf("%s suppressed: %+v", code, s)
			}
		}
	})
}

func TestAComplaintToAReturnPathSuppresses(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveFound, relay)
		id := w.SentTo("bob@example.net")
		testserver.Must(t, w.Came(relay.Seen(id)[0].M.EnvelopeFrom, abuseReport()))
		w.WantLast(id, app.Complained)
		if s := w.Suppressed("bob@example.net"); s.Origin != app.OriginComplaint {
			t.Errorf("%+v", s)
		}
	})
}

func TestABounceNamingSomebodyElseSuppressesNobody(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveFound, relay)
		other := w.SentTo("victim@example.net")
		id := w.SentTo("bob@example.net")
		testserver.Must(t, w.Came(relay.Seen(id)[0].M.EnvelopeFrom, statusReport("victim@example.net", "5.1.1")))
		w.WantStates(other, "victim@example.net sent")
		w.WantStates(id, "bob@example.net bounced") // what was passed on came back
		for _, address := range []string{"victim@example.net", "bob@example.net"} {
			if s := w.Suppressed(address); s.ID != "" {
				t.Errorf("suppressed %+v", s)
			}
		}
	})
}

func TestABounceOfSeveralRecipientsSettlesWhomItNames(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveFound, relay)
		id := w.SentTo("ann@example.net", "bob@example.net")
		path := relay.Seen(id)[0].M.EnvelopeFrom
		testserver.Must(t, w.Came(path, "Subject: failure notice\r\n\r\n550 5.1.1 unknown\r\n"))
		testserver.Must(t, w.Came(path, statusReport("victim@example.net", "5.1.1")))
		testserver.Must(t, w.Came(path, abuseReport()))
		w.WantStates(id, "ann@example.net sent, bob@example.net sent")
		testserver.Must(t, w.Came(path, statusReport("bob@example.net", "5.1.1")))
		w.WantStates(id, "ann@example.net sent, bob@example.net bounced")
		if s := w.Suppressed("ann@example.net"); s.ID != "" {
			t.Errorf("suppressed %+v", s)
		}
	})
}

func TestOneRecipientCannotReportAnother(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveFound, relay)
		id := w.SentTo("mallory@example.net", "victim@example.net")
		path := relay.Seen(id)[0].M.EnvelopeFrom
		testserver.Must(t, w.Came(path, statusReport("victim@example.net", "5.1.1")))
		testserver.Must(t, w.Came(path, strings.Replace(abuseReport(), "Version: 1", "Original-Rcpt-To: <victim@example.net>", 1)))
		w.WantStates(id, "mallory@example.net sent, victim@example.net bounced") // it is noted, and nothing follows
		if ev := w.EventOf(id, app.EventType(app.Bounced)); ev.Detail.BounceType != string(app.BounceUndetermined) || !strings.Contains(ev.Detail.Message, "not proven") {
			t.Errorf("%+v", ev)
		}
		testserver.Must(t, w.Came(path, "X-Failed-Recipients: victim@example.net\r\nSubject: Mail delivery failed\r\n\r\n550 5.1.1 unknown\r\n"))
		if s := w.Suppressed("victim@example.net"); s.ID != "" {
			t.Errorf("suppressed %+v", s)
		}
		if o := w.Outcome(); o.HardBounced != 0 || o.Complained != 0 {
			t.Errorf("counted %+v", o)
		}
	})
}

func TestAReturnPathEnds(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveFound, relay)
		id := w.SentTo("bob@example.net")
		w.AgeEmails(feedback.ReturnPathsKept + time.Hour)
		testserver.Must(t, w.Came(relay.Seen(id)[0].M.EnvelopeFrom, statusReport("bob@example.net", "5.1.1")))
		w.WantLast(id, app.Sent)
		if s := w.Suppressed("bob@example.net"); s.ID != "" {
			t.Errorf("suppressed %+v", s)
		}
	})
}

func TestABounceOfADeletedEmailChangesNothing(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveFound, relay)
		id := w.SentTo("bob@example.net")
		testserver.Must(t, w.Server.Mail.DeleteEmail(t.Context(), w.Key, id))
		testserver.Must(t, w.Came(relay.Seen(id)[0].M.EnvelopeFrom, statusReport("bob@example.net", "5.1.1")))
		if s := w.Suppressed("bob@example.net"); s.ID != "" {
			t.Errorf("suppressed %+v", s)
		}
	})
}

func TestAFailingStoreIsTold(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveFound, relay)
		id := w.SentTo("bob@example.net")
		w.Stop()
		if err := w.Came(relay.Seen(id)[0].M.EnvelopeFrom, statusReport("bob@example.net", "5.1.1")); err == nil {
			t.Error("no error")
		}
	})
}

func TestRecordsListTheWayBackToThisServer(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		mx := func(w *testserver.World) (all []string) {
			d, err := w.Server.Domains.DomainByName(t.Context(), w.Key.TeamID, testserver.TestDomain)
			testserver.Must(t, err)
			for _, r := range w.Server.Domains.DomainRecords(&d) {
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
			w := testserver.Idle(t, testserver.NewRelay(nil))
			w.Config.BounceHost = host
			testserver.Must(t, w.DB.Close())
			w.Open()
			if got := strings.Join(mx(w), ","); got != want {
				t.Errorf("%q: %q, want %q", host, got, want)
			}
		}
		ses := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Host: "email-smtp.eu-west-1.amazonaws.com", Profile: relayurl.ProfileSES, Port: 587, Connections: 1}, nil)
		w := testserver.Idle(t, ses)
		w.Config.BounceHost = "mail.example.com"
		testserver.Must(t, w.DB.Close())
		w.Open()
		if got := strings.Join(mx(w), ","); got != "send.example.com feedback-smtp.eu-west-1.amazonses.com" {
			t.Errorf("with SES: %q", got)
		}
	})
}

func TestABounceOfABroadcastSettlesItsRecipientAlone(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := returning(t, app.LiveFound, relay)
		w.People(3)
		draft := w.Draft()
		w.Queue(draft)
		time.Sleep(time.Minute)
		synctest.Wait()
		all := w.BroadcastRecipients(w.Broadcast(draft.ID))
		if len(all) != 3 {
			t.Fatalf("%d recipients", len(all))
		}
		for range 2 {
			testserver.Must(t, w.Came(relay.Seen(all[1].ID)[0].M.EnvelopeFrom, statusReport(all[1].Email, "5.1.1")))
		}
		if b := w.Broadcast(draft.ID); b.Counts.Bounced != 1 {
			t.Errorf("counted %+v", b.Counts)
		}
		for i, v := range w.BroadcastRecipients(w.Broadcast(draft.ID)) {
			if bounced := v.Seen&app.SeenBounced != 0; bounced != (i == 1) || (w.Suppressed(v.Email).ID != "") != bounced {
				t.Errorf("%s: seen %b, %+v", v.Email, v.Seen, w.Suppressed(v.Email))
			}
		}
	})
}
