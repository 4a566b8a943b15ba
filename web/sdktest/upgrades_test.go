package sdktest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The next version of the program is this one with one more migration, made by go build -overlay. Its
// steps are named after what they do.
const (
	// stepAdds is compatible: the program under test still works on its result.
	stepAdds = `CREATE TABLE next_notes (id TEXT NOT NULL PRIMARY KEY, team_id TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE, note TEXT) STRICT, WITHOUT ROWID;
CREATE INDEX next_notes_team ON next_notes (team_id, note);
ALTER TABLE emails ADD COLUMN next_kind TEXT NOT NULL DEFAULT 'plain' CHECK (next_kind IN ('plain', 'other'));
ALTER TABLE contacts ADD COLUMN next_score INTEGER;
ALTER TABLE units ADD COLUMN next_hint INTEGER NOT NULL DEFAULT 0;
CREATE INDEX emails_next ON emails (team_id, next_kind);
`
	// stepChanges is incompatible, because it adds a column whose default is in no table of the program
	// under test.
	stepChanges = `CREATE TABLE next_numbers (id INTEGER NOT NULL PRIMARY KEY, note TEXT) STRICT;
ALTER TABLE next_numbers RENAME COLUMN note TO remark;
`
	// fillsSlowly makes a migration of a file last for a second or more.
	fillsSlowly = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000000) INSERT INTO next_numbers SELECT i, hex(randomblob(16)) FROM n;
DELETE FROM next_numbers;
`
	nextVersion = "9.9.9"
)

// buildNext builds the next version with a step. more is part of the step, but not of schema.sql.
func buildNext(t *testing.T, step, more string) string {
	t.Helper()
	if binary.err != nil {
		t.Fatalf("no binary to test: %v", binary.err)
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	must(t, err)
	steps, err := filepath.Glob(filepath.Join(root, "db", "migrations", "[0-9]*.sql"))
	must(t, err)
	number := 2
	for _, name := range steps {
		if !strings.HasSuffix(name, ".postgres.sql") {
			number++
		}
	}
	schema, err := os.ReadFile(filepath.Join(root, "schema.sql"))
	must(t, err)
	dir := t.TempDir()
	replaced := map[string]string{}
	for name, text := range map[string]string{
		filepath.Join(root, "schema.sql"):                                             string(schema) + "\n" + step,
		filepath.Join(root, "db", "migrations", fmt.Sprintf("%03d_next.sql", number)): step + more,
	} {
		replaced[name] = filepath.Join(dir, filepath.Base(name))
		must(t, os.WriteFile(replaced[name], []byte(text), 0o600))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	program := filepath.Join(dir, "mailer")
	cmd := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-ldflags", "-X 'mailer/app/kit/build.stamp="+nextVersion+" next 2026-01-01T00:00:00Z'", "-o", program, ".")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// with runs a command of another program on the database.
func (in *instance) with(program string, args ...string) (out, errs string, err error) {
	other := instance{dir: in.dir, db: in.db, flags: in.flags, program: program}
	return other.tryRun(args...)
}

// TestUpgradeOfTwoServers replaces two servers on PostgreSQL by the next version, one after the other,
// under a mix of mail: the migration runs while both serve, then one is killed and the other one
// stopped. At the end the version before joins again. Each message arrives once.
func TestUpgradeOfTwoServers(t *testing.T) {
	part(t, "upgrades")
	t.Parallel()
	next := buildNext(t, stepAdds, "")
	p := &pair{shares: true}
	onOne(t, p, "")
	stop := p.mix(t)
	p.soon(t)
	if out, errs, err := p.nodes[0].with(next, "migrate", "--dry-run"); err != nil || !strings.Contains(out, "Older versions can work on the result") {
		t.Fatalf("migrate --dry-run: %v\n%s%s", err, out, errs)
	}
	if out, errs, err := p.nodes[0].with(next, "migrate"); err != nil || !strings.HasPrefix(out, "migrated ") {
		t.Fatalf("migrate: %v\n%s%s", err, out, errs)
	}
	p.soon(t) // both servers are of the version before
	for round, program := range []string{next, next, binary.path} {
		n := round % 2
		if round == 1 {
			p.nodes[n].stop(t)
		} else {
			p.nodes[n].kill(t)
			p.doubts += killConnections
		}
		p.waitMissed(t, 1-n)
		eventually(t, startTimeout, "the other one leads", func() (bool, string) {
			status, body := p.nodes[1-n].readyz()
			return isWorking(status, body), string(body)
		})
		p.soon(t)
		p.nodes[n].program = program
		p.again(t, n)
		p.soon(t)
	}
	stop()
	p.wantNoProblems(t)
	for n, in := range p.nodes {
		if got := p.relays[n].count(); got == 0 || in.ended() {
			t.Errorf("server %d sent %d messages", n, got)
		}
	}
}

// TestIncompatibleUpgradeOfServers: the next version does not touch a database on which servers of
// the version before work, and names them. Without a dump it names pg_dump. Afterwards the version
// before is refused.
func TestIncompatibleUpgradeOfServers(t *testing.T) {
	part(t, "upgrades")
	t.Parallel()
	next := buildNext(t, stepChanges, "")
	p := &pair{shares: true}
	onOne(t, p, "")
	stop := p.mix(t)
	p.soon(t)
	for _, how := range [][]string{{"migrate"}, {"migrate", "--dumped"}, {"migrate", "--dry-run"}, {"serve", "--migrate", "--listen", freeAddr(t)}} {
		_, errs, err := p.nodes[0].with(next, how...)
		if err == nil || !strings.Contains(errs, fmt.Sprint("process ", p.nodes[0].cmd.Process.Pid)) || !strings.Contains(errs, fmt.Sprint("process ", p.nodes[1].cmd.Process.Pid)) {
			t.Errorf("%q while servers work: %v\n%s", how, err, errs)
		}
	}
	p.soon(t)
	stop()
	p.wantNoProblems(t)
	for _, in := range p.nodes {
		in.stop(t)
	}
	for _, how := range [][]string{{"migrate"}, {"serve", "--migrate", "--listen", freeAddr(t)}} {
		_, errs, err := p.nodes[0].with(next, how...)
		if err == nil || !strings.Contains(errs, "make a dump with pg_dump, then run mailer migrate --dumped") {
			t.Errorf("%q without a dump: %v\n%s", how, err, errs)
		}
	}
	if out, errs, err := p.nodes[0].with(next, "migrate", "--dumped"); err != nil || !strings.HasPrefix(out, "migrated ") {
		t.Fatalf("migrate --dumped: %v\n%s%s", err, out, errs)
	}
	if _, errs, err := p.nodes[0].tryRun("keys", "list"); err == nil || !strings.Contains(errs, "was written by mailer "+nextVersion) {
		t.Errorf("the version before: %v\n%s", err, errs)
	}
	for _, in := range p.nodes {
		in.program = next
		in.serve(t)
	}
	mark := "afterwards"
	p.single(t, order{mark: mark, key: mark, to: []string{mark + "@example.com"}, text: "still here"}, nil)
	p.wantNoProblems(t)
}

// TestOlderVersionOnMigratedDatabase: the version before sends, broadcasts, is killed and started on a
// database that the next version migrated, with mail that waited before the migration.
func TestOlderVersionOnMigratedDatabase(t *testing.T) {
	part(t, "upgrades")
	t.Parallel()
	next := buildNext(t, stepAdds, "")
	for engine, place := range map[string]func(t *testing.T, in *instance){
		"file": func(*testing.T, *instance) {},
		"PostgreSQL": func(t *testing.T, in *instance) {
			pg := newPostgres(t)
			pg.database(t, "mailer")
			in.db, in.flags = urlOf("mailer", pg.addr), []string{"--master-key-file", filepath.Join(in.dir, "master.key")}
		},
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			relay := newSink(t, sinkOptions{})
			relay.set(behaviour{dotDelay: 5 * time.Millisecond})
			in := newInstance(t, killArgs(relay)...)
			place(t, in)
			in.serve(t)
			in.addDomain(t, "example.test")
			l := newLoad(client{in.url, in.newKey(t)})
			stop := l.start(t)
			l.waitAccepted(t, 30)
			in.kill(t)
			if out, errs, err := in.with(next, "migrate"); err != nil || !strings.HasPrefix(out, "migrated ") {
				t.Fatalf("migrate: %v\n%s%s", err, out, errs)
			}
			in.serve(t)
			l.waitAccepted(t, 30)
			in.kill(t)
			in.serve(t)
			l.waitAccepted(t, 30)
			stop()
			broadcastUnderKill(t, in, l)
			in.program = next
			in.stop(t)
			in.serve(t)
			l.single(t, order{mark: "last", key: "last", to: []string{"last@example.com"}, text: "by the next version"}, nil)
			e := l.ledger.gather(t, in, l.api, relay, 2*time.Minute, killLimit(3))
			e.counts, e.last = nil, nil // of emails that no list shows
			l.ledger.wantNoProblems(t, e)
			if engine != "file" {
				return
			}
			in.program = ""
			in.run(t, "backup", filepath.Join(in.dir, "backup.db"))
			in.checkFiles(t)
			in.run(t, "check")
		})
	}
}

// broadcastUnderKill sends a broadcast, kills the server meanwhile, and enters it into the ledger.
func broadcastUnderKill(t *testing.T, in *instance, l *load) {
	t.Helper()
	id := l.broadcastTo(t, 200)
	afterRandom(time.Second)
	in.kill(t)
	in.serve(t)
	var b broadcastState
	eventually(t, 2*time.Minute, "the broadcast is sent", func() (bool, string) {
		l.api.get(t, "/broadcasts/"+id, &b)
		return b.Status == "sent", fmt.Sprintf("%+v", b)
	})
}

// TestServeMigrates starts the next version on a file, asks it meanwhile, kills it, and starts it
// again. The copy has the content from before; the version before is refused.
func TestServeMigrates(t *testing.T) {
	part(t, "upgrades")
	t.Parallel()
	next := buildNext(t, stepChanges, fillsSlowly)
	relay := newSink(t, sinkOptions{})
	in := startBare(t, killArgs(relay)...)
	in.addDomain(t, "example.test")
	l := newLoad(client{in.url, in.newKey(t)})
	later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	l.single(t, order{mark: "waits", key: "waits", to: []string{"waits@example.com"}, text: "since the version before"}, map[string]any{"scheduled_at": later})
	in.stop(t)
	in.program = next
	if _, errs, err := in.tryRun("serve", "--listen", in.addr); err == nil || !strings.Contains(errs, "run mailer migrate --db "+in.db+", or start the server with --migrate") {
		t.Errorf("without --migrate: %v\n%s", err, errs)
	}
	in.args = append(in.args, "--migrate")
	for _, kill := range []bool{true, false} {
		in.launch(t)
		eventually(t, startTimeout, "GET /readyz is 503 and names the step", func() (bool, string) {
			status, body := in.readyz()
			var answer struct{ Status, Step, Name string }
			err := json.Unmarshal(body, &answer)
			return err == nil && status == http.StatusServiceUnavailable && answer.Status == "migrating" && strings.HasSuffix(answer.Step, "_next.sql") && answer.Name == "service_unavailable", fmt.Sprintf("%d %s", status, body)
		})
		if body, err := fetch(in.url + "/healthz"); err != nil || string(body) != `{"status":"migrating"}` {
			t.Errorf("GET /healthz: %s, %v", body, err)
		}
		res, err := quickHTTP.Post(in.url+"/emails", "application/json", strings.NewReader("{}"))
		must(t, err)
		res.Body.Close()
		if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
			t.Errorf("POST /emails: %s %v", res.Status, res.Header)
		}
		if kill {
			in.kill(t)
		}
	}
	in.waitReady(t)
	copies, err := filepath.Glob(in.db + ".v*Z")
	must(t, err)
	if len(copies) != 2 {
		t.Errorf("copies: %q", copies)
	}
	l.api.get(t, "/emails/"+l.ledger.idOf("waits"), &struct{}{})
	in.stop(t)
	in.program = ""
	for _, how := range [][]string{{"serve", "--listen", in.addr}, {"serve", "--migrate", "--listen", in.addr}, {"migrate"}, {"keys", "list"}} {
		if _, errs, err := in.tryRun(how...); err == nil || !strings.Contains(errs, "was written by mailer "+nextVersion+", and mailer ") {
			t.Errorf("%q of the version before: %v\n%s", how, err, errs)
		}
	}
	before := instance{dir: in.dir, db: copies[0], flags: []string{"--master-key-file", in.db + ".key"}}
	if out := before.run(t, "queue", "list"); !strings.Contains(out, "waits@example.com") {
		t.Errorf("the copy does not hold what waited: %s", out)
	}
}
