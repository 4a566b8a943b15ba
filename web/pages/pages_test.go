package pages

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"mailer/app"
	"mailer/app/rules/tracking"
	"mailer/app/tenants/audience"
	"mailer/web/rest"
)

// TestErrorPageHidesCause adds pages that fail.
func TestErrorPageHidesCause(t *testing.T) {
	var log bytes.Buffer
	var fail func() error
	h := rest.New(rest.Config{Log: slog.New(slog.NewTextHandler(&log, nil)), Limits: rest.DefaultLimits(), Now: time.Now})
	p := newPages(h, nil)
	for _, method := range []string{"GET", "POST"} {
		p.add(method, "/unsubscribe/{token}", method, "Fail", func(context.Context, *rest.Exchange, *pageInput, *pageText) (*hostedPage, error) { return nil, fail() }, "")
	}
	ask := func(method string, status int, parts ...string) *httptest.ResponseRecorder {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "/unsubscribe/T0kenOfSomebody", nil))
		if w.Code != status || w.Header().Get("Content-Type") != "text/html; charset=utf-8" || strings.Contains(w.Body.String(), "s3cret") {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
		for _, part := range parts {
			if !strings.Contains(w.Body.String(), part) {
				t.Errorf("the page does not say %q: %s", part, w.Body)
			}
		}
		return w
	}
	for _, method := range []string{"GET", "POST"} {
		fail = func() error {
			return &app.Error{Code: app.CodeServiceUnavailable, Message: "s3cret", Err: errors.New("disk full")}
		}
		if w := ask(method, 503, "Please try again later"); w.Header().Get("Retry-After") != "60" {
			t.Errorf("%v", w.Header())
		}
		fail = func() error { return errors.New("s3cret of the cause") }
		ask(method, 500, "Please try again later", "on our side")
		fail = func() error { panic("out of cheese") }
		ask(method, 500, "Please try again later")
	}
	for _, want := range []string{"disk full", "s3cret of the cause", "out of cheese"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not tell %q: %s", want, &log)
		}
	}
	if strings.Contains(log.String(), "T0kenOfSomebody") {
		t.Errorf("the log has a token: %s", &log)
	}
}

// textOf is the text of an element.
func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// shown renders a page, and returns its elements by name.
func shown(t *testing.T, page *hostedPage) map[string][]*html.Node {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page.render("en", "")))
	if err != nil {
		t.Fatal(err)
	}
	elements := map[string][]*html.Node{}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode {
			elements[n.Data] = append(elements[n.Data], n)
		}
	}
	return elements
}

func TestHostileNamesAreEscaped(t *testing.T) {
	const script = `"><script>alert(1)</script><b onclick=x>{team}{topic}{{.}}'`
	topics := []app.ContactTopic{
		{Topic: app.Topic{ID: "a", Name: "Topic " + script, Description: "About " + script}, Subscription: app.OptIn},
		{Topic: app.Topic{ID: "b", Name: "\u202eA\u2066B\u2069\u200f\nC\x00"}, Subscription: app.OptIn},
		{Topic: app.Topic{ID: "c", Name: "Events near you"}},
	}
	view := &audience.PageView{Team: "Team " + script, Topic: &topics[0], Topics: topics, Preferences: "p", UnsubscribeAll: "u"}
	text := pageTexts()[0]
	for name, page := range map[string]*hostedPage{
		"ask": askPage(view, text), "done": unsubscribedPage(view, text), "preferences": preferencesPage(view, text),
		"shared": sharedPage(&app.Email{Mail: app.Mail{Subject: "Team " + script}}, &pageInput{Token: "t"}, text), "orphaned": orphanedPage(tracking.Destination{Target: "https://a.test/Team " + script}, text),
	} {
		elements := shown(t, page)
		if !strings.Contains(textOf(elements["body"][0]), "Team "+script) {
			t.Errorf("%s: a name is not shown as it is", name)
		}
		if title := textOf(elements["title"][0]); name != "orphaned" && !strings.HasSuffix(title, "Team "+script) {
			t.Errorf("%s: title %q", name, title)
		}
		if len(elements["script"])+len(elements["b"]) > 0 {
			t.Errorf("%s: markup of a name came through: %s", name, page.render("en", ""))
		}
	}
	elements := shown(t, preferencesPage(view, text))
	for _, want := range []string{"Topic " + script, "About " + script, "ABC"} {
		if !strings.Contains(textOf(elements["body"][0]), want) {
			t.Errorf("the preferences don't show %q", want)
		}
	}
	for _, n := range elements["bdi"] {
		if strings.ContainsAny(textOf(n), "\u202e\u2066\u2069\u200f\n\x00\ufffd") {
			t.Errorf("a name turns the text around it: %q", textOf(n))
		}
	}
	// Each name has its own element that isolates its direction.
	if got := len(elements["bdi"]); got != 6 {
		t.Errorf("%d names of team, its sentence, three topics and a description", got)
	}
}
