package sdktest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// sentEvents adds a webhook for what is sent, and returns which addresses it heard of.
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

// TestPostgresBroadcastGoesOnAtAnotherServer kills the server that works while it sends a
// broadcast, again and again, and people opt out meanwhile at whichever server answers. Each
// contact gets it once, or as often as the doubts say; nobody gets it who was told that they
// opted out; the endpoint of a webhook hears of all that left.
func TestPostgresBroadcastGoesOnAtAnotherServer(t *testing.T) {
	t.Parallel()
	const contacts, leaving = 900, 75
	p, _ := shareOne(t, "&rate=60")
	heard := sentEvents(t, p.api)
	broadcast := p.broadcastTo(t, contacts)
	began := time.Now()
	who := rand.Perm(contacts)
	left := map[string]time.Time{} // who opted out, and when that was answered
	optOut := func() {
		address := fmt.Sprintf("p%d@news.test", who[len(left)])
		p.until(t, address, "POST", "/suppressions", map[string]any{"email": address}, http.StatusCreated)
		left[address] = time.Now()
	}
	works := 0
	for range min(cmp.Or(*takeovers, 3), 10) {
		for range leaving / 3 {
			optOut()
			after(t, 10*time.Millisecond)
		}
		afterRandom(500 * time.Millisecond)
		killed := time.Now()
		p.nodes[works].kill(t)
		optOut()
		p.waitTakeOver(t, 1-works, killed)
		p.again(t, works)
		works, p.doubts = 1-works, p.doubts+killConnections
	}
	var b broadcastState
	eventually(t, 3*time.Minute, "the broadcast is sent", func() (bool, string) {
		p.api.get(t, "/broadcasts/"+broadcast, &b)
		return b.Status == "sent", fmt.Sprintf("%+v", b)
	})
	e := p.gather(t, time.Minute)
	e.counts, e.last = nil, nil // of emails that no list shows
	got := map[string]int{}
	unsure := map[string]bool{} // who got it and may have opted out before a server knew that they had: it is not sent again, and counts as suppressed
	for _, m := range e.arrived {
		for _, to := range m.To {
			got[to]++
			when, out := left[to]
			if out && m.At.After(when.Add(500*time.Millisecond)) { // whose dot was under way
				t.Errorf("%s got it %v after the opt-out was answered", to, m.At.Sub(when))
			}
			if out && e.doubts[m.header("X-Mailer-Email-ID")] > 0 {
				unsure[to] = true
			}
		}
	}
	none := 0
	for address := range left {
		if got[address] == 0 {
			none++
			mark := "For N" + strings.TrimSuffix(strings.TrimPrefix(address, "p"), "@news.test")
			p.ledger.refuse(mark)
		}
	}
	p.ledger.acquit(t, e)
	t.Logf("sent %v after it began", time.Since(began).Round(time.Second))
	t.Logf("%d got it, %d of %d who opted out did not; %d take-overs", len(got), none, len(left), len(p.took))
	if none == 0 || len(got) < contacts-len(left) {
		t.Error("nobody was left out, or too many")
	}
	if want := len(got); b.SentCount > want || b.SentCount < want-len(unsure) {
		t.Errorf("sent_count is %d, %d got it, of which %d were in doubt and opted out", b.SentCount, want, len(unsure))
	}
	eventually(t, time.Minute, "the webhook's endpoint heard of all that left", func() (bool, string) {
		known := heard()
		missing := []string{}
		for address := range got {
			if !known[address] && !unsure[address] {
				missing = append(missing, address)
			}
		}
		slices.Sort(missing)
		return len(missing) == 0, fmt.Sprint(len(missing), " were not told of, the first ", missing[:min(len(missing), 3)])
	})
}
