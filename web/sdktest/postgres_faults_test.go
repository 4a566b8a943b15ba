package sdktest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// onOne is two servers, each with its own way to one PostgreSQL that stays well.
func onOne(t *testing.T) (*pair, [2]*pgProxy) {
	t.Helper()
	pg := newPostgres(t)
	pg.database(t, "mailer")
	ways := [2]*pgProxy{newPgProxy(t, pg.addr), newPgProxy(t, pg.addr)}
	return newPair(t, urlOf("mailer", ways[0].addr), urlOf("mailer", ways[1].addr)), ways
}

// TestPostgresStandbyTakesOverFromOneThatIsKilled kills the server that works, again and
// again, under a mix of mail; the other one takes over, and the killed one stands by.
func TestPostgresStandbyTakesOverFromOneThatIsKilled(t *testing.T) {
	t.Parallel()
	p, _ := onOne(t)
	stop := p.mix(t)
	works := 0
	rounds := cmp.Or(*takeovers, 3)
	for range rounds {
		p.waitAccepted(t, 20)
		afterRandom(80 * time.Millisecond)
		killed := time.Now()
		p.nodes[works].kill(t)
		p.waitTakeOver(t, 1-works, killed)
		p.again(t, works)
		works, p.doubts = 1-works, p.doubts+killConnections
	}
	p.waitAccepted(t, 20)
	stop()
	t.Logf("%d kills", rounds)
	p.acquit(t)
}

// TestPostgresServerThatStoodStillIsDone stops the server that works for so long that the
// other one takes over. Once it goes on it sends nothing more.
func TestPostgresServerThatStoodStillIsDone(t *testing.T) {
	t.Parallel()
	p, _ := onOne(t)
	stop := p.mix(t)
	works := 0
	for range cmp.Or(*pgFaults, 1) {
		p.waitAccepted(t, 20)
		afterRandom(80 * time.Millisecond)
		stopped := time.Now()
		must(t, p.nodes[works].cmd.Process.Signal(syscall.SIGSTOP))
		p.waitTakeOver(t, 1-works, stopped)
		after(t, 10*time.Second-time.Since(stopped))
		goesOn := time.Now()
		must(t, p.nodes[works].cmd.Process.Signal(syscall.SIGCONT))
		p.waitFenced(t, works, 10*time.Second)
		for _, m := range p.relays[works].matching(func(m *message) bool { return m.At.After(goesOn) }) {
			t.Errorf("%s left from the server whose work was taken over, %v after it went on", m.header("Subject"), m.At.Sub(goesOn))
		}
		p.again(t, works)
		works, p.doubts = 1-works, p.doubts+killConnections
	}
	p.waitAccepted(t, 20)
	stop()
	p.acquit(t)
}

// TestPostgresShortCutIsWaitedOut cuts the way between a server and its database for two
// seconds. Nobody takes over; who asks meanwhile waits, or hears when to ask again.
func TestPostgresShortCutIsWaitedOut(t *testing.T) {
	t.Parallel()
	p, ways := onOne(t)
	stop := p.mix(t)
	for n := range cmp.Or(*pgFaults, 1) {
		p.waitAccepted(t, 20)
		afterRandom(80 * time.Millisecond)
		began := time.Now()
		ways[0].silence()
		if n%2 == 0 {
			ways[0].reset()
		}
		after(t, 2*time.Second-time.Since(began))
		ways[0].heal()
		p.waitAccepted(t, 20)
		if works := p.working(); works != 0 || p.nodes[0].ended() {
			t.Fatalf("after a cut of two seconds server %d works", works)
		}
	}
	stop()
	p.acquit(t)
}

// TestPostgresLongCutHasTheOtherOneTakeOver cuts it for ten seconds, silently, and then
// breaks all connections or has go through what waited.
func TestPostgresLongCutHasTheOtherOneTakeOver(t *testing.T) {
	t.Parallel()
	p, ways := onOne(t)
	stop := p.mix(t)
	works := 0
	for n := range cmp.Or(*pgFaults, 1) {
		p.waitAccepted(t, 20)
		afterRandom(80 * time.Millisecond)
		began := time.Now()
		ways[works].silence()
		p.refused(t, works)
		p.waitTakeOver(t, 1-works, began)
		taken := time.Now()
		after(t, 10*time.Second-time.Since(began))
		if n%2 == 1 {
			ways[works].reset()
		}
		ways[works].heal()
		p.waitFenced(t, works, 10*time.Second)
		for _, m := range p.relays[works].matching(func(m *message) bool { return m.At.After(taken) }) {
			t.Errorf("%s left from the server whose work was taken over, %v after that", m.header("Subject"), m.At.Sub(taken))
		}
		p.again(t, works)
		works, p.doubts = 1-works, p.doubts+killConnections
	}
	p.waitAccepted(t, 20)
	stop()
	p.acquit(t)
}

// TestPostgresThatIsKilledComesBack kills the database itself and starts it again.
func TestPostgresThatIsKilledComesBack(t *testing.T) {
	t.Parallel()
	pg := newPostgres(t)
	pg.database(t, "mailer")
	p := newPair(t, urlOf("mailer", pg.addr), urlOf("mailer", pg.addr))
	stop := p.mix(t)
	for range cmp.Or(*pgKills, 2) {
		p.waitAccepted(t, 20)
		afterRandom(80 * time.Millisecond)
		pg.kill(t)
		pg.start(t)
		began := time.Now()
		p.tend(t)
		t.Logf("there is one that works %v after the database came back", time.Since(began).Round(time.Millisecond))
		p.doubts += killConnections
	}
	p.waitAccepted(t, 20)
	stop()
	p.acquit(t)
}

// TestPostgresFailOverLosesNothing kills the database and promotes its synchronous standby.
func TestPostgresFailOverLosesNothing(t *testing.T) {
	t.Parallel()
	pg := newPostgres(t)
	pg.database(t, "mailer")
	for range cmp.Or(*pgFailovers, 1) {
		next := pg.follower(t)
		p := newPair(t, urlOf("mailer", pg.addr, next.addr), urlOf("mailer", next.addr, pg.addr))
		stop := p.mix(t)
		p.waitAccepted(t, 40)
		afterRandom(80 * time.Millisecond)
		pg.kill(t)
		next.promote(t)
		began := time.Now()
		p.tend(t)
		t.Logf("there is one that works %v after the standby of PostgreSQL was promoted", time.Since(began).Round(time.Millisecond))
		p.doubts += killConnections
		p.waitAccepted(t, 20)
		stop()
		p.acquit(t)
		p.nodes[0].stop(t)
		p.nodes[1].stop(t)
		next.ask(t, "postgres", "DROP DATABASE mailer")
		next.database(t, "mailer")
		pg = next
	}
}

// TestPostgresServerStopsWhateverItsDatabaseDoes has a database be silent, and its servers told
// to stop: the one that works, and one that starts. Both end in order within their time.
func TestPostgresServerStopsWhateverItsDatabaseDoes(t *testing.T) {
	t.Parallel()
	p, way := throughProxy(t)
	stop := p.mix(t)
	p.waitAccepted(t, 20)
	way.silence()
	in := p.nodes[0]
	for _, tc := range []struct {
		what   string
		within time.Duration
	}{{"that works", 25 * time.Second}, {"that starts", 5 * time.Second}} {
		began := time.Now()
		must(t, in.cmd.Process.Signal(syscall.SIGTERM))
		select {
		case <-in.done:
		case <-time.After(tc.within):
			t.Fatalf("the server %s did not end within %v", tc.what, tc.within)
		}
		if in.err != nil {
			t.Errorf("the server %s ended with %v:\n%s", tc.what, in.err, tail(in.log(t), 2000))
		}
		t.Logf("the server %s ended after %v", tc.what, time.Since(began).Round(time.Millisecond))
		in.launch(t)
		after(t, 300*time.Millisecond)
	}
	way.heal()
	in.waitReady(t)
	p.waitAccepted(t, 20)
	stop()
	p.doubts = killConnections // what left and could not be written down
	p.acquit(t)
}

// TestPostgresThatIsAwayIsToldToWhoWaits: calls that must not get lost are refused within
// seconds, whoever asks, and nothing of them is done once the database is back, but what was
// under way when it went.
func TestPostgresThatIsAwayIsToldToWhoWaits(t *testing.T) {
	t.Parallel()
	pg := newPostgres(t)
	pg.database(t, "mailer")
	in := newPair(t, urlOf("mailer", pg.addr)).nodes[0]
	api := client{in.url, in.newKey(t)}
	id := api.send(t, map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": "later", "text": "x", "scheduled_at": time.Now().Add(time.Hour)})
	if status, b := api.do(t, "POST", "/contacts", map[string]any{"email": "c@example.com"}); status/100 != 2 {
		t.Fatalf("POST /contacts: %d %s", status, b)
	}
	pg.kill(t)
	refused := func(call, body string) {
		t.Helper()
		began := time.Now()
		method, path, _ := strings.Cut(call, " ")
		req, err := http.NewRequest(method, in.url+path, strings.NewReader(body))
		must(t, err)
		req.Header = http.Header{"Authorization": {"Bearer " + api.key}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		res, err := http.DefaultClient.Do(req)
		must(t, err)
		defer res.Body.Close()
		said, err := io.ReadAll(res.Body)
		must(t, err)
		told := res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") != ""
		if took := time.Since(began); !bytes.Contains(said, []byte("service_unavailable")) || path != "/mcp" && !told || took > 8*time.Second {
			t.Errorf("%s: %s %v after %v: %s", call, res.Status, res.Header, took, said)
		}
	}
	refused("POST /suppressions", `{"email":"under-way@example.com"}`)
	calls := map[string]string{
		"POST /emails/" + id + "/cancel": `{}`,
		"POST /suppressions":             `{"email":"d@example.com"}`,
		"PATCH /contacts/c@example.com":  `{"unsubscribed":true}`,
		"POST /mcp":                      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cancel_email","arguments":{"id":"` + id + `"}}}`,
	}
	for call, body := range calls {
		refused(call, body)
	}
	pg.start(t)
	eventually(t, startTimeout, "the server is ready again", func() (bool, string) {
		status, body := in.readyz()
		return status == http.StatusOK, string(body)
	})
	after(t, 2*time.Second)
	if got := api.email(t, id).LastEvent; got != "scheduled" {
		t.Errorf("the email is %s", got)
	}
	for call, body := range calls {
		if method, path, _ := strings.Cut(call, " "); path != "/mcp" {
			if status, said, err := api.try(method, path, json.RawMessage(body)); err != nil || status/100 != 2 {
				t.Errorf("%s once it is back: %d %s %v", call, status, said, err)
			}
		}
	}
}
