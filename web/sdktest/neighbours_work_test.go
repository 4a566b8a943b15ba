package sdktest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Two teams share imports, webhooks and guardrails.

// importRows uploads a file with that many contacts and returns the id of its import.
func (c client) importRows(t *testing.T, name string, rows int) string {
	t.Helper()
	var file strings.Builder
	file.WriteString("email\r\n")
	for i := range rows {
		fmt.Fprintf(&file, "%s-%d@example.com\r\n", name, i)
	}
	return c.importFile(t, file.String())
}

// importFile uploads a CSV file and returns the id of its import.
func (c client) importFile(t *testing.T, content string) string {
	t.Helper()
	form := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\nContent-Type: text/csv\r\n\r\n" + content + "\r\n--b--\r\n"
	r, err := http.NewRequest("POST", c.url+"/contacts/imports", strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.key)
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	res, err := plainHTTP.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	var answer struct{ ID string }
	if err := json.Unmarshal(body, &answer); err != nil || answer.ID == "" {
		t.Fatalf("POST /contacts/imports: %d %s", res.StatusCode, body)
	}
	return answer.ID
}

func (c client) importStatus(t *testing.T, id string) string {
	t.Helper()
	var i struct{ Status string }
	c.get(t, "/contacts/imports/"+id, &i)
	return i.Status
}

// TestNeighboursWithImports: one row of a team is imported while five files of another
// with 20,000 rows each are.
func TestNeighboursWithImports(t *testing.T) {
	part(t, "neighbours", judged)
	t.Parallel()
	n := newNeighbours(t, newSink(t, sinkOptions{}), "")
	var files []string
	for i := range 5 {
		files = append(files, n.bad.api.importRows(t, fmt.Sprint("file", i), 20_000))
	}
	began := time.Now()
	one := n.well.api.importRows(t, "one", 1)
	eventually(t, time.Minute, "the import of one row", func() (bool, string) {
		status := n.well.api.importStatus(t, one)
		return status == "completed", status
	})
	t.Logf("one row took %s", time.Since(began).Round(time.Millisecond))
	if d := time.Since(began); *perf && d > 3*time.Second {
		t.Errorf("one row took %s beside another team's files", d)
	}
	if status := n.bad.api.importStatus(t, files[4]); status == "completed" {
		t.Fatal("the files were over before: this test tells nothing")
	}
	for _, id := range files { // and an import can be ended
		if status, body := n.bad.api.do(t, "DELETE", "/contacts/imports/"+id, nil); status != http.StatusOK {
			t.Errorf("DELETE: %d %s", status, body)
		}
	}
	if status, _ := n.well.api.do(t, "DELETE", "/contacts/imports/"+files[0], nil); status != http.StatusNotFound {
		t.Errorf("another team's import: %d", status)
	}
}

// hooked is an endpoint that counts requests by path.
type hooked struct {
	over     chan struct{} // closed when the test ends
	mu       sync.Mutex
	received map[string][]time.Time
}

func (h *hooked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/hang") {
		<-h.over
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.received[r.URL.Path] = append(h.received[r.URL.Path], time.Now())
}

func (h *hooked) count(path string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.received[path])
}

func (c client) hook(t *testing.T, endpoint string) (int, []byte) {
	t.Helper()
	return c.do(t, "POST", "/webhooks", map[string]any{"endpoint": endpoint, "events": []string{"contact.created"}})
}

// TestNeighboursWithWebhooks: a team with many hanging webhooks delays neither another team's sends
// nor its webhook.
func TestNeighboursWithWebhooks(t *testing.T) {
	part(t, "neighbours", judged)
	t.Parallel()
	h := &hooked{received: map[string][]time.Time{}, over: make(chan struct{})}
	server := httptest.NewServer(h)
	t.Cleanup(func() { close(h.over); server.Close() })
	n := newNeighbours(t, newSink(t, sinkOptions{}), "", "--webhook-allow", "127.0.0.0/8", "--webhooks-per-team", "200")
	for i := range 200 {
		if status, body := n.bad.api.hook(t, fmt.Sprint(server.URL, "/hang/", i)); status != http.StatusCreated {
			t.Fatalf("webhook %d: %d %s", i, status, body)
		}
	}
	if status, body := n.bad.api.hook(t, server.URL+"/hang/more"); status != http.StatusConflict || !strings.Contains(string(body), "200") {
		t.Errorf("one more than allowed: %d %s", status, body)
	}
	n.well.api.hook(t, server.URL+"/well")
	var contacts []any
	for i := range 200 {
		contacts = append(contacts, map[string]any{"email": fmt.Sprintf("c%d@example.com", i)})
	}
	over := make(chan time.Duration)
	go func() {
		began := time.Now()
		_, _, _ = n.bad.api.try("POST", "/contacts/batch", contacts)
		over <- time.Since(began)
	}()
	n.undisturbed(t, 5*time.Second, time.Second)
	t.Logf("the batch took %s", (<-over).Round(time.Millisecond))
	began := time.Now()
	if status, body := n.well.api.do(t, "POST", "/contacts", map[string]any{"email": "one@example.com"}); status != http.StatusCreated {
		t.Fatalf("POST /contacts: %d %s", status, body)
	}
	eventually(t, time.Minute, "the other team's webhook is told", func() (bool, string) { return h.count("/well") == 1, "" })
	if d := time.Since(began); *perf && d > 2*time.Second {
		t.Errorf("the other team's webhook was told after %s", d)
	}
}

// TestNeighboursWithComplaints: complaints about the few emails of one team stop that team, and
// nobody else's broadcasts.
func TestNeighboursWithComplaints(t *testing.T) {
	part(t, "neighbours", judged)
	t.Parallel()
	n := newNeighbours(t, newSink(t, sinkOptions{}), "", "--mode", "cloud")
	secret := regexp.MustCompile(`generic +\S+(/ingest/generic/[0-9a-f]{32})`).FindStringSubmatch(n.in.run(t, "ingest"))
	if len(secret) != 2 {
		t.Fatal("no address for reports")
	}
	n.bad.send(t, "few", 3)
	n.relay.wait(t, 3, time.Minute, n.bad.sent)
	for mark, o := range n.bad.ledger.orders {
		status, body := n.bad.api.do(t, "POST", secret[1], map[string]any{"type": "complained", "email_id": o.id, "recipient": mark + "@example.com"})
		if status != http.StatusOK {
			t.Fatalf("a report: %d %s", status, body)
		}
	}
	letter := map[string]any{"from": n.bad.from, "to": "x@example.com", "subject": "s", "text": "t"}
	eventually(t, time.Minute, "the team is paused", func() (bool, string) {
		status, body := n.bad.api.do(t, "POST", "/emails", letter)
		return status == http.StatusForbidden && strings.Contains(string(body), "sending_paused"), string(body)
	})
	if status, body := n.well.api.do(t, "POST", "/contacts", map[string]any{"email": "reader@example.com"}); status != http.StatusCreated {
		t.Fatalf("POST /contacts: %d %s", status, body)
	}
	status, body := n.well.api.do(t, "POST", "/broadcasts", map[string]any{"from": n.well.from, "subject": "news", "text": "{{{UNSUBSCRIBE_URL}}}", "send": true})
	if !slices.Contains([]int{http.StatusOK, http.StatusCreated}, status) {
		t.Fatalf("the other team's broadcast: %d %s", status, body)
	}
	n.relay.wait(t, 1, time.Minute, subjectIs("news"))
	n.undisturbed(t, 3*time.Second, 2*time.Second)
}
