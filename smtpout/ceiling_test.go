package smtpout

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
)

// pipeListener is a listener for use in a bubble.
type pipeListener struct {
	incoming chan net.Conn
	closed   chan struct{}
	close    func()
}

func newPipeListener() *pipeListener {
	p := &pipeListener{incoming: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

func (p *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-p.incoming:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipeListener) Close() error   { p.close(); return nil }
func (p *pipeListener) Addr() net.Addr { return nil }

func (p *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.incoming <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// limitedRelay is a relay for use in a bubble that allows a number of concurrent connections and
// replies slowly to each final dot.
type limitedRelay struct {
	*fake
	*Relay
	allowed atomic.Int32
	dot     time.Duration
	refuse  string // stage at which it refuses
	slow    time.Duration
	refused atomic.Int32
	good    sync.Map // numbers of the connections that it allowed
	lines   logLines
}

// logLines keeps what was logged.
type logLines struct {
	mu   sync.Mutex
	kept []string
}

func (l *logLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, string(b))
	return len(b), nil
}

func (l *logLines) of(level string) (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.kept {
		if strings.Contains(line, "level="+level) {
			out = append(out, line)
		}
	}
	return out
}

func startLimitedRelay(t *testing.T, n *limitedRelay, allowed, connections int) *limitedRelay {
	t.Helper()
	n.allowed.Store(int32(allowed))
	var opened atomic.Int32 // connections that are allowed now
	p := newPipeListener()
	n.fake = &fake{listener: p, ehlo: []string{"PIPELINING", "AUTH PLAIN"}, script: func(c int, verb, _ string) string {
		switch verb {
		case "BANNER":
			if n.refuse == "dial" || opened.Add(1) <= n.allowed.Load() {
				n.good.Store(c, true)
				time.Sleep(n.slow)
				break
			}
			opened.Add(-1)
			if n.refuse == "" {
				n.refused.Add(1)
				return "421 4.7.0 too many connections"
			}
		case "QUIT":
			opened.Add(-1)
		case "DOT":
			time.Sleep(n.dot)
		}
		if _, good := n.good.Load(c); !good && n.refuse == verb {
			n.refused.Add(1)
			if verb == "AUTH" {
				return "454 4.7.0 too many sessions"
			}
			return hangUp
		}
		return ""
	}}
	startFake(t, n.fake)
	cfg := relayurl.Relay{Region: "test", Host: "relay.test", TLS: relayurl.TLSOff, Connections: connections, User: "u", Password: "p"}
	r, err := NewRelay(cfg, Options{Builders: 4, Log: slog.New(slog.NewTextHandler(&n.lines, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	n.Relay = r
	r.dial = p.dial
	if n.refuse == "dial" {
		r.dial = func(ctx context.Context) (net.Conn, error) {
			if opened.Add(1) > n.allowed.Load() {
				opened.Add(-1)
				n.refused.Add(1)
				return nil, errors.New("connection refused")
			}
			return p.dial(ctx)
		}
	}
	t.Cleanup(r.Close)
	return n
}

// flood sends mail of two teams concurrently and returns how long it took.
func (n *limitedRelay) flood(t *testing.T, messages int) time.Duration {
	t.Helper()
	var work sync.WaitGroup
	start := time.Now()
	for i := range messages {
		work.Go(func() {
			m := testMessage(fmt.Sprintf("u%d@example.net", i))
			m.TeamID, m.Shared, m.Bulk = fmt.Sprint(i%2), true, i%5 == 0
			want(t, n.Send(t.Context(), m, authorizeAll), fmt.Sprintf("done/dot/250 u%d=accepted/250", i))
		})
	}
	work.Wait()
	return time.Since(start)
}

func (n *limitedRelay) limit() int { return n.pool.ceiling.limit() }

// With 8 configured connections and 3 allowed, mail is sent at the speed of 3.
func TestConnectionLimitIsLearned(t *testing.T) {
	for _, refuse := range []string{"", "dial", "BANNER", "EHLO", "AUTH"} {
		for _, slow := range []time.Duration{0, 2 * time.Second} {
			t.Run(fmt.Sprintf("%s/%s", refuse, slow), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := startLimitedRelay(t, &limitedRelay{refuse: refuse, slow: slow, dot: 50 * time.Millisecond}, 3, 8)
					took := n.flood(t, 200)
					// Each connection ends after at most a hundred messages.
					if best := 200 * 50 * time.Millisecond / 3; took > best*115/100+2*slow {
						t.Errorf("took %s, three connections take %s", took, best)
					}
					if refused := n.refused.Load(); refused < 1 || refused > 6 {
						t.Errorf("%d connections were refused", refused)
					}
					if n.limit() != 3 {
						t.Errorf("the limit is %d", n.limit())
					}
					said := n.lines.of("WARN")
					if len(said) != 1 || !strings.Contains(said[0], "limit=3") || !strings.Contains(said[0], "relay=test") {
						t.Errorf("logged %q", said)
					}
					if refuse == "" && len(said) > 0 && (!strings.Contains(said[0], "code=421") || !strings.Contains(said[0], `reply="too many connections"`)) {
						t.Errorf("logged %q", said)
					}
				})
			})
		}
	}
}

func TestNoWorkingConnectionIsTrouble(t *testing.T) {
	for _, refuse := range []string{"", "dial", "AUTH"} {
		synctest.Test(t, func(t *testing.T) {
			n := startLimitedRelay(t, &limitedRelay{refuse: refuse, dot: time.Second}, 0, 8)
			var work sync.WaitGroup
			for i := range 20 {
				work.Go(func() {
					m := testMessage("a@example.net")
					m.TeamID = fmt.Sprint(i % 2)
					res := n.Send(t.Context(), m, authorizeAll)
					if res.Kind != app.ResultTrouble || res.Stage != app.StageConnect && res.Stage != app.StageAuth || res.Reply.Text == "" {
						t.Errorf("got %s (%s)", summary(res), res.Reply.Text)
					}
				})
			}
			work.Wait()
			if refused := n.refused.Load(); refused != 20 || n.limit() != 8 || len(n.lines.of("WARN")) != 0 {
				t.Errorf("%d connections were refused, the limit is %d, logged %q", refused, n.limit(), n.lines.of("WARN"))
			}
			n.allowed.Store(8)
			if took := n.flood(t, 80); took > 12*time.Second {
				t.Errorf("80 messages took %s after the trouble", took)
			}
		})
	}
}

// The learned limit is dropped when no connection works.
func TestTroubleResetsConnectionLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startLimitedRelay(t, &limitedRelay{dot: time.Second}, 2, 8)
		if n.flood(t, 20); n.limit() != 2 {
			t.Fatalf("the limit is %d", n.limit())
		}
		time.Sleep(2 * idleLimit)
		n.allowed.Store(0)
		want(t, n.Send(t.Context(), testMessage("a@example.net"), authorizeAll), "trouble/connect/421")
		n.allowed.Store(8)
		if took := n.flood(t, 80); took > 12*time.Second {
			t.Errorf("80 messages took %s after the trouble", took)
		}
	})
}

func TestConnectionLimitIsRaised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startLimitedRelay(t, &limitedRelay{dot: time.Second}, 3, 8)
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		for i := range 20 {
			work.Go(func() {
				m := testMessage("a@example.net")
				m.TeamID, m.Shared = fmt.Sprint(i%2), i < 10
				for ctx.Err() == nil {
					want(t, n.Send(t.Context(), m, authorizeAll), "done/dot/250 a=accepted/250")
				}
			})
		}
		time.Sleep(30 * time.Second)
		first := n.refused.Load()
		for minute := range 5 {
			if n.limit() != 3 {
				t.Errorf("minute %d: the limit is %d", minute, n.limit())
			}
			time.Sleep(time.Minute)
		}
		// Connections are closed after 100 messages and opened again.
		if tried := n.refused.Load() - first; first > 6 || tried < 4 || tried > 5 {
			t.Errorf("%d connections were refused at first, %d in five minutes", first, tried)
		}
		if said := n.lines.of("WARN"); len(said) != 1 {
			t.Errorf("logged %q", said)
		}
		n.allowed.Store(8)
		refused := n.refused.Load()
		for limit := 4; limit <= 8; limit++ {
			time.Sleep(time.Minute + 2*time.Second)
			if n.limit() != limit {
				t.Errorf("the limit is %d, not %d", n.limit(), limit)
			}
		}
		cancel()
		work.Wait()
		if n.refused.Load() != refused {
			t.Errorf("%d more were refused", n.refused.Load()-refused)
		}
	})
}

// A broadcast message that waited longer stays behind the transactional message whose connection
// was refused.
func TestRefusedConnectionKeepsRank(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startLimitedRelay(t, &limitedRelay{refuse: "AUTH", dot: 10 * time.Second}, 1, 2)
		var order []string
		var work sync.WaitGroup
		send := func(name string, bulk bool) {
			work.Go(func() {
				m := testMessage("a@example.net")
				m.Bulk = bulk
				want(t, n.Send(t.Context(), m, func(context.Context, string) error {
					order = append(order, name) // serial: there is one connection
					return nil
				}), "done/dot/250 a=accepted/250")
			})
			synctest.Wait()
		}
		send("bulk 1", true)
		n.dialSlowly(time.Second)
		send("receipt 1", false)
		send("bulk 2", true)
		send("receipt 2", false)
		work.Wait()
		if got := fmt.Sprint(order); got != "[bulk 1 receipt 1 receipt 2 bulk 2]" {
			t.Errorf("sent in the order %s", got)
		}
		if n.refused.Load() != 1 {
			t.Errorf("%d connections were refused", n.refused.Load())
		}
	})
}

func (n *limitedRelay) dialSlowly(d time.Duration) {
	dial := n.dial
	n.dial = func(ctx context.Context) (net.Conn, error) {
		time.Sleep(d)
		return dial(ctx)
	}
}

// A Send that is canceled while it opens a connection proves nothing about the relay.
func TestCanceledOpeningLowersNoLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startLimitedRelay(t, &limitedRelay{dot: 10 * time.Second}, 8, 8)
		var work sync.WaitGroup
		work.Go(func() {
			want(t, n.Send(t.Context(), testMessage("a@example.net"), authorizeAll), "done/dot/250 a=accepted/250")
		})
		synctest.Wait()
		n.dialSlowly(2 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		want(t, n.Send(ctx, testMessage("b@example.net"), authorizeAll), "trouble/connect/0")
		work.Wait()
		if n.limit() != 8 || n.pool.slots.used != 0 || n.pool.busy != 0 || n.pool.opening != 0 {
			t.Errorf("the limit is %d; %d used, %d busy, %d being opened", n.limit(), n.pool.slots.used, n.pool.busy, n.pool.opening)
		}
	})
}

func TestWaitAfterRefusalEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startLimitedRelay(t, &limitedRelay{dot: 10 * time.Second}, 1, 8)
		var work sync.WaitGroup
		work.Go(func() {
			want(t, n.Send(t.Context(), testMessage("a@example.net"), authorizeAll), "done/dot/250 a=accepted/250")
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start := time.Now()
		want(t, n.Send(ctx, testMessage("b@example.net"), authorizeAll), "trouble/connect/0")
		if took := time.Since(start); took != 2*time.Second || n.refused.Load() != 1 {
			t.Errorf("ended after %s, %d connections were refused", took, n.refused.Load())
		}
		work.Wait()
	})
}

// Idle connections that the relay has closed don't count as working.
func TestUnreachableRelayWithIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startLimitedRelay(t, &limitedRelay{dot: time.Second}, 8, 8)
		n.flood(t, 8)
		n.allowed.Store(-8)
		n.mu.Lock()
		for _, c := range n.conns {
			c.Close()
		}
		n.mu.Unlock()
		synctest.Wait()
		want(t, n.Send(t.Context(), testMessage("a@example.net"), authorizeAll), "trouble/connect/421")
		if n.limit() != 8 {
			t.Errorf("the limit is %d", n.limit())
		}
	})
}
