package web

import (
	"errors"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/operate/health"
	"mailer/app/rules/feedback"
	"mailer/app/server"
)

type userAnswer struct {
	ID, Email    string
	Operator     bool
	SecondFactor bool    `json:"second_factor"`
	LastSeenAt   *string `json:"last_seen_at"`
	Teams        []struct{ ID, Name, Role string }
}

func TestOperatorAccounts(t *testing.T) {
	t.Parallel()
	o := newOperatorAPI(t, relayed())
	member := o.signedIn("member", app.RoleMember, false, 0)
	o.signedIn("owner", app.RoleOwner, false, 0)
	users := map[string]userAnswer{}
	for after := ""; ; {
		page := decoded[struct {
			Data    []userAnswer
			HasMore bool `json:"has_more"`
		}](t, o.ask("GET", "/users?limit=2"+after, "", 200))
		for _, u := range page.Data {
			users[strings.TrimSuffix(u.Email, "@example.com")] = u
			after = "&after=" + u.ID
		}
		if !page.HasMore {
			break
		}
	}
	if u := users["member"]; len(users) != 3 || !users["operator"].Operator || u.Operator || u.LastSeenAt == nil || len(u.Teams) != 1 || u.Teams[0].ID != o.team.ID || u.Teams[0].Role != "member" {
		t.Fatalf("%+v", users)
	}
	at := func(name string) string { return "/users/" + users[name].ID }
	o.ask("PATCH", at("operator"), `{"operator":false}`, 409, "last operator")
	o.ask("DELETE", at("operator"), "", 409, "last operator")
	o.ask("DELETE", at("owner"), "", 409, "last owner")
	o.ask("PATCH", at("member"), `{}`, 422, "operator")
	o.ask("PATCH", at("member"), `{"operator":true}`, 200, `"operator":true`, `"role":"member"`)
	wantStatus(t, o.do("GET", "/users/me", "", "Cookie: __Host-mailer="+member), 401) // the session ended
	o.ask("PATCH", at("member"), `{"operator":false}`, 200, `"operator":false`)
	o.ask("POST", at("member")+"/link", "", 201, `"object":"sign_in_link"`, `"email":"member@example.com"`, "/link")
	o.ask("DELETE", at("member"), "", 200, `"deleted":true`)
	for _, path := range []string{at("member"), "/users/" + unknownID} {
		o.ask("DELETE", path, "", 404)
		o.ask("PATCH", path, `{"operator":true}`, 404)
		o.ask("POST", path+"/link", "", 404)
	}
	log := o.audited()
	for _, part := range []string{"user.update " + users["member"].ID, "user.link " + users["member"].ID, "user.delete " + users["member"].ID} {
		if !strings.Contains(log, part) {
			t.Errorf("no %s in the audit log:\n%s", part, log)
		}
	}
}

func TestOperatorSettingsAndDisk(t *testing.T) {
	t.Parallel()
	o := newOperatorAPI(t, captured())
	o.cfg.Settings = []health.Setting{{Name: "listen", Value: ":3000", From: health.FromFlag, Variable: "MAILER_LISTEN", About: "address"}}
	o.remake()
	o.ask("GET", "/settings", "", 200, `{"name":"listen","value":":3000","from":"flag","variable":"MAILER_LISTEN","about":"address","changeable":false,"choices":[]}`)
	o.send(o.full, validSend)
	o.ask("GET", "/disk", "", 200, `"object":"disk"`, `"running":false`, `"table":"emails"`, `"team":"`+o.team.Name+`"`, `"emails":1`, `"keep_content":"0"`)
}

func TestFlagOverridesSetting(t *testing.T) {
	t.Parallel()
	cfg := captured()
	cfg.FlagValues = map[string]string{"keep-emails": "1y"}
	o := newOperatorAPI(t, cfg)
	o.cfg.Settings = []health.Setting{{Name: "guardrails", Value: "warn", From: health.FromDefault}, {Name: "keep-emails", Value: "1y", From: health.FromFlag}}
	o.remake()
	o.ask("PATCH", "/settings", `{"values":{"guardrails":"enforce"}}`, 200, `"name":"guardrails","value":"enforce","from":"database"`, `"choices":["warn","enforce"]`)
	o.ask("PATCH", "/settings", `{"values":{"keep-emails":"2y"}}`, 409, "keep-emails is set by --keep-emails")
	o.ask("PATCH", "/settings", `{"values":{"guardrails":"no"}}`, 422, "`guardrails` must be enforce or warn")
	o.ask("PATCH", "/settings", `{"values":{"guardrails":null}}`, 200, `"name":"guardrails","value":"warn","from":"default"`)
	o.ask("PATCH", "/settings", `{"guardrails":"enforce"}`, 422)
}

func TestOperatorIngestRoutes(t *testing.T) {
	t.Parallel()
	o := newOperatorAPI(t, captured())
	type endpoint struct {
		Source        string
		Address       *string
		Open          bool
		LastSeenAt    *string `json:"last_seen_at"`
		LastRefusedAt *string `json:"last_refused_at"`
		LastRefused   *string `json:"last_refused"`
	}
	endpoints := func() map[string]endpoint {
		t.Helper()
		out := map[string]endpoint{}
		for _, d := range decoded[struct{ Data []endpoint }](t, o.ask("GET", "/ingest", "", 200)).Data {
			out[d.Source] = d
		}
		return out
	}
	before := endpoints()
	if len(before) != len(feedback.Sources())+2 || before["ses"].Open || before["bounces"].Open || before["bounces"].Address != nil || !before["generic"].Open || before["generic"].LastSeenAt != nil {
		t.Fatalf("%+v", before)
	}
	path := (*before["generic"].Address)[strings.Index(*before["generic"].Address, "/ingest/"):]
	wantStatus(t, o.do("POST", path, `{"type":"bounced","email_id":"`+unknownID+`","recipient":"ann@example.net","enhanced_code":"5.1.1"}`), 200)
	wantStatus(t, o.do("POST", "/ingest/postmark/wrong", `[]`), 404)
	wantStatus(t, o.do("POST", "/ingest/nobody/wrong", `[]`), 404)
	wantStatus(t, o.do("POST", "/ingest/ses", `{}`), 403)
	check := func() {
		t.Helper()
		got := endpoints()
		if d := got["generic"]; d.LastSeenAt == nil || d.LastRefusedAt != nil {
			t.Errorf("%+v", d)
		}
		if d := got["postmark"]; d.LastSeenAt != nil || d.LastRefused == nil || !strings.Contains(*d.LastRefused, "secret") {
			t.Errorf("%+v", d)
		}
		if d := got["ses"]; d.LastRefused == nil || !strings.Contains(*d.LastRefused, "--sns-topic") {
			t.Errorf("%+v", d)
		}
	}
	check()
	if err := errors.Join(o.server.ProviderEvents.StoreUses(t.Context()), o.server.ProviderEvents.StoreUses(t.Context())); err != nil {
		t.Fatal(err)
	}
	next, err := server.New(t.Context(), server.Config{DB: o.store, Sealer: o.sealer, BaseURL: "https://mail.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := next.ProviderEvents.IngestRoutes(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range kept {
		if d.Seen.IsZero() == (d.Source == app.SourceGeneric) || (d.Reason != "") != (d.Source == "postmark" || d.Source == app.SourceSES) || d.Source == app.SourceSES && !d.Open {
			t.Errorf("the next server says %+v", d)
		}
	}
	if strings.Contains(o.log.String(), path) {
		t.Error("the log holds the secret")
	}
}
