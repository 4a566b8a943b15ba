package sdktest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-msgauth/dkim"
)

const killConnections = 4 // of the relay: bounds the doubts of one kill

// killArgs are the server's arguments under which a kill leaves at most
// killConnections doubts, which are sent again soon.
func killArgs(relay *sink) []string {
	return []string{"--relay", fmt.Sprintf("smtp://%s?tls=off&connections=%d&timeout=5s", relay.addr, killConnections),
		"--doubt-delay", "2s", "--rate-limit", "0", "--log-format", "json"}
}

// TestKillUnderLoad kills the server at random moments under a mix of mail. At the end the ledger
// matches what the relay got: emails that arrived twice are listed as doubts, with equal bytes, and
// are no more than the relay's connections.
func TestKillUnderLoad(t *testing.T) {
	part(t, "kills", shortForm)
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	relay.set(behaviour{dotDelay: 15 * time.Millisecond}) // wide enough to be hit
	in := startBare(t, killArgs(relay)...)
	in.addDomain(t, "example.test")
	l := newLoad(client{in.url, in.newKey(t)})
	stop := l.start(t)
	rounds := killCount()
	for range rounds {
		l.waitAccepted(t, killGap())
		afterRandom(80 * time.Millisecond)
		in.kill(t)
		in.serve(t)
	}
	l.waitAccepted(t, 20)
	stop()
	t.Logf("%d kills", rounds)
	e := l.ledger.gather(t, in, l.api, relay, killPatience(), killLimit(rounds))
	e.signed = dkimVerifier(t, in, "example.test")
	l.ledger.wantNoProblems(t, e)
	in.checkFiles(t)
}

func killCount() int {
	switch {
	case *killRounds > 0:
		return *killRounds
	case !long():
		return 1
	default:
		return 5
	}
}

// killGap is the number of emails between two kills: in the long form 200 kills need 10,000 emails.
func killGap() int {
	if *killRounds > 0 {
		return 45 + rand.IntN(20)
	}
	return 15 + rand.IntN(40)
}

// killPatience is how long the server may take for mail that the kills interrupted. An interrupted
// email waits 1 s, the next time 4, 16, 64 and 256: in the long form some are interrupted five
// times.
func killPatience() time.Duration {
	if *killRounds > 0 {
		return 8 * time.Minute
	}
	return 2 * time.Minute
}

// afterRandom waits up to limit, so that a kill happens at any step.
func afterRandom(limit time.Duration) {
	<-time.After(rand.N(limit))
}

// killLimit is how many emails may be repeated, and listed as doubts, at most.
func killLimit(rounds int) int { return rounds * killConnections }

// integrity is a program that checks a database with another build of SQLite and prints errors.
const integrity = `import sqlite3, sys
c = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
print(*[r[0] for r in c.execute("PRAGMA integrity_check") if r[0] != "ok"], sep="\n", end="")
print(*c.execute("PRAGMA foreign_key_check"), sep="\n", end="")`

const unitOf = `import sqlite3, sys, time
c = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
for r in c.execute("SELECT state, attempts, next_at FROM units WHERE email_id = ?", (sys.argv[2],)):
	print("%s, attempt %d, due in %.1f s" % (r[0], r[1], r[2] / 1000 - time.time()))`

// unit describes the open work of an email in the database, for failed tests.
func (in *instance) unit(emailID string) string {
	ask := exec.Command(python, "-c", unitOf, in.db, emailID)
	if strings.HasPrefix(in.db, "postgres:") {
		ask = exec.Command("psql", "-X", "-At", "-d", in.db, "-c", "SELECT state, attempts, next_at, owner FROM units WHERE email_id = '"+emailID+"'")
	}
	out, err := ask.CombinedOutput()
	if err != nil {
		return err.Error() + ": " + string(out)
	}
	return strings.TrimSpace(string(out))
}

// checkFiles stops the server and fails the test unless its database is sound.
func (in *instance) checkFiles(t *testing.T) {
	t.Helper()
	_, err := os.Stat(python)
	need(t, err == nil, python)
	in.stop(t)
	if out, err := exec.Command(python, "-c", integrity, in.db).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("the database is not sound: %v\n%s", err, out)
	}
}

func TestHarnessFindsDamagedFiles(t *testing.T) {
	part(t, "harness")
	in := newInstance(t)
	in.addDomain(t, "example.test")
	in.checkFiles(t)
	b, err := os.ReadFile(in.db)
	must(t, err)
	page := b[len(b)/2/4096*4096:][:4096]
	copy(page, bytes.Repeat([]byte{0xa5}, len(page)))
	must(t, os.WriteFile(in.db, b, 0o600))
	if out, err := exec.Command(python, "-c", integrity, in.db).CombinedOutput(); err == nil && len(out) == 0 {
		t.Error("a page of noise was not found")
	}
}

// dkimVerifier returns the check of one DKIM signature of a domain against the
// record that is to be published; args are further flags of `domains records`.
func dkimVerifier(t *testing.T, in *instance, domain string, args ...string) func(raw []byte) error {
	t.Helper()
	name, value := in.dkimRecord(t, domain, args...)
	if !strings.HasSuffix(name, domain) {
		name += "." + domain
	}
	records := func(asked string) ([]string, error) {
		if asked != name {
			return nil, fmt.Errorf("%s is asked for, not %s", asked, name)
		}
		return []string{value}, nil
	}
	return func(raw []byte) error {
		found, err := dkim.VerifyWithOptions(bytes.NewReader(raw), &dkim.VerifyOptions{LookupTXT: records})
		if err != nil || len(found) != 1 {
			return fmt.Errorf("%d DKIM signatures: %w", len(found), err)
		}
		return found[0].Err
	}
}
