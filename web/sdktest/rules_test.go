package sdktest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// madeID makes something with a POST and returns its id, or the token of an API key.
func madeID(t *testing.T, api client, path string, body any) (id, token string) {
	t.Helper()
	status, b := api.do(t, "POST", path, body)
	var made struct{ ID, Token string }
	if err := json.Unmarshal(b, &made); err != nil || status >= 300 {
		t.Fatalf("POST %s: %d %s", path, status, b)
	}
	return made.ID, made.Token
}

// ask sends a request with headers, by name and value, and follows nothing.
func ask(t *testing.T, method, address, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, address, strings.NewReader(body))
	must(t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	must(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	must(t, err)
	return res, string(b)
}

// TestAnonymousPreferencesAreBounded: 400 posts to one preferences link, each of which reverts the
// one before.
func TestAnonymousPreferencesAreBounded(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	in := startBare(t, "--rate-limit", "0")
	api := client{in.url, in.newKey(t)}
	topic, _ := madeID(t, api, "/topics", map[string]any{"name": "News", "default_subscription": "opt_in", "visibility": "public"})
	madeID(t, api, "/contacts", map[string]any{"email": "bob@example.net"})
	status, b := api.do(t, "POST", "/contacts/bob@example.net/preferences-link", nil)
	var link struct{ URL string }
	if err := json.Unmarshal(b, &link); err != nil || link.URL == "" {
		t.Fatalf("%d %s", status, b)
	}
	page, err := url.Parse(link.URL)
	must(t, err)
	answers := map[int]int{}
	for i := range 400 {
		form := "topic=" + topic
		if i%2 == 0 {
			form += "&" + topic + "=opt_in"
		}
		res, body := ask(t, "POST", in.url+page.Path, form, "Content-Type", "application/x-www-form-urlencoded", "Accept-Language", "fr")
		answers[res.StatusCode]++
		if res.StatusCode == 429 && !strings.Contains(body, `<html lang="fr">`) {
			t.Fatalf("the refusal is no page: %s", body)
		}
	}
	if answers[429] < 190 || answers[200]+answers[429] != 400 || answers[200] < 200 {
		t.Errorf("answers by status: %v", answers)
	}
	status, b = api.do(t, "GET", "/contacts/bob@example.net/topics", nil)
	if status != 200 || !strings.Contains(string(b), `"opt_out"`) {
		t.Errorf("the last opt-out did not count: %d %s", status, b)
	}
	t.Logf("400 posts: %d refused, %d answered", answers[429], answers[200])
}
