package sdktest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

const (
	killClients     = 4
	killConnections = 4 // of the relay: bounds the doubts of one kill
)

// load is a handful of clients that send until they are stopped, each email
// under an Idempotency-Key that is repeated until it is answered 200.
type load struct {
	api      client
	ledger   *ledger
	progress chan struct{} // one token for each accepted email
}

// run sends with several clients until ctx ends; an email that was begun is
// not given up.
func (l *load) run(ctx context.Context, t *testing.T) (wait func()) {
	var wg sync.WaitGroup
	for c := range killClients {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				l.sendOne(t, fmt.Sprintf("mark-%d-%d", c, n))
			}
		})
	}
	return wg.Wait
}

// sendOne repeats one email until it is answered; while the server is down
// every try fails at once.
func (l *load) sendOne(t *testing.T, mark string) {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	o := order{mark: mark, key: mark, to: []string{mark + "@example.com"}, text: "under load " + mark}
	l.ledger.ask(o)
	body := map[string]any{"from": "a@example.test", "to": o.to, "subject": mark, "text": o.text}
	for range 2400 { // a minute
		status, b, err := l.api.try("POST", "/emails", body, "Idempotency-Key", o.key)
		if l.ledger.answered(t, status, b, err, mark) {
			l.advance()
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			return // the test has failed elsewhere
		}
	}
	t.Errorf("%s: not answered within a minute", mark)
}

func (l *load) advance() {
	select {
	case l.progress <- struct{}{}:
	default:
	}
}

// TestKillNineLosesNothing kills the server at random moments under load. At
// the end every email that was answered 200 has arrived, those that arrived
// twice are the doubtful ones, byte for byte the same, and no more of them
// than the relay has connections.
func TestKillNineLosesNothing(t *testing.T) {
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	relay.set(behaviour{dotDelay: 15 * time.Millisecond}) // wide enough to be hit
	in := start(t, "--relay", fmt.Sprintf("smtp://%s?tls=off&connections=%d&timeout=5s", relay.addr, killConnections),
		"--doubt-delay", "2s", "--rate-limit", "0", "--log-format", "json")
	in.addDomain(t, "example.test")
	l := &load{api: client{in.url, in.newKey(t)}, ledger: newLedger(), progress: make(chan struct{}, 1)}
	ctx, stop := context.WithCancel(t.Context())
	wait := l.run(ctx, t)
	t.Cleanup(func() { stop(); wait() })
	rounds := killCount()
	for range rounds {
		l.waitAccepted(t, 15+rand.IntN(40))
		afterRandom(80 * time.Millisecond)
		in.kill(t)
		in.serve(t)
	}
	l.waitAccepted(t, 20)
	stop()
	wait()
	t.Logf("%d kills", rounds)
	l.ledger.acquit(t, l.ledger.gather(t, in, l.api, relay, 2*time.Minute, killLimit(rounds)))
}

func killCount() int {
	switch {
	case *killRounds > 0:
		return *killRounds
	case testing.Short():
		return 3
	default:
		return 5
	}
}

// waitAccepted returns after n more emails were accepted.
func (l *load) waitAccepted(t *testing.T, n int) {
	t.Helper()
	deadline := time.After(time.Minute)
	for i := range n {
		select {
		case <-l.progress:
		case <-deadline:
			t.Fatalf("%d of %d emails accepted within a minute", i, n)
		}
	}
}

// afterRandom waits up to limit, so that a kill meets the server at any step.
func afterRandom(limit time.Duration) {
	<-time.After(rand.N(limit))
}

// killLimit is how many emails may be repeated, and listed as doubts, at most.
func killLimit(rounds int) int { return rounds * killConnections }
