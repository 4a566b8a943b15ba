package sdktest

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func queueLength() int { return cmp.Or(*queuedEmails, 10_000) }

// withoutBodies keeps what the judge needs of a message: a million whole ones take a gigabyte.
func withoutBodies(m message) []message {
	head, _, _ := bytes.Cut(m.Raw, []byte("\r\n\r\n"))
	var kept []byte
	for line := range bytes.Lines(head) {
		if bytes.HasPrefix(line, []byte("Subject:")) || bytes.HasPrefix(line, []byte("X-Mailer-Email-ID:")) {
			kept = append(kept, line...)
		}
	}
	m.Raw = append(kept, "\r\n"...)
	return []message{m}
}

// count returns the number of messages so far.
func (s *sink) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.msgs)
}

// fillQueue has n emails accepted, a hundred in a request.
func (l *load) fillQueue(t *testing.T, n int) {
	t.Helper()
	const batch = 100
	next := make(chan int)
	var wg sync.WaitGroup
	for range loadClients {
		wg.Go(func() {
			for from := range next {
				l.queueBatch(t, from, min(batch, n-from))
			}
		})
	}
	for from := 0; from < n; from += batch {
		next <- from
	}
	close(next)
	wg.Wait()
}

func (l *load) queueBatch(t *testing.T, from, n int) {
	bodies, marks := make([]any, n), make([]string, n)
	for i := range n {
		o := order{mark: fmt.Sprintf("queued-%d", from+i), key: fmt.Sprintf("queue-%d", from), to: []string{fmt.Sprintf("q%d@example.com", from+i)}}
		l.ledger.ask(o)
		bodies[i], marks[i] = map[string]any{"from": "a@example.test", "to": o.to, "subject": o.mark, "text": "One of many."}, o.mark
	}
	l.repeat(t, "a batch", func() bool {
		status, answer, err := l.api.try("POST", "/emails/batch", bodies, keyHeader(fmt.Sprintf("queue-%d", from))...)
		return l.ledger.answered(t, status, answer, err, marks...)
	})
}

// peak is the most memory that a server had so far, in megabytes.
func (in *instance) peak(t *testing.T) float64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", in.cmd.Process.Pid))
	must(t, err)
	for line := range strings.Lines(string(b)) {
		var kb float64
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kb); n == 1 {
			return kb / 1000
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

// probe is an email of another team that is sent while the queue is long.
type probe struct {
	mark      string
	answered  time.Time
	accepting time.Duration // how long the answer took
	arriving  time.Duration // from the answer to the relay
}

// probes sends emails of another team, a few a second, until done is closed.
func (l *load) probes(t *testing.T, done <-chan struct{}) (out []probe) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		mark := fmt.Sprintf("probe-%d", n)
		began := time.Now()
		l.single(t, order{mark: mark, key: mark, to: orderTo(mark).to}, map[string]any{"from": "b@other.test", "text": "a probe"})
		out = append(out, probe{mark: mark, answered: time.Now(), accepting: time.Since(began)})
		select {
		case <-tick.C:
		case <-done:
			return out
		case <-t.Context().Done():
			return out
		}
	}
}

// ofProbes matches messages of the other team.
func ofProbes(m *message) bool { return strings.HasPrefix(m.header("Subject"), "probe-") }

// landed records when each probe reached the relay.
func landed(t *testing.T, relay *sink, probes []probe) {
	t.Helper()
	at := map[string]time.Time{}
	for _, m := range relay.wait(t, len(probes), time.Minute, ofProbes) {
		at[m.header("Subject")] = m.At
	}
	for i := range probes {
		probes[i].arriving = max(0, at[probes[i].mark].Sub(probes[i].answered))
	}
}

// middleAndWorst returns the median and the maximum of a time of the probes.
func middleAndWorst(probes []probe, of func(probe) time.Duration) (middle, worst time.Duration) {
	var times []time.Duration
	for _, p := range probes {
		times = append(times, of(p))
	}
	slices.Sort(times)
	return times[len(times)/2], times[len(times)-1]
}

// queueStorm returns a server with two teams whose relay is down.
func queueStorm(t *testing.T, relay *sink) (s *loadTest, other *load) {
	t.Helper()
	in := startBare(t, "--relay", fmt.Sprintf("smtp://%s?tls=off&dkim=off&connections=%d&timeout=30s", relay.addr, 8),
		"--doubt-delay", "2s", "--rate-limit", "0", "--log-format", "json")
	s = newLoadTest(t, in, relay)
	in.run(t, "teams", "create", "Other")
	in.run(t, "domains", "add", "other.test", "--trust", "--team", "Other")
	return s, newLoad(client{in.url, in.newKey(t, "--team", "Other")})
}

// TestLongQueueDrains queues the first team's emails while the relay is down (-queued: how many),
// kills the server and starts it: it is ready soon, mail is sent immediately, answers stay fast,
// the other team's mail does not wait, and memory does not grow with the queue.
func TestLongQueueDrains(t *testing.T) {
	part(t, "kills", judged)
	t.Parallel()
	n := queueLength()
	relay := newSink(t, sinkOptions{})
	relay.set(scripted("", "421 4.3.2 closed for now"))
	s, other := queueStorm(t, relay)
	began := time.Now()
	s.fillQueue(t, n)
	t.Logf("%d queued in %.1f s; peak of memory %.0f MB", n, time.Since(began).Seconds(), s.in.peak(t))
	s.in.kill(t)
	relay.set(behaviour{pass: withoutBodies})
	began = time.Now()
	s.in.serve(t)
	ready := time.Since(began)
	drained := make(chan struct{})
	probed := make(chan []probe, 1)
	go func() { probed <- other.probes(t, drained) }()
	eventually(t, time.Minute, "the first message leaves", func() (bool, string) { return relay.count() > 0, "" })
	first := time.Since(began)
	eventually(t, time.Minute+time.Duration(n)*5*time.Millisecond, "the queue is empty", func() (bool, string) {
		return relay.count() >= n, fmt.Sprintf("%d of %d", relay.count(), n)
	})
	rate := float64(n) / time.Since(began).Seconds()
	close(drained)
	probes := <-probed
	landed(t, relay, probes)
	accepting, slowest := middleAndWorst(probes, func(p probe) time.Duration { return p.accepting })
	arriving, latest := middleAndWorst(probes, func(p probe) time.Duration { return p.arriving })
	peak := s.in.peak(t)
	t.Logf("ready after %.2f s, first message after %.2f s, %.0f messages a second; peak of memory %.0f MB", ready.Seconds(), first.Seconds(), rate, peak)
	t.Logf("meanwhile %d emails of another team: answered in %s (worst %s), at the relay after %s more (worst %s)", len(probes),
		accepting.Round(time.Millisecond), slowest.Round(time.Millisecond), arriving.Round(time.Millisecond), latest.Round(time.Millisecond))
	if *perf && (ready > 5*time.Second || first > 10*time.Second) {
		t.Error("the start takes too long")
	}
	if *perf && (accepting > 200*time.Millisecond || arriving > 2*time.Second) {
		t.Error("the other team waits behind the long queue")
	}
	if *perf && peak > 100 && n <= 100_000 {
		t.Errorf("memory: %.0f MB, at most 100", peak)
	}
	wantNoTeamProblems(t, s, other)
}

// wantNoTeamProblems judges two teams by their own mail.
func wantNoTeamProblems(t *testing.T, s *loadTest, other *load) {
	t.Helper()
	all := map[*load]evidence{s.load: s.ledger.gather(t, s.in, s.api, s.relay, time.Minute, 0), other: other.ledger.gather(t, s.in, other.api, s.relay, time.Minute, 0)}
	for l, e := range all {
		e.arrived = slices.DeleteFunc(e.arrived, func(m message) bool {
			return ofProbes(&m) != (l == other)
		})
		l.ledger.wantNoProblems(t, e)
	}
}

// TestControlOfALongQueue: one email is lost after the relay, one is doubled, and one arrives that
// nobody sent.
func TestControlOfALongQueue(t *testing.T) {
	part(t, "kills")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	relay.set(behaviour{pass: func(m message) []message {
		kept := withoutBodies(m)
		switch m.header("Subject") {
		case "queued-777":
			return nil
		case "queued-888":
			return append(kept, kept[0])
		case "queued-999":
			return append(replaced(kept[0], "queued-999", "queued-9999"), withoutBodies(m)...)
		}
		return kept
	}})
	s, _ := queueStorm(t, relay)
	s.fillQueue(t, 1000)
	s.ledger.wantProblem(t, s.ledger.gather(t, s.in, s.api, relay, 30*time.Second, 0), lost, doubled, phantom)
}
