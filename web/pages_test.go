package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"mailer/app"
	"mailer/web/rest"
)

var pagePaths = []string{"/unsubscribe/", "/preferences/"}

const pageFormType = "Content-Type: application/x-www-form-urlencoded"

// elements returns the elements of a page that have the name.
func elements(t testing.TB, w *httptest.ResponseRecorder, name string) (out []*html.Node) {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(w.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && (name == "*" || n.Data == name) {
			out = append(out, n)
		}
	}
	return out
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// wantPage checks what is true of every page, and that its text has the parts.
func wantPage(t testing.TB, w *httptest.ResponseRecorder, status int, parts ...string) {
	t.Helper()
	if w.Code != status {
		t.Fatalf("got %d %s, want %d", w.Code, w.Body, status)
	}
	if got := w.Header().Get("Content-Type"); got != "text/html; charset=utf-8" {
		t.Errorf("content type is %q", got)
	}
	for name, want := range map[string]int{"main": 1, "h1": 1, "title": 1, "style": 1, "script": 0, "img": 0, "link": 0, "iframe": 0} {
		if got := len(elements(t, w, name)); got != want {
			t.Errorf("%d elements %s, want %d", got, name, want)
		}
	}
	text := textOf(elements(t, w, "body")[0])
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("the page does not say %q: %s", part, text)
		}
	}
}

func TestReadingAPageChangesNothing(t *testing.T) {
	b, f := newPagesBench(t)
	for _, path := range pagePaths {
		for _, method := range []string{"GET", "HEAD"} {
			for _, token := range []string{"all", "topic", "many"} {
				wantPage(t, b.do(method, path+token+"?List-Unsubscribe=One-Click", "List-Unsubscribe=One-Click", pageFormType), 200, "ACME Garden")
			}
		}
	}
	if f.written() != 0 {
		t.Errorf("%d writes", f.written())
	}
}

func TestAnyPostUnsubscribes(t *testing.T) {
	const multipart = "--x\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--x--\r\n"
	for name, request := range map[string][]string{
		"one click":            {"List-Unsubscribe=One-Click", pageFormType},
		"one click, multipart": {multipart, "Content-Type: multipart/form-data; boundary=x"},
		"broken multipart":     {"--y", "Content-Type: multipart/form-data; boundary=x"},
		"the button":           {"", pageFormType, "Origin: null", "Sec-Fetch-Site: cross-site"},
		"nothing":              {""},
		"JSON":                 {`{"a":1}`, "Content-Type: application/json", "Origin: https://elsewhere.example"},
		"64 KiB of anything":   {strings.Repeat("%;&\x00", formLimit/4), "Content-Type: x"},
	} {
		t.Run(name, func(t *testing.T) {
			b, f := newPagesBench(t)
			wantPage(t, b.do("POST", "/unsubscribe/topic", request[0], request[1:]...), 200, "You are unsubscribed", "no longer receive “Weekly news” from ACME Garden")
			if f.written() != 1 || f.topics[0].Subscription != app.OptOut || f.unsubscribed {
				t.Errorf("%d writes, topic %s, all %v", f.written(), f.topics[0].Subscription, f.unsubscribed)
			}
			w := b.do("POST", "/unsubscribe/all", request[0], request[1:]...)
			wantPage(t, w, 200, "You are unsubscribed", "no longer receive mailings from ACME Garden", "password resets")
			if f.written() != 2 || !f.unsubscribed {
				t.Error("the bare link did not opt out of everything")
			}
			if w.Header().Get("Set-Cookie") != "" {
				t.Error("a cookie")
			}
		})
	}
}

func TestUnsubscribePageAsksOrSaysThatItIsDone(t *testing.T) {
	b, f := newPagesBench(t)
	ask := func(token string, parts ...string) {
		t.Helper()
		w := b.do("GET", "/unsubscribe/"+token, "")
		wantPage(t, w, 200, parts...)
		forms, buttons := elements(t, w, "form"), elements(t, w, "button")
		if len(forms) != 1 || len(buttons) != 1 || attr(forms[0], "method") != "post" || len(forms[0].Attr) != 1 || attr(buttons[0], "type") != "submit" {
			t.Errorf("%d forms, %d buttons: %s", len(forms), len(buttons), w.Body)
		}
	}
	done := func(token string, parts ...string) {
		t.Helper()
		w := b.do("GET", "/unsubscribe/"+token, "")
		wantPage(t, w, 200, append(parts, "You are unsubscribed")...)
		if len(elements(t, w, "form")) != 0 {
			t.Error("a form that does nothing")
		}
		status := 0
		for _, p := range elements(t, w, "p") {
			if attr(p, "role") == "status" {
				status++
			}
		}
		if status != 1 {
			t.Errorf("%d notes", status)
		}
	}
	ask("topic", "Unsubscribe from “Weekly news”?", "from ACME Garden", "Nothing else changes", "Choose what you receive")
	ask("all", "Unsubscribe from all mailings?", "from ACME Garden", "receipts", "Choose what you receive")
	f.change(func() { f.topics[0].Subscription = app.OptOut })
	ask("all", "Unsubscribe from all mailings?")
	done("topic", "no longer receive “Weekly news” from ACME Garden")
	f.change(func() { f.topics[0].Subscription, f.unsubscribed = app.OptIn, true })
	done("topic", "no longer receive mailings from ACME Garden")
	done("all", "no longer receive mailings from ACME Garden")
}

func TestLinksBetweenPagesAreRelativeAndMeanTheSame(t *testing.T) {
	b, f := newPagesBench(t)
	for target, want := range map[string]string{
		"/unsubscribe/topic": "../preferences/topic",
		"/unsubscribe/all":   "../preferences/all",
		"/unsubscribe/many":  "", // nobody's preferences
		"/preferences/all":   "../unsubscribe/all",
		"/preferences/topic": "../unsubscribe/all", // not only out of its topic
	} {
		links := elements(t, b.do("GET", target, ""), "a")
		got := ""
		if len(links) == 1 {
			got = attr(links[0], "href")
		}
		if len(links) > 1 || got != want {
			t.Errorf("%s has %d links, %q, want %q", target, len(links), got, want)
		}
	}
	f.change(func() { f.unsubscribed = true })
	if links := elements(t, b.do("GET", "/preferences/all", ""), "a"); len(links) != 0 {
		t.Error("who is unsubscribed from everything can do so again")
	}
	if links := elements(t, b.do("POST", "/unsubscribe/all", ""), "a"); len(links) != 1 || attr(links[0], "href") != "../preferences/all" {
		t.Error("the confirmation does not lead to the preferences")
	}
}

// boxes returns the ids of a page's topics with whether they have a tick, and
// checks that each has one control and a label.
func boxes(t testing.TB, w *httptest.ResponseRecorder) (out map[string]bool, hidden []string) {
	t.Helper()
	out = map[string]bool{}
	labels := map[string]bool{}
	for _, label := range elements(t, w, "label") {
		labels[attr(label, "for")] = textOf(label) != ""
	}
	for _, input := range elements(t, w, "input") {
		name, value := attr(input, "name"), attr(input, "value")
		if attr(input, "type") == "hidden" && name == "topic" {
			hidden = append(hidden, value)
			continue
		}
		if _, twice := out[name]; twice || attr(input, "type") != "checkbox" || value != "opt_in" || !labels[attr(input, "id")] {
			t.Errorf("input %v, labels %v", input.Attr, labels)
		}
		out[name] = slices.ContainsFunc(input.Attr, func(a html.Attribute) bool { return a.Key == "checked" })
	}
	return out, hidden
}

func TestPreferencesAreShownSavedAndShownAgain(t *testing.T) {
	b, f := newPagesBench(t)
	w := b.do("GET", "/preferences/all", "")
	wantPage(t, w, 200, "Your email preferences", "ACME Garden", "Weekly news", "every Friday morning", "Events near you")
	got, hidden := boxes(t, w)
	if want := map[string]bool{weekly: true, offers: false, events: true}; !maps.Equal(got, want) {
		t.Errorf("boxes %v, want %v", got, want)
	}
	if !slices.Equal(hidden, []string{weekly, offers, events}) {
		t.Errorf("the form lists %q", hidden)
	}
	// What a browser sends for a tick at offers alone.
	form := fmt.Sprintf("topic=%s&topic=%s&%s=opt_in&topic=%s", weekly, offers, offers, events)
	w = b.do("POST", "/preferences/all", form, pageFormType, "Origin: https://elsewhere.example")
	wantPage(t, w, 200, "Your choices have been saved.", "Your email preferences")
	got, _ = boxes(t, w)
	if want := map[string]bool{weekly: false, offers: true, events: false}; !maps.Equal(got, want) {
		t.Errorf("boxes after saving %v, want %v", got, want)
	}
	if again, _ := boxes(t, b.do("GET", "/preferences/all", "")); !maps.Equal(again, got) {
		t.Errorf("boxes when shown again %v", again)
	}
	if f.written() != 1 {
		t.Errorf("%d writes", f.written())
	}
}

func TestPreferencesOfWhoIsUnsubscribedFromEverything(t *testing.T) {
	b, f := newPagesBench(t)
	f.change(func() { f.unsubscribed = true })
	notice := "You are unsubscribed from all mailings from ACME Garden, and only ACME Garden can switch them on again."
	wantPage(t, b.do("GET", "/preferences/all", ""), 200, notice, "Your choices here will apply from then on.")
	w := b.do("POST", "/preferences/all", "topic="+weekly, pageFormType)
	wantPage(t, w, 200, notice, "Your choices have been saved.")
	if f.topics[0].Subscription != app.OptOut {
		t.Error("saving does nothing")
	}
	f.change(func() { f.topics = nil })
	w = b.do("GET", "/preferences/all", "")
	wantPage(t, w, 200, "There is nothing to choose from at the moment.")
	if len(elements(t, w, "form")) != 0 {
		t.Error("a form without topics")
	}
}

func TestLargeBodiesAreRefusedWithAPage(t *testing.T) {
	b, f := newPagesBench(t, func(_ *Config, l *rest.Limits) { l.LargeBudget = 1000 })
	// Large requests are all at work: a form never waits for one of them.
	defer b.hold(b.limits.SmallBody + 1)()
	server := httptest.NewServer(b.handler)
	defer server.Close()
	for _, path := range pagePaths {
		wantPage(t, b.do("POST", path+"all", strings.Repeat("x", formLimit+1), pageFormType), 413, "nothing was changed")
		// Of unknown length: sent in chunks.
		body := io.MultiReader(strings.NewReader(strings.Repeat("x", formLimit+1)))
		answer, err := http.Post(server.URL+path+"all", "application/x-www-form-urlencoded", body)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != 413 || !strings.Contains(string(page), "<h1>That did not work</h1>") {
			t.Errorf("%s in chunks: %d %s %v", path, answer.StatusCode, page, err)
		}
	}
	if f.written() != 0 {
		t.Errorf("%d writes", f.written())
	}
	b.limits.Body = 100 // of the API, not of pages
	b.behind(servicesOf(f))
	wantPage(t, b.do("POST", "/unsubscribe/all", strings.Repeat("x", formLimit), pageFormType), 200, "You are unsubscribed")
}

func TestUnknownTokensGetOnePage(t *testing.T) {
	b, f := newPagesBench(t)
	var first *httptest.ResponseRecorder
	for _, path := range pagePaths {
		for _, method := range []string{"GET", "POST"} {
			for _, token := range []string{"x", "%00", "..%2fall", strings.Repeat("A", 108), strings.Repeat("9", 9000), "all%20", "%22%3E%3Cscript%3E", "ALL", "\u202e"} {
				w := b.do(method, path+token, "")
				wantPage(t, w, 404, "Page not found", "This link is not valid.")
				w.Header().Del("X-Request-Id")
				if first == nil {
					first = w
				}
				if !bytes.Equal(w.Body.Bytes(), first.Body.Bytes()) || !reflect.DeepEqual(w.Header(), first.Header()) {
					t.Errorf("%s %s%s differs: %v %s", method, path, token, w.Header(), w.Body)
				}
			}
		}
	}
	if f.written() != 0 {
		t.Errorf("%d writes", f.written())
	}
}

func TestTroubleIsAPageThatSaysNothingOfIt(t *testing.T) {
	b, f := newPagesBench(t)
	for _, path := range pagePaths {
		for _, method := range []string{"GET", "POST"} {
			f.change(func() {
				f.fail = &app.Error{Code: app.CodeServiceUnavailable, Message: "s3cret", Err: errors.New("disk full")}
			})
			w := b.do(method, path+"all", "")
			wantPage(t, w, 503, "Please try again later")
			if w.Header().Get("Retry-After") != "60" || strings.Contains(w.Body.String(), "s3cret") {
				t.Errorf("%v %s", w.Header(), w.Body)
			}
			f.change(func() { f.fail = errors.New("s3cret") })
			w = b.do(method, path+"all", "")
			wantPage(t, w, 500, "Please try again later", "on our side")
			if strings.Contains(w.Body.String(), "s3cret") {
				t.Errorf("tells the cause: %s", w.Body)
			}
			f.change(func() { f.fail, f.panics = nil, true })
			wantPage(t, b.do(method, path+"all", ""), 500, "Please try again later")
			f.change(func() { f.panics = false })
		}
	}
	if !strings.Contains(b.log.String(), "s3cret") || !strings.Contains(b.log.String(), "out of cheese") {
		t.Errorf("the log does not tell the causes: %s", b.log.String())
	}
}

func TestTokensStayOutOfTheLog(t *testing.T) {
	b, f := newPagesBench(t)
	const token = "T0kenOfSomebody"
	for _, fail := range []error{nil, errors.New("broken"), app.Errorf(app.CodeServiceUnavailable, "full")} {
		f.change(func() { f.fail = fail })
		for _, path := range pagePaths {
			for _, method := range []string{"GET", "HEAD", "POST", "PUT"} {
				b.do(method, path+token+"?x="+token, "a="+token, "Referer: https://mail.example.com"+path+token)
			}
		}
	}
	if log := b.log.String(); strings.Contains(log, token) || !strings.Contains(log, "/unsubscribe/{token}") {
		t.Errorf("the log: %s", log)
	}
}

func TestOtherMethodsStayRefusedInJSON(t *testing.T) {
	b, _ := newPagesBench(t)
	for _, path := range pagePaths {
		w := b.do("DELETE", path+"all", "")
		wantError(t, w, 405, app.CodeMethodNotAllowed)
		if got := w.Header().Get("Allow"); got != "GET, HEAD, POST" {
			t.Errorf("allow %q", got)
		}
		wantError(t, b.do("GET", path, ""), 404, app.CodeNotFound)
	}
	wantError(t, b.do("HEAD", "/emails/"+emailID, ""), 405, app.CodeMethodNotAllowed)
}

func TestHeadIsGetWithoutItsBody(t *testing.T) {
	b, _ := newPagesBench(t)
	server := httptest.NewServer(b.handler)
	defer server.Close()
	for _, path := range []string{"/unsubscribe/all", "/preferences/all", "/unsubscribe/x"} {
		get, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		page, _ := io.ReadAll(get.Body)
		get.Body.Close()
		head, err := http.Head(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		head.Body.Close()
		for _, answer := range []*http.Response{get, head} {
			answer.Header.Del("X-Request-Id")
			answer.Header.Del("Date")
		}
		if head.StatusCode != get.StatusCode || !reflect.DeepEqual(head.Header, get.Header) || head.ContentLength != int64(len(page)) {
			t.Errorf("%s: HEAD %d %v, GET %d %v", path, head.StatusCode, head.Header, get.StatusCode, get.Header)
		}
	}
}

func TestHeadersOfPages(t *testing.T) {
	b, _ := newPagesBench(t)
	for _, target := range []string{"/unsubscribe/all", "/preferences/all", "/unsubscribe/x"} {
		w := b.do("GET", target, "")
		style := textOf(elements(t, w, "style")[0])
		sum := sha256.Sum256([]byte(style))
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
				"'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'",
			"X-Robots-Tag": "noindex, nofollow", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
			"X-Content-Type-Options": "nosniff", "Vary": "Accept-Language", "Content-Language": "en",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", target, name, got, want)
			}
		}
		for _, want := range []string{`<meta name="viewport" content="width=device-width, initial-scale=1">`, `<meta name="robots" content="noindex">`} {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s has no %s", target, want)
			}
		}
		for _, n := range elements(t, w, "*") {
			if attr(n, "style") != "" {
				t.Errorf("%s has a style that the policy forbids", n.Data)
			}
		}
	}
}

func TestHostileNamesAreOnlyText(t *testing.T) {
	const script = `"><script>alert(1)</script><b onclick=x>{team}{topic}{{.}}'`
	b, f := newPagesBench(t)
	f.change(func() {
		f.team = "Team " + script
		f.topics[0].Name, f.topics[0].Description = "Topic "+script, "About "+script
		f.topics[1].Name, f.topics[1].Description = "\u202eA\u2066B\u2069\u200f\nC\x00", ""
	})
	for _, target := range []string{"/unsubscribe/topic", "/unsubscribe/all", "/preferences/all", "/preferences/topic"} {
		for _, method := range []string{"GET", "POST"} {
			w := b.do(method, target, "")
			wantPage(t, w, 200, "Team "+script)
			if title := textOf(elements(t, w, "title")[0]); !strings.HasSuffix(title, "Team "+script) {
				t.Errorf("title %q", title)
			}
			for _, n := range elements(t, w, "*") {
				if n.Data == "b" || attr(n, "onclick") != "" {
					t.Errorf("%s %s: markup of a name came through: %s", method, target, w.Body)
				}
			}
		}
	}
	f.change(func() { f.unsubscribed = false })
	w := b.do("GET", "/preferences/all", "")
	wantPage(t, w, 200, "Topic "+script, "About "+script, "ABC")
	for _, n := range elements(t, w, "bdi") {
		if strings.ContainsAny(textOf(n), "\u202e\u2066\u2069\u200f\n\x00\ufffd") {
			t.Errorf("a name turns the text around it: %q", textOf(n))
		}
	}
	// Each name stands alone, whatever its direction.
	if got := len(elements(t, w, "bdi")); got != 6 {
		t.Errorf("%d names of team, its sentence, three topics and a description", got)
	}
}

func TestWhatIsNoFormChangesNothing(t *testing.T) {
	b, f := newPagesBench(t)
	for _, bad := range []string{"a=%zz", "a;b=1", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x--"} {
		wantPage(t, b.do("POST", "/preferences/all", bad, pageFormType), 400, "nothing was changed")
	}
	w := b.do("POST", "/preferences/all", "", pageFormType)
	wantPage(t, w, 200, "Your email preferences")
	if strings.Contains(w.Body.String(), "have been saved") || len(f.saved) != 0 {
		t.Error("nothing was chosen, and it is called saved")
	}
}
