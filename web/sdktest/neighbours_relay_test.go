package sdktest

import (
	"fmt"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The tests of this file have two teams on a relay that fails for both, or a server that crashes.

// TestNeighboursRelayThatRefusesAllRecipients: Postfix with wrong mynetworks.
func TestNeighboursRelayThatRefusesAllRecipients(t *testing.T) {
	part(t, "neighbours")
	t.Parallel()
	n := newNeighbours(t, newSink(t, sinkOptions{}), "")
	n.relay.set(behaviour{rcpt: func(to string) error {
		return says(554, [3]int{5, 7, 1}, "<"+to+">: Relay access denied")
	}})
	n.bad.send(t, "theirs", 100)
	n.well.send(t, "well", 100)
	n.logged(t, "WARN", "relay can't be used", "code=554", "enhanced_code=5.7.1")
	if !regexp.MustCompile(`relay can't be used.* waiting=[12]\d\d `).Match(n.in.log(t)) {
		t.Error("the log does not say how much waits")
	}
	after(t, 5*time.Second)
	for _, b := range []*neighbour{n.bad, n.well} {
		n.nothingGivenUp(t, b)
	}
	n.relay.set(behaviour{})
	// Emails that were refused before the cause was known are retried after 5 minutes.
	const early, all = 10, 200
	n.relay.wait(t, all-early, time.Minute, func(*message) bool { return true })
	for _, b := range []*neighbour{n.bad, n.well} {
		n.nothingGivenUp(t, b)
	}
	if *killRounds > 0 {
		n.settle(t, 6*time.Minute, 0)
	}
	if got := len(n.relay.messages()); got > all {
		t.Errorf("%d messages arrived of %d", got, all)
	}
}

// TestNeighboursRelayOfThreeConnections: the relay greets a fourth connection with 421.
func TestNeighboursRelayOfThreeConnections(t *testing.T) {
	part(t, "neighbours", judged)
	t.Parallel()
	const mails = 150
	rates := map[int]float64{}
	var mu sync.Mutex
	t.Run("both", func(t *testing.T) {
		for _, connections := range []int{3, 8} {
			t.Run(fmt.Sprint(connections), func(t *testing.T) {
				t.Parallel()
				n := newNeighbours(t, newSink(t, sinkOptions{}), fmt.Sprint("&connections=", connections))
				n.relay.set(behaviour{most: 3, dotDelay: 50 * time.Millisecond})
				n.bad.send(t, "theirs", mails)
				n.well.send(t, "well", mails)
				n.settle(t, time.Minute, 0)
				times := n.relay.arrivals(func(*message) bool { return true })
				if n.lines(t, "relay can't be used") > 0 {
					t.Error("the log says that the relay can't be used")
				}
				mu.Lock()
				defer mu.Unlock()
				rates[connections] = float64(len(times)) / times[len(times)-1].Sub(times[0]).Seconds()
			})
		}
	})
	t.Logf("messages a second: %.1f with connections=3, %.1f with 8", rates[3], rates[8])
	if *perf && rates[8] < 0.7*rates[3] {
		t.Errorf("%.1f messages a second with connections=8, %.1f with 3", rates[8], rates[3])
	}
}

// TestNeighboursRelayThatIsAway: nothing listens for a while.
func TestNeighboursRelayThatIsAway(t *testing.T) {
	part(t, "neighbours")
	t.Parallel()
	addr := freeAddr(t)
	n := newNeighbours(t, &sink{addr: addr}, "")
	n.bad.send(t, "theirs", 30)
	n.well.send(t, "well", 30)
	after(t, 5*time.Second)
	n.logged(t, "WARN", "relay can't be used", "waiting=60 ", "refused")
	n.relay = newSink(t, sinkOptions{addr: addr})
	n.settle(t, recovery, 0)
	if got := n.lines(t, "WARN"); got > 10 {
		t.Errorf("%d warnings in a few seconds", got)
	}
}

// TestNeighboursCrashesInARow: five kills, each in the midst of slow answers.
func TestNeighboursCrashesInARow(t *testing.T) {
	part(t, "neighbours", judged)
	t.Parallel()
	const crashes, connections = 5, 4
	n := newNeighbours(t, newSink(t, sinkOptions{}), fmt.Sprint("&connections=", connections))
	var begun atomic.Int64
	n.relay.set(behaviour{dotDelay: 700 * time.Millisecond, rcpt: func(string) error {
		begun.Add(1)
		after(t, 700*time.Millisecond)
		return nil
	}})
	n.bad.send(t, "theirs", 40)
	n.well.send(t, "well", 40)
	for range crashes {
		before := begun.Load()
		eventually(t, time.Minute, "mail is at work", func() (bool, string) {
			return begun.Load() >= before+connections, fmt.Sprint(begun.Load()-before, " recipients")
		})
		afterRandom(1200 * time.Millisecond)
		n.in.kill(t)
		n.in.serve(t)
	}
	began := time.Now()
	n.relay.set(behaviour{})
	n.settle(t, time.Minute, crashes*connections)
	times := n.relay.arrivals(func(*message) bool { return true })
	late := 0
	for _, at := range times {
		if at.Sub(began) > 5*time.Second {
			late++
		}
	}
	t.Logf("all had left %s after the last start, all but %d within 5 s", times[len(times)-1].Sub(began).Round(time.Millisecond), late)
	if *perf && late > crashes { // at each crash one at most may be what ends the process
		t.Errorf("%d of %d waited for more than 5 s", late, len(times))
	}
}
