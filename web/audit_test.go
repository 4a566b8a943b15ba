package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/testing/testserver"
)

// logged returns what the audit log has since it had so many entries, oldest first.
func (r *testAPI) logged(before int) []app.AuditEntry {
	r.t.Helper()
	all, err := r.server.Teams.AuditLog(r.t.Context(), "", time.Unix(0, 0), 10_000)
	if err != nil {
		r.t.Fatal(err)
	}
	return all[:len(all)-before]
}

func TestKeyChangesAreAudited(t *testing.T) {
	testserver.BothEngines(t)
	t.Parallel()
	const planted = "s3cr3t-in-the-address"
	r := newTestAPI(t, captured())
	other, _ := r.newTeam("Other")
	if _, _, err := r.server.Accounts.CreateAccount(t.Context(), "ann@example.net", other.ID, app.RoleMember, false); err != nil {
		t.Fatal(err)
	}
	member, _, err := r.server.Accounts.CreateAccount(t.Context(), "carol@example.net", r.team.ID, app.RoleMember, false)
	if err != nil {
		t.Fatal(err)
	}
	ids, walked := map[string]string{"{member}": member.ID}, map[string]bool{}
	for _, step := range []struct {
		method, target, body, action string
		keep                         string // the answer's id, as later steps name it
		tool                         bool
	}{
		{"POST", "/domains", `{"name":"shop.example"}`, "domain.create", "{domain}", false},
		{"PATCH", "/domains/{domain}", `{"open_tracking":true,"tracking_subdomain":"links"}`, "domain.update", "", false},
		{"POST", "/domains/{domain}/verify", `{}`, "domain.verify", "", false},
		{"POST", "/domains/{domain}/dkim/rotate", `{}`, "domain.rotate_dkim", "", false},
		{"POST", "/api-keys", `{"name":"new"}`, "key.create", "{key}", false},
		{"PATCH", "/api-keys/{key}", `{"name":"newer"}`, "key.update", "", false},
		{"DELETE", "/api-keys/{key}", ``, "key.delete", "", false},
		{"POST", "/webhooks", `{"endpoint":"https://hooks.example.com/in?token=` + planted + `","events":["email.sent"]}`, "webhook.create", "{hook}", false},
		{"PATCH", "/webhooks/{hook}", `{"status":"disabled"}`, "webhook.update", "", false},
		{"POST", "/webhooks/{hook}/signing-secret/rotate", `{}`, "webhook.rotate_secret", "", false},
		{"DELETE", "/webhooks/{hook}", ``, "webhook.delete", "", false},
		{"POST", "/suppressions", `{"email":"eve@example.org"}`, "", "{suppression}", false},
		{"DELETE", "/suppressions/{suppression}", ``, "suppression.remove", "", false},
		{"PATCH", "/domains/{domain}/reports", `{"own_sources":["203.0.113.7"]}`, "domain.name_sources", "", false},
		{"POST", "/routes", `{"match":"*@shop.example","actions":[{"type":"webhook"}]}`, "route.create", "{route}", false},
		{"PATCH", "/routes/{route}", `{"match":"+shop"}`, "route.update", "", false},
		{"DELETE", "/routes/{route}", ``, "route.delete", "", false},
		{"DELETE", "/domains/{domain}", ``, "domain.delete", "", false},
		{"POST", "/members", `{"email":"ann@example.net","role":"member"}`, "invitation.create", "", false},
		{"PATCH", "/members/{member}", `{"role":"admin"}`, "member.update", "", false},
		{"DELETE", "/members/{member}", ``, "member.remove", "", false},
		{"POST", "/invitations", `{"email":"bob@example.net","role":"member"}`, "invitation.create", "{invitation}", false},
		{"DELETE", "/invitations/{invitation}", ``, "invitation.delete", "", false},
		{"PATCH", "/team", `{"name":"Renamed"}`, "team.rename", "", false},
		{"PATCH", "/team", `{"logo_url":"https://example.com/logo.png"}`, "team.update", "", false},
		{"PATCH", "/team/brand", `{"color":"#1f4fd8"}`, "team.update", "", false},
		{"POST", "/team/logo", `{"content":"` + onePixelPNG + `"}`, "team.update", "", false},
		{"DELETE", "/team/logo", ``, "team.update", "", false},
		{"PATCH", "/team", `{"keep_emails":"30d"}`, "team.retention", "", false},
	} {
		had := len(r.logged(0))
		target := step.target
		walked[step.method+" "+pathParameter.ReplaceAllString(target, "{id}")] = true
		for name, id := range ids {
			target = strings.ReplaceAll(target, name, id)
		}
		w := r.as(r.full, step.method, target, step.body)
		if w.Code >= 300 {
			t.Fatalf("%s %s: %d %s", step.method, target, w.Code, w.Body)
		}
		var answer struct {
			ID            string `json:"id"`
			Token         string `json:"token"`
			SigningSecret string `json:"signing_secret"`
		}
		_ = json.Unmarshal(w.Body.Bytes(), &answer)
		if step.keep != "" {
			ids[step.keep] = answer.ID
		}
		entries := r.logged(had)
		if step.action == "" {
			if len(entries) != 0 {
				t.Errorf("%s %s leaves %+v", step.method, target, entries)
			}
			continue
		}
		if len(entries) != 1 {
			t.Errorf("%s %s leaves %d entries", step.method, target, len(entries))
			continue
		}
		e := entries[0]
		if e.Action != step.action || e.TeamID != r.team.ID || e.Actor.Type != app.ActorKey || e.Actor.Name != r.keyID("test") || e.Actor.Address != "192.0.2.1" || e.Target == "" {
			t.Errorf("%s %s leaves %+v", step.method, target, e)
		}
		for _, secret := range []string{planted, answer.Token, answer.SigningSecret} {
			if secret != "" && strings.Contains(e.Before+e.After, secret) {
				t.Errorf("%s tells a secret: %s %s", step.action, e.Before, e.After)
			}
		}
	}
	for id, op := range r.handler.Operations() {
		name := op.Method + " " + pathParameter.ReplaceAllString(op.Path, "{id}")
		if strings.HasSuffix(op.Path, "/replay") || strings.HasSuffix(op.Path, "/test") {
			continue // events are sent, and nothing is changed
		}
		if id == "import-domain-reports" {
			continue // needs a file; package reports tests its entry
		}
		if strings.Contains(op.Path, "/publish") {
			continue // needs a DNS provider; package domains tests its entries
		}
		if strings.Contains(op.Path, "/archive") {
			continue // needs a broadcast that was sent; TestArchiveShowsWhatWasSentSince looks at its entries
		}
		if op.Route.Admin && !op.Route.Person && !op.Route.Operator && op.Method != http.MethodGet && !walked[name] {
			t.Errorf("%s (%s) changes what members only read: walk it here too", name, id)
		}
	}
}

func TestErasureCoversAuditLog(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	wantStatus(t, r.as(r.full, "POST", "/suppressions", `{"email":"eve@example.org"}`), 201)
	wantStatus(t, r.as(r.full, "DELETE", "/suppressions/eve@example.org", ``), 200)
	wantStatus(t, r.as(r.full, "POST", "/contacts", `{"email":"eve@example.org"}`), 201)
	had := r.logged(0)[0]
	if !strings.Contains(had.Before, "eve@example.org") {
		t.Fatalf("%+v", had)
	}
	wantStatus(t, r.as(r.full, "DELETE", "/contacts/eve@example.org?erase=true", ``), 200)
	if has := r.logged(0)[0]; strings.Contains(has.Before, "eve@") || !strings.Contains(has.Before, app.Erased) {
		t.Errorf("%+v", has)
	}
}

type auditRow struct {
	Object, ID, Action string
	TeamID, Target     *string
	Actor              struct{ Type, ID, Name string }
	Before, After      map[string]any
}

func TestListAuditLog(t *testing.T) {
	t.Parallel()
	r := newTestAPI(t, captured())
	_, foreign := r.newTeam("Other")
	r.create(foreign, `{"name":"their key"}`)
	k := r.create(r.full, `{"name":"one"}`)
	r.create(k.Token, `{"name":"two","role":"member"}`)
	wantStatus(t, r.as(r.full, "PATCH", "/api-keys/"+k.ID, `{"name":"uno"}`), 200)
	list := func(query string) []auditRow {
		t.Helper()
		w := r.as(r.full, "GET", "/audit-logs?limit=100"+query, "")
		wantStatus(t, w, 200)
		if strings.Contains(w.Body.String(), "their key") {
			t.Errorf("another team's: %s", w.Body)
		}
		return decoded[struct{ Data []auditRow }](t, w).Data
	}
	rows := list("")
	if e := rows[0]; e.Object != "audit_log" || e.Action != "key.update" || *e.Target != k.ID || e.Actor.Type != "key" || e.Actor.ID != r.keyID("test") || e.Actor.Name != "test" || e.Before["name"] != "one" || e.After["name"] != "uno" {
		t.Errorf("listed %+v", e)
	}
	soon, past := app.FormatTime(time.Now().Add(time.Minute)), app.FormatTime(time.Now().Add(-time.Minute))
	for query, want := range map[string]int{
		"&action=key.update": 1, "&action=key.create": 3, "&target=" + k.ID: 2, "&actor=" + k.ID: 1, "&actor=" + k.ID + "&action=key.update": 0, "&action=key": 0,
		"&created_after=" + past: len(rows), "&created_before=" + past: 0, "&created_after=" + soon: 0, "&created_before=" + soon: len(rows),
	} {
		if got := list(query); len(got) != want {
			t.Errorf("%s: %d entries, want %d", query, len(got), want)
		}
	}
	all := r.page(r.full, "/audit-logs")
	if down, up := r.walk("/audit-logs", "after", 2), r.walk("/audit-logs", "before", 2); len(down) != len(rows) || len(up) != len(rows)-1 {
		t.Errorf("walked %q and %q", down, up)
	}
	r.wantPageErrors("/audit-logs", all.ids()[0])
	wantError(t, r.as(r.full, "GET", "/audit-logs?created_after=x", ""), 422, app.CodeValidation, "created_after")
	wantError(t, r.as(r.role(r.team.ID, app.RoleMember), "GET", "/audit-logs", ""), 403, app.CodeForbidden)
	wantStatus(t, r.as(r.role(r.team.ID, app.RoleAdmin), "GET", "/audit-logs", ""), 200)
}

// onePixelPNG is a PNG in base64.
const onePixelPNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
