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
	took   []time.Duration // of takeovers
	doubts int             // that the faults so far can explain
}

// newPair starts servers on the databases that urls name; the first works. One URL: there is
// one server.
func newPair(t *testing.T, urls ...string) *pair {
	t.Helper()
	p := &pair{}
	key := filepath.Join(t.TempDir(), "master.key")
	for i, url := range urls {
		p.relays[i] = newSink(t, sinkOptions{})
		p.relays[i].set(behaviour{dotDelay: 15 * time.Millisecond})
		in := newInstance(t, append(killArgs(p.relays[i]), "--standby")...)
		in.db, in.flags = url, []string{"--master-key-file", key}
		p.nodes[i] = in
	}
	p.nodes[0].serve(t)
	for _, in := range p.standby(0) {
		in.launch(t)
		in.waitStandby(t)
	}
	p.front = newFront(t, p.nodes[:len(urls)])
	p.nodes[0].addDomain(t, "example.test")
	p.load = newLoad(client{p.front.url(), p.nodes[0].newKey(t)})
	return p
}

// standby are the servers besides one.
func (p *pair) standby(works int) []*instance {
	return slices.DeleteFunc(slices.Clone(p.nodes[:]), func(in *instance) bool { return in == nil || in == p.nodes[works] })
}

// waitStandby waits until a server says that it stands by.
func (in *instance) waitStandby(t *testing.T) {
	t.Helper()
	eventually(t, startTimeout, "GET /readyz says that it stands by", func() (bool, string) {
		if in.ended() {
			t.Fatalf("serve ended at once: %v\n%s", in.err, tail(in.log(t), 4000))
		}
		status, body := in.readyz()
		return status == http.StatusServiceUnavailable && bytes.Contains(body, []byte("stands by")), fmt.Sprintf("%d %s", status, body)
	})
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
		return status == http.StatusOK, fmt.Sprintf("%d %s", status, body)
	})
	took := time.Since(since)
	p.took = append(p.took, took)
	if took > takeOverTime {
		t.Errorf("the standby took over after %v, must within %v", took, takeOverTime)
	}
}

// again starts a server that has ended, as the standby.
func (p *pair) again(t *testing.T, n int) {
	t.Helper()
	p.nodes[n].launch(t)
	p.nodes[n].waitStandby(t)
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
		status, _ := in.readyz()
		return status == http.StatusOK
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
// one that is ready.
type front struct {
	l     net.Listener
	nodes []*instance
	group sync.WaitGroup

	mu    sync.Mutex
	addr  string
	conns map[net.Conn]bool
}

func newFront(t *testing.T, nodes []*instance) *front {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	f := &front{l: l, nodes: nodes, addr: nodes[0].addr, conns: map[net.Conn]bool{}}
	ctx, cancel := context.WithCancel(context.Background())
	f.group.Go(f.accept)
	for _, in := range nodes {
		f.group.Go(func() { f.follow(ctx, in) })
	}
	t.Cleanup(func() {
		cancel()
		l.Close()
		f.point("")
		f.group.Wait()
	})
	return f
}

func (f *front) url() string { return "http://" + f.l.Addr().String() }

// follow leads to a server once it is ready.
func (f *front) follow(ctx context.Context, in *instance) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if status, _ := in.readyz(); status == http.StatusOK {
			f.point(in.addr)
		}
	}
}

// point leads elsewhere, and cuts what led to where it was.
func (f *front) point(addr string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.addr == addr {
		return
	}
	f.addr = addr
	for c := range f.conns {
		c.Close()
	}
	clear(f.conns)
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
	addr := f.addr
	f.mu.Unlock()
	up, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return
	}
	defer up.Close()
	f.mu.Lock()
	stale := addr != f.addr
	f.conns[c], f.conns[up] = true, true
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
