package sdktest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

// browser is somebody who may be signed in.
type browser struct {
	url    string
	cookie string
	team   string // that it asks about; empty: the only one
}

// ask makes a request with the browser's cookie, keeps the one that is set, and wants a
// status.
func (b *browser) ask(t *testing.T, method, path string, body any, status int) map[string]any {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, b.url+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if body == nil {
		request.Body, request.ContentLength = http.NoBody, 0
	}
	if b.cookie != "" {
		request.AddCookie(&http.Cookie{Name: "mailer", Value: b.cookie})
	}
	if b.team != "" {
		request.Header.Set("X-Team", b.team)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != status {
		t.Fatalf("%s %s: %d %s, want %d", method, path, response.StatusCode, answer, status)
	}
	for _, c := range response.Cookies() {
		if c.Name == "mailer" {
			b.cookie = c.Value
		}
	}
	var out map[string]any
	if err := json.Unmarshal(answer, &out); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	return out
}

// fails runs a command that must end with 1, and returns what it says.
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

// TestPeopleAreInvitedChangedAndReset follows a person through a team: invited, joined, another role, the last owner, and the way back.
func TestPeopleAreInvitedChangedAndReset(t *testing.T) {
	t.Parallel()
	in := startBare(t)
	const password = "a long enough secret"
	owner := &browser{url: in.url}
	owner.ask(t, "POST", "/auth/link", map[string]any{"code": afterHash(in.run(t, "users", "create", "owner@example.test", "--role", "owner", "--operator"))}, 200)
	owner.team = owner.ask(t, "GET", "/users/me", nil, 200)["teams"].([]any)[0].(map[string]any)["id"].(string)
	made := owner.ask(t, "POST", "/invitations", map[string]any{"email": "Ann@example.test", "role": "member"}, 201)
	if made["id"] == nil || made["expires_at"] == nil || !strings.HasPrefix(made["url"].(string), in.url+"/dashboard/invitation#") {
		t.Errorf("invited %v", made)
	}
	ann := &browser{url: in.url}
	joining := map[string]any{"code": afterHash(made["url"]), "password": password, "name": "Ann"}
	got := ann.ask(t, "POST", "/auth/invitation", joining, 200)
	if user := got["user"].(map[string]any); user["email"] != "ann@example.test" || user["operator"] != false {
		t.Errorf("joined as %v", got)
	}
	(&browser{url: in.url}).ask(t, "POST", "/auth/invitation", joining, 403)
	ann.ask(t, "GET", "/domains", nil, 200)
	ann.ask(t, "GET", "/members", nil, 403)

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
	ann.ask(t, "GET", "/domains", nil, 401) // the session ended with the role
	ann.ask(t, "POST", "/auth/sign-in", map[string]any{"email": "ann@example.test", "password": password}, 200)
	ann.ask(t, "GET", "/members", nil, 200)
	ann.ask(t, "PATCH", "/members/"+ids["owner@example.test"], map[string]any{"role": "member"}, 403)
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
	ann.ask(t, "GET", "/domains", nil, 401)
	ann.ask(t, "POST", "/auth/sign-in", map[string]any{"email": "ann@example.test", "password": password}, 401)
	ann.ask(t, "POST", "/auth/link", map[string]any{"code": afterHash(link)}, 200)
	ann.ask(t, "GET", "/members", nil, 200)
	in.run(t, "users", "sessions", "end", "ann@example.test")
	ann.ask(t, "GET", "/members", nil, 401)
	api.ask(t, "GET", "/audit-logs?action=member.update", nil, 200, `"actor":{"type":"key"`, `"after":{"email":"ann@example.test","role":"admin"}`)
	log := string(in.log(t)) + string(api.ask(t, "GET", "/audit-logs?limit=100", nil, 200))
	for _, secret := range []string{password, afterHash(link), afterHash(made["url"]), ann.cookie} {
		if secret != "" && strings.Contains(log, secret) {
			t.Errorf("a secret stands in the log or the audit log")
		}
	}
}
