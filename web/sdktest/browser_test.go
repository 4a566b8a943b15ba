package sdktest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"testing"
	"time"
)

// browser is an HTTP client with cookies.
type browser struct {
	url  string
	http *http.Client
	team string // in x-team; empty: none is named
}

func newBrowser(t *testing.T, url string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	return &browser{url: url, http: &http.Client{Jar: jar, Timeout: time.Minute}}
}

// try makes a request as a page of the server's does.
func (b *browser) try(t *testing.T, method, path string, body any) (status int, answer []byte) {
	t.Helper()
	var content io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		must(t, err)
		content = bytes.NewReader(raw)
	}
	req, err := http.NewRequest(method, b.url+path, content)
	must(t, err)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Origin", b.url)
	if b.team != "" {
		req.Header.Set("X-Team", b.team)
	}
	res, err := b.http.Do(req)
	must(t, err)
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	must(t, err)
	return res.StatusCode, answer
}

// ask is try, and wants a status and parts of the answer.
func (b *browser) ask(t *testing.T, method, path string, body any, status int, parts ...string) []byte {
	t.Helper()
	got, answer := b.try(t, method, path, body)
	if got != status {
		t.Fatalf("%s %s: %d %s, want %d", method, path, got, answer, status)
	}
	for _, part := range parts {
		if !bytes.Contains(answer, []byte(part)) {
			t.Errorf("%s %s: no %s in %s", method, path, part, answer)
		}
	}
	return answer
}

// want is ask for an answer that is looked into.
func (b *browser) want(t *testing.T, status int, method, path string, body any) map[string]any {
	t.Helper()
	var out map[string]any
	must(t, json.Unmarshal(b.ask(t, method, path, body, status), &out))
	return out
}

// session is the token of the browser's session; empty: it has none.
func (b *browser) session(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(b.url)
	must(t, err)
	for _, c := range b.http.Jar.Cookies(u) {
		if c.Name == "mailer" {
			return c.Value
		}
	}
	return ""
}
