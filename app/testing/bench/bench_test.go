package bench

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// signingLimit returns how many RSA-2048 signatures all cores make in a second, and the processor
// time of one.
func signingLimit(tb testing.TB) (rate float64, each time.Duration) {
	tb.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		tb.Fatal(err)
	}
	digest := sha256.Sum256([]byte("digest"))
	const span = time.Second
	var n atomic.Int64
	var wg sync.WaitGroup
	start, cpu := time.Now(), ownCPU()
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for time.Since(start) < span {
				if _, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, digest[:]); err != nil {
					tb.Error(err)
					return
				}
				n.Add(1)
			}
		})
	}
	wg.Wait()
	rate = float64(n.Load()) / time.Since(start).Seconds()
	return rate, (ownCPU() - cpu) / time.Duration(n.Load())
}

// syncLimit returns how many sequential appends of 8 KB with fsync the disk of dir makes in a
// second: the minimum cost of a commit for each email.
func syncLimit(tb testing.TB, dir string) float64 {
	tb.Helper()
	f, err := os.CreateTemp(dir, "sync-")
	if err != nil {
		tb.Fatal(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	block := make([]byte, 8<<10)
	start := time.Now()
	n := 0
	for time.Since(start) < 500*time.Millisecond {
		if _, err := f.Write(block); err != nil {
			tb.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			tb.Fatal(err)
		}
		n++
	}
	return float64(n) / time.Since(start).Seconds()
}

// BenchmarkAccept posts emails while the server also sends them: unsigned, then signed. The ratio
// is to single fsyncs in a second on the same disk.
func BenchmarkAccept(b *testing.B) {
	for _, mode := range []string{"dkim=off", "dkim=on"} {
		for _, clients := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/clients=%d", mode, clients), func(b *testing.B) {
				limit := syncLimit(b, b.TempDir())
				sink := newSink(b)
				s := startServer(b, b.TempDir(), "smtp://"+sink.addr()+"?tls=off&connections=16&"+mode)
				s.load(200, clients) // warm up
				b.ResetTimer()
				latencies := s.load(b.N, clients)
				b.StopTimer()
				rate := float64(b.N) / b.Elapsed().Seconds()
				b.ReportMetric(rate, "accepts/s")
				b.ReportMetric(rate/limit, "x-fsync")
				b.ReportMetric(float64(quantile(latencies, 0.50).Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(quantile(latencies, 0.99).Microseconds())/1000, "p99-ms")
				b.ReportMetric(float64(sink.messages.Load()), "sent-meanwhile")
			})
		}
	}
}

// batchSize is the maximum size of a batch.
const batchSize = 100

// BenchmarkAcceptBatch posts emails in batches of 100 while the server also sends them, unsigned.
// -benchtime counts emails. The ratio is of emails to single fsyncs in a second on the same disk.
func BenchmarkAcceptBatch(b *testing.B) {
	for _, clients := range []int{1, 8} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			limit := syncLimit(b, b.TempDir())
			sink := newSink(b)
			s := startServer(b, b.TempDir(), "smtp://"+sink.addr()+"?tls=off&connections=16&dkim=off")
			s.post(s.batch(batchSize), 8, clients) // warm up
			b.ResetTimer()
			latencies := s.batches(b.N, clients)
			b.StopTimer()
			rate := float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(rate, "emails/s")
			b.ReportMetric(rate/limit, "x-fsync")
			b.ReportMetric(float64(quantile(latencies, 0.50).Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(quantile(latencies, 0.99).Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(sink.messages.Load()), "sent-meanwhile")
			b.ReportMetric(s.memory("VmHWM"), "peak-MB")
		})
	}
}

// batch returns a request with n emails.
func (s *server) batch(n int) []byte {
	return s.request("/emails/batch", "["+strings.Repeat(oneEmail()+",", n-1)+oneEmail()+"]")
}

// batches posts n emails in full batches and one partial batch, and returns the sorted latencies.
func (s *server) batches(n, clients int) []time.Duration {
	s.tb.Helper()
	latencies := s.post(s.batch(batchSize), n/batchSize, clients)
	if rest := n % batchSize; rest > 0 {
		latencies = append(latencies, s.post(s.batch(rest), 1, 1)...)
		slices.Sort(latencies)
	}
	return latencies
}

// slowRuns limits the repetitions of benchmarks that take seconds: -benchtime 10000x is meant for
// those that count emails.
const slowRuns = 10

// trickle calls run as often as -benchtime says, at most maxRuns times, and returns how often.
func trickle(b *testing.B, maxRuns int, run func()) int {
	runs := 0
	for b.Loop() {
		if runs < maxRuns {
			run()
			runs++
		}
	}
	return runs
}

// BenchmarkEndToEnd measures from the first accept to the last message at the
// sink. The ratios are to RSA-2048 signing alone on the same cores.
func BenchmarkEndToEnd(b *testing.B) {
	for _, mode := range []string{"dkim=off", "dkim=on"} {
		b.Run(mode, func(b *testing.B) {
			limit, each := signingLimit(b)
			sink, dir := newSink(b), b.TempDir()
			if n := emailsBefore(b, 0); n > 0 {
				startServer(b, dir, "").stop() // makes database and master key
				fillEmails(b, dir, n)
			}
			s := startServer(b, dir, "smtp://"+sink.addr()+"?tls=off&connections=16&"+mode)
			s.load(200, 16)
			sink.waitFor(200)
			cpu := s.cpu()
			b.ResetTimer()
			s.load(b.N, 16)
			sink.waitFor(200 + int64(b.N))
			b.StopTimer()
			cpu = s.cpu() - cpu
			rate := float64(b.N) / b.Elapsed().Seconds()
			perMessage := cpu / time.Duration(b.N)
			b.ReportMetric(rate, "messages/s")
			b.ReportMetric(rate/limit, "x-signing-rate")
			b.ReportMetric(float64(perMessage.Microseconds()), "cpu-us/message")
			b.ReportMetric(float64(perMessage)/float64(each), "x-signing-cpu")
			b.ReportMetric(s.memory("VmHWM"), "peak-MB")
		})
	}
}

// queued is the length of the queue in BenchmarkRestart.
const queued = 100_000

// BenchmarkRestart starts a server on a database with 100,000 queued emails,
// whose relay can't be reached: time to ready, and memory with that queue.
func BenchmarkRestart(b *testing.B) {
	dir := b.TempDir()
	relay := "smtp://" + freeAddr(b) + "?tls=off"
	s := startServer(b, dir, relay)
	s.load(queued, 64)
	accepting := s.memory("VmHWM")
	s.stop()
	var took time.Duration
	runs := trickle(b, slowRuns, func() {
		s = startServer(b, dir, relay)
		took += s.started
		b.ReportMetric(s.memory("VmHWM"), "peak-MB")
		s.stop()
	})
	b.ReportMetric(accepting, "accepting-peak-MB")
	b.ReportMetric(float64(took.Milliseconds())/float64(runs), "ready-ms")
}

// BenchmarkIdle measures the memory of an idle server after one request.
func BenchmarkIdle(b *testing.B) {
	trickle(b, slowRuns, func() {
		sink := newSink(b)
		s := startServer(b, b.TempDir(), "smtp://"+sink.addr()+"?tls=off")
		s.load(1, 1)
		sink.waitFor(1)
		b.ReportMetric(s.memory("VmRSS"), "idle-MB")
		s.stop()
	})
}
