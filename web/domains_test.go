package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/testing/apptest"
)

// domainAnswer is any answer about domains.
type domainAnswer struct {
	Object            string
	ID                string
	Name              string
	Status            string
	CreatedAt         string `json:"created_at"`
	Region            string
	OpenTracking      bool    `json:"open_tracking"`
	ClickTracking     bool    `json:"click_tracking"`
	TrackingSubdomain *string `json:"tracking_subdomain"`
	ReturnPath        string  `json:"custom_return_path"`
	Capabilities      app.DomainCapabilities
	Records           []app.DNSRecord
	Deleted           bool
	HasMore           bool `json:"has_more"`
	Data              []domainAnswer
}

// fakeDNS is a DNS that tests write.
type fakeDNS struct {
	mu      sync.Mutex
	records map[string]string
}

func (b *fakeDNS) lookup(_ context.Context, name string, t app.DNSType) (app.DNSAnswer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	answer := app.DNSAnswer{NameExists: true}
	if text := b.records[string(t)+" "+name]; text != "" {
		answer.Records = []app.DNSValue{{Text: text}}
	}
	return answer, nil
}

func (b *fakeDNS) publish(records []app.DNSRecord) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range records {
		b.records[r.Type+" "+r.Name] = r.Value
	}
}

// domainAPI is a real server with two regions and a DNS.
type domainAPI struct {
	*testAPI
	dns *fakeDNS
}

func newDomains(t *testing.T) *domainAPI {
	t.Helper()
	d := &domainAPI{dns: &fakeDNS{records: map[string]string{}}}
	cfg := relayed()
	second := cfg.Routes[0]
	second.Relay.Region = "eu-west-1"
	cfg.Routes = append(cfg.Routes, second)
	cfg.Resolver = d.dns.lookup
	d.testAPI = newTestAPI(t, cfg)
	return d
}

// want makes a request that must succeed with that status.
func (d *domainAPI) want(status int, method, target, body string) (got domainAnswer) {
	d.t.Helper()
	w := d.as(d.full, method, target, body)
	wantStatus(d.t, w, status)
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		d.t.Fatal(err)
	}
	return got
}

func TestDomain(t *testing.T) {
	t.Parallel()
	d := newDomains(t)
	made := d.want(201, "POST", "/domains", `{"name":"Bücher.Example","region":null,"custom_return_path":"","capabilities":{"sending":"enabled","receiving":"disabled"},"tls":""}`)
	if _, ok := app.ParseID(made.ID); !ok || made.Object != "domain" || made.Name != "xn--bcher-kva.example" || made.Status != "not_started" || made.Region != "us-east-1" ||
		made.OpenTracking || made.ClickTracking || made.TrackingSubdomain != nil || made.ReturnPath != "send" || len(made.CreatedAt) != len(app.TimeLayout) ||
		made.Capabilities != (app.DomainCapabilities{Sending: "enabled", Receiving: "disabled"}) || len(made.Records) != 3 {
		t.Errorf("added %+v", made)
	}
	for i, want := range []app.DNSRecord{
		{Record: "DKIM", Type: "TXT", Name: "mailer._domainkey.xn--bcher-kva.example", Value: "v=DKIM1; k=rsa; p=MII", Required: true},
		{Record: "SPF", Type: "TXT", Name: "send.xn--bcher-kva.example", Value: "v=spf1 a:relay.test ~all", Required: true},
		{Record: "DMARC", Type: "TXT", Name: "_dmarc.xn--bcher-kva.example", Value: "v=DMARC1; p=none;"},
	} {
		r := made.Records[i]
		if r.Record != want.Record || r.Type != want.Type || r.Name != want.Name || !strings.HasPrefix(r.Value, want.Value) || r.Required != want.Required ||
			r.TTL != "Auto" || r.Status != "not_started" || r.Live != "unknown" {
			t.Errorf("record %+v", r)
		}
	}
	all := d.want(201, "POST", "/domains", `{"name":"news.acme.test","region":"eu-west-1","custom_return_path":"Bounces","open_tracking":true,"click_tracking":true,"tracking_subdomain":"links"}`)
	if !all.OpenTracking || !all.ClickTracking || *all.TrackingSubdomain != "links" || all.ReturnPath != "bounces" || all.Region != "eu-west-1" || len(all.Records) != 4 {
		t.Errorf("added %+v", all)
	}
	if list := d.want(200, "GET", "/domains?limit=1", ""); list.Object != "list" || !list.HasMore || list.Data[0].ID != all.ID || list.Data[0].Records != nil {
		t.Errorf("list %+v", list)
	}
	if list := d.want(200, "GET", "/domains?after="+all.ID, ""); list.HasMore || len(list.Data) != 1 || list.Data[0].ID != made.ID {
		t.Errorf("list %+v", list)
	}
	if got := d.want(200, "POST", "/domains/"+made.ID+"/verify", ""); got.Object != "domain" || got.ID != made.ID {
		t.Errorf("verify answers %+v", got)
	}
	d.eventually(d.full, "/domains/"+made.ID, `"live":"missing"`)
	if got := d.want(200, "GET", "/domains/"+made.ID, ""); got.Status != "pending" || !strings.Contains(got.Records[1].Detail, "There is no TXT record at send.xn--bcher-kva.example") {
		t.Errorf("nothing is published: %+v", got)
	}
	d.dns.publish(made.Records)
	d.want(200, "POST", "/domains/"+made.ID+"/verify", `{}`)
	d.eventually(d.full, "/domains/"+made.ID, `"status":"verified"`)
	d.eventually(d.full, "/domains/"+made.ID, `"policy":"none"`)
	d.send(d.full, sendFrom("a@bücher.example"))
	if got := d.want(200, "DELETE", "/domains/"+made.ID, ""); !got.Deleted || got.Object != "domain" || got.ID != made.ID {
		t.Errorf("delete answers %+v", got)
	}
	wantError(t, d.as(d.full, "GET", "/domains/"+made.ID, ""), 404, app.CodeNotFound)
	wantError(t, d.as(d.full, "POST", "/emails", sendFrom("a@bücher.example")), 422, app.CodeValidation, "`mailer domains add xn--bcher-kva.example`")
}

func TestRotateDKIMKey(t *testing.T) {
	t.Parallel()
	d := newDomains(t)
	made := d.want(201, "POST", "/domains", `{"name":"acme.test"}`)
	d.dns.publish(made.Records)
	at := "/domains/" + made.ID
	d.want(200, "POST", at+"/verify", "")
	d.eventually(d.full, at, `"status":"verified"`)
	keys := func(got domainAnswer) (out string) {
		for _, r := range got.Records {
			if r.Record == "DKIM" {
				out += r.Name + " " + string(r.Key) + "; "
			}
		}
		return out
	}
	const waiting = "mailer._domainkey.acme.test signing; mailer2._domainkey.acme.test next; "
	rotated := d.want(200, "POST", at+"/dkim/rotate", "")
	if got, again := keys(rotated), keys(d.want(200, "POST", at+"/dkim/rotate", "")); got != waiting || again != waiting {
		t.Errorf("keys are %q, then %q", got, again)
	}
	if rotated.Status != "verified" {
		t.Errorf("a domain is %s while its next key waits", rotated.Status)
	}
	d.dns.publish(rotated.Records)
	d.want(200, "POST", at+"/verify", "")
	d.eventually(d.full, at, `"dkim_key":"retired"`)
	if got := keys(d.want(200, "GET", at, "")); got != "mailer2._domainkey.acme.test signing; mailer._domainkey.acme.test retired; " {
		t.Errorf("keys are %q", got)
	}
	_, foreign := d.newTeam("other")
	wantError(t, d.as(foreign, "POST", at+"/dkim/rotate", ""), 404, app.CodeNotFound, "domain")
}

func TestUpdateDomain(t *testing.T) {
	t.Parallel()
	d := newDomains(t)
	id := d.want(201, "POST", "/domains", `{"name":"acme.test"}`).ID
	for _, tt := range []struct {
		body        string
		open, click bool
		subdomain   string
	}{
		{`{"open_tracking":true}`, true, false, ""},
		{`{"click_tracking":true,"tracking_subdomain":"links.acme.test"}`, true, true, "links"},
		{`{"id":"` + id + `","open_tracking":false}`, false, true, "links"}, // Resend's Python client echoes the id
		{`{}`, false, true, "links"},
		{`{"tracking_subdomain":""}`, false, true, ""},
		{`{"tracking_subdomain":"a.b"}`, false, true, "a.b"},
		{`{"tracking_subdomain":null,"open_tracking":null}`, false, true, ""},
	} {
		got := d.want(200, "PATCH", "/domains/"+id, tt.body)
		subdomain := ""
		if got.TrackingSubdomain != nil {
			subdomain = *got.TrackingSubdomain
		}
		if got.Object != "domain" || got.ID != id || got.OpenTracking != tt.open || got.ClickTracking != tt.click || subdomain != tt.subdomain {
			t.Errorf("%s: %+v", tt.body, got)
		}
	}
}

func TestDomainFieldErrors(t *testing.T) {
	t.Parallel()
	d := newDomains(t)
	id := d.want(201, "POST", "/domains", `{"name":"acme.test"}`).ID
	for _, tt := range []struct {
		method, body string
		status       int
		code         app.Code
		words        string
	}{
		{"POST", `{}`, 422, app.CodeValidation, "`name` is required"},
		{"POST", `{"name":"ACME.test"}`, 409, app.CodeConflict, "The domain acme.test is registered already"},
		{"POST", `{"name":"co.uk"}`, 422, app.CodeValidation, "`name` must be a domain of your own: under co.uk anyone can register names (it is a public suffix)"},
		{"POST", `{"name":"https://b.test/"}`, 422, app.CodeValidation, "`name` must be a bare domain name"},
		{"POST", `{"name":"b..test"}`, 422, app.CodeValidation, "`name` is a domain name that is not valid"},
		{"POST", `{"name":"localhost"}`, 422, app.CodeValidation, "`name` is a domain name without a dot"},
		{"POST", `{"name":"127.0.0.1"}`, 422, app.CodeValidation, "`name` must have a domain name, not an IP address"},
		{"POST", `{"name":7}`, 422, app.CodeValidation, "`name` must be a string"},
		{"POST", `{"name":"b.test","region":"sa-east-1"}`, 422, app.CodeValidation, "`region` must be one of us-east-1, eu-west-1"},
		{"POST", `{"name":"b.test","custom_return_path":"a.b"}`, 422, app.CodeValidation, "`custom_return_path` must be one label"},
		{"POST", `{"name":"b.test","tracking_subdomain":"send"}`, 422, app.CodeValidation, "`tracking_subdomain` must differ from the return path send"},
		{"POST", `{"name":"b.test","tls":"enforced"}`, 422, app.CodeValidation, "`tls` can't be set"},
		{"POST", `{"name":"b.test","capabilities":{"receiving":"enabled"}}`, 422, app.CodeValidation, "`capabilities.receiving` can't be enabled: this server receives no mail. Its operator starts it with --smtp-receive"},
		{"POST", `{"name":"b.test","capabilities":{"sending":"disabled"}}`, 422, app.CodeValidation, "`capabilities.sending` must be enabled"},
		{"POST", `{"name":"b.test","colour":"red"}`, 422, app.CodeValidation, "`colour`"},
		{"POST", `{"name":"b.test","trust":true}`, 422, app.CodeValidation, "`trust`"},
		{"PATCH", `{"tls":"opportunistic"}`, 422, app.CodeValidation, "`tls` can't be set: how mail leaves is the setting of the server's relay"},
		{"PATCH", `{"region":"eu-west-1"}`, 422, app.CodeValidation, "`region`"},
		{"PATCH", `{"name":"b.test"}`, 422, app.CodeValidation, "`name`"},
		{"PATCH", `{"id":"` + unknownID + `"}`, 422, app.CodeValidation, "`id`"},
		{"PATCH", `{"tracking_subdomain":"a_b"}`, 422, app.CodeValidation, "`tracking_subdomain` must be a label"},
		{"PATCH", `{"capabilities":{"receiving":"enabled"}}`, 422, app.CodeValidation, "`capabilities.receiving` can't be enabled: this server receives no mail. Its operator starts it with --smtp-receive"},
	} {
		target := "/domains"
		if tt.method == "PATCH" {
			target += "/" + id
		}
		wantError(t, d.as(d.full, tt.method, target, tt.body), tt.status, tt.code, tt.words)
	}
	if list := d.want(200, "GET", "/domains", ""); len(list.Data) != 1 {
		t.Errorf("%d domains", len(list.Data))
	}
}

// TestDocumentListsRegions: the document lists the server's regions, also after the operator added
// one.
func TestDocumentListsRegions(t *testing.T) {
	apptest.Serial(t)
	t.Parallel()
	d := newDomains(t)
	handler := New(d.cfg)
	answer := func(method, target, body string) *httptest.ResponseRecorder {
		w, request := httptest.NewRecorder(), httptest.NewRequest(method, target, strings.NewReader(body))
		request.Header.Set("Authorization", "Bearer "+d.full)
		handler.ServeHTTP(w, request)
		return w
	}
	type schema struct {
		Default  any
		Enum     []any
		Examples []any
	}
	check := func(enum string) {
		t.Helper()
		for _, path := range []string{"/openapi.json", "/openapi-3.0.json"} {
			region := decoded[struct {
				Components struct {
					Schemas map[string]struct{ Properties map[string]schema }
				}
			}](t, answer("GET", path, "")).Components.Schemas["AddDomainRequest"].Properties["region"]
			if region.Default != "us-east-1" || fmt.Sprint(region.Enum) != enum || len(region.Examples) > 0 {
				t.Errorf("%s: region %+v, want %s", path, region, enum)
			}
		}
		for _, tool := range decoded[struct {
			Result struct {
				Tools []struct {
					Name        string
					InputSchema struct{ Properties map[string]schema }
				}
			}
		}](t, answer("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)).Result.Tools {
			if got := fmt.Sprint(tool.InputSchema.Properties["region"].Enum); tool.Name == "add_domain" && got != enum {
				t.Errorf("the tool knows the regions %s, want %s", got, enum)
			}
		}
	}
	check("[us-east-1 eu-west-1]")
	now := d.server.Settings.Relays()
	now.Regions = append(slices.Clone(now.Regions), base.Region{Name: "sa-east-1"}) // as after mailer relays add
	d.server.Settings.SetRelays(now)
	check("[us-east-1 eu-west-1 sa-east-1]")
}

func TestMembersOnlyReadDomains(t *testing.T) {
	t.Parallel()
	d := newDomains(t)
	id := d.want(201, "POST", "/domains", `{"name":"acme.test"}`).ID
	keyOf := func(role app.Role) string {
		token, _, err := d.server.Teams.CreateKey(t.Context(), d.team.ID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: role})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	member, admin := keyOf(app.RoleMember), keyOf(app.RoleAdmin)
	changes := [][3]string{
		{"POST", "/domains", `{"name":"b.test"}`}, {"PATCH", "/domains/" + id, `{"open_tracking":true}`},
		{"POST", "/domains/" + id + "/verify", ""}, {"DELETE", "/domains/" + id, ""},
	}
	for _, c := range changes {
		wantError(t, d.as(member, c[0], c[1], c[2]), http.StatusForbidden, app.CodeForbidden, "role")
	}
	for _, target := range []string{"/domains", "/domains/" + id} {
		wantStatus(t, d.as(member, "GET", target, ""), 200)
	}
	if got := d.want(200, "GET", "/domains/"+id, ""); got.OpenTracking || got.Status != "not_started" {
		t.Errorf("a member changed it: %+v", got)
	}
	for _, c := range changes {
		if w := d.as(admin, c[0], c[1], c[2]); w.Code >= 300 {
			t.Errorf("an admin may not %s %s: %d %s", c[0], c[1], w.Code, w.Body)
		}
	}
}

func TestForeignDomainIsNotFound(t *testing.T) {
	t.Parallel()
	d := newDomains(t)
	id := d.want(201, "POST", "/domains", `{"name":"acme.test"}`).ID
	_, other := d.newTeam("Other")
	for _, target := range []string{id, unknownID, "x", "%00", strings.Repeat("9", 4000), "acme.test"} {
		key := d.full
		if target == id {
			key = other
		}
		for _, c := range [][2]string{{"GET", ""}, {"PATCH", `{}`}, {"DELETE", ""}} {
			wantError(t, d.as(key, c[0], "/domains/"+target, c[1]), 404, app.CodeNotFound)
		}
		wantError(t, d.as(key, "POST", "/domains/"+target+"/verify", ""), 404, app.CodeNotFound)
	}
	wantError(t, d.as(other, "GET", "/domains?after="+id, ""), 422, app.CodeValidation, "`after`")
	wantStatus(t, d.as(other, "POST", "/domains", `{"name":"acme.test"}`), 201)
}
