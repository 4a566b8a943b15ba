package sdktest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// used is how many messages of the day are counted at the relay.
func (p *pair) used(t *testing.T) string {
	t.Helper()
	return p.pg.ask(t, "mailer", `SELECT coalesce(sum(sent), 0) FROM relay_usage`)
}

// flood has both servers accept n emails each.
func (p *pair) flood(t *testing.T, n int) {
	t.Helper()
	for at := range p.nodes {
		var bodies []any
		for i := range n {
			bodies = append(bodies, map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": fmt.Sprint(at, "-", i), "text": "x"})
		}
		for part := range slices.Chunk(bodies, 100) {
			p.untilAt(t, p.at(at), "batch", "POST", "/emails/batch", part, http.StatusOK)
		}
	}
}

// anew kills a server and starts it immediately, before the other one has missed it.
func (p *pair) anew(t *testing.T, n int) {
	t.Helper()
	p.nodes[n].kill(t)
	p.nodes[n].serve(t)
	p.doubts += killConnections
}

// waitArrived waits until the relays have got n messages.
func (p *pair) waitArrived(t *testing.T, n int, within time.Duration) {
	t.Helper()
	eventually(t, within, fmt.Sprintf("%d arrive", n), func() (bool, string) { return p.arrived() >= n, fmt.Sprint(p.arrived()) })
}

// TestPostgresSharedDailyLimit sends mail to two servers for a relay with a daily limit, and ends
// one of them meanwhile. Exactly the limit is sent.
func TestPostgresSharedDailyLimit(t *testing.T) {
	part(t, "postgres")
	t.Parallel()
	const limit, emails = 90, 100
	for how, end := range map[string]func(p *pair, t *testing.T, n int){
		"killed": func(p *pair, t *testing.T, n int) {
			p.nodes[n].kill(t)
			p.waitMissed(t, 1-n)
			p.doubts += killConnections
			p.waitArrived(t, 2*limit/3, startTimeout)
			p.nodes[n].serve(t)
		},
		"killed and started again": (*pair).anew,
		"stopped": func(p *pair, t *testing.T, n int) {
			p.nodes[n].stop(t)
			p.waitArrived(t, 2*limit/3, startTimeout)
			p.nodes[n].serve(t)
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			p := &pair{shares: true}
			onOne(t, p, fmt.Sprintf("&daily=%d&rate=8", limit))
			p.flood(t, emails)
			p.waitArrived(t, limit/4, startTimeout)
			n, led := p.victim(t, rand.IntN(2))
			by := [2]int{p.relays[n].count(), p.relays[1-n].count()}
			end(p, t, n)
			eventually(t, startTimeout, "the day is used up", func() (bool, string) { used := p.used(t); return used == fmt.Sprint(limit), used })
			after(t, 3*time.Second)
			if used, got := p.used(t), p.arrived(); used != fmt.Sprint(limit) || got > limit || got < limit-p.doubts {
				t.Errorf("%s are counted and %d arrived at a relay that takes %d a day", used, got, limit)
			}
			t.Logf("the one that was %s (it led: %v) had sent %d, the other one %d by then; %d arrived of %d", how, led, by[0], by[1], p.arrived(), limit)
			if by[0] == 0 || by[1] == 0 {
				t.Error("one of them sent nothing")
			}
		})
	}
}

// TestPostgresSharedRate has two servers send through a relay with a
// rate, kills either and starts it again.
func TestPostgresSharedRate(t *testing.T) {
	part(t, "postgres", judged)
	t.Parallel()
	const rate, emails, late = 10, 120, 50 * time.Millisecond
	p := &pair{shares: true}
	onOne(t, p, fmt.Sprintf("&rate=%d", rate))
	var mu sync.Mutex
	var begun []time.Time
	for _, relay := range p.relays {
		relay.set(behaviour{mail: func(string) error {
			mu.Lock()
			defer mu.Unlock()
			begun = append(begun, time.Now())
			return nil
		}})
	}
	p.flood(t, emails)
	began := time.Now()
	for round := range 2 {
		p.waitArrived(t, p.arrived()+3*rate, startTimeout)
		n, _ := p.victim(t, round)
		p.anew(t, n)
	}
	p.waitArrived(t, 2*emails, time.Minute)
	took := time.Since(began)
	mu.Lock()
	defer mu.Unlock()
	slices.SortFunc(begun, time.Time.Compare)
	// What waits for its time is begun a little after it, now and then.
	most := busiest(begun, time.Second-late)
	t.Logf("%d within %v, at most %d within a second, %d within five, by %d and %d", len(begun), took.Round(time.Millisecond), most, busiest(begun, 5*time.Second), p.relays[0].count(), p.relays[1].count())
	// A busy machine may bunch mail, so only the total time counts.
	if least := time.Duration(len(begun)-2*rate) * time.Second / rate; begun[len(begun)-1].Sub(begun[0]) < least {
		t.Errorf("%d were begun within %v, the rate is %d", len(begun), begun[len(begun)-1].Sub(begun[0]), rate)
	}
	if *perf && most > rate*3/2 {
		t.Errorf("%d were begun within a second, the rate is %d", most, rate)
	}
	if n := busiest(begun, 5*time.Second); *perf && n > 5*rate+rate/2 {
		t.Errorf("%d were begun within five seconds, the rate is %d", n, rate)
	}
	for n, relay := range p.relays {
		if relay.count() < emails/4 {
			t.Errorf("server %d sent %d", n, relay.count())
		}
	}
}
