package sdktest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// broadcastAudience is how many contacts the kill test of broadcasts has: in the
// long form (-kills) 20,000.
func broadcastAudience() int {
	if *killRounds > 0 {
		return 20_000
	}
	return 1_500
}

// broadcastState is a broadcast as the API reads it back.
type broadcastState struct {
	ID         string `json:"id"`
	Status     string `json:"status"`
	SentCount  int    `json:"sent_count"`
	FinishesAt string `json:"finishes_at"`
}

// fillContacts adds p0@news.test to p<n-1>@news.test, and one twin that differs in
// case, which must not become a second contact.
func fillContacts(t *testing.T, api client, n int) {
	t.Helper()
	for from := 0; from < n; from += 250 {
		var batch []map[string]any
		for i := from; i < min(n, from+250); i++ {
			batch = append(batch, map[string]any{"email": fmt.Sprintf("p%d@news.test", i), "first_name": fmt.Sprintf("N%d", i)})
		}
		if status, b := api.do(t, "POST", "/contacts/batch", batch); status != http.StatusCreated {
			t.Fatalf("POST /contacts/batch: %d %s", status, b)
		}
	}
	twin := map[string]any{"email": "P1@News.Test"}
	if status, b := api.do(t, "POST", "/contacts", twin); status != http.StatusConflict {
		t.Fatalf("a twin of a contact: %d %s", status, b)
	}
}

// TestKillDuringBroadcast kills the server at random
// moments while it writes down and sends a broadcast. At the end each contact got
// it, twice only where the doubts say so, with the same bytes; the address that
// the relay refuses did no harm.
func TestKillDuringBroadcast(t *testing.T) {
	part(t, "kills")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	const poison = "p7@news.test"
	relay.set(behaviour{dotDelay: 3 * time.Millisecond, rcpt: func(to string) error {
		if to == poison {
			return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
		}
		return nil
	}})
	in := startBare(t, "--relay", fmt.Sprintf("smtp://%s?tls=off&connections=%d&timeout=5s", relay.addr, killConnections),
		"--doubt-delay", "2s", "--rate-limit", "0", "--log-format", "json")
	in.addDomain(t, "example.test")
	api := client{in.url, in.newKey(t)}
	n := broadcastAudience()
	fillContacts(t, api, n)
	var b broadcastState
	status, body, err := api.try("POST", "/broadcasts", map[string]any{"from": "News <a@example.test>", "subject": "For {{{FIRST_NAME|you}}}",
		"html": "<p>Dear {{{FIRST_NAME|you}}}, <a href=\"{{{UNSUBSCRIBE_URL}}}\">no more</a></p>", "send": true})
	if err != nil || status != http.StatusCreated {
		t.Fatalf("POST /broadcasts: %d %s %v", status, body, err)
	}
	if err := json.Unmarshal(body, &b); err != nil {
		t.Fatal(err)
	}
	rounds := killCount()
	for range rounds {
		afterRandom(time.Duration(n) * time.Millisecond / time.Duration(rounds))
		in.kill(t)
		in.serve(t)
	}
	eventually(t, 10*time.Minute, "the broadcast is sent", func() (bool, string) {
		api.get(t, "/broadcasts/"+b.ID, &b)
		return b.Status == "sent", fmt.Sprintf("%+v, %d arrived", b, len(relay.messages()))
	})
	t.Logf("%d kills, %d contacts", rounds, n-1)
	l := newLedger()
	for i := range n {
		mark, to := fmt.Sprintf("For N%d", i), fmt.Sprintf("p%d@news.test", i)
		l.ask(order{mark: mark, to: []string{to}})
		if l.accept(mark, ""); to == poison {
			l.refuse(mark)
		}
	}
	arrived := relay.messages()
	l.wantNoProblems(t, evidence{arrived: arrived, doubts: doubtCounts(t, in), maxDoubts: killLimit(rounds),
		counts: []count{{"sent_count", b.SentCount, n - 1, n - 1}}})
	for _, m := range arrived[:min(len(arrived), 50)] {
		if strings.Contains(string(m.Raw), "{{{") {
			t.Errorf("a placeholder left raw:\n%s", m.Raw)
		}
	}
}
