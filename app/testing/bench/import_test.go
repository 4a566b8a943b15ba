package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// importSize is the number of rows of BenchmarkImport.
const importSize = 100_000

// importForm is a file of n contacts with two names and two properties.
func importForm(tb testing.TB, n int) (body []byte, contentType string) {
	tb.Helper()
	var rows bytes.Buffer
	fmt.Fprintln(&rows, "email,first_name,last_name,plan,city")
	for i := range n {
		fmt.Fprintf(&rows, "customer.%d@example.org,Ann,Lee,pro,Town %d\n", i*7919%n, i%100)
	}
	return upload(tb, rows.Bytes(), "")
}

// upload returns a form with a file of contacts and further parameters.
func upload(tb testing.TB, rows []byte, params string) (body []byte, contentType string) {
	tb.Helper()
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	if params != "" {
		must(tb, w.WriteField("params", params))
	}
	file, err := w.CreateFormFile("file", "contacts.csv")
	must(tb, err)
	_, err = file.Write(rows)
	must(tb, err)
	must(tb, w.Close())
	return buf.Bytes(), w.FormDataContentType()
}

// call makes a request and reads its JSON answer.
func (s *server) call(method, path, contentType string, body io.Reader, answer any) {
	s.tb.Helper()
	call(s.tb, method, "http://"+s.addr+path, "Bearer "+s.key, contentType, body, answer)
}

func call(tb testing.TB, method, address, authorization, contentType string, body io.Reader, answer any) {
	tb.Helper()
	r, err := http.NewRequest(method, address, body)
	if err != nil {
		tb.Fatal(err)
	}
	r.Header.Set("Authorization", authorization)
	r.Header.Set("Content-Type", contentType)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		text, _ := io.ReadAll(res.Body)
		tb.Fatalf("%s %s: %d %s", method, r.URL.Path, res.StatusCode, text)
	}
	if err := json.NewDecoder(res.Body).Decode(answer); err != nil {
		tb.Fatal(err)
	}
}

type importAnswer struct {
	ID     string
	Status string
	Counts struct{ Total, Created int }
}

// waitImport polls an import to its end.
func (s *server) waitImport(id string) (a importAnswer) {
	s.tb.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for a.Status != "completed" {
		<-tick.C
		s.call("GET", "/contacts/imports/"+id, "application/json", nil, &a)
		if a.Status == "failed" {
			s.tb.Fatalf("import %+v", a)
		}
	}
	return a
}

// BenchmarkImport imports 100,000 contacts on an idle server, and while emails are posted and sent
// continuously.
func BenchmarkImport(b *testing.B) {
	for _, clients := range []int{0, 4, 16} {
		b.Run(fmt.Sprintf("sends-%d", clients), func(b *testing.B) {
			trickle(b, slowRuns, func() { benchmarkImport(b, clients) })
		})
	}
}

func benchmarkImport(b *testing.B, clients int) {
	sink := newSink(b)
	s := startServer(b, b.TempDir(), "smtp://"+sink.addr()+"?tls=off&connections=16&dkim=on")
	s.load(200, 16)
	sink.waitFor(200)
	body, contentType := importForm(b, importSize)
	ctx, stop := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	sends := newSends(clients)
	for c := range clients {
		wg.Go(func() { sends.run(ctx, b, s, c) })
	}
	cpu := s.cpu()
	start := time.Now()
	var created importAnswer
	s.call("POST", "/contacts/imports", contentType, bytes.NewReader(body), &created)
	uploaded := time.Since(start)
	done := s.waitImport(created.ID)
	took := time.Since(start)
	stop()
	wg.Wait()
	if done.Counts.Created != importSize {
		b.Fatalf("import %+v", done)
	}
	b.ReportMetric(took.Seconds(), "s/import")
	b.ReportMetric(float64(uploaded.Milliseconds()), "upload-ms")
	b.ReportMetric((s.cpu() - cpu).Seconds(), "cpu-s")
	b.ReportMetric(s.memory("VmHWM"), "peak-MB")
	if latencies := sends.sorted(); len(latencies) > 0 {
		b.ReportMetric(float64(len(latencies))/took.Seconds(), "accepts/s")
		b.ReportMetric(float64(quantile(latencies, 0.50).Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(quantile(latencies, 0.99).Microseconds())/1000, "p99-ms")
		b.ReportMetric(float64(sink.messages.Load())/took.Seconds(), "sent/s")
	}
	s.stop()
}

// sends holds the latencies of clients that post emails, one list for each.
type sends struct{ all [][]time.Duration }

func newSends(clients int) *sends { return &sends{make([][]time.Duration, clients)} }

func (l *sends) run(ctx context.Context, b *testing.B, s *server, client int) {
	request := s.request("/emails", oneEmail())
	for ctx.Err() == nil {
		latencies, err := s.client(request, 20)
		if err != nil {
			b.Error(err)
			return
		}
		l.all[client] = append(l.all[client], latencies...)
	}
}

func (l *sends) sorted() []time.Duration {
	var out []time.Duration
	for _, list := range l.all {
		out = append(out, list...)
	}
	slices.Sort(out)
	return out
}
