package sdktest

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/webauthn"
)

// TestSetupToFirstEmail follows somebody who has a relay and a domain and never read the manual:
// every step from the printed link, in the browser only. The relay is entered there, or given to
// the server as in the README.
func TestSetupToFirstEmail(t *testing.T) {
	part(t, "browser", shortForm)
	t.Parallel()
	for _, given := range []bool{false, true} {
		t.Run(fmt.Sprintf("relay given to the server %t", given), func(t *testing.T) {
			t.Parallel()
			relay, ns := newSink(t, sinkOptions{}), newNameServer(t)
			in := newInstance(t, "--resolver", ns.addr)
			in.args = in.args[1:] // nothing is captured
			if given {
				in.wrap = []string{"env", "MAILER_RELAY=smtp://" + relay.addr + "?tls=off"}
			}
			in.serve(t)
			s := newScreen(t, in.url, "")
			s.allow("401") // logged by Chromium itself: nobody is signed in yet
			s.load("/")
			s.sees("No account yet", "mailer users setup")
			s.makeAccount(in, "ingrid@shop.test")
			s.press("Skip for now")
			setUpRelay(t, s, relay, given)
			s.press("Continue")
			s.sees("The domain that you send from")
			s.press("Add domain")
			s.sees("Get started", "2 of 6 done", "shop.test", "passed its test")
			s.fine("the setup")
			s.visit("/domains")
			s.press("shop.test")
			s.sees("the DNS records were not checked yet")
			publisher := client{in.url, in.newKey(t)}
			var list struct{ Data []struct{ ID string } }
			publisher.get(t, "/domains", &list)
			var domain struct{ Records []dnsRecord }
			publisher.get(t, "/domains/"+list.Data[0].ID, &domain)
			ns.publish(t, domain.Records...)
			s.press("Check now")
			s.sees("shop.test is ready")
			s.fine("the domain")
			s.visit("/keys?add=1") // as the checklist leads there
			s.fill("Name", "shop backend")
			s.submits()
			s.sees("Copy it now")
			key := evaluate[string](s, `(/mlr_[\w-]{20,}|re_[\w-]{20,}/.exec(document.body.innerText) ?? [''])[0]`)
			if key == "" {
				t.Fatalf("no key on the page: %s", s.text())
			}
			api := client{in.url, key}
			mail := api.send(t, map[string]any{"from": "Harbour <hello@shop.test>", "to": "zofia@example.org", "subject": "The very first", "text": "hello"})
			relay.wait(t, 1, time.Minute, func(m *message) bool { return m.header("Subject") == "The very first" })
			s.visit("/emails/" + mail)
			s.sees("accepted it for zofia@example.org")
			s.visit("/")
			s.sees("Bounce and complaint webhook", "5 of 6 done") // stays until they arrive
			s.press("Dismiss")
			s.fine("the first email")
		})
	}
}

// setUpRelay is the relay's step of the setup.
func setUpRelay(t *testing.T, s *screen, relay *sink, given bool) {
	t.Helper()
	if given {
		s.sees("This server uses the relay " + relay.addr)
		s.press("Test relay")
		s.sees("The relay works")
		return
	}
	host, port, err := net.SplitHostPort(relay.addr)
	must(t, err)
	s.sees("A relay is the SMTP server that sends your mail")
	s.fill("Provider", "Postmark")
	s.sees("The server API token")
	s.fill("Provider", "Other SMTP server")
	s.fill("Host", host)
	s.fill("Encryption", "None")
	s.fill("Port", "1") // a mistake: nothing listens there
	s.press("Add and test")
	s.sees("Failed at: Connect", "Check host and port")
	s.fill("Port", port)
	s.press("Try again")
	s.sees("The relay works")
}

// TestHoldReasonInTheBrowser: of mail that was not tried, or not sent at all, the page says
// why and what to do.
func TestHoldReasonInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	for name, c := range map[string]struct {
		relay     func(t *testing.T) string // its address with options
		to        []string
		says, fix string
	}{
		"a suppressed address": {
			relay: func(t *testing.T) string { return newSink(t, sinkOptions{}).addr + "?tls=off" },
			to:    []string{"listed@example.org,zofia@example.org"}, says: "Not sent to listed@example.org: it was put on the suppression list", fix: "remove the suppression"},
		"a relay that is down": {
			relay: func(t *testing.T) string { return freeAddr(t) + "?tls=off" },
			to:    []string{"zofia@example.org"}, says: "has been unreachable since", fix: "It is sent automatically once the relay answers"},
		"the relay's limit of a day": {
			relay: func(t *testing.T) string { return newSink(t, sinkOptions{}).addr + "?tls=off&daily=1" },
			to:    []string{"first@example.org", "second@example.org"}, says: "has reached its limit of messages in 24 hours", fix: "it is sent automatically"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := startBare(t, "--relay", "smtp://"+c.relay(t), "--transactional-reserve", "0")
			in.addDomain(t, "example.test")
			api, b := client{in.url, in.newKey(t)}, in.setUp(t)
			api.ask(t, "POST", "/suppressions", map[string]any{"email": "listed@example.org"}, http.StatusCreated)
			id := ""
			for i, to := range c.to {
				if i > 0 {
					api.waitLast(t, id, time.Minute, "sent")
				}
				id = api.send(t, map[string]any{"from": "a@example.test", "to": strings.Split(to, ","), "subject": "why not", "text": "hello"})
			}
			s := newScreen(t, in.url, b.session(t))
			s.load("/emails/" + id)
			s.sees(c.says, c.fix)
			s.fine(name)
		})
	}
}

// TestPasskeyInTheBrowser: a passkey is created, signs in without a password, and serves as second
// factor.
func TestPasskeyInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := newInstance(t)
	_, port, err := net.SplitHostPort(in.addr)
	must(t, err)
	in.args = append(in.args, "--base-url", "http://localhost:"+port) // a passkey belongs to a name
	in.serve(t)
	b := in.setUp(t)
	s := newScreen(t, "http://localhost:"+port, b.session(t))
	command(s, webauthn.Enable, webauthn.EnableParams{})
	command(s, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: "ctap2", Transport: "internal", HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true}})
	s.load("/account?part=sign-in")
	s.press("Add a passkey")
	s.fill("Name", "Laptop at work")
	s.submits()
	s.sees("Recovery codes, shown once")
	s.press("I have saved them")
	s.sees("Laptop at work")
	s.fine("a passkey is made")
	s.visit("/emails")
	s.press("op@example.test")
	s.press("Sign out")
	s.press("Sign in with a passkey")
	s.sees("Overview")
	s.fine("signed in by a passkey")
	s.visit("/account?part=sign-in")
	s.press("Remove")
	s.press("Remove")
	s.sees("Passkey removed")
	s.fine("a passkey is removed")
}

// submits sends the form of the dialog in front, once it is there.
func (s *screen) submits() {
	s.t.Helper()
	eventually(s.t, time.Minute, "a dialog opens", func() (bool, string) {
		return evaluate[bool](s, `(() => { const f = [...document.querySelectorAll('dialog[open]')].pop()?.querySelector('form'); f?.requestSubmit(); return !!f; })()`), s.text()
	})
}

// strike presses a key, with Control where ctrl is said.
func (s *screen) strike(key string, ctrl bool) {
	s.t.Helper()
	p := input.DispatchKeyEventParams{Type: "keyDown", Key: key}
	if ctrl {
		p.Modifiers = 2
	}
	if len(key) == 1 {
		p.Code = "Key" + strings.ToUpper(key)
		if !ctrl {
			p.Text = key
		}
	}
	if key == "Enter" {
		p.Text, p.WindowsVirtualKeyCode = "\r", 13
	}
	if key == "Tab" {
		p.Code, p.WindowsVirtualKeyCode = "Tab", 9
	}
	command(s, input.DispatchKeyEvent, p)
	p.Type, p.Text = "keyUp", ""
	command(s, input.DispatchKeyEvent, p)
}

// TestKeyboardOnly: the palette opens, finds a page and opens it; the shortcuts are listed; the
// first Tab skips the navigation.
func TestKeyboardOnly(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	b := in.setUp(t)
	s := newScreen(t, in.url, b.session(t))
	s.load("/emails")
	s.strike("Tab", false)
	if focused := evaluate[string](s, `document.activeElement.innerText`); focused != "Skip to content" {
		t.Errorf("the first Tab leads to %q", focused)
	}
	s.strike("k", true)
	eventually(t, time.Minute, "the palette is open", func() (bool, string) {
		return evaluate[bool](s, `document.querySelector('dialog[open] input') === document.activeElement`), s.text()
	})
	command(s, input.InsertText, input.InsertTextParams{Text: "webhoo"})
	s.sees("Webhooks")
	s.strike("Enter", false)
	eventually(t, time.Minute, "the page is that of webhooks", func() (bool, string) {
		at := evaluate[string](s, `location.pathname`)
		return at == "/dashboard/webhooks", at
	})
	s.settle()
	s.strike("?", false)
	s.sees("Keyboard")
	s.strike("Escape", false)
	s.fine("by keys alone")
}

// TestForbiddenActionsAreHidden: a member sees no action of an admin, an admin none of an operator,
// and a forbidden page explains why.
func TestForbiddenActionsAreHidden(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	w := newDashboardFixture(t)
	for role, c := range map[string]struct {
		who  *browser
		acts map[string][]string // by page: labels of buttons that must not be shown
	}{
		"member": {w.joined(t, "member"), map[string][]string{"/domains": {"Add domain"}, "/keys": {"Create a key"}, "/webhooks": {"Add webhook", "Add endpoint"}, "/team": {"Invite"}}},
		"admin":  {w.joined(t, "admin"), map[string][]string{"/operator/relays": {"Add relay"}, "/operator/teams": {"Make a team"}}},
	} {
		t.Run(role, func(t *testing.T) {
			s := newScreen(t, w.url, c.who.session(t))
			s.allow("403", "404")
			for path, words := range c.acts {
				s.load(path)
				for _, act := range words {
					if path[:5] == "/oper" {
						s.sees("This page is for operators")
					}
					if evaluate[bool](s, fmt.Sprintf(`!!(%s)(%q, 'button, a[href]')`, finder, act)) {
						t.Errorf("%s shows %q to a person who is %s", path, act, role)
					}
				}
				s.fine(path)
			}
		})
	}
}
