package sdktest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
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
	api client

	mu       sync.Mutex
	accepted map[string]string // email id -> the sender's own mark of it
	progress chan struct{}     // one token for each accepted email
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
	body := map[string]any{"from": "a@example.test", "to": mark + "@example.com", "subject": mark, "text": "under load"}
	for range 2400 { // a minute
		status, b, err := l.api.try("POST", "/emails", body, "Idempotency-Key", mark)
		if err == nil && status == http.StatusOK {
			l.accept(t, mark, b)
			return
		}
		if err == nil && status != http.StatusServiceUnavailable && status != http.StatusConflict {
			t.Errorf("%s: %d %s", mark, status, b)
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

func (l *load) accept(t *testing.T, mark string, answer []byte) {
	var email struct{ ID string }
	if err := json.Unmarshal(answer, &email); err != nil || email.ID == "" {
		t.Errorf("%s: %s", mark, answer)
		return
	}
	l.mu.Lock()
	l.accepted[email.ID] = mark
	l.mu.Unlock()
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
	in := startBare(t, "--relay", fmt.Sprintf("smtp://%s?tls=off&connections=%d&timeout=5s", relay.addr, killConnections),
		"--doubt-delay", "2s", "--rate-limit", "0", "--log-format", "json")
	in.addDomain(t, "example.test")
	l := &load{api: client{in.url, in.newKey(t)}, accepted: map[string]string{}, progress: make(chan struct{}, 1)}
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
	t.Logf("%d emails accepted over %d kills", len(l.accepted), rounds)
	l.waitAllSent(t)
	arrived, doubted := relay.messages(), doubtIDs(t, in)
	t.Logf("%d messages arrived, %d doubts listed", len(arrived), len(doubted))
	for _, problem := range arrivalProblems(arrived, l.accepted, doubted, killLimit(rounds)) {
		t.Error(problem)
	}
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

// waitAllSent waits until the service itself calls every accepted email sent.
func (l *load) waitAllSent(t *testing.T) {
	t.Helper()
	open := make(map[string]bool, len(l.accepted))
	for id := range l.accepted {
		open[id] = true
	}
	eventually(t, 2*time.Minute, "every accepted email is sent", func() (bool, string) {
		var sample string
		for id := range open {
			if sample = l.api.email(t, id).LastEvent; sample != "sent" {
				return false, fmt.Sprintf("%d open, %s is %s: %s", len(open), id, sample, describe(l.api.events(t, id)))
			}
			delete(open, id)
		}
		return true, ""
	})
}

// killLimit is how many emails may be repeated, and listed as doubts, at most.
func killLimit(rounds int) int { return rounds * killConnections }

// arrivalProblems compares what the relay got with what was answered: accepted
// maps email ids to marks, doubted holds the ids that the service lists.
func arrivalProblems(arrived []message, accepted map[string]string, doubted map[string]bool, limit int) []string {
	var problems []string
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	copies := map[string][]message{}
	idOfMark := map[string]string{}
	for _, m := range arrived {
		id, mark := m.header("X-Mailer-Email-ID"), m.header("Subject")
		copies[id] = append(copies[id], m)
		if other := idOfMark[mark]; other != "" && other != id {
			complain("TWO EMAILS: %s was sent under one Idempotency-Key and became %s and %s", mark, other, id)
		}
		idOfMark[mark] = id
	}
	for id, mark := range accepted {
		if len(copies[id]) == 0 {
			complain("LOST: %s (%s) was answered 200 and never arrived", id, mark)
		}
	}
	repeats := 0
	for id, list := range copies {
		repeats += len(list) - 1
		if len(list) > 1 && !doubted[id] {
			complain("DOUBLE: %s arrived %d times and is not among the doubts", id, len(list))
		}
		for _, m := range list[1:] {
			if !bytes.Equal(m.Raw, list[0].Raw) {
				complain("CHANGED: %s came again with other bytes:\n%s\n---\n%s", id, list[0].Raw, m.Raw)
			}
		}
	}
	if repeats > limit || len(doubted) > limit {
		complain("TOO MANY: %d repeats and %d doubts, at most %d can be explained", repeats, len(doubted), limit)
	}
	return problems
}

func TestHarnessArrivalProblems(t *testing.T) {
	mail := func(id, mark, body string) message {
		return message{Raw: []byte("X-Mailer-Email-ID: " + id + "\r\nSubject: " + mark + "\r\n\r\n" + body + "\r\n")}
	}
	a, b := mail("1", "one", "x"), mail("2", "two", "x")
	accepted := map[string]string{"1": "one", "2": "two"}
	cases := []struct {
		name    string
		arrived []message
		doubted map[string]bool
		want    string // start of the only problem; empty: none
	}{
		{"all well", []message{a, b}, nil, ""},
		{"lost", []message{a}, nil, "LOST"},
		{"doubtful repeat", []message{a, b, b}, map[string]bool{"2": true}, ""},
		{"silent repeat", []message{a, b, b}, map[string]bool{"1": true}, "DOUBLE"},
		{"changed repeat", []message{a, b, mail("2", "two", "y")}, map[string]bool{"2": true}, "CHANGED"},
		{"accepted twice", []message{a, b, mail("3", "two", "x")}, nil, "TWO EMAILS"},
		{"too many", []message{a, b, b, b}, map[string]bool{"2": true}, "TOO MANY"},
	}
	for _, tc := range cases {
		got := arrivalProblems(tc.arrived, accepted, tc.doubted, 1)
		switch {
		case tc.want == "" && len(got) > 0, tc.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], tc.want)):
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
