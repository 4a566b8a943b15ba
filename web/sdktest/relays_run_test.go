package sdktest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// relayRun is a server with one relay from its flags and one that commands add, change and remove
// while two teams send through both.
type relayRun struct {
	*instance
	flag, own *sink
	teams     [2]*relayTeam
}

// relayTeam sends through one of the relays.
type relayTeam struct {
	api  client
	from string
	mu   sync.Mutex
	ids  map[string]bool
}

// send has n emails accepted, in batches, and notes their ids.
func (tm *relayTeam) send(t *testing.T, round, n int) {
	for i := 0; i < n; i += 50 {
		var bodies []any
		for k := range 50 {
			bodies = append(bodies, map[string]any{"from": tm.from, "to": []string{fmt.Sprintf("r%d-%d@example.com", round, i+k)}, "subject": "s", "text": "t"})
		}
		status, answer, err := tm.api.try("POST", "/emails/batch", bodies)
		if err != nil || status != 200 {
			t.Errorf("batch: %d %s %v", status, answer, err)
			return
		}
		var got struct{ Data []struct{ ID string } }
		if err := json.Unmarshal(answer, &got); err != nil || len(got.Data) != 50 {
			t.Errorf("batch: %s %v", answer, err)
			return
		}
		tm.mu.Lock()
		for _, e := range got.Data {
			tm.ids[e.ID] = true
		}
		tm.mu.Unlock()
	}
}

func newRelayRun(t *testing.T) *relayRun {
	t.Helper()
	r := &relayRun{flag: newSink(t, sinkOptions{}), own: newSink(t, sinkOptions{password: "first"})}
	r.instance = startBare(t, "--relay", fmt.Sprintf("us-east-1=smtp://%s?tls=off&connections=4", r.flag.addr), "--rate-limit", "0", "--doubt-delay", "1s")
	r.run(t, "teams", "create", "Second")
	r.put(t, "first")
	r.until(t, "open")
	r.addDomain(t, "ateam.test")
	r.run(t, "domains", "add", "bteam.test", "--trust", "--team", "Second", "--region", "eu-west-1")
	r.teams[0] = &relayTeam{api: client{r.url, r.newKey(t)}, from: "a@ateam.test", ids: map[string]bool{}}
	r.teams[1] = &relayTeam{api: client{r.url, r.newKey(t, "--team", "Second")}, from: "b@bteam.test", ids: map[string]bool{}}
	return r
}

// put adds the relay of the second team, or changes its password.
func (r *relayRun) put(t *testing.T, password string) {
	t.Helper()
	file := filepath.Join(r.dir, "relay")
	must(t, os.WriteFile(file, fmt.Appendf(nil, "smtp://user:%s@%s?tls=off&connections=4\n", password, r.own.addr), 0o600))
	r.run(t, "relays", "add", "eu-west-1", "--url-file", file)
}

// relayStatus is a row of `relays list --json`.
type relayStatus struct {
	Region, From, State, Host string
	Reason                    *string
	Waiting                   int
}

func (r *relayRun) status(t *testing.T) (found relayStatus) {
	t.Helper()
	var all []relayStatus
	must(t, json.Unmarshal([]byte(r.run(t, "relays", "list", "--json")), &all))
	for _, st := range all {
		if st.Region == "eu-west-1" {
			found = st
		}
	}
	return found
}

// until waits for the server to say that the second relay is in a state.
func (r *relayRun) until(t *testing.T, state string) {
	t.Helper()
	deadline, tick := time.After(time.Minute), time.NewTicker(100*time.Millisecond)
	defer tick.Stop()
	for {
		if st := r.status(t); st.State == state && (st.Reason == nil || !strings.Contains(*st.Reason, "not reported")) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("the relay is %+v after a minute, want %s", r.status(t), state)
		}
	}
}

// refused runs a command that must exit with 1, and returns its error text.
func (r *relayRun) refused(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary.path, append(args, "--db", r.db)...)
	cmd.Dir, cmd.Env = r.dir, cleanEnv(r.dir)
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("%v ends with %d: %s", args, code, out)
	}
	return string(out)
}

// tested is what `relays test --json` says.
func (r *relayRun) tested(t *testing.T, args ...string) (steps []string) {
	t.Helper()
	var got struct {
		OK    bool
		Steps []struct {
			Step string
			OK   bool
			Said string
		}
	}
	must(t, json.Unmarshal([]byte(r.run(t, append([]string{"relays", "test", "--json"}, args...)...)), &got))
	for _, s := range got.Steps {
		if steps = append(steps, s.Step); !s.OK {
			t.Errorf("%s failed: %s", s.Step, s.Said)
		}
	}
	if !got.OK {
		t.Error("the test is not ok")
	}
	return steps
}

// TestRelayChangesUnderLoad: what two teams send while a relay is
// added, tested, paused, resumed, given another password and removed arrives once.
func TestRelayChangesUnderLoad(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	r := newRelayRun(t)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	began := time.Now()
	for _, team := range r.teams {
		wg.Go(func() {
			tick := time.NewTicker(200 * time.Millisecond) // 250 a second each
			defer tick.Stop()
			for n := 0; ; n++ {
				team.send(t, n, 50)
				select {
				case <-tick.C:
				case <-stop:
					return
				}
			}
		})
	}
	end := sync.OnceFunc(func() { close(stop); wg.Wait() })
	t.Cleanup(end)
	if steps := r.tested(t, "eu-west-1", "--to", "operator@example.org"); strings.Join(steps, " ") != "dns connect greeting auth mail send" {
		t.Errorf("steps %q", steps)
	}
	r.run(t, "relays", "pause", "eu-west-1", "--for", "1h")
	r.until(t, "paused")
	r.run(t, "relays", "resume", "eu-west-1")
	r.until(t, "open")
	second := "second"
	r.own.password.Store(&second)
	if out := r.refused(t, "relays", "test", "eu-west-1"); !strings.Contains(out, "auth failed") || strings.Contains(out, "first") {
		t.Errorf("the test with the old password says %s", out)
	}
	r.put(t, "second")
	r.tested(t, "eu-west-1")
	r.until(t, "open")
	r.run(t, "relays", "remove", "eu-west-1")
	r.own.wait(t, 1, time.Minute, func(*message) bool { return true })
	if out := r.refused(t, "relays", "remove", "us-east-1"); !strings.Contains(out, "--relay or MAILER_RELAY") {
		t.Errorf("a relay of the flags: %s", out)
	}
	if out := r.refused(t, "relays", "add", "smtp://user:hunter2@127.0.0.1"); !strings.Contains(out, "--url-file") || strings.Contains(out, "hunter2") {
		t.Errorf("a password on the command line: %s", out)
	}
	<-time.After(2 * time.Second) // mail arrives for a region without a relay
	end()
	took := time.Since(began)
	r.put(t, "second")
	r.arrivedOnce(t)
	t.Logf("%d and %d emails in %s", len(r.teams[0].ids), len(r.teams[1].ids), took.Round(time.Second))
}

// arrivedOnce waits until everything that was accepted arrived and checks that nothing
// arrived twice but the doubts that are listed.
func (r *relayRun) arrivedOnce(t *testing.T) {
	t.Helper()
	for i, relay := range []*sink{r.flag, r.own} {
		ours := func(m *message) bool { return r.teams[i].ids[m.header("X-Mailer-Email-ID")] }
		relay.wait(t, len(r.teams[i].ids), time.Minute, ours)
		copies := map[string]int{}
		for _, m := range relay.matching(ours) {
			copies[m.header("X-Mailer-Email-ID")]++
		}
		doubts := doubtCounts(t, r.instance)
		for id := range r.teams[i].ids {
			if n := copies[id]; n == 0 || n > 1+doubts[id] {
				t.Errorf("%s arrived %d times, with %d doubts", id, n, doubts[id])
			}
		}
	}
}
