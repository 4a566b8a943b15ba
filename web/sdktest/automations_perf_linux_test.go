package sdktest

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var manyRuns = flag.Int("runs", 0, "how many runs of automations are due in the same minute, and ten times as many wait; 0: 10000")

// copyRuns gives each contact of the database a copy of the only run, due at a time, or makes that number of
// copies for contacts that do not exist.
const copyRuns = `import sqlite3, sys, uuid
c = sqlite3.connect(sys.argv[1])
due, copies = int(sys.argv[2]), int(sys.argv[3])
c.execute("PRAGMA synchronous = OFF")
def columns(table): return [d[0] for d in c.execute(f"SELECT * FROM {table} LIMIT 0").description]
run = dict(zip(columns("automation_runs"), c.execute("SELECT * FROM automation_runs").fetchone()))
steps = c.execute("SELECT * FROM automation_run_steps WHERE run_id = ?", (run["id"],)).fetchall()
run["due_at"] = due
c.execute("UPDATE automation_runs SET due_at = ?", (due,))
people = [r[0] for r in c.execute("SELECT id FROM contacts WHERE team_id = ? AND id <> ?", (run["team_id"], run["contact_id"]))] if copies == 0 else [str(uuid.uuid4()) for _ in range(copies)]
for person in people:
	copy = dict(run, id=str(uuid.uuid4()), contact_id=person)
	c.execute(f"INSERT INTO automation_runs VALUES ({','.join('?' * len(copy))})", list(copy.values()))
	for s in steps:
		c.execute(f"INSERT INTO automation_run_steps VALUES ({','.join('?' * len(s))})", (copy["id"],) + s[1:])
n = len(people)
c.execute("UPDATE automation_counts SET n = n + ? WHERE n > 0", (n,))
c.execute("UPDATE automation_teams SET open_runs = open_runs + ? WHERE open_runs > 0", (n,))
c.commit()`

func (in *instance) copyRuns(t *testing.T, due time.Time, copies int) {
	t.Helper()
	if out, err := exec.Command(python, "-c", copyRuns, in.db, fmt.Sprint(due.UnixMilli()), fmt.Sprint(copies)).CombinedOutput(); err != nil {
		need(t, false, fmt.Sprintf("%s with a new SQLite: %s", python, out))
	}
}

// waitingRun makes an automation that sends an email after a pause, and starts its first run.
func waitingRun(t *testing.T, api client, from, to string) (id string) {
	t.Helper()
	ask := func(path string, body map[string]any) string {
		var made struct{ ID string }
		status, b := api.do(t, "POST", path, body)
		if status/100 != 2 || json.Unmarshal(b, &made) != nil {
			t.Fatalf("POST %s: %d %s", path, status, b)
		}
		return made.ID
	}
	template := ask("/templates", map[string]any{"name": "Series", "subject": "Automated", "from": from, "html": broadcastHTML,
		"variables": []any{}})
	ask("/templates/"+template+"/publish", nil)
	id = ask("/automations", map[string]any{"name": "Series", "status": "enabled", "steps": []any{
		map[string]any{"key": "start", "type": "trigger", "config": map[string]any{"event_name": "signed_up"}}, map[string]any{"key": "pause", "type": "delay", "config": map[string]any{"duration": "365 days"}},
		map[string]any{"key": "mail", "type": "send_email", "config": map[string]any{"template": map[string]any{"id": template}}}},
		"connections": []any{map[string]any{"from": "start", "to": "pause"}, map[string]any{"from": "pause", "to": "mail"}}})
	if status, b := api.do(t, "POST", "/events/send", map[string]any{"event": "signed_up", "email": to}); status != http.StatusAccepted {
		t.Fatalf("POST /events/send: %d %s", status, b)
	}
	eventually(t, time.Minute, "a run waits", func() (bool, string) {
		var report struct{ Running int }
		api.get(t, "/automations/"+id+"/report", &report)
		return report.Running == 1, fmt.Sprintf("%+v", report)
	})
	return id
}

// arrived tells how many messages a relay took, and when.
type arrived struct {
	n           int
	first, last time.Time
}

// arrivalsBySubject counts messages instead of keeping them: searching a hundred thousand again and again would
// take the processors from the server.
type arrivalsBySubject struct {
	mu sync.Mutex
	by map[string]arrived
}

func (a *arrivalsBySubject) count(m message) []message {
	subject := m.header("Subject")
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by == nil {
		a.by = map[string]arrived{}
	}
	x := a.by[subject]
	if x.n++; x.n == 1 {
		x.first = m.At
	}
	x.last = m.At
	a.by[subject] = x
	return nil
}

func (a *arrivalsBySubject) of(subject string) arrived {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.by[subject]
}

const broadcastHTML = `<p>Dear {{{contact.first_name|you}}}, <a href="{{{UNSUBSCRIBE_URL}}}">no more</a></p>`

// TestManyRunsDue has many runs of one team due in the same minute. Their mails leave at four fifths of the speed of
// a broadcast to the same contacts, and another team's mail on the same relay is not twice as slow as before.
func TestManyRunsDue(t *testing.T) {
	part(t, judged)
	n := cmp.Or(*manyRuns, 10_000)
	relay := newSink(t, sinkOptions{})
	var left arrivalsBySubject
	relay.set(behaviour{pass: left.count})
	w := newNeighbours(t, relay, "&connections=20")
	api := w.bad.api
	fillContacts(t, api, n)
	quiet := sendSteadily(t, w.well.api, w.well.from, 15*time.Second)

	// drain returns how long the n mails with a subject take, and the p99 of the other team and the processor time of the
	// server meanwhile.
	drain := func(subject string) (took, slow, used time.Duration) {
		began, usedThen := time.Now(), processorTime(t, w.in.cmd.Process.Pid)
		var all []time.Duration
		var a arrived
		for a.n < n {
			all = append(all, sendSteadily(t, w.well.api, w.well.from, 2*time.Second)...)
			if a = left.of(subject); time.Since(began) > time.Hour {
				t.Fatalf("%s: %d of %d after %s", subject, a.n, n, time.Since(began))
			}
		}
		slices.Sort(all)
		return a.last.Sub(a.first), p99(all), processorTime(t, w.in.cmd.Process.Pid) - usedThen
	}

	if status, b := api.do(t, "POST", "/broadcasts", map[string]any{"from": w.bad.from, "subject": "Broadcast", "html": strings.ReplaceAll(broadcastHTML, "contact.first_name", "FIRST_NAME"), "send": true}); status != http.StatusCreated {
		t.Fatalf("POST /broadcasts: %d %s", status, b)
	}
	broadcast, during, usedByBroadcast := drain("Broadcast")
	id := waitingRun(t, api, w.bad.from, "p0@news.test")
	w.in.stop(t)
	w.in.copyRuns(t, time.Now(), 0)
	w.in.serve(t)
	automated, slow, usedByRuns := drain("Automated")
	rate := func(took time.Duration) float64 { return float64(n) / took.Seconds() }
	t.Logf("%d mails of a broadcast took %s (%.0f a second) and %s of processors, of runs %s (%.0f a second) and %s; p99 of the other team's sends: quiet %s, beside the broadcast %s, beside the runs %s",
		n, broadcast.Round(time.Millisecond), rate(broadcast), usedByBroadcast, automated.Round(time.Millisecond), rate(automated), usedByRuns, p99(quiet), during, slow)
	if rate(automated) < 0.8*rate(broadcast) {
		t.Errorf("runs send %.2f of the speed of a broadcast", rate(automated)/rate(broadcast))
	}
	if tooSlow(slow, p99(quiet), 2*p99(quiet)) {
		t.Errorf("the other team's p99 is %s, quiet %s", slow, p99(quiet))
	}
	var report struct{ Running, Completed, Failed int }
	eventually(t, time.Minute, "each run is over", func() (bool, string) {
		api.get(t, "/automations/"+id+"/report", &report)
		return report.Running == 0 && report.Completed == n, fmt.Sprintf("%+v", report)
	})
}

// processorTime returns how long a process has used a processor.
func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	must(t, err)
	_, rest, _ := strings.Cut(string(text), ") ")
	var user, system int64
	fields := strings.Fields(rest)
	_, err = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	must(t, err)
	return time.Duration(user+system) * 10 * time.Millisecond // of 100 a second
}

// TestManyRunsWait has many runs wait for months: an idle server costs as much as without them, and starts as fast.
func TestManyRunsWait(t *testing.T) {
	part(t, judged)
	n := 10 * cmp.Or(*manyRuns, 10_000)
	in := startBare(t)
	in.addDomain(t, "example.test")
	api := client{in.url, in.newKey(t)}
	waitingRun(t, api, "a@example.test", "p0@news.test")
	measure := func() (start time.Duration, cpu float64, memory int) {
		in.stop(t)
		began := time.Now()
		in.serve(t)
		start = time.Since(began)
		<-time.After(5 * time.Second)
		used := processorTime(t, in.cmd.Process.Pid)
		<-time.After(20 * time.Second)
		return start, (processorTime(t, in.cmd.Process.Pid) - used).Seconds() / 20, in.memory(t)
	}
	start1, cpu1, memory1 := measure()
	in.stop(t)
	in.copyRuns(t, time.Now().Add(200*24*time.Hour), n)
	in.serve(t)
	start2, cpu2, memory2 := measure()
	t.Logf("one waiting run: start %s, %.2f%% of a processor, %d MiB; %d: start %s, %.2f%%, %d MiB", start1, 100*cpu1, memory1, n+1, start2, 100*cpu2, memory2)
	if start2 > 2*time.Second || memory2 > memory1+20 || cpu2 > cpu1+0.01 {
		t.Error("waiting runs cost too much")
	}
}
