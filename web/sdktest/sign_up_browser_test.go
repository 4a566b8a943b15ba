package sdktest

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// optInLink finds the link of a confirmation.
var optInLink = regexp.MustCompile(`https?://[^\s"<>]+/opt-in/[^\s"<>/]+`)

// signUpRun is a server with a form, and a visitor.
type signUpRun struct {
	t     *testing.T
	api   client
	relay *sink
	*screen
}

// TestLongBrowserSignUp signs up in a browser on the page of a form and in another site, confirms, refuses,
// and subscribes again.
func TestLongBrowserSignUp(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	in := startBare(t, killArgs(relay)...)
	in.addDomain(t, "example.test")
	r := &signUpRun{t: t, api: client{in.url, in.newKey(t)}, relay: relay}
	var topic, form struct {
		ID, URL string
		Embed   struct{ HTML, Script string }
	}
	nodeOutput(r.api.ask(t, "POST", "/topics", map[string]any{"name": "Harbour news", "default_subscription": "opt_out", "visibility": "public"}, http.StatusCreated)).into(t, &topic)
	page := ""
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; img-src data:; script-src "+in.url+"; connect-src "+in.url+"; form-action "+in.url)
		fmt.Fprintf(w, "<!doctype html><html lang=\"en\"><head><title>Harbour</title><link rel=\"icon\" href=\"data:,\"></head><body><main><h1>Harbour</h1>%s</main></body></html>", page)
	}))
	t.Cleanup(site.Close)
	nodeOutput(r.api.ask(t, "POST", "/forms", map[string]any{"name": "Home page", "from": "Harbour <news@example.test>", "topics": []any{map[string]any{"id": topic.ID, "preselected": true}},
		"fields": []any{map[string]any{"property": "first_name", "label": "First name"}}, "allowed_origins": []string{site.URL}}, http.StatusCreated)).into(t, &form)
	r.api.get(t, "/forms/"+form.ID, &form)
	page = form.Embed.Script

	r.screen = newScreen(t, in.url, "")
	r.hostedPage(form.URL)
	r.otherSite(site.URL)
	r.again(form.URL)
	r.withoutScript(form.URL)
}

func (r *signUpRun) open(address string) {
	r.t.Helper()
	must(r.t, chromedp.Do(r.ctx, chromedp.Navigate(address)))
}

// lookAt checks a page at two widths, light and dark, and writes pictures if they are asked for.
func (r *signUpRun) lookAt(name string) {
	r.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1440, 390} {
			r.look(width, scheme)
			if wide := r.sideways(); wide > 0 {
				r.t.Errorf("%s at %d: %d pixels too wide", name, width, wide)
			}
			for _, fault := range r.axe() {
				r.t.Errorf("%s at %d, %s: %s", name, width, scheme, fault)
			}
			if dir := os.Getenv("MAILER_SCREENSHOTS"); dir != "" {
				r.shoot(filepath.Join(dir, fmt.Sprintf("signup-%s-%d-%s.png", name, width, scheme)))
			}
		}
	}
	r.look(1440, "light")
	r.fine(name)
}

// linkTo returns the link of the next confirmation, which goes to an address.
func (r *signUpRun) linkTo(address string) string {
	r.t.Helper()
	isOurs := func(m *message) bool {
		return slices.ContainsFunc(m.To, func(to string) bool { return strings.Contains(to, address) })
	}
	mails := r.relay.wait(r.t, 1, time.Minute, isOurs)
	for _, p := range mails[len(mails)-1].leaves(r.t) {
		if link := optInLink.FindString(html.UnescapeString(string(p.body))); link != "" {
			return link
		}
	}
	r.t.Fatalf("no link in the confirmation to %s", address)
	return ""
}

// hostedPage signs up on the page of the form, and confirms with another name.
func (r *signUpRun) hostedPage(page string) {
	t := r.t
	r.open(page)
	r.sees("Harbour news")
	r.lookAt("form")
	r.fill("Email address", "ann@example.org")
	r.fill("First name", "An")
	time.Sleep(2 * time.Second) // a faster submission gets the page with a button
	r.press("Sign up")
	r.sees("Check your inbox")
	r.lookAt("submitted")
	if status, _ := r.api.do(t, "GET", "/contacts/ann@example.org", nil); status != http.StatusNotFound {
		t.Errorf("a request alone makes a contact: %d", status)
	}
	link := r.linkTo("ann@example.org")
	r.open(link)
	r.sees("Confirm your sign-up", "ann@example.org")
	r.lookAt("confirm")
	r.fill("First name", "Ann")
	r.press("Confirm sign-up")
	r.sees("You are signed up")
	r.lookAt("confirmed")
	var contact struct {
		FirstName string `json:"first_name"`
	}
	if r.api.get(t, "/contacts/ann@example.org", &contact); contact.FirstName != "Ann" {
		t.Errorf("%+v", contact)
	}
	r.open(link + "/refuse")
	r.sees("You are signed up")
}

// otherSite signs up in another site, and refuses.
func (r *signUpRun) otherSite(site string) {
	t := r.t
	r.open(site)
	r.fill("Email address", "bob@example.org")
	r.press("Sign up")
	r.sees("Check your inbox")
	if at := evaluate[string](r.screen, `location.href`); at != site+"/" {
		t.Errorf("the script left the page for %s", at)
	}
	r.fine("a form in another site")
	link := r.linkTo("bob@example.org")
	r.open(link)
	r.press("This was not me")
	r.sees("Was this not you?")
	r.lookAt("refuse")
	r.press("This was not me")
	r.sees("You are not signed up")
	r.lookAt("refused")
	r.open(link)
	r.sees("You are not signed up")
	if status, _ := r.api.do(t, "GET", "/contacts/bob@example.org", nil); status != http.StatusNotFound {
		t.Errorf("who refused is a contact: %d", status)
	}
}

// again signs up an unsubscribed contact, who asks to receive mail again with the second button.
func (r *signUpRun) again(page string) {
	t := r.t
	var contact struct{ Unsubscribed bool }
	r.api.ask(t, "POST", "/contacts", map[string]any{"email": "carl@example.org", "unsubscribed": true}, http.StatusCreated)
	r.open(page)
	r.fill("Email address", "carl@example.org")
	time.Sleep(2 * time.Second)
	r.press("Sign up")
	r.sees("Check your inbox")
	link := r.linkTo("carl@example.org")
	r.open(link)
	r.sees("You are unsubscribed from all mailings")
	r.lookAt("unsubscribed")
	r.press("Confirm sign-up")
	r.sees("You are signed up", "still unsubscribed")
	r.lookAt("still-unsubscribed")
	if r.api.get(t, "/contacts/carl@example.org", &contact); !contact.Unsubscribed {
		t.Error("confirming alone lifts an unsubscribe")
	}
	r.press("Receive mail from")
	r.sees("again.")
	if r.api.get(t, "/contacts/carl@example.org", &contact); contact.Unsubscribed {
		t.Error("the second button does nothing")
	}
	r.fine("subscribing again")
}

// withoutScript submits as a browser without JavaScript does: the page with a button follows.
func (r *signUpRun) withoutScript(page string) {
	r.open(page)
	r.fill("Email address", "dora@example.org")
	evaluate[bool](r.screen, `(HTMLFormElement.prototype.submit.call(document.querySelector('form')), true)`)
	r.sees("One more step")
	r.lookAt("button")
	r.sees("Finish sign-up")
	r.press("Finish sign-up")
	r.sees("Check your inbox")
	r.linkTo("dora@example.org")
}
