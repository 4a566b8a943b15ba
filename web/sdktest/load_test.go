package sdktest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"
)

const loadClients = 4

// load is a handful of clients that send a mix of mail until they are stopped:
// singles, batches, scheduled, canceled, repeated under their Idempotency-Key,
// and without one. What has a key is repeated until it is answered.
type load struct {
	api      client
	ledger   *ledger
	progress chan struct{} // one token for each accepted email
	pause    time.Duration // of each client after each order
	behind   func() bool   // whether clients wait because the relay is behind; nil: they don't
}

func newLoad(api client) *load {
	return &load{api: api, ledger: newLedger(), progress: make(chan struct{}, 10_000)}
}

// start begins to send. stop returns once every email that was begun has its
// answer; the end of the test calls it too.
func (l *load) start(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for c := range loadClients {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				l.sendOne(t, fmt.Sprintf("mark-%d-%d", c, n))
				time.Sleep(l.pause)
				l.waitFor(ctx)
			}
		})
	}
	stop = func() { cancel(); wg.Wait() }
	t.Cleanup(stop)
	return stop
}

// waitFor waits while the relay is behind.
func (l *load) waitFor(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for l.behind != nil && l.behind() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
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

// sendOne sends one of the mix.
func (l *load) sendOne(t *testing.T, mark string) {
	single := order{mark: mark, key: mark, text: "under load " + mark}
	for i := range 1 + rand.IntN(3)/2 {
		single.to = append(single.to, fmt.Sprintf("%s-%d@example.com", mark, i))
	}
	switch n := rand.IntN(100); {
	case n < 10:
		single.key = ""
		l.single(t, single, nil)
	case n < 25:
		l.batch(t, mark, 2+rand.IntN(4))
	case n < 40:
		soon := time.Now().Add(time.Second + rand.N(3*time.Second))
		l.single(t, single, map[string]any{"scheduled_at": soon.UTC().Format(time.RFC3339Nano)})
	case n < 45:
		single.end = "canceled"
		l.canceled(t, single)
	case n < 55:
		l.single(t, single, nil)
		l.single(t, single, nil)
	default:
		l.single(t, single, nil)
	}
}

func (o *order) body(more map[string]any) map[string]any {
	body := map[string]any{"from": "a@example.test", "to": o.to, "subject": o.mark, "text": o.text}
	for field, value := range more {
		body[field] = value
	}
	return body
}

// single sends one email until it is answered. The same order may be sent again
// under its key.
func (l *load) single(t *testing.T, o order, more map[string]any) {
	body := o.body(more)
	l.ledger.ask(o)
	l.repeat(t, o.key, func() bool {
		status, answer, err := l.api.try("POST", "/emails", body, keyHeader(o.key)...)
		return l.took(t, status, answer, err, o.mark)
	})
}

// batch sends n emails in one request, under one key.
func (l *load) batch(t *testing.T, mark string, n int) {
	var bodies []any
	var marks []string
	for i := range n {
		o := order{mark: fmt.Sprintf("%s-%d", mark, i), key: mark, to: []string{fmt.Sprintf("%s-%d@example.com", mark, i)}, text: fmt.Sprint("part ", i)}
		l.ledger.ask(o)
		bodies, marks = append(bodies, o.body(nil)), append(marks, o.mark)
	}
	l.repeat(t, mark, func() bool {
		status, answer, err := l.api.try("POST", "/emails/batch", bodies, keyHeader(mark)...)
		return l.took(t, status, answer, err, marks...)
	})
}

// canceled schedules an email in an hour and cancels it.
func (l *load) canceled(t *testing.T, o order) {
	later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	l.single(t, o, map[string]any{"scheduled_at": later})
	id := l.ledger.idOf(o.mark)
	if id == "" {
		return // the test is over or has failed
	}
	l.repeat(t, o.key, func() bool {
		status, answer, err := l.api.try("POST", "/emails/"+id+"/cancel", nil)
		if status == http.StatusUnprocessableEntity { // done by a try that was not answered
			var e email
			if _, answer, err = l.api.try("GET", "/emails/"+id, nil); err == nil {
				err = json.Unmarshal(answer, &e)
			}
			return err == nil && e.LastEvent == "canceled"
		}
		if err == nil && status != http.StatusOK && status != http.StatusServiceUnavailable {
			l.ledger.mustNot(t, "cancel of %s: %d %s", id, status, answer)
			return true
		}
		return err == nil && status == http.StatusOK
	})
}

func keyHeader(key string) []string {
	if key == "" {
		return nil
	}
	return []string{"Idempotency-Key", key}
}

func (l *load) took(t *testing.T, status int, answer []byte, err error, marks ...string) bool {
	if !l.ledger.answered(t, status, answer, err, marks...) {
		return false
	}
	for range marks {
		select {
		case l.progress <- struct{}{}:
		default:
		}
	}
	return true
}

// repeat calls try until it is done, for a minute; without a key once. While the server is down
// every try fails immediately.
func (l *load) repeat(t *testing.T, key string, try func() bool) {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for range 2400 {
		if try() {
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			return // the test has failed already
		}
		if key == "" {
			return
		}
	}
	t.Errorf("%s: not answered within a minute", key)
}
