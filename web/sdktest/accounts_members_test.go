package sdktest

import (
	"os/exec"
	"strings"
	"testing"
)

// fails runs a command that must exit with 1, and returns its error text.
func (in *instance) fails(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary.path, append(args, "--db", in.db)...)
	cmd.Env = cleanEnv(in.dir)
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("mailer %s: %v, %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func afterHash(link any) string {
	_, code, _ := strings.Cut(strings.TrimSpace(link.(string)), "#")
	return code
}

// TestMembersAndReset follows a person through a team: invitation, joining, another role, the last
// owner, and a password reset.
func TestMembersAndReset(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	in := start(t)
	const password = "a long enough secret"
	owner := newBrowser(t, in.url)
	owner.want(t, 200, "POST", "/auth/link", map[string]any{"code": afterHash(in.run(t, "users", "create", "owner@example.test", "--role", "owner", "--operator"))})
	owner.team = owner.want(t, 200, "GET", "/users/me", nil)["teams"].([]any)[0].(map[string]any)["id"].(string)
	made := owner.want(t, 201, "POST", "/invitations", map[string]any{"email": "Ann@example.test", "role": "member"})
	if made["id"] == nil || made["expires_at"] == nil || !strings.HasPrefix(made["url"].(string), in.url+"/dashboard/invitation#") {
		t.Errorf("invited %v", made)
	}
	ann := newBrowser(t, in.url)
	joining := map[string]any{"code": afterHash(made["url"]), "password": password, "name": "Ann"}
	got := ann.want(t, 200, "POST", "/auth/invitation", joining)
	if user := got["user"].(map[string]any); user["email"] != "ann@example.test" || user["operator"] != false {
		t.Errorf("joined as %v", got)
	}
	newBrowser(t, in.url).want(t, 403, "POST", "/auth/invitation", joining)
	ann.want(t, 200, "GET", "/domains", nil)
	ann.want(t, 403, "GET", "/members", nil)

	api := client{in.url, in.newKey(t)}
	var list struct {
		Data []struct{ ID, Email, Role string }
	}
	api.get(t, "/members", &list)
	ids := map[string]string{}
	for _, m := range list.Data {
		ids[m.Email] = m.ID
	}
	api.ask(t, "PATCH", "/members/"+ids["ann@example.test"], map[string]any{"role": "admin"}, 200, `"admin"`)
	ann.want(t, 401, "GET", "/domains", nil) // the session ended with the role
	ann.want(t, 200, "POST", "/auth/sign-in", map[string]any{"email": "ann@example.test", "password": password})
	ann.want(t, 200, "GET", "/members", nil)
	ann.want(t, 403, "PATCH", "/members/"+ids["owner@example.test"], map[string]any{"role": "member"})
	api.ask(t, "PATCH", "/members/"+ids["owner@example.test"], map[string]any{"role": "member"}, 409, "last owner")
	api.ask(t, "DELETE", "/members/"+ids["owner@example.test"], nil, 409, "last owner")
	if said := in.fails(t, "users", "role", "owner@example.test", "member"); !strings.Contains(said, "last owner") {
		t.Errorf("it says %s", said)
	}
	if said := in.fails(t, "users", "remove", "owner@example.test"); !strings.Contains(said, "last operator") {
		t.Errorf("it says %s", said)
	}
	if listed := in.run(t, "users", "list", "--json"); !strings.Contains(listed, "ann@example.test") || !strings.Contains(listed, owner.team) {
		t.Errorf("listed %s", listed)
	}

	link := in.run(t, "users", "reset", "ann@example.test")
	ann.want(t, 401, "GET", "/domains", nil)
	ann.want(t, 401, "POST", "/auth/sign-in", map[string]any{"email": "ann@example.test", "password": password})
	ann.want(t, 200, "POST", "/auth/link", map[string]any{"code": afterHash(link)})
	ann.want(t, 200, "GET", "/members", nil)
	in.run(t, "users", "sessions", "end", "ann@example.test")
	ann.want(t, 401, "GET", "/members", nil)
	api.ask(t, "GET", "/audit-logs?action=member.update", nil, 200, `"actor":{"type":"key"`, `"after":{"email":"ann@example.test","role":"admin"}`)
	log := string(in.log(t)) + string(api.ask(t, "GET", "/audit-logs?limit=100", nil, 200))
	for _, secret := range []string{password, afterHash(link), afterHash(made["url"]), ann.session(t)} {
		if secret != "" && strings.Contains(log, secret) {
			t.Errorf("a secret stands in the log or the audit log")
		}
	}
}
