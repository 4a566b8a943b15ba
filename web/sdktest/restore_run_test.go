package sdktest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// restored is what `mailer restore --json` prints.
type restored struct {
	Database string `json:"database"`
	SetAside string `json:"set_aside"`
	Held     int    `json:"held"`
	BackupAt string `json:"backup_at"`
}

// restore replaces a stopped server's database by a backup.
func (in *instance) restore(t *testing.T, file string) (r restored) {
	t.Helper()
	out := in.run(t, "restore", file, "--json")
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("restore: %v\n%s", err, out)
	}
	return r
}

// TestRestoreSendsNothingOld makes a backup under a mix of mail of two teams and half a broadcast,
// sends more, restores, and starts again: nothing that waited in the backup is sent, and each
// email's timeline says so; new mail is sent.
func TestRestoreSendsNothingOld(t *testing.T) {
	part(t, "restore")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	relay.set(behaviour{dotDelay: 50 * time.Millisecond, rcpt: func(to string) error {
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
	mail := func(to string) map[string]any {
		return map[string]any{"from": "a@example.test", "to": to, "subject": "drill", "text": "hello"}
	}
	past := map[string]client{}
	for _, team := range []client{api, other} {
		retry := team.send(t, mail("later@example.com"))
		past[retry] = team
		team.waitEvent(t, retry, time.Minute, "deferred")
	}
	fillContacts(t, api, 300)
	var b broadcastState
	status, body := api.do(t, "POST", "/broadcasts", map[string]any{"from": "News <a@example.test>", "subject": "half", "html": "<p>{{{UNSUBSCRIBE_URL}}}</p>", "send": true})
	if status != http.StatusCreated {
		t.Fatalf("POST /broadcasts: %d %s", status, body)
	}
	must(t, json.Unmarshal(body, &b))
	relay.wait(t, 20, time.Minute, func(m *message) bool { return m.header("Subject") == "half" })
	l := newLoad(api)
	l.pause = 50 * time.Millisecond // one page of the queue shows all that is held
	stop := l.start(t)              // before the rest of the broadcast
	l.waitAccepted(t, 100)
	due := time.Now().Add(10 * time.Second)
	for _, team := range []client{api, other} {
		later := mail("scheduled@example.com")
		later["scheduled_at"] = due.UTC().Format(time.RFC3339Nano)
		past[team.send(t, later)] = team
	}
	copied := filepath.Join(in.dir, "copy.db")
	in.run(t, "backup", copied)
	l.waitAccepted(t, 200)
	stop()
	in.stop(t)
	left := len(relay.messages())

	r := in.restore(t, copied)
	relay.set(behaviour{})
	in.serve(t)
	fresh := api.send(t, mail("fresh@example.com"))
	api.waitLast(t, fresh, time.Minute, "sent")
	held := 0
	for _, team := range []client{api, other} {
		for id, last := range team.states(t) {
			if last == "queued" || last == "scheduled" || last == "delivery_delayed" {
				team.waitEvent(t, id, time.Minute, "held")
				held++
			}
		}
	}
	for id, team := range past {
		team.waitEvent(t, id, time.Minute, "held")
	}
	<-time.After(time.Until(due.Add(time.Second)))
	for _, m := range relay.messages()[left:] {
		if m.To[0] != "fresh@example.com" {
			t.Errorf("%s left to %v", m.header("Subject"), m.To)
		}
	}
	api.get(t, "/broadcasts/"+b.ID, &b)
	t.Logf("%d emails held of %d in all; the broadcast is %s, %d sent", held, r.Held, b.Status, b.SentCount)
	if b.Status != "queued" || held < len(past) || r.Held <= held {
		t.Error("not all of what waited is held")
	}
	in.decideOnThePast(t, api, other, &b, held)
	in.checkFiles(t)
}

// decideOnThePast lists what a restore holds, drops the broadcast and the other team's
// mail, and releases the rest, which leaves.
func (in *instance) decideOnThePast(t *testing.T, api, other client, b *broadcastState, held int) {
	t.Helper()
	emails, recipients := 0, int64(0)
	for _, row := range in.queued(t, "--state", "held") {
		if row.Reason != "restored" {
			t.Errorf("held and not restored: %+v", row)
		}
		if row.Broadcast == "" {
			emails++
		} else {
			recipients += max(row.Count, 1)
		}
	}
	if emails != held || recipients == 0 {
		t.Errorf("listed are %d emails of %d, and %d recipients", emails, held, recipients)
	}
	if got := in.act(t, "drop", "--restored", "--broadcast", b.ID); got.Changed == 0 {
		t.Errorf("drop of the broadcast: %+v", got)
	}
	if got := in.act(t, "drop", "--restored", "--team", "Other"); got.Changed != 2 {
		t.Errorf("drop of the other team: %+v", got)
	}
	got := in.act(t, "release", "--restored")
	if got.Changed != int64(held-2) {
		t.Errorf("release of the rest: %+v", got)
	}
	if got := in.act(t, "retry", "--state", "retry"); got.Changed != 1 { // it is put off as it was
		t.Errorf("retry of what was put off: %+v", got)
	}
	eventually(t, time.Minute, "all that was released leaves", func() (bool, string) {
		states := map[string]int{}
		for id, last := range api.states(t) {
			if last == "scheduled" && api.isFarOff(t, id) { // canceled after the backup
				api.ask(t, "POST", "/emails/"+id+"/cancel", nil, http.StatusOK)
				last = "canceled"
			}
			states[last]++
		}
		return states["queued"]+states["scheduled"]+states["delivery_delayed"] == 0, fmt.Sprint(states)
	})
	for id, last := range other.states(t) {
		if last != "canceled" && last != "sent" {
			t.Errorf("%s of the other team is %s", id, last)
		}
	}
	if api.get(t, "/broadcasts/"+b.ID, b); b.Status != "canceled" {
		t.Errorf("the dropped broadcast is %s", b.Status)
	}
	if rest := in.queued(t); len(rest) > 0 {
		t.Errorf("left in the queue: %+v", rest)
	}
}

// isFarOff reports whether an email is scheduled beyond what a test waits.
func (c client) isFarOff(t *testing.T, id string) bool {
	t.Helper()
	var e struct {
		ScheduledAt time.Time `json:"scheduled_at"`
	}
	c.get(t, "/emails/"+id, &e)
	return time.Until(e.ScheduledAt) > 10*time.Minute
}

// TestKilledBackupAndRestore kills both at random moments.
func TestKilledBackupAndRestore(t *testing.T) {
	part(t, "restore")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	relay.set(behaviour{rcpt: func(string) error { return &smtp.SMTPError{Code: 451, Message: "later"} }})
	in := startBare(t, killArgs(relay)...)
	in.addDomain(t, "example.test")
	api := client{in.url, in.newKey(t)}
	for range 20 {
		api.send(t, map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": "past", "text": strings.Repeat("x", 100_000)})
	}
	whole := filepath.Join(in.dir, "whole.db")
	took := in.killed(t, 0, "backup", whole)
	for i := range 5 {
		file := filepath.Join(in.dir, fmt.Sprintf("killed-%d.db", i))
		in.killed(t, rand.N(took)+1, "backup", file)
		if _, err := os.Stat(file); err == nil { // it was done before
			in.wantSound(t, file)
		} else {
			in.run(t, "backup", file)
		}
	}
	in.stop(t)
	relay.set(behaviour{})
	took = in.killed(t, 0, "restore", whole)
	for range 8 {
		in.killed(t, rand.N(took)+1, "restore", whole)
		in.wantSound(t, in.db)
		in.serve(t)
		in.stop(t)
	}
	if n := len(relay.messages()); n > 0 {
		t.Errorf("%d messages of the past left", n)
	}
	in.checkFiles(t)
}

// killed runs a command and kills it after a while, 0: not at all. It returns how long
// the command took.
func (in *instance) killed(t *testing.T, after time.Duration, args ...string) time.Duration {
	t.Helper()
	cmd := exec.Command(binary.path, append(args, "--db", in.db)...)
	cmd.Dir, cmd.Env = in.dir, cleanEnv(in.dir)
	began := time.Now()
	must(t, cmd.Start())
	if after > 0 {
		timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	if err := cmd.Wait(); err != nil && after == 0 {
		t.Fatalf("mailer %s: %v", strings.Join(args, " "), err)
	}
	return time.Since(began)
}

// wantSound checks a database file with another build of SQLite.
func (in *instance) wantSound(t *testing.T, file string) {
	t.Helper()
	_, err := os.Stat(python)
	need(t, err == nil, python)
	if out, err := exec.Command(python, "-c", integrity, file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%s is not sound: %v\n%s", file, err, out)
	}
}
