package sdktest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"
)

// storm is a service in trouble, with the books of what was asked of it.
type storm struct {
	in     *instance
	relay  *sink
	api    client
	ledger *ledger
}

// post has one email accepted, which stands in the ledger under its subject; more
// are further fields of the request. It answers the email's id.
func (s *storm) post(t *testing.T, o order, more map[string]any, header ...string) string {
	t.Helper()
	s.ledger.ask(o)
	status, b, err := s.api.try("POST", "/emails", s.body(o, more), header...)
	if !s.ledger.answered(t, status, b, err, o.mark) {
		t.Fatalf("%s: %d %s %v", o.mark, status, b, err)
	}
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	return s.ledger.orders[o.mark].id
}

func (s *storm) body(o order, more map[string]any) map[string]any {
	body := map[string]any{"from": "a@example.test", "to": o.to, "subject": o.mark, "text": "in a storm"}
	maps.Copy(body, more)
	return body
}

// letterTo is an order for one recipient whose subject is mark.
func letterTo(mark string) order {
	return order{mark: mark, to: []string{mark + "@example.com"}, text: "in a storm"}
}

// steady sends an email every so often until stop is called.
func (s *storm) steady(t *testing.T, every time.Duration) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{api: s.api, ledger: s.ledger, progress: make(chan struct{}, 1)}
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for n := 0; ctx.Err() == nil; n++ {
			wg.Go(func() { l.sendOne(t, fmt.Sprintf("steady-%d", n)) })
			<-tick.C
		}
	})
	stop = func() { cancel(); wg.Wait() }
	t.Cleanup(stop)
	return stop
}

// arrivals says when messages that match came, in their order.
func (s *sink) arrivals(match func(*message) bool) []time.Time {
	var times []time.Time
	for _, m := range s.matching(match) {
		times = append(times, m.At)
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}

// busiest is the most that came within any span.
func busiest(times []time.Time, span time.Duration) int {
	most, first := 0, 0
	for i := range times {
		for times[i].Sub(times[first]) >= span {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// here is how many of some marks arrived.
func (s *sink) here(marks ...string) int {
	return len(s.matching(func(m *message) bool { return slices.Contains(marks, m.header("Subject")) }))
}

// after lets d pass, in which something must not happen.
func after(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}
