package sdktest

import (
	"encoding/base64"
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

const oldDatabases = "../../db/migrations/testdata"

// oldFacts are the secrets of the old database, from a comment in its SQL text.
type oldFacts struct {
	MadeAt   time.Time         `json:"made_at"`
	Keys     map[string]string `json:"keys"`
	Sessions map[string]string `json:"sessions"`
}

// newOldInstance prepares an instance whose database was made by version 0.4.0.
func newOldInstance(t *testing.T, args ...string) (*instance, oldFacts) {
	t.Helper()
	var facts oldFacts
	rows := filepath.Join(oldDatabases, "0.4.0.sql")
	text, err := os.ReadFile(rows)
	must(t, err)
	_, after, _ := strings.Cut(string(text), "\n-- {")
	line, _, _ := strings.Cut(after, "\n")
	must(t, json.Unmarshal([]byte("{"+line), &facts))
	in := newInstance(t, args...)
	must(t, os.WriteFile(in.db+".key", []byte(base64.StdEncoding.EncodeToString(make([]byte, 32))+"\n"), 0o600))
	out, err := exec.Command(python, "testdata/old_database.py", in.db, "../../db/migrations/base/schema.sql", rows, fmt.Sprint(facts.MadeAt.UnixMilli())).CombinedOutput()
	if err != nil {
		t.Fatalf("make the old database: %v\n%s", err, out)
	}
	must(t, os.Chmod(in.db, 0o600))
	return in, facts
}

// TestOldDatabase migrates a database of version 0.4.0 and serves it: keys and sessions work, and
// the mail that waited in it leaves once, signed.
func TestOldDatabase(t *testing.T) {
	part(t, "operations", shortForm)
	t.Parallel()
	relay, eu := newSink(t, sinkOptions{}), newSink(t, sinkOptions{})
	in, facts := newOldInstance(t, append(killArgs(relay), "--mode", "cloud")...)
	in.run(t, "migrate")
	in.run(t, "relays", "add", fmt.Sprintf("eu=smtp://%s?tls=off", eu.addr))
	in.serve(t)
	for name, token := range facts.Keys {
		want := map[string]int{"alpha full": http.StatusOK, "of ann": http.StatusOK, "alpha sending": http.StatusForbidden, "beta full": http.StatusOK}[name]
		if status, b := (client{in.url, token}).do(t, "GET", "/emails", nil); status != want {
			t.Errorf("GET /emails with the key %s: %d %s", name, status, b)
		}
	}
	for address, token := range facts.Sessions {
		req, err := http.NewRequest("GET", in.url+"/users/me", nil)
		must(t, err)
		req.AddCookie(&http.Cookie{Name: "mailer", Value: token})
		answer, err := plainHTTP.Do(req)
		must(t, err)
		must(t, answer.Body.Close())
		if answer.StatusCode != http.StatusOK {
			t.Errorf("GET /users/me by %s: %d", address, answer.StatusCode)
		}
	}
	waiting := func(m *message) bool {
		s := m.header("Subject")
		return s == "leaves" || s == "You were invited to Default"
	}
	// An invitation, and emails that were queued, scheduled, deferred, in progress and in doubt.
	for found, want := range map[*sink]int{relay: 7, eu: 7} {
		signed := dkimVerifier(t, in, "alpha.example")
		match := waiting
		if found == eu {
			signed, match = dkimVerifier(t, in, "beta.example", "--team", "beta"), subjectIs("half")
		}
		found.wait(t, want, time.Minute, match)
		seen := map[string]bool{}
		for _, m := range found.messages() {
			if seen[m.To[0]] || !match(&m) {
				t.Errorf("%q arrived at %v, again or without a reason", m.header("Subject"), m.To)
			}
			seen[m.To[0]] = true
			if err := signed(m.Raw); err != nil {
				t.Errorf("signature of %q to %v: %v", m.header("Subject"), m.To, err)
			}
		}
	}
	in.stop(t)
	in.checkFiles(t)
}
