package sdktest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// loadTest is a service in trouble, with clients and their ledger.
type loadTest struct {
	*load
	in    *instance
	relay *sink
}

// newLoadTest wraps a running server without a domain.
func newLoadTest(t *testing.T, in *instance, relay *sink) *loadTest {
	t.Helper()
	in.addDomain(t, "example.test")
	return &loadTest{load: newLoad(client{in.url, in.newKey(t)}), in: in, relay: relay}
}

// orderTo returns an order for one recipient whose subject and key are mark.
func orderTo(mark string) order {
	return order{mark: mark, key: mark, to: []string{mark + "@example.com"}, text: "in a storm"}
}

// post has one email accepted and returns its id.
func (s *loadTest) post(t *testing.T, mark string, more map[string]any) string {
	t.Helper()
	s.single(t, orderTo(mark), more)
	id := s.ledger.idOf(mark)
	if id == "" {
		t.Fatalf("%s was not accepted", mark)
	}
	return id
}

// steady sends an email every so often until stop is called.
func (s *loadTest) steady(t *testing.T, every time.Duration) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for n := 0; ctx.Err() == nil; n++ {
			wg.Go(func() { s.single(t, orderTo(fmt.Sprintf("steady-%d", n)), nil) })
			<-tick.C
		}
	})
	stop = func() { cancel(); wg.Wait() }
	t.Cleanup(stop)
	return stop
}

// arrivals returns when matching messages arrived, in order.
func (s *sink) arrivals(match func(*message) bool) []time.Time {
	var times []time.Time
	for _, m := range s.matching(match) {
		times = append(times, m.At)
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}

// busiest returns the largest number within any span.
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

// here returns how many of the marks arrived.
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
