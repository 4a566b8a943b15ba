package sdktest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// onOne returns two servers, each with its own proxy to one PostgreSQL. They share the work, or one
// is a standby.
func onOne(t *testing.T, p *pair, query string) [2]*pgProxy {
	t.Helper()
	p.pg = newPostgres(t)
	p.pg.database(t, "mailer")
	ways := [2]*pgProxy{newPgProxy(t, p.pg.addr), newPgProxy(t, p.pg.addr)}
	startPair(t, p, query, []string{urlOf("mailer", ways[0].addr), urlOf("mailer", ways[1].addr)})
	return ways
}

// victim returns the server of the nth round's fault: alternately the leader and the other one.
func (p *pair) victim(t *testing.T, round int) (n int, leads bool) {
	t.Helper()
	eventually(t, startTimeout, "one leads", func() (bool, string) { n = p.working(); return n >= 0, "" })
	if round%2 == 1 {
		return 1 - n, false
	}
	return n, true
}

// soon waits for a moment in the midst of mail.
func (p *pair) soon(t *testing.T) {
	t.Helper()
	p.waitAccepted(t, 20)
	afterRandom(80 * time.Millisecond)
}

// kill kills a server, and waits until the other one has taken over.
func (p *pair) kill(t *testing.T, n int, led bool) {
	t.Helper()
	pid, killed := p.nodes[n].cmd.Process.Pid, time.Now()
	p.nodes[n].kill(t)
	p.over(t, n, led, p.inWork(t, pid), killed)
}

// sentNone checks that nothing left a server from a moment on.
func (p *pair) sentNone(t *testing.T, n int, from time.Time) {
	t.Helper()
	for _, m := range p.relays[n].matching(func(m *message) bool { return m.At.After(from) }) {
		t.Errorf("%s left from the server whose work was taken over, %v too late", m.header("Subject"), m.At.Sub(from))
	}
}

// TestPostgresTakeOverAfterKill repeatedly kills the active server under a mix of mail; the other
// one takes over, and the killed one becomes the standby.
func TestPostgresTakeOverAfterKill(t *testing.T) {
	part(t, "postgres")
	t.Parallel()
	p := &pair{}
	onOne(t, p, "")
	stop := p.mix(t)
	rounds := cmp.Or(*takeovers, 2)
	for range rounds {
		p.soon(t)
		n, leads := p.victim(t, 0)
		p.kill(t, n, leads)
		p.again(t, n)
	}
	p.waitAccepted(t, 20)
	stop()
	t.Logf("%d kills", rounds)
	p.wantNoProblems(t)
}

// TestPostgresKills has two servers send, and kills either of them,
// again and again, under a mix of mail. What the killed one had in work leaves through the
// other.
func TestPostgresKills(t *testing.T) {
	part(t, "postgres", shortForm, judged)
	t.Parallel()
	p := &pair{shares: true}
	onOne(t, p, "")
	stop := p.mix(t)
	kills := [2]int{}
	first := rand.IntN(2)
	rounds := cmp.Or(*takeovers, 3)
	if !long() && *takeovers == 0 {
		rounds = 1
	}
	for round := range rounds {
		if round > 2 {
			first = rand.IntN(2)
		}
		p.soon(t)
		n, leads := p.victim(t, first+round)
		if round%4 == 3 {
			p.anew(t, n)
			p.waitMissed(t, 0, 1)
		} else {
			p.kill(t, n, leads)
			p.again(t, n)
		}
		if leads {
			kills[0]++
		} else {
			kills[1]++
		}
	}
	p.waitAccepted(t, 20)
	stop()
	t.Logf("%d kills of the one that led, %d of the other one, a quarter of them started again before they were missed", kills[0], kills[1])
	p.wantNoProblems(t)
}

// TestPostgresStoppedServerIsFenced stops a server for so long that the other one takes over. When
// it continues it sends nothing more, and exits.
func TestPostgresStoppedServerIsFenced(t *testing.T) {
	part(t, "postgres")
	t.Parallel()
	p := &pair{shares: true}
	onOne(t, p, "")
	stop := p.mix(t)
	rounds := cmp.Or(*pgFaults, 2)
	for round := range rounds {
		p.soon(t)
		n, leads := p.victim(t, round)
		process, stopped := p.nodes[n].cmd.Process, time.Now()
		must(t, process.Signal(syscall.SIGSTOP))
		p.over(t, n, leads, p.inWork(t, process.Pid), stopped)
		after(t, 10*time.Second-time.Since(stopped))
		goesOn := time.Now()
		must(t, process.Signal(syscall.SIGCONT))
		p.waitFenced(t, n, time.Minute)
		p.sentNone(t, n, goesOn)
		p.again(t, n)
	}
	p.waitAccepted(t, 20)
	stop()
	t.Logf("%d stops", rounds)
	p.wantNoProblems(t)
}

// pgCuts are the ways to cut the link between a server and its database, one per round: one
// direction or both are lost without the connections noticing; then the connections break, or the
// delayed bytes arrive.
var pgCuts = []struct {
	silent []pgWay
	reset  bool
}{{nil, true}, {[]pgWay{fromPostgres}, false}, {nil, false}, {[]pgWay{fromPostgres}, true}, {[]pgWay{toPostgres}, false}, {[]pgWay{toPostgres}, true}}

// TestPostgresShortCut cuts the link of each server for two seconds. Nobody takes over; clients
// wait, or get a Retry-After.
func TestPostgresShortCut(t *testing.T) {
	part(t, "postgres")
	t.Parallel()
	p := &pair{shares: true, underWay: lateDot}
	ways := onOne(t, p, "")
	stop := p.mix(t)
	rounds := cmp.Or(*pgFaults, 2)
	for round := range rounds {
		p.soon(t)
		n, leads := p.victim(t, round)
		began, cut := time.Now(), pgCuts[round/2%len(pgCuts)]
		ways[n].silence(cut.silent...)
		if cut.reset {
			ways[n].reset()
		}
		after(t, 2*time.Second-time.Since(began))
		ways[n].heal()
		p.waitAccepted(t, 20)
		if got, still := p.victim(t, 0); (got == n) != leads || !still || p.nodes[n].ended() {
			t.Fatalf("after a cut of two seconds of server %d, server %d leads", n, got)
		}
	}
	stop()
	t.Logf("%d cuts", rounds)
	p.wantNoProblems(t)
}

// TestPostgresLongCut cuts it for ten seconds.
func TestPostgresLongCut(t *testing.T) {
	part(t, "postgres")
	t.Parallel()
	p := &pair{shares: true, underWay: lateDot}
	ways := onOne(t, p, "")
	stop := p.mix(t)
	rounds := cmp.Or(*pgFaults, 2)
	for round := range rounds {
		p.soon(t)
		n, leads := p.victim(t, round)
		began, cut := time.Now(), pgCuts[round/2%len(pgCuts)]
		ways[n].silence(cut.silent...)
		if round < 2 {
			p.refused(t, n)
		}
		p.over(t, n, leads, p.inWork(t, p.nodes[n].cmd.Process.Pid), began)
		taken := time.Now()
		after(t, 10*time.Second-time.Since(began))
		if cut.reset {
			ways[n].reset()
		}
		ways[n].heal()
		p.waitFenced(t, n, time.Minute)
		p.sentNone(t, n, taken)
		p.again(t, n)
	}
	p.waitAccepted(t, 20)
	stop()
	t.Logf("%d cuts", rounds)
	p.wantNoProblems(t)
}

// TestPostgresKilledDatabase kills the database itself and starts it again.
func TestPostgresKilledDatabase(t *testing.T) {
	part(t, "postgres")
	t.Parallel()
	pg := newPostgres(t)
	pg.database(t, "mailer")
	p := newShare(t, "", urlOf("mailer", pg.addr), urlOf("mailer", pg.addr))
	p.underWay = lateDot
	stop := p.mix(t)
	rounds := cmp.Or(*pgKills, 2)
	for range rounds {
		p.soon(t)
		pg.kill(t)
		pg.start(t)
		p.back(t)
	}
	p.waitAccepted(t, 20)
	stop()
	t.Logf("%d kills; one led again: %s", rounds, lasted(p.led))
	p.wantNoProblems(t)
}

// back waits until one leads once the database is back.
func (p *pair) back(t *testing.T) {
	t.Helper()
	began := time.Now()
	p.checkServers(t)
	p.led = append(p.led, time.Since(began))
}

// TestPostgresFailOver kills the database and promotes its synchronous standby.
func TestPostgresFailOver(t *testing.T) {
	part(t, "postgres")
	t.Parallel()
	pg := newPostgres(t)
	pg.database(t, "mailer")
	for range cmp.Or(*pgFailovers, 1) {
		next := pg.follower(t)
		p := newShare(t, "", urlOf("mailer", pg.addr, next.addr), urlOf("mailer", next.addr, pg.addr))
		p.underWay = lateDot
		stop := p.mix(t)
		p.waitAccepted(t, 40)
		afterRandom(80 * time.Millisecond)
		pg.kill(t)
		next.promote(t)
		p.back(t)
		p.waitAccepted(t, 20)
		stop()
		t.Logf("one led again once the standby of PostgreSQL was promoted: %s", lasted(p.led))
		p.wantNoProblems(t)
		p.nodes[0].stop(t)
		p.nodes[1].stop(t)
		next.ask(t, "postgres", "DROP DATABASE mailer")
		next.database(t, "mailer")
		pg = next
	}
}

// TestPostgresStopWithoutDatabase: servers are told to stop while the database does not answer, the
// active one and one that starts. Both exit cleanly within their time.
func TestPostgresStopWithoutDatabase(t *testing.T) {
	part(t, "postgres")
	t.Parallel()
	p, way := throughProxy(t)
	stop := p.mix(t)
	p.waitAccepted(t, 20)
	way.silence()
	in := p.nodes[0]
	for _, what := range []string{"that works", "that starts"} {
		began := time.Now()
		must(t, in.cmd.Process.Signal(syscall.SIGTERM))
		select {
		case <-in.done:
		case <-time.After(stopTimeout):
			t.Fatalf("the server %s did not end within %v", what, stopTimeout)
		}
		if in.err != nil {
			t.Errorf("the server %s ended with %v:\n%s", what, in.err, tail(in.log(t), 2000))
		}
		t.Logf("the server %s ended after %v", what, time.Since(began).Round(time.Millisecond))
		in.launch(t)
		after(t, 300*time.Millisecond)
	}
	way.heal()
	in.waitReady(t)
	p.waitAccepted(t, 20)
	stop()
	p.doubts = killConnections // what left and could not be written down
	p.wantNoProblems(t)
}

// TestPostgresUnavailableIsReported: critical calls are refused within seconds, and nothing of them
// is executed once the database is back, except what was already being committed.
func TestPostgresUnavailableIsReported(t *testing.T) {
	part(t, "postgres")
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
		method, path, _ := strings.Cut(call, " ")
		req, err := http.NewRequest(method, in.url+path, strings.NewReader(body))
		must(t, err)
		req.Header = http.Header{"Authorization": {"Bearer " + api.key}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		res, err := http.DefaultClient.Do(req)
		must(t, err)
		defer res.Body.Close()
		said, err := io.ReadAll(res.Body)
		must(t, err)
		reported := res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") != ""
		if !bytes.Contains(said, []byte("service_unavailable")) || path != "/mcp" && !reported {
			t.Errorf("%s: %s %v: %s", call, res.Status, res.Header, said)
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
