package sdktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// setUp makes the first account of a server, an operator's, and returns the browser in
// which it is signed in.
func (in *instance) setUp(t *testing.T) *browser {
	t.Helper()
	b := newBrowser(t, in.url)
	_, code, ok := strings.Cut(strings.TrimSpace(in.run(t, "users", "setup")), "#")
	if !ok {
		t.Fatal("mailer users setup prints no code")
	}
	b.ask(t, "POST", "/auth/setup", map[string]any{"code": code, "email": "op@example.test", "password": "a long enough pass phrase"}, 200)
	return b
}

// TestOperatorInABrowser: the queue of another team, relays and their passwords, status, checks and
// a backup, on the binary.
func TestOperatorInABrowser(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	relay, backups := newSink(t, sinkOptions{}), t.TempDir()
	in := start(t, append(killArgs(relay), "--backup-dir", backups)...)
	in.addDomain(t, "example.test")
	in.run(t, "teams", "create", "Other")
	in.run(t, "domains", "add", "example.test", "--trust", "--team", "Other")
	key, other := client{in.url, in.newKey(t)}, client{in.url, in.newKey(t, "--team", "Other")}
	b := in.setUp(t)
	for _, path := range []string{"/relays", "/status", "/health/checks", "/backups", "/teams", "/users", "/settings", "/disk", "/ingest"} {
		key.ask(t, "GET", path, nil, 403, "operator who is signed in")
	}

	// Mail of another team waits behind a paused relay, is held, and released leaves.
	b.ask(t, "POST", "/relays/us-east-1/pause", nil, 200, `"state":"paused"`)
	eventually(t, time.Minute, "the relay is paused", func() (bool, string) {
		log := string(in.log(t))
		return strings.Contains(log, "paused"), log
	})
	id := other.send(t, map[string]any{"from": "a@example.test", "to": "bob@example.org", "subject": "held", "text": "hello"})
	b.ask(t, "GET", "/queue", nil, 200, id, `"team":"`, `"waiting":1`)
	b.ask(t, "POST", "/queue/hold", map[string]any{"team": "Other", "all": true}, 200, `"changed":1`)
	b.ask(t, "POST", "/relays/us-east-1/resume", nil, 200, `"state":"open"`)
	mine := key.send(t, map[string]any{"from": "a@example.test", "to": "ann@example.org", "subject": "ours", "text": "hello"})
	key.waitLast(t, mine, time.Minute, "sent")
	b.ask(t, "GET", "/queue?state=held", nil, 200, id)
	b.ask(t, "GET", "/queue/doubts", nil, 200, `"data":[]`)
	b.ask(t, "POST", "/queue/release", map[string]any{"ids": []string{id}}, 200, `"changed":1`)
	other.waitLast(t, id, time.Minute, "sent")

	checkOperatorsRelays(t, in, b)
	checkOperatorsStatus(t, in, b)
	checkOperatorsLists(t, in, b)

	b.ask(t, "POST", "/health/checks", nil, 200, `"name":"relay us-east-1"`, `"checked_at"`)
	b.ask(t, "GET", "/health/checks", nil, 200, `"name":"relay us-east-1"`, `"checked_at"`)
	var made struct{ Backup struct{ File string } }
	eventually(t, time.Minute, "the daily backup is made, and then one more", func() (bool, string) {
		var list struct {
			Running bool
			Data    []struct{ File string }
		}
		must(t, json.Unmarshal(b.ask(t, "GET", "/backups", nil, 200), &list))
		return !list.Running && len(list.Data) == 1, fmt.Sprint(list)
	})
	must(t, json.Unmarshal(b.ask(t, "POST", "/backups", nil, 201, `"status":"done"`), &made))
	if _, err := os.Stat(filepath.Join(backups, made.Backup.File)); err != nil {
		t.Error(err)
	}
	b.ask(t, "POST", "/auth/sign-out", nil, 200)
	b.ask(t, "GET", "/status", nil, 401, "invalid_credentials")
}

// checkOperatorsLists checks accounts, settings, disk usage and ingest endpoints.
func checkOperatorsLists(t *testing.T, in *instance, b *browser) {
	in.run(t, "users", "create", "new@example.test", "--role", "member", "--team", "Other")
	var users struct {
		Data []struct{ ID, Email string }
	}
	must(t, json.Unmarshal(b.ask(t, "GET", "/users", nil, 200, `"email":"op@example.test"`, `"name":"Other"`), &users))
	if len(users.Data) != 2 || users.Data[0].Email != "new@example.test" {
		t.Fatalf("%+v", users)
	}
	at := "/users/" + users.Data[0].ID
	b.ask(t, "PATCH", at, map[string]any{"operator": true}, 200, `"operator":true`)
	b.ask(t, "POST", at+"/link", nil, 201, `"url":"`+in.url)
	b.ask(t, "DELETE", at, nil, 200, `"deleted":true`)
	b.ask(t, "GET", "/settings", nil, 200, `"name":"backup-dir"`, `"from":"flag"`, `"from":"default"`, `"variable":"MAILER_RELAY"`)
	b.ask(t, "GET", "/disk", nil, 200, `"table":"emails"`, `"team":"Other"`)
	b.ask(t, "GET", "/ingest", nil, 200, `"source":"bounces"`, in.url+"/ingest/postmark/")
}

// checkOperatorsRelays adds and removes a relay with a password.
func checkOperatorsRelays(t *testing.T, in *instance, b *browser) {
	t.Helper()
	const password = "s3cr3tword-of-the-relay"
	second := newSink(t, sinkOptions{password: password})
	url := fmt.Sprintf("smtp://me:%s@%s?tls=off", password, second.addr)
	answers := b.ask(t, "POST", "/relays", map[string]any{"region": "eu", "url": url}, 201, `"region":"eu"`)
	answers = append(answers, b.ask(t, "POST", "/relays/eu/test", nil, 200, `"ok":true`, `"step":"auth"`)...)
	answers = append(answers, b.ask(t, "GET", "/relays", nil, 200, `"region":"eu"`)...)
	answers = append(answers, b.ask(t, "DELETE", "/relays/eu", nil, 200, `"deleted":true`)...)
	answers = append(append(answers, in.log(t)...), in.run(t, "audit", "list")...)
	if bytes.Contains(answers, []byte(password)) {
		t.Errorf("the relay's password is in an answer, the log or the audit log: %s", answers)
	}
	if !bytes.Contains(answers, []byte("relay.remove")) {
		t.Error("the audit log does not tell of the relay")
	}
}

// checkOperatorsStatus compares what the route and the command say.
func checkOperatorsStatus(t *testing.T, in *instance, b *browser) {
	t.Helper()
	read := func(raw []byte) map[string]any {
		var st map[string]any
		must(t, json.Unmarshal(raw, &st))
		if sizes, _ := st["database"].(map[string]any); len(sizes) != 3 {
			t.Errorf("database %v", st["database"])
		}
		delete(st, "database") // which grows meanwhile
		return st
	}
	eventually(t, time.Minute, "GET /status says what mailer status says", func() (bool, string) {
		cmd := exec.Command(binary.path, "status", "--json", "--db", in.db)
		cmd.Dir, cmd.Env = in.dir, cleanEnv(in.dir)
		out, _ := cmd.Output() // 1 where something needs a person
		said, answered := read(out), read(b.ask(t, "GET", "/status", nil, 200))
		return reflect.DeepEqual(said, answered), fmt.Sprint(said, "\n", answered)
	})
}
