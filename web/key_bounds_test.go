package web

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/web/rest"
)

// asks sends GET /domains from an address, as a proxy there may say of another.
func (r *testAPI) asks(peer, said, token string) *httptest.ResponseRecorder {
	r.t.Helper()
	request := httptest.NewRequest("GET", "/domains", nil)
	request.RemoteAddr = peer
	request.Header.Set("Authorization", "Bearer "+token)
	if said != "" {
		request.Header.Set("X-Forwarded-For", said)
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, request)
	r.checkAnswer("GET", w)
	return w
}

func TestKeyAddressRestriction(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	k := r.create(r.full, `{"name":"office","allowed_ips":["198.51.100.7","10.1.2.3/8","2001:db8::/32"]}`)
	for _, tt := range []struct {
		peer, said string
		ok         bool
	}{
		{"198.51.100.7:1", "", true}, {"[::ffff:198.51.100.7]:1", "", true}, {"10.255.0.1:1", "", true}, {"[2001:db8::9]:1", "", true},
		{"198.51.100.8:1", "", false}, {"[2001:db9::9]:1", "", false}, {"@", "", false},
		{"198.51.100.8:1", "198.51.100.7", false},
		{"127.0.0.1:1", "198.51.100.7", false}, // no configured proxy: any program on the machine could claim this
	} {
		w := r.asks(tt.peer, tt.said, k.Token)
		if tt.ok {
			wantStatus(t, w, 200)
			continue
		}
		wantError(t, w, 403, app.CodeForbidden, "address")
		if strings.Contains(w.Body.String(), "10.") || strings.Contains(w.Body.String(), "198.") {
			t.Errorf("it says what is allowed: %s", w.Body)
		}
	}
	r.cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	r.remake()
	for said, status := range map[string]int{"198.51.100.7": 200, "198.51.100.7, 203.0.113.1": 403, "203.0.113.1, 198.51.100.7, 192.0.2.9": 200, "": 403} {
		wantStatus(t, r.asks("192.0.2.1:1", said, k.Token), status)
	}
	wantStatus(t, r.asks("198.51.100.7:1", "203.0.113.1", k.Token), 200) // no trusted proxy: its header is ignored
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_domains","arguments":{}}}`
	if w := r.rpc(k.Token, call, "X-Forwarded-For: 203.0.113.1"); w.Code != http.StatusForbidden {
		t.Errorf("a tool is called from elsewhere: %d %s", w.Code, w.Body)
	}
	if w := r.rpc(k.Token, call, "X-Forwarded-For: 10.0.0.1"); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestKeyRestrictions(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured(), func(*Config, *rest.Limits) {})
	type row struct {
		ID, Name   string
		ExpiresAt  *string  `json:"expires_at"`
		AllowedIPs []string `json:"allowed_ips"`
	}
	shown := func() row { return decoded[struct{ Data []row }](t, r.as(r.full, "GET", "/api-keys", "")).Data[0] }
	many := `["` + strings.Repeat(`10.0.0.1","`, 20) + `10.0.0.1"]`
	for _, body := range []string{
		`"expires_at":"2020-01-01T00:00:00Z"`, `"expires_at":"tomorrow"`, `"expires_at":5`,
		`"allowed_ips":["10.0.0.1/33"]`, `"allowed_ips":["example.com"]`, `"allowed_ips":[""]`, `"allowed_ips":["10.0.0.1,10.0.0.2"]`, `"allowed_ips":"10.0.0.1"`, `"allowed_ips":` + many,
	} {
		wantError(t, r.as(r.full, "POST", "/api-keys", `{"name":"k",`+body+`}`), 422, app.CodeValidation)
		wantError(t, r.as(r.full, "PATCH", "/api-keys/"+r.keyID("test"), `{`+body+`}`), 422, app.CodeValidation)
	}
	until := app.FormatTime(time.Now().Add(time.Hour))
	k := r.create(r.full, `{"name":"k","expires_at":"`+until+`","allowed_ips":["192.0.2.1","10.1.2.3/8"]}`)
	if got := shown(); got.ExpiresAt == nil || *got.ExpiresAt != until || !slices.Equal(got.AllowedIPs, []string{"192.0.2.1/32", "10.0.0.0/8"}) {
		t.Errorf("shown as %+v", got)
	}
	wantStatus(t, r.as(k.Token, "GET", "/domains", ""), 200)
	wantStatus(t, r.as(r.full, "PATCH", "/api-keys/"+k.ID, `{"allowed_ips":["10.0.0.0/8"]}`), 200)
	wantError(t, r.as(k.Token, "GET", "/domains", ""), 403, app.CodeForbidden)
	if got := shown(); got.ExpiresAt == nil || got.Name != "k" || len(got.AllowedIPs) != 1 {
		t.Errorf("another field changed too: %+v", got)
	}
	wantStatus(t, r.as(r.full, "PATCH", "/api-keys/"+k.ID, `{"allowed_ips":null,"expires_at":null,"name":"k2"}`), 200)
	wantStatus(t, r.as(k.Token, "GET", "/domains", ""), 200)
	if got := shown(); got.ExpiresAt != nil || got.Name != "k2" || got.AllowedIPs == nil || len(got.AllowedIPs) != 0 {
		t.Errorf("shown as %+v", got)
	}
}
