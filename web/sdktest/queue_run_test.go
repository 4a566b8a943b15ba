package sdktest

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// queueRow is what `mailer queue list --json` says of a row.
type queueRow struct {
	ID, Team, Relay, From, State, Reason string
	To                                   []string
	Broadcast                            string
	Count                                int64
	Attempts                             int
}

// queueResult is what acts on the queue print with --json.
type queueResult struct{ Matched, Changed int64 }

// queued lists what waits.
func (in *instance) queued(t *testing.T, filter ...string) (rows []queueRow) {
	t.Helper()
	out := in.run(t, append([]string{"queue", "list", "--limit", "1000", "--json"}, filter...)...)
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatalf("queue list: %v\n%s", err, out)
	}
	return rows
}

// act acts on the queue without asking.
func (in *instance) act(t *testing.T, args ...string) (res queueResult) {
	t.Helper()
	out := in.run(t, append(append([]string{"queue"}, args...), "--yes", "--json")...)
	if err := json.Unmarshal([]byte(out), &res); err != nil {
		t.Fatalf("queue %v: %v\n%s", args, err, out)
	}
	return res
}

// refused runs a command that must fail, and returns its error text.
func (in *instance) refused(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary.path, append(args, "--db", in.db)...)
	cmd.Dir, cmd.Env = in.dir, cleanEnv(in.dir)
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("mailer %v went well: %s", args, out)
	}
	return string(out)
}

// TestQueueCommands acts on two teams' mail of a running server: each command affects what its
// filter names and nothing else, within seconds.
func TestQueueCommands(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	relay.set(behaviour{rcpt: func(to string) error {
		if strings.HasPrefix(to, "later") {
			return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 2, 1}, Message: "try later"}
		}
		return nil
	}})
	in := startBare(t, killArgs(relay)...)
	in.addDomain(t, "example.test")
	in.run(t, "teams", "create", "Other")
	in.run(t, "domains", "add", "example.test", "--trust", "--team", "Other")
	api, other := client{in.url, in.newKey(t)}, client{in.url, in.newKey(t, "--team", "Other")}
	mail := func(c client, to string) string {
		return c.send(t, map[string]any{"from": "a@example.test", "to": to, "subject": "queue", "text": "hello"})
	}
	in.run(t, "relays", "pause", "us-east-1")
	<-time.After(2 * time.Second) // the server applies it within a second
	var mine, theirs []string
	for range 5 {
		mine = append(mine, mail(api, "ann@example.com"))
	}
	for range 3 {
		theirs = append(theirs, mail(other, "bob@example.org"))
	}
	var sum struct {
		Waiting int64
		By      []struct {
			Relay, Team, Reason string
			Count               int64
		}
		ToDomains []struct{ Domain string } `json:"to_domains"`
	}
	must(t, json.Unmarshal([]byte(in.run(t, "queue", "--json")), &sum))
	if sum.Waiting != 8 || len(sum.By) != 2 || len(sum.ToDomains) != 2 {
		t.Errorf("summary %+v", sum)
	}
	for _, row := range in.queued(t, "--team", "Other") {
		if row.State != "relay" || row.To[0] != "bob@example.org" {
			t.Errorf("row %+v", row)
		}
	}
	if got := in.act(t, "hold", "--to-domain", "example.org"); got != (queueResult{3, 3}) {
		t.Errorf("hold: %+v", got)
	}
	in.run(t, "relays", "resume", "us-east-1")
	for _, id := range mine {
		api.waitLast(t, id, time.Minute, "sent")
	}
	if words := in.refused(t, "queue", "drop", "--yes"); !strings.Contains(words, "filter") {
		t.Errorf("without a filter: %s", words)
	}
	if words := in.refused(t, "queue", "hold", "--team", "Othre", "--yes"); !strings.Contains(words, "Other") {
		t.Errorf("mistyped: %s", words)
	}
	if got := in.act(t, "drop", "--id", theirs[0]); got != (queueResult{1, 1}) {
		t.Errorf("drop: %+v", got)
	}
	other.waitLast(t, theirs[0], time.Minute, "canceled")
	status, body := api.do(t, "POST", "/queue/release", map[string]any{"ids": theirs})
	if status != http.StatusOK || !strings.Contains(string(body), `"changed":0`) {
		t.Errorf("another team's release: %d %s", status, body)
	}
	status, body = other.do(t, "POST", "/queue/release", map[string]any{"all": true})
	if status != http.StatusOK || !strings.Contains(string(body), `"changed":2`) {
		t.Errorf("release: %d %s", status, body)
	}
	for _, id := range theirs[1:] {
		other.waitLast(t, id, time.Minute, "sent")
	}
	late := mail(api, "later@example.com")
	api.waitEvent(t, late, time.Minute, "deferred")
	relay.set(behaviour{})
	if got := in.act(t, "retry", "--state", "retry"); got != (queueResult{1, 1}) {
		t.Errorf("retry: %+v", got)
	}
	api.waitLast(t, late, time.Minute, "sent")
	if n := len(relay.messages()); n != 8 {
		t.Errorf("%d messages left, not 5, 2 and 1", n)
	}
	in.checkFiles(t)
}
