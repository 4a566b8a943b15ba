package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// ask returns the answer to GET /metrics.
func ask(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%d %v: %s", w.Code, w.Header(), w.Body)
	}
	return w.Body.String()
}

func TestMetricsWithoutWatcher(t *testing.T) {
	var m *Metrics
	m.Accepted(1)
	m.Result("a", Sent, 1)
	m.Send(time.Second)
	m.Doubt()
	m.Request(200, time.Second)
	m.Attempt(true, 1)
	m.Commit(time.Second)
	m.Watch(nil)
}

func TestText(t *testing.T) {
	m := New()
	m.Watch(func(context.Context) (State, error) {
		return State{Relays: []Relay{{Name: "us-east-1", Up: true, Oldest: 90 * time.Second}, {Name: `o"d\d` + "\n"}},
			Waiting: []Waiting{{"us-east-1", "retry", 7}}, Active: []Active{{"us-east-1", "us-east-1/b", true}}, Listings: []Listing{{"zen.example", "192.0.2.1", true}}, DB: 3 << 40, WAL: 2, Images: 4, OpenRuns: 5, DiskFree: 3, LastBackup: time.Now().Add(-time.Hour)}, nil
	})
	m.Accepted(2)
	m.Result("us-east-1", Sent, 3)
	m.Result("us-east-1", Sent, 1)
	m.Send(40 * time.Millisecond)
	m.Doubt()
	m.Request(503, time.Millisecond)
	m.Request(0, time.Millisecond)
	m.Attempt(false, 1)
	m.Commit(time.Minute)
	got := ask(t, m)
	for _, line := range []string{
		"mailer_emails_accepted_total 2",
		`mailer_results_total{relay="us-east-1",result="sent"} 4`,
		`mailer_results_total{relay="us-east-1",result="bounced"} 0`,
		`mailer_results_total{relay="o\"d\\d\n",result="sent"} 0`,
		`mailer_queue_waiting{relay="us-east-1",reason="retry"} 7`,
		`mailer_queue_oldest_seconds{relay="us-east-1"} 90`,
		`mailer_relay_up{relay="us-east-1"} 1`,
		`mailer_relay_active{region="us-east-1",relay="us-east-1/b"} 1`,
		`mailer_relay_switches_total{region="us-east-1"} 0`,
		`mailer_relay_up{relay="o\"d\\d\n"} 0`,
		`mailer_send_seconds_bucket{le="0.025"} 0`,
		`mailer_send_seconds_bucket{le="0.05"} 1`,
		`mailer_send_seconds_bucket{le="+Inf"} 1`,
		"mailer_send_seconds_count 1",
		"mailer_doubts_total 1",
		`mailer_http_request_seconds_bucket{le="0.001"} 2`,
		`mailer_http_requests_total{code="2xx"} 0`,
		`mailer_http_requests_total{code="5xx"} 1`,
		`mailer_webhook_attempts_total{result="failed"} 1`,
		`mailer_webhook_attempts_total{result="success"} 0`,
		`mailer_opt_ins_total{result="stopped"} 0`,
		`mailer_commit_seconds_bucket{le="10"} 0`,
		`mailer_commit_seconds_bucket{le="+Inf"} 1`,
		`mailer_block_listed{list="zen.example",address="192.0.2.1"} 1`,
		"mailer_db_bytes 3298534883328",
		"mailer_wal_bytes 2",
		"mailer_automation_runs_open 5",
		"mailer_images_bytes 4",
		"mailer_disk_free_bytes 3",
	} {
		if !strings.Contains(got, "\n"+line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
	for _, f := range Families() {
		if n := strings.Count(got, "\n# TYPE "+f.Name+" "+f.Type+"\n"); n != 1 && !strings.HasPrefix(got, "# HELP "+f.Name+" ") {
			t.Errorf("%s has its type %d times", f.Name, n)
		}
	}
	for _, name := range []string{"process_cpu_seconds_total", "process_resident_memory_bytes", "process_start_time_seconds", "process_open_fds", "go_goroutines", "go_memstats_heap_alloc_bytes", "go_info"} {
		if !strings.Contains(got, "\n"+name) {
			t.Errorf("no %s", name)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

func TestStateIsCachedAndFailureIsOmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New()
		looks, took, fails := 0, time.Duration(0), errors.New("no disk")
		m.Watch(func(context.Context) (State, error) {
			looks++
			time.Sleep(took)
			return State{WAL: int64(looks)}, fails
		})
		if got := ask(t, m); strings.Contains(got, "mailer_wal_bytes") || !strings.Contains(got, "mailer_emails_accepted_total 0") {
			t.Errorf("after a look that failed: %s", got)
		}
		fails = nil
		for i, step := range []struct {
			wait, took time.Duration
			looks      int
		}{{0, 0, 2}, {4 * time.Second, 0, 2}, {time.Second, time.Second, 3}, {19 * time.Second, 0, 3}, {time.Second, 0, 4}} {
			time.Sleep(step.wait)
			took = step.took
			if ask(t, m); looks != step.looks {
				t.Errorf("step %d: looked %d times, want %d", i, looks, step.looks)
			}
		}
	})
}

func TestOnlyGetIsServed(t *testing.T) {
	h := New().Handler(slog.New(slog.DiscardHandler))
	for _, c := range []struct {
		method, path string
		status       int
	}{{"GET", "/metrics", 200}, {"HEAD", "/metrics", 405}, {"POST", "/metrics", 405}, {"GET", "/", 404}, {"GET", "/metrics/", 404}} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		if w.Code != c.status || c.status == 405 && w.Header().Get("Allow") != "GET" {
			t.Errorf("%s %s: %d %v", c.method, c.path, w.Code, w.Header())
		}
	}
}

func listenFor(flag, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return l, nil
}

func TestInvalidAddressNamesFlag(t *testing.T) {
	for _, listen := range []string{"nowhere", "127.0.0.1:99999", "192.0.2.1:0"} {
		f := Flags{listen: listen}
		err := f.Check()
		if err == nil {
			err = f.Open(listenFor)
		}
		if err == nil || !strings.HasPrefix(err.Error(), "--metrics-listen: ") {
			t.Errorf("%s: %v", listen, err)
		}
	}
	off := Flags{}
	if err := errors.Join(off.Check(), off.Open(listenFor)); err != nil || off.Metrics() != nil {
		t.Errorf("off: %v, %v", err, off.Metrics())
	}
}

func BenchmarkResult(b *testing.B) {
	m := New()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.Result("us-east-1", Sent, 1)
		}
	})
}
