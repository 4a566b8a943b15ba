package sdktest

import (
	"strings"
	"testing"
	"time"
)

// first is a member of the first row of a list's answer.
func first(t *testing.T, list map[string]any, name string) string {
	t.Helper()
	rows, _ := list["data"].([]any)
	if len(rows) == 0 {
		t.Fatalf("nothing in %v", list)
	}
	value, _ := rows[0].(map[string]any)[name].(string)
	return value
}

// TestAccountSettings covers what people do with their own account.
func TestAccountSettings(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	in := start(t)
	const before, after = "a long enough pass phrase", "another long pass phrase"
	b := in.setUp(t)
	b.ask(t, "PATCH", "/users/me", map[string]any{"name": "Ingrid", "language": "de", "theme": "dark"}, 200, `"name":"Ingrid"`, `"language":"de"`)
	other := newBrowser(t, in.url)
	other.want(t, 200, "POST", "/auth/sign-in", map[string]string{"email": "op@example.test", "password": before})
	if sessions := b.ids(t, "/users/me/sessions"); len(sessions) != 2 {
		t.Errorf("sessions %v", sessions)
	}
	mine := other.want(t, 200, "GET", "/users/me", nil)["session"].(map[string]any)["id"].(string)
	b.ask(t, "DELETE", "/users/me/sessions/"+mine, nil, 200)
	other.want(t, 401, "GET", "/users/me", nil)
	b.ask(t, "DELETE", "/users/me/sessions", nil, 200)
	secret := b.want(t, 200, "POST", "/users/me/totp", nil)["secret"].(string)
	b.want(t, 200, "POST", "/users/me/totp/confirm", map[string]string{"code": oneTimePassword(t, secret, -1)})
	if codes := b.want(t, 200, "POST", "/users/me/recovery-codes", nil)["recovery_codes"].([]any); len(codes) != 10 {
		t.Errorf("%d recovery codes", len(codes))
	}
	b.ask(t, "POST", "/auth/confirm", map[string]string{"password": before}, 200)
	b.ask(t, "DELETE", "/users/me/totp", nil, 200)
	b.ask(t, "GET", "/users/me/passkeys", nil, 200, `"data":[]`)
	b.ask(t, "POST", "/users/me/password", map[string]string{"current": before, "new": after}, 200)
	other.want(t, 401, "POST", "/auth/sign-in", map[string]string{"email": "op@example.test", "password": before})
	other.want(t, 200, "POST", "/auth/sign-in", map[string]string{"email": "op@example.test", "password": after})
}

// TestTeamSettings covers what an owner does with a team, and an operator with teams.
func TestTeamSettings(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	in := start(t)
	b := in.setUp(t)
	b.team = b.want(t, 200, "GET", "/users/me", nil)["teams"].([]any)[0].(map[string]any)["id"].(string)
	b.ask(t, "PATCH", "/team", map[string]any{"name": "Harbour", "keep_content": "30d"}, 200, `"name":"Harbour"`, `"keep_content":"30d"`)
	b.ask(t, "GET", "/team", nil, 200, `"name":"Harbour"`)
	b.want(t, 201, "POST", "/invitations", map[string]any{"email": "ann@example.test", "role": "member"})
	b.ask(t, "DELETE", "/invitations/"+first(t, b.want(t, 200, "GET", "/invitations", nil), "id"), nil, 200)
	b.ask(t, "GET", "/invitations", nil, 200, `"data":[]`)
	in.run(t, "users", "create", "ann@example.test", "--role", "member")
	made := b.want(t, 201, "POST", "/teams", map[string]any{"name": "Other"})["id"].(string)
	b.ask(t, "GET", "/teams", nil, 200, made)
	b.ask(t, "PATCH", "/teams/"+made, map[string]any{"name": "Elsewhere", "suspended": true, "reason": "a test"}, 200, `"name":"Elsewhere"`, `"suspended":true`)
	b.ask(t, "GET", "/teams/"+made, nil, 200, "a test")
	b.ask(t, "DELETE", "/teams/"+made+"?name=Elsewhere", nil, 200)
	var ann string
	for _, row := range b.want(t, 200, "GET", "/members", nil)["data"].([]any) {
		if m := row.(map[string]any); m["email"] == "ann@example.test" {
			ann = m["id"].(string)
		}
	}
	b.ask(t, "DELETE", "/members/"+ann, nil, 200)
	b.ask(t, "POST", "/members", map[string]any{"email": "ann@example.test", "role": "admin"}, 201)
}

// TestQueueRoutes: mail waits, is retried, moved, dropped and requeued.
func TestQueueRoutes(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	relay.set(scripted("RCPT", "451 4.7.1 come back later"))
	in := start(t, killArgs(relay)...)
	in.addDomain(t, "example.test")
	api, b := client{in.url, in.newKey(t)}, in.setUp(t)
	send := func(to string) string {
		return api.send(t, map[string]any{"from": "a@example.test", "to": to, "subject": "waits", "text": "hello"})
	}
	one, two := send("one@example.org"), send("two@example.org")
	for _, id := range []string{one, two} {
		api.waitEvent(t, id, time.Minute, "deferred")
	}
	second := newSink(t, sinkOptions{})
	b.ask(t, "POST", "/relays", map[string]any{"region": "eu", "url": "smtp://" + second.addr + "?tls=off"}, 201)
	b.ask(t, "GET", "/relays/eu", nil, 200, `"region":"eu"`)
	b.ask(t, "POST", "/queue/retry", map[string]any{"ids": []string{one}}, 200, `"changed":1`)
	b.ask(t, "POST", "/queue/drop", map[string]any{"ids": []string{two}}, 200, `"changed":1`)
	eventually(t, time.Minute, "what waits moves", func() (bool, string) {
		status, answer := b.try(t, "POST", "/queue/move", map[string]any{"ids": []string{one}, "to_relay": "eu"})
		return status == 200 && strings.Contains(string(answer), `"changed":1`), string(answer)
	})
	b.ask(t, "POST", "/queue/retry", map[string]any{"ids": []string{one}}, 200)
	api.waitLast(t, one, time.Minute, "sent")
	b.ask(t, "POST", "/queue/requeue", map[string]any{"ids": []string{one, two}}, 200, `"changed":0`) // one has left, and two was dropped on purpose
}
