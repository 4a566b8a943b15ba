package sdktest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestUnsubscribePage opens the link of a broadcast in a browser and opts out there.
func TestUnsubscribePage(t *testing.T) {
	part(t, "browser", shortForm)
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	in := startBare(t, killArgs(relay)...)
	in.addDomain(t, "example.test")
	api := client{in.url, in.newKey(t)}
	api.ask(t, "POST", "/contacts", map[string]any{"email": "ann@example.org"}, http.StatusCreated)
	api.ask(t, "POST", "/broadcasts", map[string]any{"from": "a@example.test", "subject": "News",
		"html": `<a href="{{{UNSUBSCRIBE_URL}}}">no more</a>`, "send": true}, http.StatusCreated)
	mail := relay.wait(t, 1, time.Minute, subjectIs("News"))[0]
	link, _, _ := strings.Cut(strings.TrimPrefix(mail.header("List-Unsubscribe"), "<"), ">")
	s := newScreen(t, in.url, "")
	must(t, chromedp.Do(s.ctx, chromedp.Navigate(link)))
	s.sees("Unsubscribe")
	var ann struct{ Unsubscribed bool }
	if api.get(t, "/contacts/ann@example.org", &ann); ann.Unsubscribed {
		t.Error("the link alone opts out: scanners follow links")
	}
	s.press("Unsubscribe")
	eventually(t, time.Minute, "she is opted out", func() (bool, string) {
		api.get(t, "/contacts/ann@example.org", &ann)
		return ann.Unsubscribed, "still subscribed"
	})
	s.fine("the page of an opt-out")
}
