package engine

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/feedback"
	"mailer/app/relays"
	"mailer/db"
)

// returning is a world that takes bounces, whose domain's return path has a
// found MX or, with live empty, was never checked.
func returning(t *testing.T, live app.Live, relay *fakeRelay) *world {
	t.Helper()
	w := idle(t, relay)
	w.e.cfg.BounceHost, w.cfg.BounceHost = "mail.example.com", "mail.example.com"
	w.setMX(live)
	w.start()
	return w
}

// setMX has the last check have found that of the MX of the return path.
func (w *world) setMX(live app.Live) {
	w.t.Helper()
	must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error {
		d, err := tx.DomainByName(w.key.TeamID, testDomain)
		if err != nil {
			return err
		}
		d.Checks = nil
		if live != "" {
			d.Checks = []app.RecordCheck{{Record: app.RecordSPF, Name: d.ReturnPathName(), Type: "MX", Live: live}}
		}
		return tx.SetDomainChecks(&d)
	}))
}

// came has a message come to the return path of an email's n-th transaction.
func (w *world) came(mailbox, raw string) error {
	w.t.Helper()
	path, ok := w.e.ReadReturnPath(mailbox)
	if !ok {
		w.t.Fatalf("%s is no return path", mailbox)
	}
	return w.e.TakeBounce(w.t.Context(), path, feedback.ReadBounce([]byte(raw), true))
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
			bubble(t, func(t *testing.T) {
				r := relays.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 587, Connections: 4}
				if c.ses {
					r.Profile = relays.ProfileSES
				}
				relay := newRelayOf(r, nil)
				w := idle(t, relay)
				w.e.cfg.BounceHost = c.host
				w.setMX(c.live)
				w.start()
				id := w.send("bob@example.net")
				synctest.Wait()
				from := relay.seen(id)[0].m.EnvelopeFrom
				path, ok := w.e.ReadReturnPath(from)
				if ok != c.want || ok && (path != app.ReturnPath{EmailID: id, Recipient: 0} || !strings.HasSuffix(from, "@send.example.com")) || !ok && from != "ann@example.com" {
					t.Errorf("from %s: %+v, %v", from, path, ok)
				}
			})
		})
	}
}

func TestTrustedDomainUsesItsReturnPathUnchecked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := returning(t, "", relay)
		w.add(app.DomainInput{Name: "trusted.test", Trusted: true})
		id, err := w.sendFrom("trusted.test")
		must(t, err)
		synctest.Wait()
		if from := relay.seen(id)[0].m.EnvelopeFrom; !strings.HasSuffix(from, "@send.trusted.test") {
			t.Errorf("from %s", from)
		}
	})
}

func TestANewMXIsUsedSoon(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := returning(t, app.LiveMissing, relay)
		before := w.sentTo("bob@example.net")
		w.setMX(app.LiveFound)
		time.Sleep(returnPathTTL)
		after := w.sentTo("bob@example.net")
		if app.IsReturnPath(relay.seen(before)[0].m.EnvelopeFrom) || !app.IsReturnPath(relay.seen(after)[0].m.EnvelopeFrom) {
			t.Error("the finding does not decide")
		}
	})
}

func TestReturnPathNumbersTheOneRecipient(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(firstly(byName(map[string]int{"later@example.net": 451})))
		w := returning(t, app.LiveFound, relay)
		id := w.send("yes@example.net", "later@example.net")
		synctest.Wait()
		time.Sleep(61 * time.Second)
		synctest.Wait()
		tries := relay.seen(id)
		first, _ := w.e.ReadReturnPath(tries[0].m.EnvelopeFrom)
		second, _ := w.e.ReadReturnPath(tries[1].m.EnvelopeFrom)
		if first.Recipient != app.AllRecipients || second.Recipient != 1 || first.EmailID != id || second.EmailID != id {
			t.Errorf("%+v, then %+v", first, second)
		}
	})
}

func TestABounceToAReturnPathSettlesItsRecipientOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := returning(t, app.LiveFound, relay)
		id := w.sentTo("Bob@example.net")
		path := relay.seen(id)[0].m.EnvelopeFrom
		for range 3 {
			must(t, w.came(path, statusReport("bob@example.net", "5.1.1")))
		}
		w.wantStates(id, "Bob@example.net bounced")
		if ev := w.eventOf(id, app.EventType(app.Bounced)); ev.Detail.Diagnostic != "550 5.1.1 no" {
			t.Errorf("%+v", ev)
		}
		if s := w.suppressed("bob@example.net"); s.Origin != app.OriginBounce {
			t.Errorf("%+v", s)
		}
	})
}

func TestBouncesThatAreNotOfTheRecipientDoNotSuppress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := returning(t, app.LiveFound, relay)
		for _, code := range []string{"5.7.1", "5.2.2", "5.3.4", "5.0.0", "5.5.0", "5.6.1", "4.1.1"} {
			id := w.sentTo("bob@example.net")
			must(t, w.came(relay.seen(id)[0].m.EnvelopeFrom, statusReport("bob@example.net", code)))
			w.wantLast(id, app.Bounced)
			if s := w.suppressed("bob@example.net"); s.ID != "" {
				t.Fatalf("%s suppressed: %+v", code, s)
			}
		}
	})
}

func TestAComplaintToAReturnPathSuppresses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := returning(t, app.LiveFound, relay)
		id := w.sentTo("bob@example.net")
		must(t, w.came(relay.seen(id)[0].m.EnvelopeFrom, abuseReport()))
		w.wantLast(id, app.Complained)
		if s := w.suppressed("bob@example.net"); s.Origin != app.OriginComplaint {
			t.Errorf("%+v", s)
		}
	})
}

func TestABounceNamingSomebodyElseSuppressesNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := returning(t, app.LiveFound, relay)
		other := w.sentTo("victim@example.net")
		id := w.sentTo("bob@example.net")
		must(t, w.came(relay.seen(id)[0].m.EnvelopeFrom, statusReport("victim@example.net", "5.1.1")))
		w.wantStates(other, "victim@example.net sent")
		w.wantStates(id, "bob@example.net bounced") // what was passed on came back
		for _, address := range []string{"victim@example.net", "bob@example.net"} {
			if s := w.suppressed(address); s.ID != "" {
				t.Errorf("suppressed %+v", s)
			}
		}
	})
}

func TestABounceOfSeveralRecipientsSettlesWhomItNames(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := returning(t, app.LiveFound, relay)
		id := w.sentTo("ann@example.net", "bob@example.net")
		path := relay.seen(id)[0].m.EnvelopeFrom
		must(t, w.came(path, "Subject: failure notice\r\n\r\n550 5.1.1 unknown\r\n"))
		must(t, w.came(path, statusReport("victim@example.net", "5.1.1")))
		must(t, w.came(path, abuseReport()))
		w.wantStates(id, "ann@example.net sent, bob@example.net sent")
		must(t, w.came(path, statusReport("bob@example.net", "5.1.1")))
		w.wantStates(id, "ann@example.net sent, bob@example.net bounced")
		if s := w.suppressed("ann@example.net"); s.ID != "" {
			t.Errorf("suppressed %+v", s)
		}
	})
}

func TestABounceOfADeletedEmailChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := returning(t, app.LiveFound, relay)
		id := w.sentTo("bob@example.net")
		must(t, w.e.DeleteEmail(t.Context(), w.key, id))
		must(t, w.came(relay.seen(id)[0].m.EnvelopeFrom, statusReport("bob@example.net", "5.1.1")))
		if s := w.suppressed("bob@example.net"); s.ID != "" {
			t.Errorf("suppressed %+v", s)
		}
	})
}

func TestAFailingStoreIsTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := returning(t, app.LiveFound, relay)
		id := w.sentTo("bob@example.net")
		w.stop()
		if err := w.came(relay.seen(id)[0].m.EnvelopeFrom, statusReport("bob@example.net", "5.1.1")); err == nil {
			t.Error("no error")
		}
	})
}

func TestRecordsListTheWayBackToThisServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mx := func(w *world) (all []string) {
			d, err := w.e.DomainByName(t.Context(), w.key.TeamID, testDomain)
			must(t, err)
			for _, r := range w.e.DomainRecords(&d) {
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
			w := idle(t, newRelay(nil))
			w.cfg.BounceHost = host
			must(t, w.db.Close())
			w.open()
			if got := strings.Join(mx(w), ","); got != want {
				t.Errorf("%q: %q, want %q", host, got, want)
			}
		}
		ses := newRelayOf(relays.Relay{Region: "eu-west-1", Host: "email-smtp.eu-west-1.amazonaws.com", Profile: relays.ProfileSES, Port: 587, Connections: 1}, nil)
		w := idle(t, ses)
		w.cfg.BounceHost = "mail.example.com"
		must(t, w.db.Close())
		w.open()
		if got := strings.Join(mx(w), ","); got != "send.example.com feedback-smtp.eu-west-1.amazonses.com" {
			t.Errorf("with SES: %q", got)
		}
	})
}

func TestABounceOfABroadcastSettlesItsRecipientAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := returning(t, app.LiveFound, relay)
		w.people(3)
		draft := w.draft()
		w.queue(draft)
		time.Sleep(time.Minute)
		synctest.Wait()
		all := w.broadcastRecipients(w.broadcast(draft.ID))
		if len(all) != 3 {
			t.Fatalf("%d recipients", len(all))
		}
		for range 2 {
			must(t, w.came(relay.seen(all[1].ID)[0].m.EnvelopeFrom, statusReport(all[1].Email, "5.1.1")))
		}
		if b := w.broadcast(draft.ID); b.Counts.Bounced != 1 {
			t.Errorf("counted %+v", b.Counts)
		}
		for i, v := range w.broadcastRecipients(w.broadcast(draft.ID)) {
			if bounced := v.Seen&app.SeenBounced != 0; bounced != (i == 1) || (w.suppressed(v.Email).ID != "") != bounced {
				t.Errorf("%s: seen %b, %+v", v.Email, v.Seen, w.suppressed(v.Email))
			}
		}
	})
}
