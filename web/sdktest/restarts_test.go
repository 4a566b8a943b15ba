package sdktest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func restartCount() int { return cmp.Or(*restarts, 15) }

// ends are the ways to end a run of the server, in turn.
var ends = []struct {
	name string
	end  func(t *testing.T, in *instance)
}{
	{"kill -9", func(t *testing.T, in *instance) {
		in.waitReady(t)
		afterRandom(200 * time.Millisecond)
		in.kill(t)
	}},
	{"SIGTERM", func(t *testing.T, in *instance) {
		in.waitReady(t)
		afterRandom(200 * time.Millisecond)
		in.stop(t)
	}},
	{"kill -9 while it starts", func(t *testing.T, in *instance) {
		afterRandom(150 * time.Millisecond)
		in.kill(t)
	}},
	{"kill -9 while it stops", func(t *testing.T, in *instance) {
		in.waitReady(t)
		afterRandom(200 * time.Millisecond)
		must(t, in.cmd.Process.Signal(syscall.SIGTERM))
		afterRandom(30 * time.Millisecond)
		in.kill(t)
	}},
	{"a second server on its database", func(t *testing.T, in *instance) {
		in.waitReady(t)
		second := exec.Command(binary.path, append([]string{"serve", "--db", in.db, "--listen", freeAddr(t)}, in.args...)...)
		second.Dir, second.Env, second.SysProcAttr = in.dir, cleanEnv(in.dir), endWithParent()
		if out, _ := second.CombinedOutput(); second.ProcessState.ExitCode() != 3 {
			t.Errorf("the second server: %v\n%s", second.ProcessState, out)
		}
		in.stop(t)
	}},
}

// live is one run of the server, ended in one of the ways.
func (s *loadTest) live(t *testing.T, n int) {
	t.Helper()
	s.in.launch(t)
	ends[n%len(ends)].end(t, s.in)
}

// deadEndpoint adds a webhook for sent events, which fails, and counts the requests per event.
func deadEndpoint(t *testing.T, api client) func() (events, most int) {
	t.Helper()
	var mu sync.Mutex
	heard := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		heard[r.Header.Get("Webhook-Id")]++
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(server.Close)
	status, b := api.do(t, "POST", "/webhooks", map[string]any{"endpoint": server.URL, "events": []string{"email.sent"}})
	if status != http.StatusCreated {
		t.Fatalf("POST /webhooks: %d %s", status, b)
	}
	return func() (events, most int) {
		mu.Lock()
		defer mu.Unlock()
		for _, n := range heard {
			most = max(most, n)
		}
		return len(heard), most
	}
}

// broadcastTo sends a broadcast to n contacts, recorded in the ledger, and returns its id.
func (l *load) broadcastTo(t *testing.T, n int) string {
	t.Helper()
	fillContacts(t, l.api, n)
	status, b := l.api.do(t, "POST", "/broadcasts", map[string]any{"from": "News <a@example.test>", "subject": "For {{{FIRST_NAME|you}}}",
		"html": "<p>Dear {{{FIRST_NAME|you}}}, <a href=\"{{{UNSUBSCRIBE_URL}}}\">no more</a></p>", "send": true})
	var broadcast broadcastState
	if err := json.Unmarshal(b, &broadcast); err != nil || status != http.StatusCreated {
		t.Fatalf("POST /broadcasts: %d %s", status, b)
	}
	for i := range n {
		mark := fmt.Sprintf("For N%d", i)
		l.ledger.ask(order{mark: mark, to: []string{fmt.Sprintf("p%d@news.test", i)}})
		l.ledger.accept(mark, "")
	}
	return broadcast.ID
}

// TestRestarts ends the server repeatedly, in every way, as fast as it starts, with a broadcast,
// scheduled mail and a dead endpoint; for a third of the runs the relay is down too.
func TestRestarts(t *testing.T) {
	part(t, "kills")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	well := behaviour{dotDelay: 15 * time.Millisecond}
	relay.set(well)
	in := startBare(t, append(killArgs(relay), "--webhook-allow", "127.0.0.0/8")...)
	s := newLoadTest(t, in, relay)
	heard := deadEndpoint(t, s.api)
	const contacts = 600
	broadcast := s.broadcastTo(t, contacts)
	stop := s.load.start(t)
	in.kill(t)
	lives := restartCount()
	dead := 0
	for n := range lives {
		switch n {
		case lives / 3:
			relay.set(scripted("", "421 4.3.2 closed for now"))
			dead = len(relay.dialled())
		case 2 * lives / 3:
			dead = len(relay.dialled()) - dead
			relay.set(well)
		}
		s.live(t, n)
	}
	in.serve(t)
	s.waitAccepted(t, 20)
	stop()
	// A server that starts does not know what the one before it learned, so each may
	// try once with all its workers, of mail and of broadcasts, and again after a second
	// and, where the machine is slow, after two more.
	if most := (lives/3 + 1) * (2*(killConnections+runtime.NumCPU()) + 2); dead > most {
		t.Errorf("%d connections to a dead relay in %d lives, at most %d", dead, lives/3, most)
	}
	eventually(t, recovery, "the broadcast is sent", func() (bool, string) {
		var b broadcastState
		s.api.get(t, "/broadcasts/"+broadcast, &b)
		return b.Status == "sent", fmt.Sprintf("%+v", b)
	})
	events, most := heard()
	t.Logf("%d lives; %d connections to the dead relay; a dead endpoint heard of %d events, at most %d times of one", lives, dead, events, most)
	if events == 0 || most > 4 {
		t.Error("the dead endpoint is hammered, or left alone")
	}
	e := s.ledger.gather(t, in, s.api, relay, 2*time.Minute, killLimit(lives+1))
	e.counts[0].said += contacts // which no list of emails shows
	s.ledger.wantNoProblems(t, e)
}

// TestControlOfRestarts: while the server is down, another server without a lock sends the same
// queue from a copy of its files.
func TestControlOfRestarts(t *testing.T) {
	part(t, "kills")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	relay.set(scripted("", "421 4.3.2 closed for now"))
	in := startBare(t, killArgs(relay)...)
	s := newLoadTest(t, in, relay)
	for i := range 20 {
		s.post(t, fmt.Sprintf("twice-%d", i), nil)
	}
	in.kill(t)
	other := newInstance(t, killArgs(relay)...)
	other.db = filepath.Join(other.dir, "mailer.db")
	copyFiles(t, in.db, other.db)
	relay.set(behaviour{})
	other.serve(t)
	in.serve(t)
	relay.wait(t, 40, time.Minute, func(m *message) bool { return strings.HasPrefix(m.header("Subject"), "twice-") })
	s.ledger.wantProblem(t, s.ledger.gather(t, in, s.api, relay, time.Minute, killConnections), doubled, altered)
}
