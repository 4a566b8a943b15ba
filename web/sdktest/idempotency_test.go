package sdktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	idempotencyKeys    = 200
	idempotencyClients = 20
	idempotencyKills   = 3
)

// answers keeps the first answer under each key; all others must be the same.
type answers struct {
	api   client
	count atomic.Int64
	mu    sync.Mutex
	first map[string][]byte
	tries map[int]int // by status
}

// body returns the request of a key: every second one is a batch with a bad item.
func (a *answers) body(key string, n int) (path string, body any, header []string) {
	email := func(i int, to string) map[string]any {
		return map[string]any{"from": "a@example.test", "to": to, "subject": fmt.Sprintf("%s-%d", key, i), "text": "hello"}
	}
	if n%2 == 0 {
		return "/emails", email(0, "b@example.com"), []string{"Idempotency-Key", key}
	}
	batch := []any{email(0, "b@example.com"), email(1, "nobody"), email(2, "c@example.com")}
	return "/emails/batch", batch, []string{"Idempotency-Key", key, "x-batch-validation", "permissive"}
}

// ask repeats a send until it is answered 200.
func (a *answers) ask(t *testing.T, n int) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	key := fmt.Sprintf("key-%03d", n)
	path, body, header := a.body(key, n)
	for range 6000 { // a minute
		status, answer, err := a.api.try("POST", path, body, header...)
		if err == nil && a.take(t, key, status, answer) {
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			return // the test has failed already
		}
	}
	t.Errorf("%s: not answered within a minute", key)
}

// take records an answer and tells whether it is final.
func (a *answers) take(t *testing.T, key string, status int, answer []byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tries[status]++
	var refusal apiError
	switch status {
	case http.StatusOK:
		a.count.Add(1)
		if a.first[key] == nil {
			a.first[key] = answer
		}
		if !bytes.Equal(a.first[key], answer) {
			t.Errorf("%s was answered %s and then %s", key, a.first[key], answer)
		}
		return true
	case http.StatusServiceUnavailable:
		return false
	case http.StatusConflict:
		if json.Unmarshal(answer, &refusal) == nil && refusal.Name == "concurrent_idempotent_requests" {
			return false
		}
	}
	t.Errorf("%s: %d %s", key, status, answer)
	return true
}

// ledger returns the mail that all answers say was accepted.
func (a *answers) ledger(t *testing.T) *ledger {
	t.Helper()
	l := newLedger()
	for key, answer := range a.first {
		var body struct {
			ID   string
			Data []struct{ ID string }
		}
		must(t, json.Unmarshal(answer, &body))
		note := func(i int, to, id string) {
			mark := fmt.Sprintf("%s-%d", key, i)
			l.ask(order{mark: mark, key: key, to: []string{to}, text: "hello"})
			l.accept(mark, id)
		}
		if body.ID != "" {
			note(0, "b@example.com", body.ID)
			continue
		}
		for i, item := range body.Data { // of three, the one in the middle is bad
			note(2*i, []string{"b@example.com", "c@example.com"}[i], item.ID)
		}
	}
	return l
}

// TestIdempotencyUnderLoad sends the same 200 sends and batches from 20 clients in parallel and
// kills the server several times. Each key gets one answer, the same for all, and creates its
// emails once; none is stuck.
func TestIdempotencyUnderLoad(t *testing.T) {
	part(t, "kills")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	in := startBare(t, "--relay", fmt.Sprintf("smtp://%s?tls=off&connections=%d&timeout=5s", relay.addr, killConnections),
		"--doubt-delay", "2s", "--rate-limit", "0", "--log-format", "json")
	in.addDomain(t, "example.test")
	a := &answers{api: client{in.url, in.newKey(t)}, first: map[string][]byte{}, tries: map[int]int{}}
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	for range idempotencyClients {
		wg.Go(func() {
			for n := range idempotencyKeys {
				a.ask(t, n)
			}
		})
	}
	const all = idempotencyKeys * idempotencyClients
	for kill := range int64(idempotencyKills) {
		eventually(t, 2*time.Minute, "answers before a kill", func() (bool, string) {
			n := a.count.Load()
			return n > (kill+1)*all/(idempotencyKills+2), fmt.Sprint(n)
		})
		in.kill(t)
		in.serve(t)
	}
	wg.Wait()
	in.kill(t)
	in.serve(t)
	for n := range idempotencyKeys { // stored results survive the last kill
		a.ask(t, n)
	}
	if n := a.count.Load(); n != all+idempotencyKeys {
		t.Errorf("%d answers, want %d", n, all+idempotencyKeys)
	}
	t.Logf("answers by status: %v", a.tries)
	l := a.ledger(t)
	if n := l.count(accepted); n != idempotencyKeys/2*3 {
		t.Errorf("%d emails in the answers, want %d", n, idempotencyKeys/2*3)
	}
	l.wantNoProblems(t, l.gather(t, in, a.api, relay, 2*time.Minute, killLimit(idempotencyKills+1)))
}
