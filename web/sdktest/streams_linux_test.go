package sdktest

import (
	"bufio"
	"encoding/csv"
	"flag"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// openStream reads GET /live until the test ends, line by line.
func openStream(t *testing.T, url, key string) *bufio.Reader {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url+"/live", nil)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := (&http.Client{Transport: &http.Transport{}}).Do(req)
	must(t, err)
	t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("GET /live: %d %v", res.StatusCode, res.Header)
	}
	return bufio.NewReader(res.Body)
}

// waitFor reads until a line holds a text.
func waitFor(t *testing.T, in *bufio.Reader, text string) (heard string) {
	t.Helper()
	line := make(chan string)
	go func() {
		defer close(line)
		for {
			s, err := in.ReadString('\n')
			if err != nil || strings.Contains(s, text) {
				line <- s
				return
			}
		}
	}()
	select {
	case heard = <-line:
	case <-time.After(time.Minute):
	}
	if !strings.Contains(heard, text) {
		t.Fatalf("nobody said %q, at the end came %q", text, heard)
	}
	return heard
}

// TestListsAsCSVAndLiveEvents: a sent email is a live event and is in the CSV list; the export is
// in the audit log, and a stop does not wait for listeners.
func TestListsAsCSVAndLiveEvents(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	in := start(t, "--drain-timeout", "10m")
	in.addDomain(t, "example.test")
	api := client{in.url, in.newKey(t)}
	listener := openStream(t, in.url, api.key)
	var sent []string
	for i := range 3 {
		sent = append(sent, api.send(t, map[string]any{"from": "a@example.test", "to": fmt.Sprintf("b%d@example.com", i), "subject": `=1+1, "x"`, "text": "t"}))
	}
	waitFor(t, listener, fmt.Sprintf(`{"id":%q,"event":"sent"}`, sent[2]))
	status, body, err := api.try("GET", "/emails", nil, "Accept", "text/csv")
	must(t, err)
	rows, err := csv.NewReader(strings.NewReader(string(body))).ReadAll()
	if err != nil || status != 200 || len(rows) != 4 || rows[0][0] != "id" || rows[1][0] != sent[2] || !strings.Contains(strings.Join(rows[1], "|"), `|'=1+1, "x"|`) {
		t.Errorf("%d, %v: %q", status, err, rows)
	}
	if log := in.run(t, "audit", "list"); !strings.Contains(log, "export") || !strings.Contains(log, "/emails") {
		t.Errorf("the audit log does not have the export: %s", log)
	}
	in.stop(t)
}

var listeners = flag.Int("listeners", 200, "how many listen in TestListenersCostLittle; 1000 is the long form")

// TestListenersMemory: 20 KB each at most, as 1,000 may cost 20 MB.
func TestListenersMemory(t *testing.T) {
	part(t, judged)
	t.Parallel()
	in := startBare(t, "--trusted-proxy", "127.0.0.0/8", "--rate-limit", "0")
	var keys []string
	for len(keys)*20 < *listeners {
		if n := len(keys) / 10; n > 0 && len(keys)%10 == 0 {
			in.run(t, "teams", "create", fmt.Sprintf("team %d", n))
		}
		if n := len(keys) / 10; n > 0 {
			keys = append(keys, in.newKey(t, "--team", fmt.Sprintf("team %d", n)))
		} else {
			keys = append(keys, in.newKey(t))
		}
	}
	for _, key := range keys { // memory of the first requests
		client{in.url, key}.ask(t, "GET", "/emails", nil, 200)
	}
	before := in.memory(t)
	for i := range *listeners {
		c, err := net.Dial("tcp", in.addr)
		must(t, err)
		defer c.Close()
		fmt.Fprintf(c, "GET /live HTTP/1.1\r\nHost: x\r\nUser-Agent: Mozilla/5.0\r\nAuthorization: Bearer %s\r\n\r\n", keys[i/20])
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil || !strings.Contains(line, "200") {
			t.Fatalf("listener %d: %q, %v", i, line, err)
		}
	}
	grown := in.memory(t) - before
	if most := *listeners*20/1024 + 4; grown > most {
		t.Errorf("%d listeners cost %d MB, want at most %d", *listeners, grown, most)
	}
	t.Logf("%d listeners cost %d MB", *listeners, grown)
}
