package sdktest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// takeOverTime bounds the time from a fault to the take-over.
	takeOverTime = 8 * time.Second
	// doubtDelay is the value of --doubt-delay.
	doubtDelay = 2 * time.Second
	// lateDot is how long a dot may be under way after the answer to its mark: as long as its
	// server may assume that it was not declared dead.
	lateDot = 4 * time.Second
	// mostOwed is how much mail may be pending until clients wait.
	mostOwed = 60
)

// pair is two servers on one database of PostgreSQL, with clients and their ledger before
// them. One of them leads.
type pair struct {
	*load
	pg     *postgres // nil: it is not asked
	nodes  [2]*instance
	relays [2]*sink // one each, to tell who sent
	front  *balancer
	took   []time.Duration // of takeovers of the lead
	handed []time.Duration // times until a fault's open mail had been sent by the other server
	led    []time.Duration // until one led again once the database was back
	met    map[string]int  // emails that were in work at a fault, and at how many
	doubts int             // that the faults so far can explain
	shares bool            // both send; otherwise one is a standby
	// underWay is the longest time of a dot; 0: dotUnderWay.
	underWay time.Duration
	fit      func(n int, in *instance) // before a server starts first; nil: nothing
}

// newPair starts servers on the databases that urls name; the first works. One URL: there is
// one server.
func newPair(t *testing.T, urls ...string) *pair {
	t.Helper()
	return startPair(t, &pair{}, "", urls)
}

// newShare returns a pair that share the work; query is added to the relay's URL.
func newShare(t *testing.T, query string, urls ...string) *pair {
	t.Helper()
	return startPair(t, &pair{shares: true}, query, urls)
}

func startPair(t *testing.T, p *pair, query string, urls []string) *pair {
	t.Helper()
	p.met = map[string]int{}
	key := filepath.Join(t.TempDir(), "master.key")
	for i, url := range urls {
		p.relays[i] = newSink(t, sinkOptions{})
		p.relays[i].set(behaviour{dotDelay: 15 * time.Millisecond})
		args := append(killArgs(p.relays[i]), "--drain-timeout", "10s", "--webhook-allow", "127.0.0.0/8")
		args[1] += query
		if !p.shares {
			args = append(args, "--standby")
		}
		in := newInstance(t, args...)
		in.db, in.flags = url, []string{"--master-key-file", key}
		p.nodes[i] = in
		if p.fit != nil {
			p.fit(i, in)
		}
	}
	p.nodes[0].serve(t)
	for _, in := range p.standby(0) {
		in.launch(t)
		p.waitStandby(t, in)
	}
	p.front = newBalancer(t, p.nodes[:len(urls)], p.shares)
	p.nodes[0].addDomain(t, "example.test")
	p.load = newLoad(client{p.front.url(), p.nodes[0].newKey(t)})
	p.behind = func() bool { return p.ledger.owed() > p.arrived()+mostOwed }
	return p
}

// arrived is how many messages the relays got.
func (p *pair) arrived() (n int) {
	for _, relay := range p.relays {
		if relay != nil {
			n += relay.count()
		}
	}
	return n
}

// standby returns the other servers.
func (p *pair) standby(works int) []*instance {
	return slices.DeleteFunc(slices.Clone(p.nodes[:]), func(in *instance) bool { return in == nil || in == p.nodes[works] })
}

// waitStandby waits until a server is a standby or follower.
func (p *pair) waitStandby(t *testing.T, in *instance) {
	t.Helper()
	eventually(t, startTimeout, "GET /readyz says that it is beside the other one", func() (bool, string) {
		if in.ended() {
			t.Fatalf("serve ended at once: %v\n%s", in.err, tail(in.log(t), 4000))
		}
		status, body := in.readyz()
		standby := status == http.StatusServiceUnavailable && bytes.Contains(body, []byte("is a standby"))
		if p.shares {
			standby = status == http.StatusOK && !isWorking(status, body)
		}
		return standby, fmt.Sprintf("%d %s", status, body)
	})
}

// isWorking reports whether a server said that it works.
func isWorking(status int, body []byte) bool {
	return status == http.StatusOK && !bytes.Contains(body, []byte(`"beside":true`))
}

var quickHTTP = &http.Client{Timeout: 500 * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}}

// readyz is what GET /readyz answers; 0: nothing.
func (in *instance) readyz() (int, []byte) {
	res, err := quickHTTP.Get("http://" + in.addr + "/readyz")
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return res.StatusCode, body
}

// waitTakeOver waits until a server leads, and notes how long that took since a fault.
func (p *pair) waitTakeOver(t *testing.T, n int, since time.Time) {
	t.Helper()
	eventually(t, time.Minute, "the other one takes over", func() (bool, string) {
		status, body := p.nodes[n].readyz()
		return isWorking(status, body), fmt.Sprintf("%d %s", status, body)
	})
	took := time.Since(since)
	p.took = append(p.took, took)
	if took > patience(takeOverTime) {
		t.Errorf("the other one took over after %v, must within %v", took, patience(takeOverTime))
	}
}

// patience returns a time limit: must if time is judged, otherwise what a busy machine may need.
func patience(must time.Duration) time.Duration {
	if *perf {
		return must
	}
	return max(2*must, time.Minute)
}

// inWork are the emails that the process of a server has in work, as the database knows.
func (p *pair) inWork(t *testing.T, pid int) []string {
	t.Helper()
	return strings.Fields(p.pg.ask(t, "mailer", fmt.Sprintf(`SELECT u.email_id FROM units AS u JOIN nodes AS n ON n.id = u.owner WHERE n.address LIKE '%%, process %d'`, pid)))
}

// open returns the emails that have not reached a final state.
func (p *pair) open(t *testing.T, ids []string) []string {
	t.Helper()
	return strings.Fields(p.pg.ask(t, "mailer", `SELECT email_id FROM units WHERE email_id IN ('`+strings.Join(ids, "','")+`')`))
}

// waitHandedOver waits until the mail that a server had in work has been sent by the other one or
// has another final state, and records the time. Mail that was in work at several faults in a row
// may be what crashes servers, and waits longer each time.
func (p *pair) waitHandedOver(t *testing.T, n int, ids []string, since time.Time) {
	t.Helper()
	by, seen, most := p.relays[1-n], 0, time.Duration(0)
	waiting := map[string]bool{}
	for _, id := range ids {
		if p.met[id]++; p.met[id] == 1 {
			waiting[id] = true
		}
	}
	asked := time.Now()
	eventually(t, time.Minute, "what it had in work leaves through the other one", func() (bool, string) {
		all := by.messages()
		for ; seen < len(all); seen++ {
			m := &all[seen]
			if id := m.header("X-Mailer-Email-ID"); m.At.After(since) && waiting[id] {
				delete(waiting, id)
				most = m.At.Sub(since)
				p.handed = append(p.handed, most)
			}
		}
		if len(waiting) > 0 && time.Since(asked) > time.Second {
			asked = time.Now()
			open := p.open(t, slices.Collect(maps.Keys(waiting)))
			maps.DeleteFunc(waiting, func(id string, _ bool) bool { return !slices.Contains(open, id) })
		}
		return len(waiting) == 0, fmt.Sprint(slices.Sorted(maps.Keys(waiting)))
	})
	if must := patience(takeOverTime + doubtDelay); most > must {
		t.Errorf("what a server had in work left through the other one after up to %v, must within %v", most, must)
	}
}

// waitMissed waits until all servers but some are marked dead.
func (p *pair) waitMissed(t *testing.T, but ...int) {
	t.Helper()
	gone := `SELECT count(*) FROM nodes WHERE dead IS NULL`
	for _, n := range but {
		gone += fmt.Sprintf(` AND address NOT LIKE '%%, process %d'`, p.nodes[n].cmd.Process.Pid)
	}
	eventually(t, time.Minute, "who is gone is taken for dead", func() (bool, string) {
		left := p.pg.ask(t, "mailer", gone)
		return left == "0", left
	})
}

// lasted formats durations.
func lasted(took []time.Duration) string {
	if len(took) == 0 {
		return "none"
	}
	took = slices.Sorted(slices.Values(took))
	return fmt.Sprintf("%d, after %v, half within %v, at most %v", len(took), took[0].Round(time.Millisecond),
		took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
}

// over waits until the other server has taken over from a failed one: its work and, if it led, the
// lead.
func (p *pair) over(t *testing.T, n int, led bool, ids []string, since time.Time) {
	t.Helper()
	if led {
		p.waitTakeOver(t, 1-n, since)
	}
	p.waitHandedOver(t, n, ids, since)
	p.waitMissed(t, 1-n)
	p.doubts += killConnections
}

// again starts a server again.
func (p *pair) again(t *testing.T, n int) {
	t.Helper()
	p.nodes[n].launch(t)
	p.waitStandby(t, p.nodes[n])
}

// waitFenced waits until a fenced server exits with the code for a database in use.
func (p *pair) waitFenced(t *testing.T, n int, within time.Duration) {
	t.Helper()
	in := p.nodes[n]
	select {
	case <-in.done:
	case <-time.After(within):
		t.Errorf("the server whose work was taken over runs on after %v:\n%s", within, tail(in.log(t), 3000))
		in.kill(t)
		return
	}
	if code := in.cmd.ProcessState.ExitCode(); code != 3 {
		t.Errorf("the server whose work was taken over ended with %d (%v), must with 3", code, in.err)
	}
	in.cmd = nil
}

// checkServers starts what ended since another one took over, and waits until one leads.
func (p *pair) checkServers(t *testing.T) {
	t.Helper()
	for n, in := range p.nodes {
		if in != nil && in.ended() {
			p.waitFenced(t, n, 0)
			in.launch(t)
			p.doubts += killConnections
		}
	}
	eventually(t, startTimeout, "one works", func() (bool, string) { return p.working() >= 0, "" })
}

// working is the server that leads; -1: none.
func (p *pair) working() int {
	return slices.IndexFunc(p.nodes[:], func(in *instance) bool {
		if in == nil || in.ended() {
			return false
		}
		return isWorking(in.readyz())
	})
}

// gather collects the evidence of both servers' relays.
func (p *pair) gather(t *testing.T, within time.Duration) evidence {
	t.Helper()
	eventually(t, startTimeout, "one works", func() (bool, string) { return p.working() >= 0, "" })
	works := p.working()
	e := p.ledger.gather(t, p.nodes[works], p.at(works), p.relays[works], within, p.doubts)
	if other := p.relays[1-works]; other != nil {
		t.Logf("one relay got %d messages, the other one %d", len(e.arrived), other.count())
		e.arrived = append(e.arrived, other.messages()...)
	}
	e.underWay = p.underWay
	t.Logf("take-overs of the lead: %s; of what was in work: %s", lasted(p.took), lasted(p.handed))
	return e
}

// wantNoProblems judges all that happened so far.
func (p *pair) wantNoProblems(t *testing.T) {
	t.Helper()
	p.ledger.wantNoProblems(t, p.gather(t, 2*time.Minute))
}

// at asks one of the servers.
func (p *pair) at(n int) client { return client{"http://" + p.nodes[n].addr, p.api.key} }

// mix sends all kinds of mail, and opts people out before it and meanwhile, until stop is
// called.
func (p *pair) mix(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	p.pause = 50 * time.Millisecond
	mail := p.start(t)
	wg.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			p.optOut(t, fmt.Sprint("out-", n))
			after(t, 100*time.Millisecond)
		}
	})
	wg.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			mark := fmt.Sprint("leaves-", n)
			p.single(t, leaving(mark), nil)
			p.leave(t, p.api, mark)
			after(t, 100*time.Millisecond)
		}
	})
	stop = func() { cancel(); mail(); wg.Wait() }
	t.Cleanup(stop)
	return stop
}

// leaving returns an order whose recipient opts out while it is being sent.
func leaving(mark string) order {
	return order{mark: mark, key: mark, to: []string{mark + "@example.com"}, text: "in time or not", leaves: true}
}

// leave opts the recipient of a mark out.
func (p *pair) leave(t *testing.T, api client, mark string) {
	t.Helper()
	if p.untilAt(t, api, mark, "POST", "/suppressions", map[string]any{"email": mark + "@example.com"}, http.StatusCreated, http.StatusOK, http.StatusConflict) {
		p.ledger.left(mark)
	}
}

// optOut opts a recipient out between acceptance and schedule.
func (p *pair) optOut(t *testing.T, mark string) {
	o := order{mark: mark, key: mark, to: []string{mark + "@example.com"}, text: "too late", end: "suppressed"}
	p.single(t, o, map[string]any{"scheduled_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
	id := p.ledger.idOf(mark)
	if id == "" {
		return // the test is over or has failed
	}
	p.until(t, mark, "POST", "/suppressions", map[string]any{"email": o.to[0]}, http.StatusCreated, http.StatusOK, http.StatusConflict)
	soon := time.Now().Add(200 * time.Millisecond).UTC().Format(time.RFC3339Nano)
	p.until(t, mark, "PATCH", "/emails/"+id, map[string]any{"scheduled_at": soon}, http.StatusOK, http.StatusUnprocessableEntity)
}

// until repeats a request until it is answered with one of some statuses.
func (p *pair) until(t *testing.T, mark, method, path string, body any, statuses ...int) {
	p.untilAt(t, p.api, mark, method, path, body, statuses...)
}

// untilAt is until at one of the servers; false: the test is over or has failed.
func (p *pair) untilAt(t *testing.T, api client, mark, method, path string, body any, statuses ...int) (done bool) {
	p.repeat(t, mark, func() bool {
		status, answer, err := api.try(method, path, body)
		if err != nil || status == http.StatusServiceUnavailable {
			return false
		}
		if done = slices.Contains(statuses, status); !done {
			p.ledger.mustNot(t, "%s %s: %d %s", method, path, status, answer)
		}
		return true
	})
	return done
}

// refused checks that a server without its database answers with Retry-After.
func (p *pair) refused(t *testing.T, n int) {
	t.Helper()
	answers := 0
	for range 8 {
		req, err := http.NewRequest("POST", "http://"+p.nodes[n].addr+"/emails", http.NoBody)
		must(t, err)
		req.Header.Set("Authorization", "Bearer "+p.api.key)
		res, err := quickHTTP.Do(req)
		if err != nil {
			continue // it waits
		}
		res.Body.Close()
		if answers++; res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") == "" {
			t.Errorf("without its database it answers %s %v", res.Status, res.Header)
		}
	}
	t.Logf("cut off, it answered %d of 8 requests within %v", answers, quickHTTP.Timeout)
}
