package sdktest

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// confirmPattern finds the link of a confirmation mail.
var confirmPattern = regexp.MustCompile(`https?://[^\s"<>]+/opt-in/[A-Za-z0-9_.~-]+`)

// TestSignUpFormInTheBrowser: a form is created, its HTML is pasted into another site, a person signs
// up there and confirms, and the dashboard shows the opt-in with the record of consent.
func TestSignUpFormInTheBrowser(t *testing.T) {
	part(t, "browser", shortForm)
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	in := startBare(t, killArgs(relay)...)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	api.ask(t, "POST", "/topics", map[string]any{"name": "Product news", "default_subscription": "opt_out", "visibility": "public"}, http.StatusCreated)
	s := newScreen(t, in.url, b.session(t))
	s.load("/forms")
	s.press("New form")
	s.fill("Name", "Home page")
	s.fill("Sender of the mails", "Harbour <news@example.test>")
	s.submits()
	s.sees("Link or embed", "Home page")
	s.press("Settings")
	s.press("Add field")
	s.press("Save")
	s.sees("The form was saved", "Version 2")
	s.press("Publish")
	s.press("HTML")
	snippet := ""
	eventually(t, time.Minute, "the HTML to paste shows", func() (bool, string) {
		snippet = evaluate[string](s, `document.querySelector('.code pre')?.innerText ?? ''`)
		return strings.Contains(snippet, "<form") && strings.Contains(snippet, "first_name"), snippet
	})
	s.fine("a form")
	site := httptest.NewServer(http.HandlerFunc(func(x http.ResponseWriter, _ *http.Request) {
		x.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(x, "<!doctype html><html lang=en><title>Harbour</title><h1>Harbour</h1>%s", snippet)
	}))
	t.Cleanup(site.Close)
	visitor := newScreen(t, in.url, "")
	must(t, chromedp.Do(visitor.ctx, chromedp.Navigate(site.URL)))
	visitor.fill("Email", "ann@example.org")
	visitor.fill("First name", "Ann")
	visitor.press("Sign up")
	visitor.sees("One more step")
	eventually(t, time.Minute, "the button appears", func() (bool, string) {
		return evaluate[bool](visitor, `!!document.querySelector('button')?.checkVisibility({visibilityProperty: true, opacityProperty: true})`), visitor.text()
	})
	visitor.press("Finish sign-up")
	visitor.sees("Check your inbox")
	visitor.fine("a sign-up")
	mail := relay.wait(t, 1, time.Minute, func(m *message) bool { return strings.Contains(strings.Join(m.To, " "), "ann@example.org") })[0]
	link := ""
	for _, p := range mail.leaves(t) {
		if found := confirmPattern.FindString(html.UnescapeString(string(p.body))); link == "" {
			link = found
		}
	}
	must(t, chromedp.Do(visitor.ctx, chromedp.Navigate(link)))
	visitor.press("Confirm sign-up")
	visitor.sees("You are signed up")
	visitor.fine("a confirmation")
	s.press("Opt-ins")
	s.sees("ann@example.org", "Confirmed")
	s.press("ann@example.org")
	s.sees("ann@example.org confirmed", "Record of consent", "Product news", "127.0.0.1")
	s.press("Contact")
	s.sees("Consents", "Home page")
	s.fine("an opt-in")
}
