package sdktest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// The tests of this file have two teams on one relay: whatever one team does, or the relay does to
// it, the other's mail is sent normally.

const otherTeamsDomain = "bteam.test"

// neighbour is a team and its requests.
type neighbour struct {
	*load
	from string
}

// neighbours are a server, its relay and two teams; the team well causes no trouble.
type neighbours struct {
	in        *instance
	relay     *sink
	well, bad *neighbour
	steady    int // emails of the first team so far
}

// newNeighbours starts a server; query holds options of the relay's URL.
func newNeighbours(t *testing.T, relay *sink, query string, args ...string) *neighbours {
	t.Helper()
	in := startBare(t, append([]string{"--relay", "smtp://" + relay.addr + "?tls=off&timeout=10s" + query,
		"--doubt-delay", "2s", "--rate-limit", "0"}, args...)...)
	in.addDomain(t, "ateam.test")
	in.run(t, "teams", "create", "Bad")
	in.run(t, "domains", "add", otherTeamsDomain, "--trust", "--team", "Bad")
	return &neighbours{in: in, relay: relay,
		well: &neighbour{newLoad(client{in.url, in.newKey(t)}), "a@ateam.test"},
		bad:  &neighbour{newLoad(client{in.url, in.newKey(t, "--team", "Bad")}), "x@" + otherTeamsDomain}}
}

// send has n emails accepted, name-0 and so on, in batches.
func (b *neighbour) send(t *testing.T, name string, n int) {
	t.Helper()
	for first := 0; first < n; first += 100 {
		var bodies []any
		var marks []string
		for i := first; i < min(n, first+100); i++ {
			o := orderTo(fmt.Sprintf("%s-%d", name, i))
			o.key = fmt.Sprint(name, " from ", first)
			b.ledger.ask(o)
			bodies, marks = append(bodies, o.body(map[string]any{"from": b.from})), append(marks, o.mark)
		}
		b.repeat(t, marks[0], func() bool {
			status, answer, err := b.api.try("POST", "/emails/batch", bodies, keyHeader(fmt.Sprint(name, " from ", first))...)
			return b.took(t, status, answer, err, marks...)
		})
	}
}

// arrived counts the messages of a team that are at the relay.
func (n *neighbours) arrived(b *neighbour) int {
	return len(n.relay.matching(func(m *message) bool { return b.sent(m) }))
}

func (b *neighbour) sent(m *message) bool { return strings.Contains(m.header("From"), b.from) }

// flow sends ten emails a second of the first team for a while, and returns the sorted times from
// request to relay. It fails if one does not arrive in time.
func (n *neighbours) flow(t *testing.T, span time.Duration) []time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	var mu sync.Mutex
	asked := map[string]time.Time{}
	var wg sync.WaitGroup
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		mark := fmt.Sprintf("well-%d", n.steady)
		n.steady++
		wg.Go(func() {
			mu.Lock()
			asked[mark] = time.Now()
			mu.Unlock()
			n.well.single(t, orderTo(mark), map[string]any{"from": n.well.from})
		})
		<-tick.C
	}
	wg.Wait()
	var took []time.Duration
	for _, m := range n.relay.wait(t, len(asked), time.Minute, func(m *message) bool { return !asked[m.header("Subject")].IsZero() }) {
		took = append(took, m.At.Sub(asked[m.header("Subject")]))
	}
	slices.Sort(took)
	t.Logf("%d emails of the other team: p50 %s, p99 %s, worst %s", len(took), took[len(took)/2].Round(time.Millisecond),
		p99(took).Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
	return took
}

// p99 is what at most one of a hundred exceeds.
func p99(sorted []time.Duration) time.Duration { return sorted[(len(sorted)*99+99)/100-1] }

// undisturbed is flow, and fails the test where its p99 is above a limit, if that is judged.
func (n *neighbours) undisturbed(t *testing.T, span, limit time.Duration) {
	t.Helper()
	if took := n.flow(t, span); *perf && p99(took) > limit {
		t.Errorf("p99 of the other team is %s, at most %s", p99(took), limit)
	}
}

// settle waits until everything was sent, and judges both teams by their own results. Doubts are
// bounded by most.
func (n *neighbours) settle(t *testing.T, within time.Duration, most int) {
	t.Helper()
	for _, b := range []*neighbour{n.well, n.bad} {
		e := b.ledger.gather(t, n.in, b.api, n.relay, within, most)
		e.arrived = slices.DeleteFunc(e.arrived, func(m message) bool { return !b.sent(&m) })
		b.ledger.wantNoProblems(t, e)
	}
	n.wantNoLeak(t)
}

// wantNoLeak fails if an answer to the first team contains data of the other.
func (n *neighbours) wantNoLeak(t *testing.T) {
	t.Helper()
	paths := []string{"/emails?limit=100", "/domains", "/usage", "/suppressions", "/webhooks", "/deliverability", "/broadcasts"}
	for mark, o := range n.well.ledger.orders {
		if strings.HasSuffix(mark, "0") {
			paths = append(paths, "/emails/"+o.id, "/emails/"+o.id+"/events?limit=100")
		}
	}
	for _, path := range paths {
		if status, b := n.well.api.do(t, "GET", path, nil); bytes.Contains(b, []byte(otherTeamsDomain)) || bytes.Contains(b, []byte("theirs-")) {
			t.Errorf("GET %s shows the other team: %d %s", path, status, b)
		}
	}
}

// nothingGivenUp fails the test if mail of a team has ended though it did not leave.
func (n *neighbours) nothingGivenUp(t *testing.T, b *neighbour) {
	t.Helper()
	ends := map[string]int{}
	for _, last := range b.api.states(t) {
		ends[last]++
	}
	if ends["bounced"]+ends["failed"]+ends["suppressed"] > 0 {
		t.Errorf("mail ended though nothing is wrong with it: %v", ends)
	}
}

// logged waits for a log line that contains all words.
func (n *neighbours) logged(t *testing.T, words ...string) {
	t.Helper()
	eventually(t, time.Minute, fmt.Sprintf("a line of the log with %q", words), func() (bool, string) {
		for line := range bytes.Lines(n.in.log(t)) {
			if !slices.ContainsFunc(words, func(w string) bool { return !bytes.Contains(line, []byte(w)) }) {
				return true, ""
			}
		}
		return false, "none"
	})
}

// lines counts log lines that contain a word.
func (n *neighbours) lines(t *testing.T, word string) (count int) {
	t.Helper()
	for line := range bytes.Lines(n.in.log(t)) {
		if bytes.Contains(line, []byte(word)) {
			count++
		}
	}
	return count
}

// ofOther refuses the second team's mail and accepts the rest.
func ofOther(answer error) func(*smtp.Conn, *message) (bool, error) {
	return func(_ *smtp.Conn, m *message) (bool, error) {
		if strings.Contains(m.header("From"), otherTeamsDomain) {
			return false, answer
		}
		return true, nil
	}
}

func says(code int, enhanced [3]int, words string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode(enhanced), Message: words}
}

var notVerified = says(554, [3]int{5, 7, 1}, "Message rejected: Email address is not verified. The following identities failed the check: x@"+otherTeamsDomain)

// TestNeighboursDomainThatIsNotVerified: the relay refuses one team's domain.
func TestNeighboursDomainThatIsNotVerified(t *testing.T) {
	part(t, "neighbours", judged)
	t.Parallel()
	troubles := map[string]behaviour{
		"554 at the dot": {judge: ofOther(notVerified)},
		"554 in other words each time": {judge: func(_ *smtp.Conn, m *message) (bool, error) {
			if !strings.Contains(m.header("From"), otherTeamsDomain) {
				return true, nil
			}
			name := []byte(m.header("Subject"))
			for i := range name {
				name[i] = 'a' + name[i]%26
			}
			return false, says(554, [3]int{5, 7, 1}, "refused as "+string(name))
		}},
		"550 at MAIL": {mail: func(from string) error {
			if strings.HasSuffix(from, otherTeamsDomain) {
				return says(550, [3]int{5, 7, 1}, "sender not allowed")
			}
			return nil
		}},
	}
	for name, broken := range troubles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNeighbours(t, newSink(t, sinkOptions{}), "")
			n.relay.set(broken)
			n.bad.send(t, "theirs", 30)
			n.undisturbed(t, 12*time.Second, 2*time.Second)
			n.nothingGivenUp(t, n.bad)
			n.logged(t, "WARN", "takes nothing of a sender's domain", otherTeamsDomain, "waiting=")
			if n.lines(t, "relay can't be used") > 0 {
				t.Error("the log says that the relay can't be used")
			}
			n.relay.set(behaviour{})
			n.settle(t, time.Minute, 0)
			n.logged(t, "INFO", "takes mail of the sender again", otherTeamsDomain)
		})
	}
}

// TestNeighboursRelayClosesAfterRefusals: Postfix's smtpd_hard_error_limit.
func TestNeighboursRelayClosesAfterRefusals(t *testing.T) {
	part(t, "neighbours", judged)
	t.Parallel()
	n := newNeighbours(t, newSink(t, sinkOptions{}), "")
	n.relay.set(behaviour{patience: 20, rcpt: func(to string) error {
		if strings.HasPrefix(to, "nobody") {
			return says(550, [3]int{5, 1, 1}, "<"+to+">: no such user")
		}
		return nil
	}})
	const mails, wrong = 10, 45
	var ids []string
	for e := range mails {
		var to []string
		for i := range wrong {
			to = append(to, fmt.Sprintf("nobody-%d-%d@example.com", e, i))
		}
		ids = append(ids, n.bad.api.send(t, map[string]any{"from": n.bad.from, "to": append(to, fmt.Sprintf("good-%d@example.com", e)), "subject": fmt.Sprint("theirs-", e), "text": "x"}))
	}
	n.undisturbed(t, 10*time.Second, time.Second)
	n.relay.wait(t, mails, time.Minute, n.bad.sent)
	for _, id := range ids {
		eventually(t, time.Minute, "45 bounced and one sent", func() (bool, string) {
			count := map[string]int{}
			for _, e := range n.bad.api.events(t, id) {
				count[e.Type]++
			}
			return count["bounced"] == wrong && count["sent"] == 1, fmt.Sprint(count)
		})
	}
	if got := n.arrived(n.bad); got != mails {
		t.Errorf("%d messages arrived of %d", got, mails)
	}
	n.wantNoLeak(t)
}

// TestNeighboursShareTheRate: one email does not wait for another team's queue.
func TestNeighboursShareTheRate(t *testing.T) {
	part(t, "neighbours", judged)
	t.Parallel()
	n := newNeighbours(t, newSink(t, sinkOptions{}), "&rate=2")
	n.bad.send(t, "theirs", 300)
	n.relay.wait(t, 2, time.Minute, n.bad.sent)
	for i := range 4 {
		if d := n.one(t, fmt.Sprint("well-", i)); *perf && d > 2500*time.Millisecond {
			t.Errorf("one email waited %s for a queue of 300", d)
		}
	}
	n.nothingGivenUp(t, n.bad)
	n.wantNoLeak(t)
}

// one sends an email of the first team and returns how long it took to the relay.
func (n *neighbours) one(t *testing.T, mark string) time.Duration {
	t.Helper()
	began := time.Now()
	n.well.single(t, orderTo(mark), map[string]any{"from": n.well.from})
	took := n.relay.wait(t, 1, time.Minute, subjectIs(mark))[0].At.Sub(began)
	return took
}

// TestNeighboursShareConnections: the relay is slow with one team's mail.
func TestNeighboursShareConnections(t *testing.T) {
	part(t, "neighbours", judged)
	t.Parallel()
	n := newNeighbours(t, newSink(t, sinkOptions{}), "&connections=4")
	n.relay.set(behaviour{judge: func(_ *smtp.Conn, m *message) (bool, error) {
		if n.bad.sent(m) {
			after(t, 5*time.Second)
		}
		return true, nil
	}})
	n.bad.send(t, "theirs", 50)
	n.relay.wait(t, 1, time.Minute, n.bad.sent)
	n.undisturbed(t, 12*time.Second, 2*time.Second)
	n.relay.set(behaviour{})
	n.settle(t, time.Minute, 0)
}

// TestNeighboursShareTheDay: the daily limit is short, and one team sends more than all of it.
func TestNeighboursShareTheDay(t *testing.T) {
	part(t, "neighbours", judged)
	t.Parallel()
	n := newNeighbours(t, newSink(t, sinkOptions{}), "&daily=50")
	n.bad.send(t, "theirs", 100)
	n.relay.wait(t, 25, time.Minute, n.bad.sent)
	n.logged(t, "WARN", "has used its share of the relay's daily limit", "waiting=")
	if d := n.one(t, "well-0"); *perf && d > 5*time.Second {
		t.Errorf("one email waited %s where another team has used the day", d)
	}
	n.nothingGivenUp(t, n.bad)
	n.wantNoLeak(t)
}

// TestNeighboursDoubts: the relay drops the line after the dot of one team's mail.
func TestNeighboursDoubts(t *testing.T) {
	part(t, "neighbours", judged)
	t.Parallel()
	for name, kept := range map[string]bool{"and has the message": true, "and lost the message": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNeighbours(t, newSink(t, sinkOptions{}), "&connections=4")
			n.relay.set(behaviour{judge: func(c *smtp.Conn, m *message) (bool, error) {
				if n.bad.sent(m) {
					return kept, c.Conn().Close()
				}
				return true, nil
			}})
			n.bad.send(t, "theirs", 50)
			n.undisturbed(t, 12*time.Second, 2*time.Second)
			n.relay.set(behaviour{})
			// At first one per worker, of which there are at least two per connection, then one per
			// probe.
			n.settle(t, time.Minute, 16)
			if doubts := doubtCounts(t, n.in); len(doubts) == 0 {
				t.Error("no doubt is listed")
			}
		})
	}
}
