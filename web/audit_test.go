package web

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
)

// logged returns what the audit log has since it had so many entries, oldest first.
func (r *real) logged(before int) []app.AuditEntry {
	r.t.Helper()
	all, err := r.server.Teams.AuditLog(r.t.Context(), "", time.Unix(0, 0), 10_000)
	if err != nil {
		r.t.Fatal(err)
	}
	return all[:len(all)-before]
}

func TestEachChangeOfAKeyLeavesOneEntryInTheAuditLog(t *testing.T) {
	const planted = "s3cr3t-in-the-address"
	r := newReal(t, captured())
	ids := map[string]string{}
	for _, step := range []struct {
		method, target, body, action string
		keep                         string // the answer's id, as later steps name it
		tool                         bool
	}{
		{"POST", "/domains", `{"name":"shop.example"}`, "domain.create", "{domain}", false},
		{"PATCH", "/domains/{domain}", `{"open_tracking":true,"tracking_subdomain":"links"}`, "domain.update", "", false},
		{"POST", "/domains/{domain}/verify", `{}`, "domain.verify", "", false},
		{"POST", "/api-keys", `{"name":"new"}`, "key.create", "{key}", false},
		{"PATCH", "/api-keys/{key}", `{"name":"newer"}`, "key.update", "", false},
		{"DELETE", "/api-keys/{key}", ``, "key.delete", "", false},
		{"POST", "/webhooks", `{"endpoint":"https://hooks.example.com/in?token=` + planted + `","events":["email.sent"]}`, "webhook.create", "{hook}", false},
		{"PATCH", "/webhooks/{hook}", `{"status":"disabled"}`, "webhook.update", "", false},
		{"POST", "/webhooks/{hook}/signing-secret/rotate", `{}`, "webhook.rotate_secret", "", false},
		{"DELETE", "/webhooks/{hook}", ``, "webhook.delete", "", false},
		{"POST", "/suppressions", `{"email":"eve@example.org"}`, "", "{suppression}", false},
		{"DELETE", "/suppressions/{suppression}", ``, "suppression.remove", "", false},
		{"DELETE", "/domains/{domain}", ``, "domain.delete", "", false},
	} {
		had := len(r.logged(0))
		target := step.target
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
}

func TestAnErasureReachesIntoTheAuditLog(t *testing.T) {
	r := newReal(t, captured())
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
