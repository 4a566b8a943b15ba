package sdktest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestTheFirstEmailFromTheBrowser goes the way of who has just installed Mailer, from the
// link that the server prints to an email and what became of it.
func TestTheFirstEmailFromTheBrowser(t *testing.T) {
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	in := startBare(t, killArgs(relay)...)
	in.addDomain(t, "example.test")
	s := newScreen(t, in.url, "")
	_, code, _ := strings.Cut(strings.TrimSpace(in.run(t, "users", "setup")), "#")
	s.load("/setup#" + code)
	s.fill("Name", "Ingrid")
	s.fill("Team", "Harbour")
	s.fill("Email", "ingrid@example.test")
	s.fill("Password", "a long enough pass phrase")
	s.press("Make the account")
	s.sees("Scan this with an authenticator app")
	s.fine("the account is made")
	s.visit("/emails")
	s.sees("Harbour", "Emails")
	s.press("Send")
	s.fill("From", "invoices@example.test")
	s.fill("To", "zofia@example.org")
	s.fill("Subject", "The very first")
	evaluate[bool](s, `(() => { const d = [...document.querySelectorAll('dialog[open]')].pop(); d.querySelector('form').requestSubmit(); return true; })()`)
	relay.wait(t, 1, 20*time.Second, func(m *message) bool { return m.header("Subject") == "The very first" })
	s.visit("/emails")
	s.sees("The very first")
	s.press("The very first")
	s.sees("took it for zofia@example.org")
	s.fine("the first email")
	s.press("Ingrid")
	s.press("Sign out")
	s.sees("Sign in")
	s.fill("Email", "ingrid@example.test")
	s.fill("Password", "not the pass phrase")
	s.allow("401") // which Chromium notes by itself
	s.press("Sign in")
	s.sees("Address or password is wrong")
	s.fill("Password", "a long enough pass phrase")
	s.press("Sign in")
	s.sees("Harbour")
	s.fine("signed in again")
}

// TestWhyNotInTheBrowser: the page of an email says in a sentence why it did not arrive.
func TestWhyNotInTheBrowser(t *testing.T) {
	t.Parallel()
	w := newDashboardWorld(t)
	s := newScreen(t, w.url, w.operator.session(t))
	for _, path := range w.pages {
		if !strings.HasPrefix(path, "/emails/") {
			continue
		}
		id := strings.TrimPrefix(path, "/emails/")
		s.load(path)
		said := evaluate[string](s, `document.querySelector('.verdict-line').innerText`)
		want := map[string]string{"sent": "took it for zofia@example.org", "bounced": "has no mailbox nobody@example.net", "queued": "next try", "delivery_delayed": "next try"}[w.key.email(t, id).LastEvent]
		if want == "" || !strings.Contains(said, want) {
			t.Errorf("of an email that is %s the page says %q, and not %q", w.key.email(t, id).LastEvent, said, want)
		}
		s.fine(path)
	}
}

// TestHostileMailInThePreview: nothing of a mail runs, and nothing is fetched, where it is
// looked at.
func TestHostileMailInThePreview(t *testing.T) {
	t.Parallel()
	in := startBare(t)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	var trapped atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		trapped.Add(1)
		if r.URL.Path != "/control" {
			t.Errorf("asked for %s", r.URL)
		}
	}))
	t.Cleanup(server.Close)
	trap := server.URL
	mail := `<html><head><meta http-equiv="refresh" content="0;url=` + trap + `/refresh"><link rel="stylesheet" href="` + trap + `/css"><base href="` + trap + `/">
<style>@import url(` + trap + `/import); body { background: url(` + trap + `/background) }</style></head><body onload="fetch('` + trap + `/onload')">
<script>document.title='owned'; fetch('` + trap + `/script'); top.location='` + trap + `/top'</script><img src="` + trap + `/image" onerror="fetch('` + trap + `/onerror')">
<form action="` + trap + `/form"><input autofocus onfocus="form.submit()"></form><iframe src="` + trap + `/frame"></iframe><object data="` + trap + `/object"></object>
<math><mtext></form><form><mglyph><style></math><img src onerror="fetch('` + trap + `/math')"></style></mglyph></form></mtext></math>
<svg><image href="` + trap + `/svg"/><script>fetch('` + trap + `/svgscript')</script></svg><video src="` + trap + `/video" autoplay></video>` + strings.Repeat("<p>padding</p>", 40_000) + `</body></html>`
	id := api.send(t, map[string]any{"from": "a@example.test", "to": "b@example.org", "subject": "<img src=x onerror=alert(1)>", "html": mail})
	s := newScreen(t, in.url, b.session(t))
	s.allow(trap, "Content Security Policy", "sandboxed") // what Chromium says of what it refused
	s.load("/emails/" + id)
	s.sees("No remote content loaded")
	for _, tab := range []string{"Text", "HTML", "Headers", "Checks", "Preview"} {
		s.press(tab)
		s.settle()
	}
	if title := evaluate[string](s, `document.title`); strings.Contains(title, "owned") {
		t.Errorf("the mail's script ran: %s", title)
	}
	s.fine("hostile mail")
	// The control: what may load does reach the trap.
	if _, err := http.Get(trap + "/control"); err != nil || trapped.Load() == 0 {
		t.Errorf("the trap hears nothing: %v", err)
	}
}
