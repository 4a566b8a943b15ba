package sdktest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// samples are the series of an answer to GET /metrics.
type samples map[string]float64

// scrape reads the metrics of a server.
func scrape(t *testing.T, addr string) samples {
	t.Helper()
	res, err := plainHTTP.Get("http://" + addr + "/metrics")
	must(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	must(t, err)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("GET /metrics: %d %s", res.StatusCode, b)
	}
	out := samples{}
	for _, line := range strings.Split(string(b), "\n") {
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || line[0] == '#' {
			continue
		}
		v, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out[line[:at]] = v
	}
	return out
}

// results are the counts of results by relay and result.
func (f samples) results(relays ...string) map[string]int {
	out := map[string]int{}
	for _, relay := range relays {
		for _, result := range []string{"sent", "deferred", "bounced", "failed"} {
			out[relay+" "+result] = int(f[`mailer_results_total{relay="`+relay+`",result="`+result+`"}`])
		}
	}
	return out
}

const countResults = `import json, sqlite3, sys
c = sqlite3.connect("file:" + sys.argv[1], uri=True)
n = {}
for relay in ("us-east-1", "eu-west-1"):
	for result in ("sent", "deferred", "bounced", "failed"):
		n[relay + " " + result] = 0
for relay, kind, count in c.execute("SELECT m.relay, e.type, count(*) FROM events AS e JOIN emails AS m ON m.id = e.email_id WHERE e.type IN ('sent', 'deferred', 'bounced', 'failed') GROUP BY 1, 2"):
	n[relay + " " + kind] = count
n["emails"] = c.execute("SELECT count(*) FROM emails").fetchone()[0]
n["open"] = c.execute("SELECT count(*) FROM units AS u WHERE u.state <> 'later' OR u.since IS NULL").fetchone()[0]
print(json.dumps(n))`

// counted returns the results, the number of emails, and the number of unfinished ones in the
// database.
func (in *instance) counted(t *testing.T) (results map[string]int, emails, open int) {
	t.Helper()
	out, err := exec.Command(python, "-c", countResults, in.db).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	must(t, json.Unmarshal(out, &results))
	emails, open = results["emails"], results["open"]
	delete(results, "emails")
	delete(results, "open")
	return results, emails, open
}

// shower sends n emails of a team: of ten, one to an unknown recipient, one to a recipient known
// later, one to two recipients; and refused requests in between. It ends when the server does.
func shower(api client, from string, n int) (accepted int) {
	for i := range n {
		to := []string{fmt.Sprintf("well-%d@example.com", i)}
		switch i % 10 {
		case 1:
			to = []string{fmt.Sprintf("no-%d@example.com", i)}
		case 2:
			to = []string{fmt.Sprintf("later-%d@example.com", i)}
		case 3:
			to = append(to, fmt.Sprintf("no-%d@example.com", i))
		case 4: // a batch that is refused as a whole, though its first email is valid
			_, _, _ = api.try("POST", "/emails/batch", []any{
				map[string]any{"from": from, "to": to, "subject": "s", "text": "t"}, map[string]any{"from": from, "to": []string{}, "subject": "s", "text": "t"}})
		}
		status, _, err := api.try("POST", "/emails", map[string]any{"from": from, "to": to, "subject": "s", "text": "t"})
		if err != nil {
			return accepted
		}
		if status == http.StatusOK {
			accepted++
		}
	}
	return accepted
}

// TestMetricsMatchSink: also after a kill, when counters start at zero.
func TestMetricsMatchSink(t *testing.T) {
	part(t, "operations")
	t.Parallel()
	const here, there = "us-east-1", "eu-west-1"
	at := freeAddr(t)
	sinks := map[string]*sink{here: newSink(t, sinkOptions{}), there: newSink(t, sinkOptions{})}
	for _, s := range sinks {
		s.set(behaviour{rcpt: func(to string) error {
			switch {
			case strings.HasPrefix(to, "no-"):
				return says(550, [3]int{5, 1, 1}, "nobody of this name")
			case strings.HasPrefix(to, "later-"):
				return says(451, [3]int{4, 2, 1}, "later")
			}
			return nil
		}})
	}
	in := startBare(t, "--relay", here+"=smtp://"+sinks[here].addr+"?tls=off", "--relay", there+"=smtp://"+sinks[there].addr+"?tls=off",
		"--metrics-listen", at, "--rate-limit", "0", "--doubt-delay", "1s", "--request-log", "off")
	in.addDomain(t, "ateam.test")
	in.run(t, "teams", "create", "Other")
	in.run(t, "domains", "add", otherTeamsDomain, "--trust", "--team", "Other", "--region", there)
	apis := map[string]client{"a@ateam.test": {in.url, in.newKey(t)}, "x@" + otherTeamsDomain: {in.url, in.newKey(t, "--team", "Other")}}
	storm := func(n int) (wait func() (accepted int)) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		sum := 0
		for from, api := range apis {
			wg.Go(func() {
				got := shower(api, from, n)
				mu.Lock()
				defer mu.Unlock()
				sum += got
			})
		}
		return func() int {
			wg.Wait()
			return sum
		}
	}
	agree := func(before map[string]int, accepted int) {
		t.Helper()
		var got, want map[string]int
		eventually(t, time.Minute, "the metrics agree with the database", func() (bool, string) {
			stored, _, open := in.counted(t)
			want = maps.Clone(stored)
			for k, n := range before {
				want[k] -= n
			}
			f := scrape(t, at)
			got = f.results(here, there)
			return open == 0 && maps.Equal(got, want) && int(f["mailer_emails_accepted_total"]) == accepted,
				fmt.Sprintf("%d wait; metrics %v, database %v; %v of %d accepted", open, got, want, f["mailer_emails_accepted_total"], accepted)
		})
	}

	accepted := storm(150)()
	agree(nil, accepted)
	_, emails, _ := in.counted(t)
	if emails != accepted {
		t.Errorf("%d emails in the database, %d were accepted", emails, accepted)
	}
	var f samples
	eventually(t, time.Minute, "a look at the queue that is not older than the mail", func() (bool, string) { // one holds for 5 s
		f = scrape(t, at)
		return f[`mailer_queue_waiting{relay="`+here+`",reason="retry"}`]+f[`mailer_queue_waiting{relay="`+there+`",reason="retry"}`] == 30, fmt.Sprint(f)
	})
	for relay, s := range sinks {
		recipients := 0
		for _, m := range s.messages() {
			recipients += len(m.To)
		}
		got := f.results(relay)
		if got[relay+" sent"] != recipients || recipients != 120 || got[relay+" bounced"] != 30 || got[relay+" deferred"] < 15 || got[relay+" failed"] != 0 {
			t.Errorf("%s: %d recipients at the sink, metrics %v", relay, recipients, got)
		}
		if f[`mailer_relay_up{relay="`+relay+`"}`] != 1 {
			t.Errorf("%s is not up", relay)
		}
	}
	for _, name := range []string{"mailer_send_seconds_count", "mailer_http_request_seconds_count", "mailer_commit_seconds_count", "mailer_wal_bytes", "mailer_db_bytes",
		"mailer_disk_free_bytes", "process_resident_memory_bytes", "go_goroutines"} {
		if f[name] <= 0 {
			t.Errorf("%s is %v", name, f[name])
		}
	}
	for relay := range sinks {
		if got := f[`mailer_queue_waiting{relay="`+relay+`",reason="retry"}`]; got != 15 {
			t.Errorf("%v emails wait for their next try at %s, want 15", got, relay)
		}
		if got := f[`mailer_queue_oldest_seconds{relay="`+relay+`"}`]; got <= 0 || got > 60 {
			t.Errorf("the oldest of %s waits for %v s", relay, got)
		}
	}
	if n := strings.Count(string(in.log(t)), "msg=request "); n > 0 {
		t.Errorf("%d lines of requests with --request-log off", n)
	}

	wait := storm(2000)
	after(t, time.Second)
	in.kill(t)
	wait()
	before, _, _ := in.counted(t)
	in.serve(t)
	if got := scrape(t, at)["mailer_emails_accepted_total"]; got != 0 {
		t.Errorf("a new process begins with %v accepted", got)
	}
	agree(before, storm(50)())
}
