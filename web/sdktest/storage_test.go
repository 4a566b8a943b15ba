package sdktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// check runs `mailer check --json` and returns its answer and exit code.
func (in *instance) check(t *testing.T) (string, int) {
	t.Helper()
	cmd := exec.Command(binary.path, "check", "--json", "--db", in.db)
	cmd.Dir, cmd.Env = in.dir, cleanEnv(in.dir)
	out, _ := cmd.Output()
	return string(out), cmd.ProcessState.ExitCode()
}

// call asks the API with a key and returns status and body.
func call(t *testing.T, in *instance, key, method, path, body string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequest(method, in.url+path, strings.NewReader(body))
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{Timeout: time.Minute}).Do(req)
	must(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	must(t, err)
	return res.StatusCode, res.Header, string(text)
}

// TestDamagedPage harms the file of a stopped server in the content of
// one of two teams' scheduled emails: by changed bytes, and by a page of zeros.
func TestDamagedPage(t *testing.T) {
	part(t, "restore")
	t.Parallel()
	for name, harm := range map[string]func(file []byte, at int){
		"changed bytes": func(file []byte, at int) { file[at] ^= 1 },
		"zeros":         func(file []byte, at int) { clear(file[at/4096*4096:][:4096]) },
	} {
		t.Run(name, func(t *testing.T) {
			in := startBare(t)
			in.run(t, "teams", "create", "Other")
			keys := []string{in.newKey(t), in.newKey(t, "--team", "Other")}
			var ids []string
			for n := range 4 {
				body, err := json.Marshal(map[string]string{"from": "a@example.com", "to": "b@example.org", "subject": "s", "scheduled_at": "in 3 seconds",
					"text": strings.Repeat(fmt.Sprintf("words-%d ", n), 2000)})
				must(t, err)
				var made struct{ ID string }
				_, _, text := call(t, in, keys[n%2], "POST", "/emails", string(body))
				must(t, json.Unmarshal([]byte(text), &made))
				ids = append(ids, made.ID)
			}
			in.stop(t)
			if out, code := in.check(t); code != 0 || !strings.Contains(out, `"ok": true`) {
				t.Fatalf("check of a sound database ends with %d:\n%s", code, out)
			}
			file, err := os.ReadFile(in.db)
			must(t, err)
			at := bytes.Index(file, []byte(strings.Repeat("words-2 ", 200)))
			if at < 0 {
				t.Fatal("the content does not stand in the file")
			}
			harm(file, at+800)
			must(t, os.WriteFile(in.db, file, 0o600))
			in.serve(t)
			for _, n := range []int{0, 1, 3} {
				eventually(t, time.Minute, "the sound ones leave", func() (bool, string) {
					_, _, text := call(t, in, keys[n%2], "GET", "/emails/"+ids[n], "")
					return strings.Contains(text, `"last_event":"sent"`), text
				})
			}
			eventually(t, time.Minute, "the damaged one is held", func() (bool, string) {
				status, _, text := call(t, in, keys[0], "GET", "/emails/"+ids[2]+"/events", "")
				return status == 200 && strings.Contains(text, `"type":"held"`), text
			})
			if status, _, text := call(t, in, keys[0], "GET", "/emails/"+ids[2], ""); status != http.StatusInternalServerError {
				t.Errorf("GET of the damaged one answers %d %s", status, text)
			}
			if status, _, text := call(t, in, keys[0], "GET", "/emails", ""); status != 200 || !strings.Contains(text, ids[2]) {
				t.Errorf("the list answers %d %s", status, text)
			}
			in.waitReady(t)
			out, code := in.check(t) // next to the running server
			if code != 2 || !strings.Contains(out, "email "+ids[2]) || !strings.Contains(out, "Default") || !strings.Contains(out, "contents") || strings.Contains(out, "email "+ids[0]) {
				t.Errorf("check ends with %d:\n%s", code, out)
			}
			if n := strings.Count(string(in.log(t)), "damaged content"); n != 1 {
				t.Errorf("the log names the damage %d times", n)
			}
		})
	}
}

// TestForeignLock holds the write lock as an sqlite3 shell does.
func TestForeignLock(t *testing.T) {
	part(t, "restore")
	t.Parallel()
	in := startBare(t)
	key := in.newKey(t)
	shell := exec.Command("python3", "-c", `
import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=20)
c.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
c.execute("ROLLBACK")
`, in.db)
	stdin, err := shell.StdinPipe()
	must(t, err)
	stdout, err := shell.StdoutPipe()
	must(t, err)
	must(t, shell.Start())
	_, err = io.ReadFull(stdout, make([]byte, len("locked")))
	must(t, err)
	send := `{"from":"a@example.com","to":"b@example.org","subject":"s","text":"x"}`
	status, header, text := call(t, in, key, "POST", "/emails", send)
	if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || !strings.Contains(text, "service_unavailable") {
		t.Errorf("a send answers %d %s %v", status, text, header)
	}
	if status, _, text := call(t, in, key, "GET", "/emails", ""); status != 200 {
		t.Errorf("a list answers %d %s", status, text)
	}
	second := exec.Command(binary.path, "keys", "create", "--name", "x", "--db", in.db)
	second.Dir, second.Env = in.dir, cleanEnv(in.dir)
	if out, _ := second.CombinedOutput(); second.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), "locked by another program") {
		t.Errorf("a command: %v\n%s", second.ProcessState, out)
	}
	must(t, stdin.Close())
	must(t, shell.Wait())
	eventually(t, time.Minute, "sends are taken again", func() (bool, string) {
		status, _, text := call(t, in, key, "POST", "/emails", send)
		return status == 200, text
	})
	log := string(in.log(t))
	if strings.Count(log, "level=ERROR") != 1 || strings.Count(log, `level=ERROR msg="another program holds a lock on the database;`) != 1 {
		t.Errorf("the lock is not the one error in the log:\n%s", log)
	}
}
