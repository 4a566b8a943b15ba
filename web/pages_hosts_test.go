package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/testing/testserver"
	"mailer/db"
	"mailer/web/rest"
)

// teamHost is the part of a team's answer that shows its own host.
type teamHost struct {
	PagesHost *struct {
		Name       string `json:"name"`
		Value      string `json:"value"`
		PointsHere bool   `json:"points_here"`
	} `json:"pages_host"`
}

func TestOwnPagesHost(t *testing.T) {
	t.Parallel()
	dns := testserver.NewDNS()
	cfg := captured()
	cfg.PagesHost, cfg.Resolver = "pages.internal", dns.Lookup
	r := newTestAPI(t, cfg, func(cfg *Config, _ *rest.Limits) { cfg.OneHost, cfg.PagesHost = true, "pages.internal" })
	other, theirs := r.newTeam("Other")
	sql := func(statement string, args ...any) {
		r.write(func(tx *db.Tx) error { return tx.Write(statement, args...) })
	}
	verified := func(key, name string) {
		wantStatus(t, r.as(key, "POST", "/domains", `{"name":"`+name+`"}`), 201)
		sql(`UPDATE domains SET status = 'verified' WHERE name = ?`, name)
	}
	verified(r.full, "acme.test")
	verified(theirs, "theirs.test")
	set := func(key, host string) *httptest.ResponseRecorder {
		return r.as(key, "PATCH", "/team", `{"pages_host":`+host+`}`)
	}
	for host, part := range map[string]string{
		"news.other.test": "below a verified domain", "acme.test": "below a verified domain", "mail.example.com": "the server's", "pages.internal": "the server's",
		"https://news.acme.test": "host name", "news.acme.test:443": "host name", "10.0.0.1": "host name", "news": "host name",
	} {
		wantError(t, set(r.full, `"`+host+`"`), 422, app.CodeValidation, "pages_host", part)
	}
	dns.Publish([]app.DNSRecord{{Type: "CNAME", Name: "news.acme.test", Value: "mail.example.com"}})
	w := set(r.full, `"News.Acme.TEST."`)
	wantStatus(t, w, 200)
	if h := decoded[teamHost](t, w).PagesHost; h == nil || h.Name != "news.acme.test" || h.Value != "mail.example.com" {
		t.Fatalf("%s", w.Body)
	}
	testserver.Must(t, r.server.PageHosts.CheckDue(t.Context()))
	wantStatus(t, set(r.full, `"news.acme.test"`), 200)
	hosts := r.server.PageHosts
	if h := decoded[teamHost](t, r.as(r.full, "GET", "/team", "")).PagesHost; h == nil || !h.PointsHere {
		t.Errorf("its record was not found: %+v", h)
	}
	if base, err := hosts.BaseOf(t.Context(), r.team.ID); err != nil || base != "https://news.acme.test" {
		t.Errorf("%s, %v", base, err)
	}
	if base, err := hosts.BaseOf(t.Context(), other.ID); err != nil || base != "https://pages.internal" {
		t.Errorf("the other's: %s, %v", base, err)
	}
	for _, tt := range []struct {
		host, team string
		want       bool
	}{
		{"news.acme.test", r.team.ID, true}, {"NEWS.acme.test.:443", r.team.ID, true}, {"news.acme.test", other.ID, false}, {"pages.internal", other.ID, true},
		{"mail.example.com", r.team.ID, false}, {"127.0.0.1", r.team.ID, false}, {"evil.test", r.team.ID, false},
	} {
		if ok, err := hosts.Serves(t.Context(), tt.host, tt.team); err != nil || ok != tt.want {
			t.Errorf("%s serves: %t, %v", tt.host, ok, err)
		}
	}
	// A host of another team is taken only if no verified domain of that team is above it.
	verified(theirs, "sub.acme.test")
	wantStatus(t, set(r.full, `"x.sub.acme.test"`), 200)
	wantError(t, set(theirs, `"x.sub.acme.test"`), 409, app.CodeConflict, "pages_host")
	wantStatus(t, set(r.full, `"news.acme.test"`), 200)
	wantStatus(t, set(theirs, `"x.sub.acme.test"`), 200)
	sql(`UPDATE domains SET status = 'failed' WHERE team_id = ? AND name = 'sub.acme.test'`, other.ID)
	wantStatus(t, set(r.full, `"x.sub.acme.test"`), 200)
	if w := r.as(theirs, "GET", "/team", ""); !strings.Contains(w.Body.String(), `"pages_host":null`) {
		t.Errorf("the host was not taken over: %s", w.Body)
	}
	for _, path := range []string{"/dashboard/sign-in", "/emails", "/manual", "/openapi.json", "/team", "/mcp", "/automations", "/"} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete, http.MethodOptions} {
			q := httptest.NewRequest(method, path, nil)
			q.Host = "x.sub.acme.test"
			q.Header.Set("Authorization", "Bearer "+r.full)
			w := httptest.NewRecorder()
			if r.handler.ServeHTTP(w, q); w.Code != 404 || w.Header().Get("Set-Cookie") != "" || w.Header().Get("Allow") != "" {
				t.Errorf("%s %s at an own host: %d %v %s", method, path, w.Code, w.Header(), w.Body)
			}
		}
	}
	wantStatus(t, set(r.full, `null`), 200)
	if w := r.as(r.full, "GET", "/team", ""); !strings.Contains(w.Body.String(), `"pages_host":null`) {
		t.Errorf("the host stayed: %s", w.Body)
	}
}

// TestOneTeamPublishesAtTheBaseURL: while the server has one team, its pages are at the base URL.
func TestOneTeamPublishesAtTheBaseURL(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	check := func(want string, serves bool) {
		t.Helper()
		base, err := r.server.PageHosts.BaseOf(t.Context(), r.team.ID)
		testserver.Must(t, err)
		ok, err := r.server.PageHosts.Serves(t.Context(), "mail.example.com", r.team.ID)
		if err != nil || base != want || ok != serves {
			t.Errorf("%q, %t, %v", base, ok, err)
		}
	}
	check("https://mail.example.com", true)
	r.newTeam("Other")
	check("", false)
}
