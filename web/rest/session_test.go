package rest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/web/rest/openapi"
)

// fakeSessions are the signed-in people, by session token.
type fakeSessions map[string]app.Key

func (p fakeSessions) SignedIn(_ context.Context, token, team string, _ bool) (*app.Key, error) {
	key, ok := p[token]
	switch {
	case !ok:
		return nil, app.SignedOut()
	case team != "" && team != key.TeamID:
		return nil, app.NoTeam()
	}
	return &key, nil
}

// person returns somebody who signed in or confirmed some time before testTime.
func person(team string, operator bool, ago time.Duration) app.Key {
	return app.Key{ID: "person", TeamID: team, Permission: app.FullAccess, Role: app.RoleOwner,
		Session: &app.Session{ID: "session-" + team, Operator: operator, AuthenticatedAt: testTime.Add(-ago)}}
}

type whoOutput struct {
	Body struct {
		ID   string `json:"id"`
		Team string `json:"team"`
	}
}

// newSessionFixture returns a handler with a route of each kind, which answer with the caller.
func newSessionFixture(t *testing.T, base string, change ...func(*Config)) *fixture {
	t.Helper()
	b := newFixture(t, append(change, func(cfg *Config) {
		cfg.BaseURL = base
		cfg.Sessions = fakeSessions{"ann": person("ours", false, 0), "late": person("ours", false, time.Hour), "ahead": person("ours", false, -time.Hour),
			"operator": person("ours", true, 0), "teamless": person("", false, 0), "above": {ID: "above", Permission: app.FullAccess, Session: &app.Session{Operator: true}}}
	})...)
	for path, rt := range map[string]Route{"/any": {}, "/person": {Person: true}, "/operator": {Operator: true}, "/all": {AllTeams: true}, "/audit": {AllTeams: true, Admin: true}, "/fresh": {Fresh: true}} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			Register(b.handler, rt, openapi.Operation{OperationID: strings.ToLower(method) + path[1:], Method: method, Path: path},
				func(_ context.Context, key *app.Key, _ *struct{}) (*whoOutput, error) {
					var out whoOutput
					out.Body.ID, out.Body.Team = key.ID, key.TeamID
					return &out, nil
				})
		}
	}
	return b
}

// ask sends a request; headers are "Name: value" lines.
func (b *fixture) ask(method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	return w
}

const sessionBase = "https://mail.example.com"

// sessionCase is a request and its expected answer.
type sessionCase struct {
	name    string
	method  string
	target  string
	headers string // lines
	status  int
	code    app.Code
}

func (b *fixture) try(t *testing.T, trials []sessionCase) {
	t.Helper()
	for _, try := range trials {
		t.Run(try.name, func(t *testing.T) {
			w := b.ask(try.method, try.target, strings.Split(try.headers, "\n")...)
			if try.code == "" {
				wantStatus(t, w, try.status)
				return
			}
			wantError(t, w, try.status, try.code)
		})
	}
}

func TestCookieWithoutAuthorization(t *testing.T) {
	newSessionFixture(t, sessionBase).try(t, []sessionCase{
		{"cookie", "GET", sessionBase + "/any", "Cookie: __Host-mailer=ann", 200, ""},
		{"no cookie", "GET", sessionBase + "/any", "X-None: x", 401, app.CodeMissingAPIKey},
		{"no session", "GET", sessionBase + "/any", "Cookie: __Host-mailer=bob", 401, app.CodeInvalidCredentials},
		{"beside a key", "GET", sessionBase + "/person", "Cookie: __Host-mailer=ann\nAuthorization: Bearer key", 403, app.CodeForbidden},
		{"beside a wrong header", "GET", sessionBase + "/any", "Cookie: __Host-mailer=ann\nAuthorization: Basic x", 401, app.CodeMissingAPIKey},
		{"beside an empty header", "GET", sessionBase + "/any", "Cookie: __Host-mailer=ann\nAuthorization: ", 401, app.CodeMissingAPIKey},
		{"the name without TLS", "GET", sessionBase + "/any", "Cookie: mailer=ann", 401, app.CodeMissingAPIKey},
		{"twice the same", "GET", sessionBase + "/any", "Cookie: __Host-mailer=ann; __Host-mailer=ann", 200, ""},
		{"another one was put beside it", "GET", sessionBase + "/any", "Cookie: __Host-mailer=operator; __Host-mailer=ann", 401, app.CodeMissingAPIKey},
		{"no cookie for a person", "GET", sessionBase + "/person", "X-None: x", 401, app.CodeInvalidCredentials},
		{"a key for a person", "GET", sessionBase + "/person", "Authorization: Bearer key", 403, app.CodeForbidden},
	})
}

func TestCrossSiteRequests(t *testing.T) {
	const as = "Cookie: __Host-mailer=ann\n"
	b := newSessionFixture(t, sessionBase)
	b.try(t, []sessionCase{
		{"its own page", "POST", sessionBase + "/any", as + "Origin: https://mail.example.com\nSec-Fetch-Site: same-origin", 200, ""},
		{"its own page, by an old browser", "POST", sessionBase + "/any", as + "Origin: https://mail.example.com", 200, ""},
		{"a program", "POST", sessionBase + "/any", as + "X-None: x", 200, ""},
		{"behind a proxy with a host of its own", "POST", "http://10.0.0.7:3000/any", as + "Origin: https://mail.example.com", 200, ""},
		{"behind it, a foreign page", "POST", "http://10.0.0.7:3000/any", as + "Origin: https://evil.example", 403, app.CodeForbidden},
		{"a foreign page", "POST", sessionBase + "/any", as + "Origin: https://evil.example\nSec-Fetch-Site: cross-site", 403, app.CodeForbidden},
		{"a foreign page, by an old browser", "POST", sessionBase + "/any", as + "Origin: https://evil.example", 403, app.CodeForbidden},
		{"a page of a sister host", "POST", sessionBase + "/any", as + "Origin: https://www.example.com\nSec-Fetch-Site: same-site", 403, app.CodeForbidden},
		{"a sandboxed frame", "POST", sessionBase + "/any", as + "Origin: null", 403, app.CodeForbidden},
		{"another port", "POST", sessionBase + "/any", as + "Origin: https://mail.example.com:8443", 403, app.CodeForbidden},
		{"a page of the same host that came in clear", "POST", sessionBase + "/any", as + "Origin: http://mail.example.com", 403, app.CodeForbidden},
		{"a key of a foreign page", "POST", sessionBase + "/any", "Authorization: Bearer key\nOrigin: https://app.example\nSec-Fetch-Site: cross-site", 200, ""},
	})
	if w := b.ask("GET", sessionBase+"/any", "Cookie: __Host-mailer=ann"); w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("a cache may keep what a person was answered: %v", w.Header())
	}
	ported := newSessionFixture(t, sessionBase+":443")
	ported.try(t, []sessionCase{{"a base URL with the port that browsers leave out", "POST", "http://10.0.0.7:3000/any", as + "Origin: https://mail.example.com", 200, ""}})
}

func TestRouteAccess(t *testing.T) {
	const ann, operator, teamless = "Cookie: __Host-mailer=ann\n", "Cookie: __Host-mailer=operator\n", "Cookie: __Host-mailer=teamless\n"
	b := newSessionFixture(t, sessionBase)
	b.try(t, []sessionCase{
		{"a foreign team", "GET", sessionBase + "/any", ann + "X-Team: theirs", 404, app.CodeNotFound},
		{"two teams", "GET", sessionBase + "/any", ann + "X-Team: ours\nX-Team: theirs", 404, app.CodeNotFound},
		{"no team", "GET", sessionBase + "/any", teamless, 404, app.CodeNotFound},
		{"no team is asked for", "GET", sessionBase + "/person", teamless, 200, ""},
		{"all teams without a team", "GET", sessionBase + "/all", teamless, 404, app.CodeNotFound},
		{"an operator manages all teams", "GET", sessionBase + "/audit", "Cookie: __Host-mailer=above", 200, ""},
		{"no operator", "GET", sessionBase + "/operator", ann, 403, app.CodeForbidden},
		{"an operator", "GET", sessionBase + "/operator", operator, 200, ""},
		{"a key is no operator", "GET", sessionBase + "/operator", "Authorization: Bearer key", 403, app.CodeForbidden},
		{"proved just now", "GET", sessionBase + "/fresh", ann, 200, ""},
		{"proved an hour ago", "GET", sessionBase + "/fresh", "Cookie: __Host-mailer=late", 403, app.CodeReauthentication},
		{"proved by a clock that was put back", "GET", sessionBase + "/fresh", "Cookie: __Host-mailer=ahead", 403, app.CodeReauthentication},
		{"a key proves nothing", "GET", sessionBase + "/fresh", "Authorization: Bearer key", 200, ""},
	})
	for _, c := range []struct{ target, headers, team string }{
		{"/any", operator, "ours"}, {"/all", operator, ""}, {"/all", operator + "X-Team: ours", "ours"}, {"/operator", operator, ""}, {"/all", ann, "ours"},
	} {
		w := b.ask("GET", sessionBase+c.target, strings.Split(c.headers, "\n")...)
		if want := `"team":"` + c.team + `"`; !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s with %q: %s, want %s", c.target, c.headers, w.Body, want)
		}
	}
}

func TestRatePerSession(t *testing.T) {
	b := newSessionFixture(t, sessionBase, func(cfg *Config) { cfg.RateLimit = 2 })
	for i, want := range []int{200, 200, 429} {
		if w := b.ask("GET", sessionBase+"/person", "Cookie: __Host-mailer=ann"); w.Code != want {
			t.Errorf("request %d: %d", i, w.Code)
		}
	}
	// Another session of the same person is not held back.
	if w := b.ask("GET", sessionBase+"/person", "Cookie: __Host-mailer=teamless"); w.Code != 200 {
		t.Errorf("another session: %d", w.Code)
	}
}

func TestSessionCookie(t *testing.T) {
	for base, want := range map[string]string{
		sessionBase:             "__Host-mailer=token; Path=/; Max-Age=60; HttpOnly; Secure; SameSite=Lax",
		"HTTPS://Mail.example":  "__Host-mailer=token; Path=/; Max-Age=60; HttpOnly; Secure; SameSite=Lax",
		"http://127.0.0.1:3000": "mailer=token; Path=/; Max-Age=60; HttpOnly; SameSite=Lax",
	} {
		b := newSessionFixture(t, base)
		w := httptest.NewRecorder()
		b.handler.SetSession(&Exchange{ResponseWriter: w}, "token", time.Minute)
		if got := w.Header().Get("Set-Cookie"); got != want {
			t.Errorf("at %s: %s, want %s", base, got, want)
		}
		if w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("at %s a cache may keep the cookie", base)
		}
		w = httptest.NewRecorder()
		b.handler.SetSession(&Exchange{ResponseWriter: w}, "", time.Minute)
		if got := w.Header().Get("Set-Cookie"); !strings.Contains(got, "Max-Age=0") {
			t.Errorf("at %s it is not forgotten: %s", base, got)
		}
	}
}

func TestMaySignIn(t *testing.T) {
	for _, c := range []struct {
		base, host, origin string
		may                bool
	}{
		{sessionBase, "mail.example.com", "https://mail.example.com", true},
		{sessionBase, "10.0.0.7:3000", "", true}, // a proxy's name for it
		{"http://127.0.0.1:3000", "127.0.0.1:3000", "", true},
		{"http://127.0.0.1:3000", "127.0.0.1:3000", "http://127.0.0.1:3000", true},
		{"http://127.0.0.1:3000", "localhost:3000", "http://localhost:3000", true},
		{"http://127.0.0.1:3000", "[::1]:3000", "", true},
		{"http://127.0.0.1:3000", "Mailer.LOCALHOST", "", true},
		{"http://127.0.0.1:3000", "mail.example.com", "", false},
		{"http://127.0.0.1:3000", "192.0.2.7:3000", "", false},
		{"http://127.0.0.1:3000", "localhost.example.com", "", false},
		{"http://127.0.0.1:3000", "127.0.0.1:3000", "http://mail.example.com", false}, // nginx names the upstream
		{"http://127.0.0.1:3000", "127.0.0.1:3000", "null", false},
		{"http://127.0.0.1:3000", "", "", false},
	} {
		x := &Exchange{Host: c.host, RequestHeader: http.Header{}}
		if c.origin != "" {
			x.RequestHeader.Set("Origin", c.origin)
		}
		if err := newSessionFixture(t, c.base).handler.MaySignIn(x); (err == nil) != c.may {
			t.Errorf("base URL %s, host %s, origin %s: %v", c.base, c.host, c.origin, err)
		}
	}
}

// TestReadOnlyHeader: pages of the dashboard send it when they open, whatever request their URL
// makes them send.
func TestReadOnlyHeader(t *testing.T) {
	const as = "Cookie: __Host-mailer=ann\nOrigin: https://mail.example.com\n" + ReadOnlyHeader + ": 1"
	b := newSessionFixture(t, sessionBase)
	for path, rt := range map[string]Route{"/preview": {ReadOnly: true}, "/sign-out": {Public: true, SameSite: true}} {
		Register(b.handler, rt, openapi.Operation{OperationID: path[1:], Method: http.MethodPost, Path: path},
			func(context.Context, *app.Key, *struct{}) (*whoOutput, error) { return &whoOutput{}, nil })
	}
	b.try(t, []sessionCase{
		{"a preview", "POST", sessionBase + "/preview", as, 200, ""},
		{"what changes something", "POST", sessionBase + "/any", as, 403, app.CodeForbidden},
		{"by a key", "POST", sessionBase + "/any", "Authorization: Bearer key\n" + ReadOnlyHeader + ": 1", 403, app.CodeForbidden},
		{"what ends a session", "POST", sessionBase + "/sign-out", as, 403, app.CodeForbidden},
		{"reading", "GET", sessionBase + "/any", as, 200, ""},
	})
}
