package sdktest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// stage is the moment of a connection at which a dying relay dies.
type stage string

const (
	healthy    stage = "" // not at all
	closesLate stage = "after the reply to its fifth dot"
	noBanner   stage = "before the banner"
	afterHello stage = "after EHLO"
	afterMail  stage = "after MAIL"
	afterRcpt  stage = "after RCPT"
	afterData  stage = "after 354"
	midBody    stage = "in the middle of the body"
	lostReply  stage = "after the dot, before its reply"
	afterReply stage = "after the reply to the dot"
	stalled    stage = "silent after MAIL"
	falseReply stage = "takes the message, and loses it" // a control
)

var failureStages = []stage{noBanner, afterHello, afterMail, afterRcpt, afterData, midBody, lostReply, afterReply, stalled}

// flakyRelay is a proxy between the server and a sink that fails from time to time.
type flakyRelay struct {
	addr, behind string
	nextStage    func(*flakyRelay) stage // of the next connection; m.mu is held

	mu       sync.Mutex
	l        net.Listener // nil: it is down
	open     map[net.Conn]bool
	dials    []time.Time
	failures map[stage]int
	taken    int // messages since a connection was to die
	served   sync.WaitGroup
}

func newFlakyRelay(t *testing.T, behind string, plan func(*flakyRelay) stage) *flakyRelay {
	t.Helper()
	m := &flakyRelay{addr: freeAddr(t), behind: behind, nextStage: plan, open: map[net.Conn]bool{}, failures: map[stage]int{}}
	m.start(t)
	t.Cleanup(func() { m.close(); m.served.Wait() })
	return m
}

// start listens, as a relay that was started again.
func (m *flakyRelay) start(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", m.addr)
	must(t, err)
	m.mu.Lock()
	m.l = l
	m.mu.Unlock()
	m.served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			m.mu.Lock()
			s := m.nextStage(m)
			m.dials = append(m.dials, time.Now())
			m.mu.Unlock()
			m.served.Go(func() { m.serve(c, s) })
		}
	})
}

// close ends the listener and all connections, as a relay that was killed.
func (m *flakyRelay) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.l != nil {
		m.l.Close()
		m.l = nil
	}
	for c := range m.open {
		c.Close()
	}
}

// setStage has all connections from now on die at s.
func (m *flakyRelay) setStage(s stage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nextStage = func(*flakyRelay) stage { return s }
}

// rarestStage returns the stage at which it failed least often, after some messages passed since
// the last failure: if a relay keeps failing, the server retracts even transactions before the
// final dot.
func (m *flakyRelay) rarestStage() stage {
	if m.taken < closesAfter {
		return closesLate
	}
	m.taken = 0
	return slices.MinFunc(failureStages, func(a, b stage) int { return m.failures[a] - m.failures[b] })
}

// dialled returns the times of all connections.
func (m *flakyRelay) dialled() []time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.dials)
}

// failuresAt is how often it died at a stage.
func (m *flakyRelay) failuresAt(s stage) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failures[s]
}

func (m *flakyRelay) took() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.taken++
}

func (m *flakyRelay) hold(c net.Conn) func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open[c] = true
	return func() {
		m.mu.Lock()
		delete(m.open, c)
		m.mu.Unlock()
		c.Close()
	}
}

// serve carries one connection until it ends, or dies at s.
func (m *flakyRelay) serve(c net.Conn, s stage) {
	defer m.hold(c)()
	x := &smtpTap{m: m, down: c, stage: s}
	if s == noBanner {
		x.fail()
		return
	}
	up, err := net.Dial("tcp", m.behind)
	if err != nil {
		return
	}
	defer m.hold(up)()
	x.up = up
	var back sync.WaitGroup
	back.Go(func() { x.replies(); c.Close() })
	x.commands()
	up.Close()
	back.Wait()
}

// smtpTap is one connection through a mortal relay.
type smtpTap struct {
	m     *flakyRelay
	down  net.Conn // to the service
	up    net.Conn // to the sink
	stage stage
	once  sync.Once

	mu    sync.Mutex
	verbs []string // commands whose replies have not arrived
	dots  int      // replied to; of the goroutine of replies alone
}

// closesAfter is how many messages a connection carries that is tired.
const closesAfter = 5

// fail ends the connection, and notes it.
func (x *smtpTap) fail() {
	x.once.Do(func() {
		x.m.mu.Lock()
		x.m.failures[x.stage]++
		x.m.mu.Unlock()
	})
	x.down.Close()
	if x.up != nil {
		x.up.Close()
	}
}

func (x *smtpTap) asked(verb string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.verbs = append(x.verbs, verb)
}

// commands carries what the service says.
func (x *smtpTap) commands() {
	in := bufio.NewReader(x.down)
	x.asked("banner")
	body, lines := false, 0
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		verb := strings.ToUpper(line[:min(4, len(strings.TrimSpace(line)))])
		switch {
		case body && line == ".\r\n":
			body = false
			if x.stage == falseReply {
				x.fail() // the reply was sent before: see replies
				return
			}
			x.asked(dotVerb)
		case body:
			if lines++; lines == 6 && x.stage == midBody {
				x.fail()
				return
			}
		default:
			body, lines = verb == "DATA", 0 // the service waits for 354
			x.asked(verb)
		}
		if _, err := io.WriteString(x.up, line); err != nil {
			return
		}
	}
}

// replies carries what the sink says, and dies after, or before, the reply that its
// stage names.
func (x *smtpTap) replies() {
	dies := map[stage]string{afterHello: "EHLO", afterMail: "MAIL", afterRcpt: "RCPT", afterData: "DATA", afterReply: dotVerb, lostReply: dotVerb, stalled: "MAIL"}
	in := bufio.NewReader(x.up)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		last := len(line) < 4 || line[3] == ' '
		verb := x.next(last)
		if last && verb == dotVerb {
			x.dots++
			x.m.took()
		}
		dying := last && verb != "" && dies[x.stage] == verb || x.dots == closesAfter && x.stage == closesLate
		switch {
		case dying && x.stage == lostReply:
			x.fail()
			return
		case dying && x.stage == stalled:
			_, _ = io.Copy(io.Discard, in) // until the service gives up
			x.fail()
			return
		}
		if _, err := io.WriteString(x.down, line); err != nil {
			return
		}
		if x.stage == falseReply && verb == "DATA" {
			if _, err := io.WriteString(x.down, "250 2.0.0 taken\r\n"); err != nil {
				return
			}
		}
		if dying {
			x.fail()
			return
		}
	}
}

// next is the command that a reply is to; it is over with its last line.
func (x *smtpTap) next(last bool) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.verbs) == 0 {
		return ""
	}
	verb := x.verbs[0]
	if last {
		x.verbs = x.verbs[1:]
	}
	return verb
}

// throughFlakyRelay returns a load test whose relay is a flakyRelay.
func throughFlakyRelay(t *testing.T, plan func(*flakyRelay) stage) (*loadTest, *flakyRelay) {
	t.Helper()
	relay := newSink(t, sinkOptions{})
	m := newFlakyRelay(t, relay.addr, plan)
	in := start(t, "--relay", fmt.Sprintf("smtp://%s?tls=off&connections=%d&timeout=1s", m.addr, killConnections),
		"--doubt-delay", "2s", "--rate-limit", "0", "--log-format", "json")
	return newLoadTest(t, in, relay), m
}

// TestRelayFailsAtEveryStage: connections fail at each stage in turn while mail arrives.
// Connections between failures carry a few messages each, so that the next failure is due soon on
// any machine.
func TestRelayFailsAtEveryStage(t *testing.T) {
	part(t, "relays")
	t.Parallel()
	s, m := throughFlakyRelay(t, (*flakyRelay).rarestStage)
	began := time.Now()
	stop := s.steady(t, 30*time.Millisecond)
	eventually(t, 4*time.Minute, "the relay died at each stage twice", func() (bool, string) {
		for _, d := range failureStages {
			if n := m.failuresAt(d); n < 2 {
				return false, fmt.Sprint(d, ": ", n)
			}
		}
		return true, ""
	})
	stop()
	m.setStage(healthy)
	t.Logf("died after %v: %v", time.Since(began).Round(time.Second), m.failures)
	s.ledger.wantNoProblems(t, s.ledger.gather(t, s.in, s.api, s.relay, 3*time.Minute, len(m.dialled())))
}

// TestRelayFlaps kills the relay and starts it again, again and
// again, then leaves it down for a while: it is not hammered with connections.
func TestRelayFlaps(t *testing.T) {
	part(t, "relays")
	t.Parallel()
	s, m := throughFlakyRelay(t, func(*flakyRelay) stage { return healthy })
	stop := s.steady(t, 20*time.Millisecond)
	const flaps = 6
	for range flaps {
		count := s.relay.count()
		eventually(t, recovery, "mail flows", func() (bool, string) { return s.relay.count() > count+10, "" })
		afterRandom(50 * time.Millisecond)
		m.close()
		afterRandom(400 * time.Millisecond)
		m.start(t)
	}
	m.setStage(noBanner)
	m.close()
	m.start(t)
	dead := time.Now()
	pass, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	<-pass.Done()
	late := slices.DeleteFunc(m.dialled(), func(at time.Time) bool { return at.Before(dead) })
	// Those of all workers at first, then after 1, 2 and 4 seconds.
	if most := 2*(killConnections+runtime.NumCPU()) + 4; len(late) == 0 || len(late) > most {
		t.Errorf("%d connections in eight seconds to a relay that is down, at most %d", len(late), most)
	}
	m.setStage(healthy)
	stop()
	s.ledger.wantNoProblems(t, s.ledger.gather(t, s.in, s.api, s.relay, 2*time.Minute, (flaps+1)*killConnections))
}

// TestControlOfFlakyRelay: it says that it took messages, and dies with them.
func TestControlOfFlakyRelay(t *testing.T) {
	part(t, "relays")
	t.Parallel()
	s, m := throughFlakyRelay(t, func(m *flakyRelay) stage {
		if len(m.dials)%4 == 1 {
			return falseReply
		}
		return closesLate
	})
	stop := s.steady(t, 10*time.Millisecond)
	eventually(t, time.Minute, "it lied", func() (bool, string) { return m.failuresAt(falseReply) > 1, "" })
	stop()
	s.ledger.wantProblem(t, s.ledger.gather(t, s.in, s.api, s.relay, 30*time.Second, len(m.dialled())), lost)
}
