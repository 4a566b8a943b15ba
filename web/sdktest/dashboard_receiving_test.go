package sdktest

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	netsmtp "net/smtp"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-msgauth/dkim"
)

// peer is a foreign mail server that signs what it delivers.
type peer struct {
	ns *nameServer
	at string // where the server receives
	by ed25519.PrivateKey
}

// newPeer publishes the records of peer.test, whose mail must be signed.
func newPeer(t *testing.T, ns *nameServer, at string) *peer {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	must(t, err)
	ns.publish(t, dnsRecord{Name: "s._domainkey.peer.test", Type: "TXT", Value: "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(public)},
		dnsRecord{Name: "_dmarc.peer.test", Type: "TXT", Value: "v=DMARC1; p=reject"})
	return &peer{ns, at, private}
}

// receiveFor has a domain of a team receive mail.
func (p *peer) receiveFor(t *testing.T, api client, domain string) {
	t.Helper()
	var list struct{ Data []struct{ ID, Name string } }
	api.get(t, "/domains", &list)
	for _, d := range list.Data {
		if d.Name == domain {
			api.ask(t, "PATCH", "/domains/"+d.ID, map[string]any{"capabilities": map[string]any{"receiving": "enabled"}}, 200)
			p.ns.publish(t, dnsRecord{Name: domain, Type: "MX", Value: "mx.example.test", Priority: 10})
			api.ask(t, "POST", "/domains/"+d.ID+"/verify", nil, 200)
			eventually(t, time.Minute, domain+" receives", func() (bool, string) {
				err := p.try("a@other.test", "hello@"+domain, "From: a@other.test\r\nSubject: probe\r\n\r\n")
				return err == nil, fmt.Sprint(err)
			})
			return
		}
	}
	t.Fatalf("no domain %s among %+v", domain, list.Data)
}

func (p *peer) try(from, to, message string) error {
	return netsmtp.SendMail(p.at, nil, from, []string{to}, []byte(message))
}

// sign signs a message of ann@peer.test.
func (p *peer) sign(t *testing.T, message string) string {
	t.Helper()
	var signed bytes.Buffer
	must(t, dkim.Sign(&signed, strings.NewReader(message), &dkim.SignOptions{Domain: "peer.test", Selector: "s", Signer: p.by, HeaderKeys: []string{"From", "Subject", "Message-ID"}}))
	return signed.String()
}

// deliver delivers a message to hello@ a domain.
func (p *peer) deliver(t *testing.T, domain, message string) {
	t.Helper()
	must(t, p.try("ann@peer.test", "hello@"+domain, message))
}

const answerText = "Yes, Thursday is fine. Please ring at the side door.\r\n\r\nAnn\r\n\r\nOn Fri, 27 Nov 2026 at 10:00, Harbour & Pine <invoices@example.test> wrote:\r\n> When may we come?\r\n> Ingrid\r\n"

// manyFiles is a message with n attachments.
func manyFiles(n int) string {
	var b strings.Builder
	b.WriteString("From: Ann <ann@peer.test>\r\nTo: hello@example.test\r\nSubject: All files\r\nMessage-ID: <files@peer.test>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nHere they are.\r\n")
	for i := range n {
		fmt.Fprintf(&b, "--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=\"%s-%d.pdf\"\r\n\r\n%d\r\n", strings.Repeat("plan", i%60), i, i)
	}
	return b.String() + "--b--\r\n"
}

// hostileMail is meant to break out of the page that shows it.
const hostileMail = "From: =?utf-8?b?" + // "Ann" between a right-to-left override and its end, and markup
	"4oCuPGltZyBzcmM9eCBvbmVycm9yPWFsZXJ0KDEpPuKArA==" + "?= <ann@peer.test>\r\nTo: hello@example.test\r\nReply-To: other@evil.test\r\nMessage-ID: <hostile@peer.test>\r\n" +
	"X-Long: %[1]s\r\nSubject: <script>alert(1)</script> %[1]s\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" +
	"--b\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<script>parent.document.title='broken'</script><base target=_top><meta http-equiv=refresh content='0;url=http://127.0.0.1:9/refresh'><form action='http://127.0.0.1:9/form'><input autofocus></form>" +
	"<img src='http://127.0.0.1:9/p.png'><svg><script href='http://127.0.0.1:9/s.js'></script></svg><math><a xlink:href='javascript:alert(1)'>x</a></math><p>%[1]s</p>\r\n" +
	"--b\r\nContent-Type: text/html\r\nContent-Disposition: attachment; filename*=utf-8''%%E2%%80%%AEgpj.%[1]s.exe\r\n\r\n<script>alert(1)</script>\r\n--b--\r\n"

// fillReceived delivers one of each kind, and returns the ids by subject, cut to its first word.
func (w *dashboardFixture) fillReceived(t *testing.T) map[string]string {
	t.Helper()
	sent := w.made(t, "/emails", map[string]any{"from": "Harbour & Pine <invoices@example.test>", "to": []string{"Ann <ann@peer.test>"}, "subject": "Your delivery", "text": "When may we come?"})
	w.key.waitLast(t, sent, time.Minute, "sent")
	var email struct {
		MessageID string `json:"message_id"`
	}
	w.key.get(t, "/emails/"+sent, &email)
	head := func(from, subject, id, more string) string {
		return "From: " + from + "\r\nTo: hello@example.test\r\nSubject: " + subject + "\r\nMessage-ID: <" + id + "@peer.test>\r\n" + more + "\r\n"
	}
	answers := "In-Reply-To: " + email.MessageID + "\r\n"
	p := w.peer
	p.deliver(t, "example.test", p.sign(t, head("Ann Example <ann@peer.test>", "Answered: your delivery", "answer", answers)+answerText))
	p.deliver(t, "example.test", head("ann@other.test", "Claimed: your delivery", "claim", answers)+"Pay to this account instead.\r\n")
	p.deliver(t, "example.test", head("Ann Example <ann@peer.test>", "Forged invoice", "forged", "")+"Please pay.\r\n")
	p.deliver(t, "example.test", p.sign(t, head("Ann Example <ann@peer.test>", "Away until Monday", "away", answers+"Auto-Submitted: auto-replied\r\n")+"I am away.\r\n"))
	p.deliver(t, "example.test", p.sign(t, head("News <news@peer.test>", "Bulk news", "bulk", "List-Id: <news.peer.test>\r\nPrecedence: bulk\r\nMIME-Version: 1.0\r\nContent-Type: text/html\r\n")+
		`<table style="background:#123456;color:#fff;width:100%"><tr><td style="padding:24px"><h1>News</h1><p>All about harbours.</p><img src="http://127.0.0.1:9/p.png"></td></tr></table>`+"\r\n"))
	p.deliver(t, "example.test", p.sign(t, head("=?utf-8?b?157Xqdeo15Mg15TXoNee15w=?= <port@peer.test>", "=?utf-8?b?16nXnNeV150g157XlNeg157XnA==?=", "rtl", "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n")+"שלום, ההזמנה הגיעה.\r\nThank you!\r\n"))
	p.deliver(t, "example.test", manyFiles(400))
	p.deliver(t, "example.test", fmt.Sprintf(hostileMail, strings.Repeat("unbreakable", 90)))
	out := map[string]string{}
	var page struct {
		Data []struct{ ID, Subject string }
	}
	w.key.get(t, "/emails/receiving?limit=100", &page)
	for _, m := range page.Data {
		word, _, _ := strings.Cut(m.Subject, " ")
		out[word] = m.ID
	}
	out["sent"] = sent
	return out
}

// TestReceivedInTheBrowser: what arrives is listed with what it is, and shown with how far its sender is confirmed; no
// part of it leaves its place, and downloads ask for a fresh address.
func TestReceivedInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	w := newDashboardFixture(t)
	ids := w.fillReceived(t)
	s := newScreen(t, w.url, w.operator.session(t))
	s.load("/emails")
	s.press("Received")
	s.sees("Answered: your delivery", "Claims to answer", "Out of office", "Bulk mail", "Sender not confirmed")
	s.is("the sidebar still shows where this is", `document.querySelector('.side [aria-current=page]').innerText === 'Emails'`)
	s.is("an answer is one", `[...document.querySelectorAll('tbody tr')].find((row) => row.innerText.includes('Answered:')).querySelector('.badge').innerText === 'Answer'`)
	s.fine("the list of received emails")

	s.press("Answered: your delivery")
	s.sees("A recipient answered your email", "Yes, Thursday is fine", "Quoted text and signature")
	s.is("the quote is folded", `!document.querySelector('.letter-rest').open && !document.querySelector('.letter').innerText.includes('When may we come')`)
	s.press("Quoted text and signature")
	s.is("the quote unfolds", `document.querySelector('.letter-rest').innerText.includes('When may we come')`)
	s.is("it leads to the email that it answers", fmt.Sprintf(`!!document.querySelector('.aside a[href="/dashboard/emails/%s"]')`, ids["sent"]))
	s.fine("an answer")
	for word, said := range map[string]string{"Claimed:": "It claims to answer one of your emails, which is not proven", "Forged": "This email may be forged", "Away": "Out of office"} {
		s.visit("/received/" + ids[word])
		s.sees(said)
	}
	s.is("nothing claims", `!document.querySelector('main').innerText.includes('Claims to answer')`)

	s.visit("/received/" + ids["Bulk"])
	s.sees("Load 1 image")
	s.is("it is shown in a frame without rights", `document.querySelector('.paper iframe').getAttribute('sandbox') === ''`)

	s.visit("/received/" + ids["All"] + "?tab=attachments")
	s.is("not all files at first", `document.querySelectorAll('main tbody tr').length === 50`)
	s.press("Show more (350)")
	s.is("more files", `document.querySelectorAll('main tbody tr').length === 400`)
	evaluate[bool](s, `(() => { window.asked = []; HTMLAnchorElement.prototype.click = function () { window.asked.push(this.href); }; return true; })()`)
	s.press("Download -0.pdf")
	s.press("Download message")
	s.is("files are at addresses of their own", `window.asked.length === 2 && window.asked.every((url) => new URL(url).pathname.startsWith('/received/'))`)
	var fresh []string
	must(t, json.Unmarshal([]byte(evaluate[string](s, `JSON.stringify(window.asked)`)), &fresh))
	for i, want := range []string{"0\r\n", manyFiles(400)} {
		res, err := http.Get(fresh[i])
		must(t, err)
		var got bytes.Buffer
		_, err = got.ReadFrom(res.Body)
		must(t, err)
		must(t, res.Body.Close())
		if res.StatusCode != 200 || strings.TrimSpace(got.String()) != strings.TrimSpace(want) {
			t.Errorf("%s: %s %.100q", fresh[i], res.Status, got.String())
		}
	}
	s.fine("files")

	hostile := "/received/" + ids["<script>alert(1)</script>"]
	for _, tab := range []string{"text", "preview", "html", "headers", "attachments"} {
		s.visit(hostile + "?tab=" + tab)
		for _, width := range []int64{1280, 390} {
			s.look(width, "light")
			if n := s.sideways(); n > 0 {
				t.Errorf("%s at %d px scrolls sideways by %d px", tab, width, n)
			}
		}
		s.look(1280, "light")
		for _, v := range s.axe() {
			t.Errorf("%s: axe: %s", tab, v)
		}
		s.is("the page is whole with "+tab, `document.title.startsWith('<script>') && document.querySelectorAll('h1').length === 1 && !document.querySelector('main img') && !document.querySelector('main script')`)
	}
	s.allow("Blocked script execution in", "Refused to", "violates the following") // of the frame
	s.fine("a hostile email")
	w.receivedPictures(t, s, ids)
}

// TestDomainReceivesInTheBrowser: an owner switches receiving on, and the record says what it is.
func TestDomainReceivesInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	w := newDashboardFixture(t)
	w.addDomain(t, "shop.example")
	w.ns.publish(t, dnsRecord{Name: "shop.example", Type: "MX", Value: "aspmx.l.google.com", Priority: 1})
	s := newScreen(t, w.url, w.operator.session(t))
	s.load("/domains")
	s.press("shop.example")
	s.press("Receiving")
	s.press("Receive mail for shop.example")
	s.sees("Receiving is on. Publish the MX record of shop.example")
	s.press("Check now")
	s.sees("Mail for shop.example goes to aspmx.l.google.com. Publishing this would divert it. Use in.shop.example.")
	s.press("Records")
	s.sees("Receiving, MX", "for received mail; never affects sending", "Use in.shop.example.")
	s.press("Zone file")
	s.is("the zone file would not divert mail", `document.querySelector('.code pre').innerText.split('\n').every((line) => !line.startsWith('shop.example. 3600 IN MX'))`)
	w.operator.want(t, 200, "PATCH", "/users/me", map[string]any{"language": "de"})
	s.load(evaluate[string](s, `location.pathname.replace('/dashboard', '')`) + "?tab=receiving")
	s.sees("Mail für shop.example geht an aspmx.l.google.com.")
	s.press("Mail für shop.example empfangen")
	s.sees("Der Empfang ist für shop.example deaktiviert")
	s.fine("a domain that receives")
}

// TestRoutesInTheBrowser: routes are added, moved, changed and deleted, and deleting is undone. A member only reads.
func TestRoutesInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	w := newDashboardFixture(t)
	s := newScreen(t, w.url, w.operator.session(t))
	s.load("/received")
	s.press("Routes")
	s.sees("No routes yet")
	s.press("Add route")
	s.fill("Address", "support@example.test")
	s.fill("Forward to", "ann@peer.test")
	s.submits()
	s.sees("support@example.test", "Send to webhooks", "Forward to ann@peer.test", "Waiting for consent")
	s.press("Add route")
	s.fill("Address", "not an address")
	s.allow("422")
	s.press("Drop the email")
	s.is("no other action is offered", `!document.querySelector('dialog textarea')`)
	s.submits()
	s.is("a wrong address is refused", `!!document.querySelector('dialog .notice--bad')`)
	s.fill("Address", "*@example.test")
	s.submits()
	order := func(what string, want ...string) {
		t.Helper()
		s.is(what, fmt.Sprintf(`[...document.querySelectorAll('tbody tr td:first-child')].map((cell) => cell.innerText).join(' ') === %q`, strings.Join(want, " ")))
	}
	order("a new route is the last", "support@example.test", "*@example.test")
	s.press("Move *@example.test up")
	order("it moves up", "*@example.test", "support@example.test")
	s.press("Move *@example.test down")
	order("it moves down", "support@example.test", "*@example.test")
	for _, v := range s.axe() {
		t.Errorf("routes: axe: %s", v)
	}
	w.routePictures(t, s)
	s.press("Actions for support@example.test")
	s.press("Delete route")
	order("it is gone", "*@example.test")
	s.press("Undo")
	order("it is back in its place", "support@example.test", "*@example.test")
	s.press("Actions for support@example.test")
	s.press("Edit")
	s.press("Send it to the webhooks")
	s.submits()
	s.is("it is changed", `!document.querySelector('tbody tr').innerText.includes('Send to webhooks') && document.querySelector('tbody tr').innerText.includes('Forward to ann@peer.test')`)
	s.fine("routes")
	member := newScreen(t, w.url, w.joined(t, "member").session(t))
	member.load("/routes")
	member.sees("support@example.test")
	member.is("a member changes none", `!document.querySelector('main tbody button') && !document.querySelector('.head-acts .btn')`)
	member.fine("routes of a member")
}

// routePictures writes pictures for people to look at.
func (w *dashboardFixture) routePictures(t *testing.T, s *screen) {
	dir := os.Getenv(picturesEnv)
	if dir == "" {
		return
	}
	for _, language := range []string{"ja", "de", "en"} {
		w.operator.want(t, 200, "PATCH", "/users/me", map[string]any{"language": language})
		s.load("/routes")
		for _, width := range []int64{390, 800, 1400} {
			for _, scheme := range []string{"light", "dark"} {
				s.look(width, scheme)
				s.shoot(filepath.Join(dir, fmt.Sprintf("routes.%s.%d.%s.png", language, width, scheme)))
			}
		}
		evaluate[bool](s, `document.querySelector('.head-acts .btn').click() || true`)
		s.look(390, "dark")
		s.is("the form is open", `!!document.querySelector('dialog[open] textarea')`)
		s.shoot(filepath.Join(dir, fmt.Sprintf("route-form.%s.390.dark.png", language)))
		s.look(1400, "light")
		s.shoot(filepath.Join(dir, fmt.Sprintf("route-form.%s.1400.light.png", language)))
	}
	s.load("/routes")
	s.look(1280, "light")
}

// receivedPictures writes pictures for people to look at.
func (w *dashboardFixture) receivedPictures(t *testing.T, s *screen, ids map[string]string) {
	dir := os.Getenv(picturesEnv)
	if dir == "" {
		return
	}
	var domains struct{ Data []struct{ ID, Name string } }
	w.key.get(t, "/domains", &domains)
	pages := map[string]string{"received": "/received", "answer": "/received/" + ids["Answered:"], "claim": "/received/" + ids["Claimed:"], "forged": "/received/" + ids["Forged"], "bulk": "/received/" + ids["Bulk"],
		"files": "/received/" + ids["All"] + "?tab=attachments", "headers": "/received/" + ids["<script>alert(1)</script>"] + "?tab=headers", "hostile": "/received/" + ids["<script>alert(1)</script>"] + "?tab=text", "emails": "/emails"}
	for _, d := range domains.Data {
		if d.Name == "example.test" {
			pages["domain"], pages["domain-receiving"] = "/domains/"+d.ID, "/domains/"+d.ID+"?tab=receiving"
		}
	}
	for _, language := range []string{"en", "de", "ja"} {
		w.operator.want(t, 200, "PATCH", "/users/me", map[string]any{"language": language})
		s.load("/emails")
		for _, width := range []int64{390, 800, 1400} {
			for _, scheme := range []string{"light", "dark"} {
				s.look(width, scheme)
				for name, path := range pages {
					s.visit(path)
					s.shoot(filepath.Join(dir, fmt.Sprintf("%s.%s.%d.%s.png", name, language, width, scheme)))
				}
			}
		}
	}
}
