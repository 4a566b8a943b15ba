package sdktest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// sentEvents adds a webhook for sent events, and returns the addresses that it received.
func sentEvents(t *testing.T, api client) (heard func() map[string]bool) {
	t.Helper()
	var mu sync.Mutex
	to := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var event struct {
			Data struct{ To []string }
		}
		if err := json.NewDecoder(r.Body).Decode(&event); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, address := range event.Data.To {
			to[address] = true
		}
	}))
	t.Cleanup(server.Close)
	if status, b := api.do(t, "POST", "/webhooks", map[string]any{"endpoint": server.URL, "events": []string{"email.sent"}}); status != http.StatusCreated {
		t.Fatalf("POST /webhooks: %d %s", status, b)
	}
	return func() map[string]bool {
		mu.Lock()
		defer mu.Unlock()
		out := map[string]bool{}
		for address := range to {
			out[address] = true
		}
		return out
	}
}

// TestPostgresBroadcastResumesOnFollower repeatedly kills one of two servers while they send a
// broadcast, and people opt out at any server. Each contact gets it once, or as often as the doubts
// say; nobody whose opt-out was confirmed gets it; the webhook receives all sent events.
func TestPostgresBroadcastResumesOnFollower(t *testing.T) {
	part(t, "postgres")
	t.Parallel()
	const contacts, leaving = 600, 75
	p := &pair{shares: true}
	onOne(t, p, "&rate=40")
	heard := sentEvents(t, p.api)
	broadcast := p.broadcastTo(t, contacts)
	began := time.Now()
	who := rand.Perm(contacts)
	left := map[string]bool{} // opted out
	optOut := func() {
		n := who[len(left)]
		address := fmt.Sprintf("p%d@news.test", n)
		p.until(t, address, "POST", "/suppressions", map[string]any{"email": address}, http.StatusCreated)
		p.ledger.left(fmt.Sprint("For N", n))
		left[address] = true
	}
	for round := range min(cmp.Or(*takeovers, 3), 10) {
		for range leaving / 3 {
			optOut()
			after(t, 10*time.Millisecond)
		}
		afterRandom(500 * time.Millisecond)
		n, led := p.victim(t, round)
		killed := time.Now()
		p.nodes[n].kill(t)
		optOut()
		if led {
			p.waitTakeOver(t, 1-n, killed)
		}
		p.again(t, n)
		p.doubts += killConnections
	}
	var b broadcastState
	eventually(t, 3*time.Minute, "the broadcast is sent", func() (bool, string) {
		p.api.get(t, "/broadcasts/"+broadcast, &b)
		return b.Status == "sent", fmt.Sprintf("%+v", b)
	})
	e := p.gather(t, time.Minute)
	e.counts, e.last = nil, nil // of emails that no list shows
	p.ledger.wantNoProblems(t, e)
	got, unclear := map[string]bool{}, map[string]bool{} // unclear: it left in doubt, and they opted out before that was over
	for _, m := range e.arrived {
		for _, to := range m.To {
			got[to] = true
			if left[to] && e.doubts[m.header("X-Mailer-Email-ID")] > 0 {
				unclear[to] = true
			}
		}
	}
	none := 0
	for address := range left {
		if !got[address] {
			none++
		}
	}
	t.Logf("sent %v after it began", time.Since(began).Round(time.Second))
	t.Logf("%d got it, %d of %d who opted out did not, of %d it is not known", len(got), none, len(left), len(unclear))
	if none == 0 || len(got) < contacts-len(left) {
		t.Error("nobody was left out, or too many")
	}
	if n := b.SentCount; n > len(got) || n < len(got)-len(unclear) {
		t.Errorf("sent_count is %d, %d got it, %d of them perhaps", n, len(got), len(unclear))
	}
	eventually(t, time.Minute, "the webhook's endpoint heard of all that left", func() (bool, string) {
		known := heard()
		missing := []string{}
		for address := range got {
			if !known[address] && !unclear[address] {
				missing = append(missing, address)
			}
		}
		slices.Sort(missing)
		return len(missing) == 0, fmt.Sprint(len(missing), " were not told of, the first ", missing[:min(len(missing), 3)])
	})
}
