package sdktest

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// rowsOfTeams counts the teams that have a row, and those that have emails.
const rowsOfTeams = `import sqlite3, sys
c = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
print(c.execute("select count(*) from teams").fetchone()[0], c.execute("select count(distinct team_id) from emails").fetchone()[0])`

// TestATeamsDeletionGoesOnAfterAKill deletes a team with some thousand emails while
// another one sends, kills the server in the middle, and starts it again: the deletion
// ends by itself, and the other team has all that is its own.
func TestATeamsDeletionGoesOnAfterAKill(t *testing.T) {
	part(t, "kills")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	in := startBare(t, killArgs(relay)...)
	in.addDomain(t, "example.test")
	in.run(t, "teams", "create", "Other")
	in.run(t, "domains", "add", "example.test", "--trust", "--team", "Other")
	api, other := client{in.url, in.newKey(t)}, client{in.url, in.newKey(t, "--team", "Other")}
	const batches = 30
	for range batches {
		var batch []map[string]any
		for range 100 {
			batch = append(batch, map[string]any{"from": "a@example.test", "to": "ann@example.com", "subject": "goes", "text": "hello"})
		}
		if status, body := other.do(t, "POST", "/emails/batch", batch); status != 200 {
			t.Fatalf("POST /emails/batch: %d %s", status, body)
		}
	}
	relay.wait(t, batches*100, time.Minute, subjectIs("goes"))
	l := newLoad(api)
	stop := l.start(t)
	l.waitAccepted(t, 50)
	deletion := exec.Command(binary.path, "teams", "delete", "Other", "--yes", "--db", in.db)
	deletion.Dir, deletion.Env = in.dir, cleanEnv(in.dir)
	must(t, deletion.Start())
	eventually(t, time.Minute, "the deletion has begun", func() (bool, string) {
		status, body := other.do(t, "GET", "/emails", nil)
		return status == 401, string(body)
	})
	in.kill(t)
	_ = deletion.Process.Kill() // it would do the server's work
	_ = deletion.Wait()
	in.serve(t)
	l.waitAccepted(t, 20)
	stop()
	if status, _ := other.do(t, "GET", "/emails", nil); status != 401 {
		t.Errorf("the deleted team's key answers %d", status)
	}
	eventually(t, time.Minute, "nothing of the team is left", func() (bool, string) {
		out, err := exec.Command(python, "-c", rowsOfTeams, in.db).CombinedOutput()
		return err == nil && strings.TrimSpace(string(out)) == "1 1", string(out)
	})
	if states, taken := api.states(t), l.ledger.count(accepted); len(states) < taken || taken == 0 {
		t.Errorf("the other team has %d emails left of %d", len(states), taken)
	}
	in.checkFiles(t)
}
