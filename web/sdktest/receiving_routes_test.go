package sdktest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// routedThing is a received email with what routes did with it.
type routedThing struct {
	receivedThing
	Effects []struct {
		Type, Status, To, Reason string
	}
}

// routesFixture receives mail of peer.test, whose DKIM signatures and addresses DMARC checks.
type routesFixture struct {
	*receivingFixture
	*peer
	api client
	n   int
}

func newRoutesFixture(t *testing.T) *routesFixture {
	t.Helper()
	w := newReceivingFixture(t, strict)
	f := &routesFixture{receivingFixture: w, peer: newPeer(t, w.ns, w.at), api: client{w.in.url, w.key}}
	w.ns.publish(t, dnsRecord{Name: "peer.test", Type: "TXT", Value: "v=spf1 ip4:127.0.0.1 -all"})
	return f
}

// route makes a route of a team.
func (f *routesFixture) route(t *testing.T, api client, match string, actions ...map[string]any) (id string) {
	t.Helper()
	return api.made(t, "/routes", map[string]any{"match": match, "actions": actions})
}

func forwardTo(address string) map[string]any {
	return map[string]any{"type": "forward", "to": address}
}

// from sends a message of ann@peer.test to an address of a team, and returns its subject. Its DMARC fails without a
// signature.
func (f *routesFixture) from(t *testing.T, signed bool, to, text string) (subject string) {
	t.Helper()
	f.n++
	subject = fmt.Sprintf("Message %d", f.n)
	message := fmt.Sprintf("From: Ann Example <ann@peer.test>\r\nTo: %s\r\nSubject: %s\r\nMessage-ID: <r%d@peer.test>\r\n\r\n%s\r\n", to, subject, f.n, text)
	sender := "ann@elsewhere.test"
	if signed {
		message, sender = f.sign(t, message), "ann@peer.test"
	}
	must(t, f.try(sender, to, message))
	return subject
}

// effects waits until routes are done with a received email, and returns what they did.
func (f *routesFixture) effects(t *testing.T, subject string) (done []string) {
	t.Helper()
	eventually(t, time.Minute, "routes are done with "+subject, func() (bool, string) {
		var page struct{ Data []thing }
		f.api.get(t, "/emails/receiving?limit=100", &page)
		for _, m := range page.Data {
			var got routedThing
			f.api.get(t, "/emails/receiving/"+m.ID, &got)
			if got.Subject != subject {
				continue
			}
			done = nil
			for _, e := range got.Effects {
				done = append(done, strings.TrimSuffix(e.Status+": "+e.Reason, ": "))
			}
			return len(done) > 0 && !slices.Contains(done, "waiting"), fmt.Sprint(done)
		}
		return false, "not received"
	})
	return done
}

var forwardingLink = regexp.MustCompile(`http[^\s"<>]*/forwarding/[\w-]+`)

// press opens the page of a link in a message, and presses a button.
func press(t *testing.T, m *message, button string) {
	t.Helper()
	link := forwardingLink.FindString(content(m.leaves(t), "text/plain"))
	res, err := plainHTTP.Get(link)
	must(t, err)
	page, err := io.ReadAll(res.Body)
	must(t, err)
	must(t, res.Body.Close())
	if res.StatusCode != 200 || !strings.Contains(string(page), `value="`+button+`"`) {
		t.Fatalf("%s: %d %s", link, res.StatusCode, page)
	}
	res, err = plainHTTP.PostForm(link, url.Values{"forwarding": {button}})
	must(t, err)
	if must(t, res.Body.Close()); res.StatusCode != http.StatusOK {
		t.Errorf("press %s: %d", button, res.StatusCode)
	}
}

// agree presses the button in the mail that asks an address.
func (f *routesFixture) agree(t *testing.T, address string) {
	t.Helper()
	press(t, &f.sink.wait(t, 1, time.Minute, func(m *message) bool {
		return slices.Contains(m.To, address) && strings.Contains(m.header("Subject"), "asks to forward mail to you")
	})[0], "agree")
}

// TestRoutesOfReceivedMail: mail is forwarded after its destination agreed and until it is stopped, answered once, and
// dropped; forgeries are neither forwarded nor answered. Another team sees none of this mail.
func TestRoutesOfReceivedMail(t *testing.T) {
	part(t, "clients", shortForm)
	t.Parallel()
	f := newRoutesFixture(t)
	const boss = "boss@far.test"
	template := f.api.made(t, "/templates", map[string]any{"name": "thanks", "subject": "We got it", "html": "<p>Thank you.</p>"})
	f.api.ask(t, "POST", "/templates/"+template+"/publish", nil, 200)
	route := f.route(t, f.api, "fwd@in.example.test", forwardTo(boss))
	f.route(t, f.api, "ask@in.example.test", map[string]any{"type": "reply_with", "template_id": template})
	f.route(t, f.api, "drop@in.example.test", map[string]any{"type": "drop"})
	early := f.from(t, true, "fwd@in.example.test", "too early")
	f.agree(t, boss)
	forged, good := f.from(t, false, "fwd@in.example.test", "a forgery"), f.from(t, true, "fwd@in.example.test", "a message")
	forward := f.sink.wait(t, 1, time.Minute, subjectIs(good))[0]
	if got := forward.header("From"); got != `"Ann Example via in.example.test" <fwd@in.example.test>` || !strings.Contains(forward.header("Reply-To"), "ann@peer.test") || forward.header("X-Mailer-Forwarded") == "" ||
		!strings.HasSuffix(forward.From, "in.example.test") || strings.Contains(forward.From, "fwd@") || !slices.Equal(forward.To, []string{boss}) || strings.Contains(string(forward.Raw), "d=peer.test") {
		t.Errorf("forwarded from %q by %q to %q:\n%s", got, forward.From, forward.To, forward.Raw)
	}
	checkDKIM(t, f.in, &forward, "in.example.test")
	press(t, &forward, "stop")
	stopped := f.from(t, true, "fwd@in.example.test", "after the stop")
	asked, again, fake := f.from(t, true, "ask@in.example.test", "a question"), f.from(t, true, "ask@in.example.test", "another"), f.from(t, false, "ask@in.example.test", "a forgery")
	f.from(t, true, "drop@in.example.test", "dropped")
	for subject, want := range map[string]string{
		early: "skipped: The owner of the address has not agreed", forged: "skipped: DMARC failed: it may be a forgery", good: "accepted", stopped: "skipped: The owner of the address stopped it",
		asked: "accepted", again: "skipped: The address got an answer of the route in the last 7 days", fake: "skipped: Its sender is not proven by DMARC",
	} {
		if got := f.effects(t, subject); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %s", subject, got, want)
		}
	}
	answer := f.sink.wait(t, 1, time.Minute, subjectIs("We got it"))[0]
	if answer.header("Auto-Submitted") != "auto-replied" || answer.header("In-Reply-To") != "<r5@peer.test>" || answer.header("From") != "ask@in.example.test" || !slices.Equal(answer.To, []string{"ann@peer.test"}) || strings.Contains(string(answer.Raw), "a question") {
		t.Errorf("answered to %q:\n%s", answer.To, answer.Raw)
	}
	if got := f.subjects(t); len(got) != 8 || len(f.sink.messages()) != 3 {
		t.Errorf("received %q, sent %d", got, len(f.sink.messages()))
	}
	f.in.run(t, "teams", "create", "Other")
	other := client{f.in.url, f.in.newKey(t, "--team", "Other")}
	for _, path := range []string{"/routes", "/emails/receiving", "/emails"} {
		var page struct{ Data []thing }
		if other.get(t, path, &page); len(page.Data) != 0 {
			t.Errorf("another team sees %s: %+v", path, page.Data)
		}
	}
	for _, method := range []string{"GET", "DELETE"} {
		if status, b := other.do(t, method, "/routes/"+route, nil); status != 404 {
			t.Errorf("%s of a foreign route: %d %s", method, status, b)
		}
	}
}

// reportXML is a DMARC report of peer.test about a domain.
func reportXML(domain, id string) string {
	now := time.Now()
	return fmt.Sprintf(`<?xml version="1.0"?><feedback><report_metadata><org_name>Peer</org_name><email>dmarc@peer.test</email><report_id>%s</report_id><date_range><begin>%d</begin><end>%d</end></date_range></report_metadata>`+
		`<policy_published><domain>%s</domain><p>none</p></policy_published><record><row><source_ip>203.0.113.9</source_ip><count>7</count><policy_evaluated><disposition>none</disposition><dkim>pass</dkim><spf>fail</spf></policy_evaluated></row>`+
		`<identifiers><header_from>%s</header_from></identifiers><auth_results><dkim><domain>%s</domain><result>pass</result></dkim></auth_results></record></feedback>`, id, now.Add(-time.Hour).Unix(), now.Unix(), domain, domain, domain)
}

// reportAbout is a mail with a report.
func reportAbout(to, domain, id string) string {
	return "From: DMARC <dmarc@peer.test>\r\nTo: " + to + "\r\nSubject: Report domain: " + domain + "\r\nMessage-ID: <" + id + "@peer.test>\r\nMIME-Version: 1.0\r\nContent-Type: text/xml; name=report.xml\r\nContent-Transfer-Encoding: base64\r\n\r\n" +
		regexp.MustCompile(`.{76}`).ReplaceAllString(base64.StdEncoding.EncodeToString([]byte(reportXML(domain, id))), "$0\r\n") + "\r\n"
}

// TestReportsByMail: a DMARC report that its reporter signed counts, and one without a signature is kept apart. Another
// team sees neither.
func TestReportsByMail(t *testing.T) {
	part(t, "clients", shortForm)
	t.Parallel()
	f := newRoutesFixture(t)
	sent := f.api.send(t, map[string]any{"from": "a@in.example.test", "to": []string{"ann@peer.test"}, "subject": "s", "text": "t"})
	f.api.waitLast(t, sent, time.Minute, "sent")
	var domains struct{ Data []domainThing }
	f.api.get(t, "/domains", &domains)
	path := "/domains/" + domains.Data[0].ID + "/reports"
	var got struct {
		Messages, Reporters int
		Addresses           struct{ DMARC string }
		Reports             []struct {
			Counted    bool
			Origin     string
			NotCounted string `json:"not_counted"`
			ReportID   string `json:"report_id"`
		}
	}
	f.api.get(t, path, &got)
	at := got.Addresses.DMARC
	must(t, f.try("dmarc@peer.test", at, reportAbout(at, "in.example.test", "forged")))
	must(t, f.try("dmarc@peer.test", at, f.sign(t, reportAbout(at, "in.example.test", "signed"))))
	must(t, f.try("dmarc@peer.test", at, f.sign(t, reportAbout(at, "in.example.test", "signed")))) // again
	must(t, f.try("dmarc@peer.test", at, f.sign(t, reportAbout(at, "example.test", "other"))))
	if err := f.try("dmarc@peer.test", "dmarc+"+strings.Repeat("a", 40)+"@mx.example.test", "x"); err == nil || !strings.HasPrefix(err.Error(), "550") {
		t.Errorf("to a guessed address: %v", err)
	}
	f.api.get(t, path, &got)
	if len(got.Reports) != 2 || got.Messages != 7 || got.Reporters != 1 {
		t.Fatalf("%+v", got)
	}
	for _, r := range got.Reports {
		if r.Counted != (r.ReportID == "signed") || r.Origin != "mail" || r.Counted == strings.Contains(r.NotCounted, "no DKIM signature of peer.test passes") {
			t.Errorf("%+v", r)
		}
	}
	var bomb bytes.Buffer
	packed := gzip.NewWriter(&bomb)
	_, err := packed.Write(append([]byte("<feedback>"), make([]byte, 200<<20)...))
	must(t, errors.Join(err, packed.Close()))
	entities := strings.Replace(reportXML("in.example.test", "&x;"), "<feedback>", `<!DOCTYPE feedback [<!ENTITY x SYSTEM "file:///etc/passwd">]><feedback>`, 1)
	for _, file := range []string{bomb.String(), entities} {
		req, err := http.NewRequest("POST", f.api.url+path, strings.NewReader(file))
		must(t, err)
		req.Header.Set("Authorization", "Bearer "+f.api.key)
		req.Header.Set("Content-Type", "application/octet-stream")
		res, err := plainHTTP.Do(req)
		must(t, err)
		b, err := io.ReadAll(res.Body)
		must(t, errors.Join(err, res.Body.Close()))
		if !strings.Contains(string(b), `"imported":0`) || strings.Contains(string(b), "root:") {
			t.Errorf("a hostile upload: %d %s", res.StatusCode, b)
		}
	}
	f.in.run(t, "teams", "create", "Other")
	other := client{f.in.url, f.in.newKey(t, "--team", "Other")}
	var page struct{ Data []thing }
	if other.get(t, "/reports", &page); len(page.Data) != 0 {
		t.Errorf("another team sees %+v", page.Data)
	}
	if status, b := other.do(t, "GET", path, nil); status != 404 {
		t.Errorf("reports of a foreign domain: %d %s", status, b)
	}
}

// TestKillWhileForwarding kills the server again and again while it forwards received mail. Each is forwarded once.
func TestKillWhileForwarding(t *testing.T) {
	part(t, "kills")
	t.Parallel()
	f := newRoutesFixture(t)
	const boss = "boss@far.test"
	f.route(t, f.api, "fwd@in.example.test", forwardTo(boss))
	f.agree(t, boss)
	n := 0
	for range killCount() {
		for range 20 {
			n++
			message := f.sign(t, fmt.Sprintf("From: Ann <ann@peer.test>\r\nSubject: Forward %d\r\nMessage-ID: <k%d@peer.test>\r\n\r\nx\r\n", n, n))
			eventually(t, time.Minute, "the mail is taken", func() (bool, string) {
				err := f.try("ann@peer.test", "fwd@in.example.test", message)
				return err == nil, fmt.Sprint(err)
			})
		}
		f.in.kill(t)
		f.in.serve(t)
	}
	ids := map[string]map[string]bool{} // by subject; a message whose outcome is in doubt leaves again, with the same id
	forwarded := func(m *message) bool { return strings.HasPrefix(m.header("Subject"), "Forward ") }
	eventually(t, 2*time.Minute, "all mail is forwarded", func() (bool, string) {
		for _, m := range f.sink.matching(forwarded) {
			subject := m.header("Subject")
			if ids[subject] == nil {
				ids[subject] = map[string]bool{}
			}
			ids[subject][m.header("Message-ID")] = true
		}
		return len(ids) == n, fmt.Sprint(len(ids), " of ", n)
	})
	for subject, of := range ids {
		if len(of) != 1 {
			t.Errorf("%s: forwarded as %v", subject, of)
		}
	}
	f.in.checkFiles(t)
}
