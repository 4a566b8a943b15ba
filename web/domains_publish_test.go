package web

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/net/dnsprovider"
	"mailer/app/testing/dnstest"
)

// publicationAnswer is an answer of the route that publishes records.
type publicationAnswer struct {
	ID, Provider, Plan string
	Applied            bool
	Changes            []struct{ Action, Type, Name, After string }
	Conflicts          []struct{ Type, Name, Reason string }
	Unchanged          int
}

func TestPublishDomain(t *testing.T) {
	t.Parallel()
	z := dnstest.NewZone("acme.test", "_dmarc.acme.test TXT v=DMARC1; p=reject", "links.acme.test A 192.0.2.1")
	var logged strings.Builder
	cfg := relayed()
	cfg.Resolver, cfg.OpenDNS, cfg.Log = z.Lookup, dnsprovider.New(z.Client()), slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	d := &domainAPI{testAPI: newTestAPI(t, cfg)}
	id := d.want(201, "POST", "/domains", `{"name":"acme.test","tracking_subdomain":"links"}`).ID
	at := "/domains/" + id + "/publish"
	publish := func(body string) (got publicationAnswer) {
		t.Helper()
		w := d.as(d.full, "POST", at, body)
		wantStatus(t, w, 200)
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || strings.Contains(w.Body.String(), dnstest.Token) {
			t.Fatalf("%v: %s", err, w.Body)
		}
		return got
	}
	input := `"provider":"cloudflare","token":"` + dnstest.Token + `","dmarc_reports":"reports@acme.test"`
	before := z.Records()
	plan := publish("{" + input + "}")
	if plan.ID != id || plan.Provider != "cloudflare" || plan.Applied || len(plan.Changes) != 3 || len(plan.Conflicts) != 1 || plan.Conflicts[0].Name != "links.acme.test" || !slices.Equal(z.Records(), before) {
		t.Errorf("plan %+v; the zone has %q", plan, z.Records())
	}
	wantError(t, d.as(d.full, "POST", at, `{`+input+`,"plan":"0123"}`), 409, app.CodeConflict, "look at the changes again")
	done := publish(`{` + input + `,"plan":"` + plan.Plan + `","remember":true}`)
	if !done.Applied || len(done.Changes) != 3 || !slices.Contains(z.Records(), "_dmarc.acme.test TXT v=DMARC1; p=reject; rua=mailto:reports@acme.test") || !slices.Contains(z.Records(), "links.acme.test A 192.0.2.1") {
		t.Errorf("applied %+v; the zone has %q", done, z.Records())
	}
	if got := d.object(d.full, "/domains/"+id)["dns"]; fmt.Sprint(got.(map[string]any)["provider"]) != "cloudflare" {
		t.Errorf("the domain shows %v", got)
	}
	if got := d.object(d.full, "/domains")["data"]; strings.Contains(fmt.Sprint(got), "cloudflare") {
		t.Errorf("the list shows %v", got)
	}
	if again := publish(`{}`); again.Provider != "cloudflare" || len(again.Changes) != 0 || again.Unchanged != 3 {
		t.Errorf("with the remembered token: %+v", again)
	}
	wantStatus(t, d.as(d.full, "DELETE", at+"/token", ""), 200)
	wantError(t, d.as(d.full, "DELETE", at+"/token", ""), 404, app.CodeNotFound, "No DNS token")
	_, foreign := d.newTeam("Other")
	member, _, err := d.server.Teams.CreateKey(t.Context(), d.team.ID, app.KeyInput{Name: "k", Permission: app.FullAccess, Role: app.RoleMember})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		key, body string
		status    int
		code      app.Code
		words     string
	}{
		{foreign, "{" + input + "}", 404, app.CodeNotFound, "domain"},
		{member, "{" + input + "}", 403, app.CodeForbidden, "role"},
		{d.full, `{"provider":"rfc2136","token":"k:c2VjcmV0","server":"127.0.0.1:53"}`, 422, app.CodeValidation, "server"},
		{d.full, `{"provider":"rfc2136","token":"k:c2VjcmV0"}`, 422, app.CodeValidation, "`provider`"},
		{d.full, `{"provider":"hetzner","token":"wrong-token"}`, 422, app.CodeValidation, "Hetzner does not accept the token"},
		{d.full, `{}`, 422, app.CodeValidation, "no token is remembered"},
	} {
		w := d.as(test.key, "POST", at, test.body)
		wantError(t, w, test.status, test.code, test.words)
		if strings.Contains(w.Body.String(), "wrong-token") || strings.Contains(w.Body.String(), dnstest.Token) {
			t.Errorf("an error has the token: %s", w.Body)
		}
	}
	for _, e := range d.logged(0) {
		if text := fmt.Sprintf("%+v", e); strings.Contains(text, dnstest.Token) || strings.Contains(text, "wrong-token") {
			t.Errorf("the audit log has the token: %s", text)
		}
	}
	if text := logged.String(); strings.Contains(text, dnstest.Token) || strings.Contains(text, "wrong-token") {
		t.Errorf("the log has the token: %s", text)
	}
}
