package sdktest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// takeOverTime is how long mail may be refused after the server that worked was killed.
const takeOverTime = 8 * time.Second

// pair is two servers on one database of PostgreSQL, one of which works, with clients and
// their ledger before them.
type pair struct {
	*load
	nodes  [2]*instance
	relays [2]*sink // one each, so that it is seen who sent
	front  *front
	took   []time.Duration           // of takeovers
	doubts int                       // that the faults so far can explain
	shares bool                      // both answer; else one stands by
	fit    func(n int, in *instance) // before a server starts first; nil: nothing
}

// newPair starts servers on the databases that urls name; the first works. One URL: there is
// one server.
func newPair(t *testing.T, urls ...string) *pair {
	t.Helper()
	return startPair(t, &pair{}, "", urls)
}

// newShare is a pair of which both answer.
func newShare(t *testing.T, query string, urls ...string) *pair {
	t.Helper()
	return startPair(t, &pair{shares: true}, query, urls)
}

func startPair(t *testing.T, p *pair, query string, urls []string) *pair {
	t.Helper()
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
		p.waitBeside(t, in)
	}
	p.front = newFront(t, p.nodes[:len(urls)], p.shares)
	p.nodes[0].addDomain(t, "example.test")
	p.load = newLoad(client{p.front.url(), p.nodes[0].newKey(t)})
	return p
}

// standby are the servers besides one.
func (p *pair) standby(works int) []*instance {
	return slices.DeleteFunc(slices.Clone(p.nodes[:]), func(in *instance) bool { return in == nil || in == p.nodes[works] })
}

// waitBeside waits until a server says that it stands by, or answers beside the other one.
func (p *pair) waitBeside(t *testing.T, in *instance) {
	t.Helper()
	eventually(t, startTimeout, "GET /readyz says that it is beside the other one", func() (bool, string) {
		if in.ended() {
			t.Fatalf("serve ended at once: %v\n%s", in.err, tail(in.log(t), 4000))
		}
		status, body := in.readyz()
		beside := status == http.StatusServiceUnavailable && bytes.Contains(body, []byte("stands by"))
		if p.shares {
			beside = status == http.StatusOK && !isWorking(status, body)
		}
		return beside, fmt.Sprintf("%d %s", status, body)
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

// waitTakeOver waits until a server works, and notes how long that took since a fault.
func (p *pair) waitTakeOver(t *testing.T, n int, since time.Time) {
	t.Helper()
	eventually(t, 3*takeOverTime, "the standby takes over", func() (bool, string) {
		status, body := p.nodes[n].readyz()
		return isWorking(status, body), fmt.Sprintf("%d %s", status, body)
	})
	took := time.Since(since)
	p.took = append(p.took, took)
	limit := takeOverTime
	if *takeovers == 0 { // among all the other tests
		limit *= 2
	}
	if took > limit {
		t.Errorf("the standby took over after %v, must within %v", took, limit)
	}
}

// again starts a server that has ended, as the standby.
func (p *pair) again(t *testing.T, n int) {
	t.Helper()
	p.nodes[n].launch(t)
	p.waitBeside(t, p.nodes[n])
}

// waitFenced waits until a server whose work was taken over ends, with the exit code of a
// database that is in use.
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

// tend starts what ended since another one took over, as the standby, and waits until there
// is one of each.
func (p *pair) tend(t *testing.T) {
	t.Helper()
	for n, in := range p.nodes {
		if in != nil && in.ended() {
			p.waitFenced(t, n, 0)
			in.launch(t)
		}
	}
	eventually(t, startTimeout, "one works", func() (bool, string) { return p.working() >= 0, "" })
}

// working is the server that works; -1: none.
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
	api := client{"http://" + p.nodes[works].addr, p.api.key}
	e := p.ledger.gather(t, p.nodes[works], api, p.relays[works], within, p.doubts)
	if other := p.relays[1-works]; other != nil {
		e.arrived = append(e.arrived, other.messages()...)
	}
	if len(p.took) > 0 {
		t.Logf("%d take-overs, after %v to %v", len(p.took), slices.Min(p.took).Round(time.Millisecond), slices.Max(p.took).Round(time.Millisecond))
	}
	return e
}

// acquit judges all that happened so far.
func (p *pair) acquit(t *testing.T) {
	t.Helper()
	p.ledger.acquit(t, p.gather(t, 2*time.Minute))
}

// mix sends all kinds of mail, and opts people out, until stop is called.
func (p *pair) mix(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	p.pause = 20 * time.Millisecond
	mail := p.start(t)
	wg.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			p.optOut(t, fmt.Sprint("out-", n))
			after(t, 100*time.Millisecond)
		}
	})
	stop = func() { cancel(); mail(); wg.Wait() }
	t.Cleanup(stop)
	return stop
}

// optOut has somebody opt out between the day when mail for them was accepted and that when
// it is due.
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
	p.repeat(t, mark, func() bool {
		status, answer, err := p.api.try(method, path, body)
		if err != nil || status == http.StatusServiceUnavailable {
			return false
		}
		if !slices.Contains(statuses, status) {
			p.ledger.mustNot(t, "%s %s: %d %s", method, path, status, answer)
		}
		return true
	})
}

// refused asks a server without its database for some seconds: who is answered hears when to
// ask again.
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

// front is what stands before two servers, as a load balancer does: connections lead to the
// one that is ready, or in turn to all that are.
type front struct {
	l     net.Listener
	nodes []*instance
	all   bool
	group sync.WaitGroup

	mu    sync.Mutex
	addrs []string
	turn  int
	conns map[net.Conn]string // and where they lead
}

func newFront(t *testing.T, nodes []*instance, all bool) *front {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	f := &front{l: l, nodes: nodes, all: all, addrs: []string{nodes[0].addr}, conns: map[net.Conn]string{}}
	ctx, cancel := context.WithCancel(context.Background())
	f.group.Go(f.accept)
	f.group.Go(func() { f.follow(ctx) })
	t.Cleanup(func() {
		cancel()
		l.Close()
		f.point()
		f.group.Wait()
	})
	return f
}

func (f *front) url() string { return "http://" + f.l.Addr().String() }

// follow leads to a server that is ready, and stays with it as long as it is: where two say so,
// requests must not be cut off for that. Or it leads to all of them.
func (f *front) follow(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	now := f.nodes[0]
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if status, _ := now.readyz(); status == http.StatusOK && !f.all {
			continue
		}
		var ready []string
		for _, in := range f.nodes {
			if status, _ := in.readyz(); status == http.StatusOK && (f.all || len(ready) == 0) {
				now, ready = in, append(ready, in.addr)
			}
		}
		if len(ready) > 0 {
			f.point(ready...)
		}
	}
}

// point leads elsewhere, and cuts what led to where it leads no more.
func (f *front) point(addrs ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(addrs) > 0 {
		f.addrs = addrs
	}
	for c, addr := range f.conns {
		if !slices.Contains(addrs, addr) {
			c.Close()
			delete(f.conns, c)
		}
	}
}

func (f *front) accept() {
	for {
		c, err := f.l.Accept()
		if err != nil {
			return
		}
		f.group.Go(func() { f.carry(c) })
	}
}

func (f *front) carry(c net.Conn) {
	defer c.Close()
	f.mu.Lock()
	f.turn++
	addr := f.addrs[f.turn%len(f.addrs)]
	f.mu.Unlock()
	up, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return
	}
	defer up.Close()
	f.mu.Lock()
	stale := !slices.Contains(f.addrs, addr)
	f.conns[c], f.conns[up] = addr, addr
	f.mu.Unlock()
	if stale {
		return
	}
	f.group.Go(func() { _, _ = io.Copy(up, c); up.Close() })
	_, _ = io.Copy(c, up)
	f.mu.Lock()
	delete(f.conns, c)
	delete(f.conns, up)
	f.mu.Unlock()
}
