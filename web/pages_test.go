package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
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

func TestGETChangesNothing(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	many := p.unsubscribe(app.PageLink{TeamID: p.garden.ID, Source: p.mailToTwo()})
	for _, method := range []string{"GET", "HEAD"} {
		for _, path := range []string{p.topic.unsubscribe, p.topic.preferences, p.all.unsubscribe, p.all.preferences, many} {
			wantPage(t, p.do(method, path+"?List-Unsubscribe=One-Click", "List-Unsubscribe=One-Click", pageFormType), 200, "ACME Garden")
		}
	}
	p.wantState(p.address, false, map[string]bool{weekly: true, offers: false, nearby: true})
}

func TestPOSTUnsubscribes(t *testing.T) {
	t.Parallel()
	const multipart = "--x\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--x--\r\n"
	p := newPages(t)
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
			address := p.sealer.AddressHash(p.garden.ID, app.KeyOf(strings.ReplaceAll(name, " ", "-")+"@example.org"))
			topic, all := p.links(address, weekly), p.links(address, "")
			wantPage(t, p.do("POST", topic.unsubscribe, request[0], request[1:]...), 200, "You are unsubscribed", "no longer receive “Weekly news” from ACME Garden")
			p.wantState(address, false, map[string]bool{weekly: false, offers: false, nearby: true})
			w := p.do("POST", all.unsubscribe, request[0], request[1:]...)
			wantPage(t, w, 200, "You are unsubscribed", "no longer receive mailings from ACME Garden", "password resets")
			p.wantState(address, true, map[string]bool{weekly: false, offers: false, nearby: true})
			if w.Header().Get("Set-Cookie") != "" {
				t.Error("a cookie")
			}
		})
	}
}

func TestUnsubscribePage(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	ask := func(path string, parts ...string) {
		t.Helper()
		w := p.do("GET", path, "")
		wantPage(t, w, 200, parts...)
		forms, buttons := elements(t, w, "form"), elements(t, w, "button")
		if len(forms) != 1 || len(buttons) != 1 || attr(forms[0], "method") != "post" || len(forms[0].Attr) != 1 || attr(buttons[0], "type") != "submit" {
			t.Errorf("%d forms, %d buttons: %s", len(forms), len(buttons), w.Body)
		}
	}
	done := func(path string, parts ...string) {
		t.Helper()
		w := p.do("GET", path, "")
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
	ask(p.topic.unsubscribe, "Unsubscribe from “Weekly news”?", "from ACME Garden", "Nothing else changes", "Choose what you receive")
	ask(p.all.unsubscribe, "Unsubscribe from all mailings?", "from ACME Garden", "receipts", "Choose what you receive")
	p.choose(weekly, app.OptOut)
	ask(p.all.unsubscribe, "Unsubscribe from all mailings?")
	done(p.topic.unsubscribe, "no longer receive “Weekly news” from ACME Garden")
	p.choose(weekly, app.OptIn)
	wantStatus(t, p.do("POST", p.all.unsubscribe, ""), 200)
	done(p.topic.unsubscribe, "no longer receive mailings from ACME Garden")
	done(p.all.unsubscribe, "no longer receive mailings from ACME Garden")
}

func TestPageLinks(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	many := p.unsubscribe(app.PageLink{TeamID: p.garden.ID, Source: p.mailToTwo()})
	for target, want := range map[string]string{
		p.topic.unsubscribe: ".." + p.topic.preferences,
		p.all.unsubscribe:   ".." + p.all.preferences,
		many:                "..", // several topics have no preferences page
		p.all.preferences:   ".." + p.all.unsubscribe,
		p.topic.preferences: ".." + p.all.unsubscribe, // opts out of everything
	} {
		links := elements(t, p.do("GET", target, ""), "a")
		got := ".."
		if len(links) == 1 {
			got = attr(links[0], "href")
		}
		if len(links) > 1 || got != want {
			t.Errorf("%s has %d links, %q, want %q", target, len(links), got, want)
		}
	}
	if links := elements(t, p.do("POST", p.all.unsubscribe, ""), "a"); len(links) != 1 || attr(links[0], "href") != ".."+p.all.preferences {
		t.Error("the confirmation does not lead to the preferences")
	}
	if links := elements(t, p.do("GET", p.all.preferences, ""), "a"); len(links) != 0 {
		t.Error("who is unsubscribed from everything can do so again")
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

func TestPreferencesPage(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	w := p.do("GET", p.all.preferences, "")
	wantPage(t, w, 200, "Your email preferences", "ACME Garden", "Weekly news", "every Friday morning", "Events near you")
	got, hidden := boxes(t, w)
	if want := map[string]bool{weekly: true, offers: false, nearby: true}; !maps.Equal(got, want) {
		t.Errorf("boxes %v, want %v", got, want)
	}
	if !slices.Equal(hidden, []string{nearby, offers, weekly}) {
		t.Errorf("the form lists %q", hidden)
	}
	// What a browser sends for a tick at offers alone.
	form := fmt.Sprintf("topic=%s&topic=%s&%s=opt_in&topic=%s", weekly, offers, offers, nearby)
	w = p.do("POST", p.all.preferences, form, pageFormType, "Origin: https://elsewhere.example")
	wantPage(t, w, 200, "Your choices have been saved.", "Your email preferences")
	got, _ = boxes(t, w)
	if want := map[string]bool{weekly: false, offers: true, nearby: false}; !maps.Equal(got, want) {
		t.Errorf("boxes after saving %v, want %v", got, want)
	}
	if again, _ := boxes(t, p.do("GET", p.all.preferences, "")); !maps.Equal(again, got) {
		t.Errorf("boxes when shown again %v", again)
	}
	p.wantState(p.address, false, got)
}

func TestPreferencesWhenUnsubscribed(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	wantStatus(t, p.do("POST", p.all.unsubscribe, ""), 200)
	notice := "You are unsubscribed from all mailings from ACME Garden, and only ACME Garden can switch them on again."
	wantPage(t, p.do("GET", p.all.preferences, ""), 200, notice, "Your choices here will apply from then on.")
	w := p.do("POST", p.all.preferences, "topic="+weekly, pageFormType)
	wantPage(t, w, 200, notice, "Your choices have been saved.")
	p.wantState(p.address, true, map[string]bool{weekly: false, offers: false, nearby: true})
	bare, _ := p.newTeam("Bare")
	link := app.PageLink{TeamID: bare.ID, Address: p.sealer.AddressHash(bare.ID, app.KeyOf("jane@example.org"))}
	w = p.do("GET", "/preferences/"+p.sealer.PageToken(app.PreferencesPage, link), "")
	wantPage(t, w, 200, "There is nothing to choose from at the moment.")
	if len(elements(t, w, "form")) != 0 {
		t.Error("a form without topics")
	}
}

func TestLargeFormsAreRefused(t *testing.T) {
	t.Parallel()
	p := newPages(t, func(_ *Config, l *rest.Limits) { l.LargeBudget = 1000 })
	// Large requests are all at work: a form never waits for one of them.
	defer p.hold(p.limits.SmallBody + 1)()
	server := httptest.NewServer(p.handler)
	defer server.Close()
	for _, path := range []string{p.all.unsubscribe, p.all.preferences} {
		wantPage(t, p.do("POST", path, strings.Repeat("x", formLimit+1), pageFormType), 413, "nothing was changed")
		// Of unknown length: sent in chunks.
		body := io.MultiReader(strings.NewReader(strings.Repeat("x", formLimit+1)))
		answer, err := http.Post(server.URL+path, "application/x-www-form-urlencoded", body)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != 413 || !strings.Contains(string(page), "<h1>That did not work</h1>") {
			t.Errorf("%s in chunks: %d %s %v", path, answer.StatusCode, page, err)
		}
	}
	p.wantState(p.address, false, map[string]bool{weekly: true, offers: false, nearby: true})
	p.limits.Body = 100 // of the API, not of pages
	p.remake()
	wantPage(t, p.do("POST", p.all.unsubscribe, strings.Repeat("x", formLimit), pageFormType), 200, "You are unsubscribed")
}

func TestUnknownTokens(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	var first *httptest.ResponseRecorder
	token := strings.TrimPrefix(p.all.unsubscribe, "/unsubscribe/")
	for _, path := range pagePaths {
		for _, method := range []string{"GET", "POST"} {
			for _, token := range []string{"x", "%00", "..%2f" + token, strings.Repeat("A", 108), strings.Repeat("9", 9000), token + "%20", "%22%3E%3Cscript%3E",
				strings.ToUpper(token), token[:len(token)-1], "\u202e"} {
				w := p.do(method, path+token, "")
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
	p.wantState(p.address, false, map[string]bool{weekly: true, offers: false, nearby: true})
}

func TestTokensStayOutOfTheLog(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	try := func(token string) {
		for _, path := range pagePaths {
			for _, method := range []string{"GET", "HEAD", "POST", "PUT"} {
				p.do(method, path+token+"?x="+token, "a="+token, "Referer: https://mail.example.com"+path+token)
			}
		}
		if log := p.log.String(); strings.Contains(log, token) || !strings.Contains(log, "/unsubscribe/{token}") {
			t.Errorf("the log: %s", log)
		}
	}
	try(strings.TrimPrefix(p.all.unsubscribe, "/unsubscribe/"))
	pages := p.server.Pages
	p.server.Pages = nil
	p.remake()
	p.server.Pages = pages
	try("T0kenOfSomebody")
}

func TestOtherMethodsAnswerJSON(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	for _, path := range pagePaths {
		w := p.do("DELETE", path+"all", "")
		wantError(t, w, 405, app.CodeMethodNotAllowed)
		if got := w.Header().Get("Allow"); got != "GET, HEAD, POST" {
			t.Errorf("allow %q", got)
		}
		wantError(t, p.do("GET", path, ""), 404, app.CodeNotFound)
	}
	wantError(t, p.do("HEAD", "/emails/"+emailID, ""), 405, app.CodeMethodNotAllowed)
}

func TestHEAD(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	server := httptest.NewServer(p.handler)
	defer server.Close()
	for _, path := range []string{p.all.unsubscribe, p.all.preferences, "/unsubscribe/x"} {
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

func TestPageHeaders(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	for _, target := range []string{p.all.unsubscribe, p.all.preferences, "/unsubscribe/x"} {
		w := p.do("GET", target, "")
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

func TestInvalidFormChangesNothing(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	for _, bad := range []string{"a=%zz", "a;b=1", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x--"} {
		wantPage(t, p.do("POST", p.all.preferences, bad, pageFormType), 400, "nothing was changed")
	}
	w := p.do("POST", p.all.preferences, "", pageFormType)
	wantPage(t, w, 200, "Your email preferences")
	if strings.Contains(w.Body.String(), "have been saved") {
		t.Error("nothing was chosen, and it is called saved")
	}
	p.wantState(p.address, false, map[string]bool{weekly: true, offers: false, nearby: true})
}

func TestPageLanguage(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	for header, want := range map[string]string{
		"": "en", "de": "de", "de-CH, en;q=0.9": "de", "fr-CA": "fr", "es-419": "es", "pt-PT": "pt", "pt-BR,pt;q=0.9": "pt",
		"it": "it", "nl-BE": "nl", "pl-PL": "pl", "ja": "ja", "zh-CN,zh;q=0.9,en;q=0.8": "zh", "zh-TW": "zh", "da, fr;q=0.5": "fr",
		"de;q=0.1, fr;q=0.9": "fr", "ru": "en", "*": "en", "!!": "en", "en-GB, de": "en",
		strings.Repeat("de,", 1<<10): "en",
	} {
		for _, target := range []string{p.topic.unsubscribe, p.all.preferences, "/unsubscribe/x"} {
			w := p.do("GET", target, "", "Accept-Language: "+header)
			if lang := attr(elements(t, w, "html")[0], "lang"); lang != want || w.Header().Get("Content-Language") != want {
				t.Errorf("%.30q is answered in %s", header, lang)
			}
		}
	}
	w := p.do("GET", p.all.preferences+"?language=ja", "", "Accept-Language: de")
	if lang := attr(elements(t, w, "html")[0], "lang"); lang != "ja" {
		t.Errorf("A page asked for in Japanese is answered in %s", lang)
	}
	wantPage(t, p.do("POST", p.topic.preferences, "topic="+weekly, "Accept-Language: de"), 200, "Ihre Auswahl wurde gespeichert.")
}
