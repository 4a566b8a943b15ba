package sdktest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestHostileMailMemory: a handful of messages of 40 MB, made to grow as they are read, from several peers at once, need
// bounded memory; mail and API go on.
func TestHostileMailMemory(t *testing.T) {
	part(t, judged)
	w := newReceivingFixtureBy(t, startBare, strict)
	before := w.in.peak(t)
	const size = 38 << 20
	head := func(id int, header string) string {
		return fmt.Sprintf("From: ann@peer.test\r\nTo: support@in.example.test\r\nSubject: hostile\r\nMessage-ID: <h%d@peer.test>\r\nMIME-Version: 1.0\r\n%s\r\n\r\n", id, header)
	}
	fill := func(pattern string) string { return strings.Repeat(pattern, size/len(pattern)) }
	bodies := []struct{ header, text string }{
		{"Content-Type: text/plain", fill("hello world\r\n")},
		{"Content-Type: text/html", fill("<ul><li>a\r\n")},
		{"Content-Type: text/html", fill("<hr>\r\n")},
		{"Content-Type: text/plain; charset=windows-874", fill("\xa1\xa1\xa1\xa1\xa1\xa1\r\n")},
		{"Content-Type: text/plain\r\nContent-Transfer-Encoding: base64", fill("AAAAAAAAAAAAAAAAAAAA\r\n")},
		{"Content-Type: multipart/mixed; boundary=b", fill("--b\r\nContent-Type: text/html\r\n\r\n<p>\r\n--b\r\n\r\n\"\"\"\"\"\"\r\n")},
		{"Content-Type: multipart/mixed; boundary=b", fill("--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n")},
		{"Content-Transfer-Encoding: quoted-printable", fill("=3D=\r\n")},
		{"X-A: " + strings.Repeat("a", 1<<20), fill("\r\n")},
	}
	var group sync.WaitGroup
	var taken atomic.Int64
	var slowest atomic.Int64
	for i, b := range bodies {
		group.Go(func() {
			message := head(i, b.header) + b.text + "\r\n"
			for err := error(nil); ; {
				began := time.Now()
				if err = w.deliver(message); err == nil {
					taken.Add(1)
					slowest.Store(max(slowest.Load(), int64(time.Since(began))))
					return
				}
				if !strings.HasPrefix(err.Error(), "452") { // the rate of all mail is bounded
					t.Errorf("%q: %v", b.header, err)
					return
				}
				pause(t.Context(), time.Second)
			}
		})
	}
	api := client{w.in.url, w.key}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	var calls []time.Duration
	for running := true; running; {
		select {
		case <-done:
			running = false
		case <-time.After(200 * time.Millisecond):
			began := time.Now()
			api.send(t, map[string]any{"from": "a@example.test", "to": "reader@example.com", "subject": "beside", "text": "x"})
			calls = append(calls, time.Since(began))
		}
	}
	peak := w.in.peak(t)
	slices.Sort(calls)
	t.Logf("%d messages of %d MiB: peak %.0f MB, before %.0f; slowest %s; API calls took %s", taken.Load(), size>>20, peak, before, time.Duration(slowest.Load()).Round(time.Millisecond), quantiles(calls))
	if int(taken.Load()) != len(bodies) || peak > before+1000 {
		t.Error("hostile mail needs too much memory, or was not taken")
	}
}

// TestSendingWhileReceiving: beside 100 incoming mails a second, the sending rate falls by at most their share of the
// processors.
func TestSendingWhileReceiving(t *testing.T) {
	part(t, judged)
	w := newReceivingFixtureBy(t, startBare, strict)
	h := &submissionFixture{instance: w.in, relay: w.sink, api: client{w.in.url, w.key}}
	const span = 10 * time.Second
	type figures struct{ sent, received, server, self float64 } // a second
	measure := func(sending, receiving bool) (f figures) {
		ctx, cancel := context.WithTimeout(t.Context(), span)
		defer cancel()
		server, self, arrived := processorTime(t, w.in.cmd.Process.Pid), ownProcessorTime(t), len(w.sink.messages())
		var group sync.WaitGroup
		var taken atomic.Int64
		if receiving {
			group.Go(func() { taken.Store(w.incoming(ctx, t, 100)) })
		}
		if sending {
			group.Go(func() { h.byAPI(ctx, t) })
		}
		<-ctx.Done()
		group.Wait()
		seconds := span.Seconds()
		return figures{float64(len(w.sink.messages())-arrived) / seconds, float64(taken.Load()) / seconds, (processorTime(t, w.in.cmd.Process.Pid) - server).Seconds() / seconds, (ownProcessorTime(t) - self).Seconds() / seconds}
	}
	settle := func() {
		eventually(t, 2*time.Minute, "everything has left", func() (bool, string) {
			before := len(w.sink.messages())
			pause(t.Context(), time.Second)
			return len(w.sink.messages()) == before, fmt.Sprint(before)
		})
	}
	measure(true, false) // warm
	settle()
	var alone, both, only figures
	for range 2 {
		a := measure(true, false)
		settle()
		o := measure(false, true)
		b := measure(true, true)
		settle()
		if a.sent > alone.sent {
			alone = a
		}
		if b.sent > both.sent {
			both = b
		}
		only = o
	}
	share := (only.server + only.self) / float64(runtime.NumCPU())
	ratio := both.sent / alone.sent
	t.Logf("sending alone %.0f a second (server %.2f processors, test %.2f); receiving alone %.0f a second (server %.2f, test %.2f: a share of %.2f); both %.0f and %.0f a second (server %.2f): ratio %.2f",
		alone.sent, alone.server, alone.self, only.received, only.server, only.self, share, both.sent, both.received, both.server, ratio)
	if both.received < 0.8*only.received || ratio < 1-share-0.15 {
		t.Error("receiving costs sending more than its share of the processors")
	}
}

// incoming delivers mail at a rate over eight connections until ctx ends, and returns how many were taken.
func (w *receivingFixture) incoming(ctx context.Context, t *testing.T, rate int) int64 {
	ticks := time.NewTicker(time.Second / time.Duration(rate))
	defer ticks.Stop()
	var n, taken atomic.Int64
	var group sync.WaitGroup
	run := time.Now().UnixNano()
	for range 8 {
		group.Go(func() {
			c, a, err := w.greet("")
			if err != nil || a.code != 250 {
				t.Errorf("%s, %v", a, err)
				return
			}
			defer c.Close()
			for {
				select {
				case <-ctx.Done():
					return
				case <-ticks.C:
				}
				message := strings.ReplaceAll(receivedMail, "q1@", fmt.Sprintf("r%d-%d@", run, n.Add(1)))
				if a, err := c.handIn(message, "", "support@in.example.test"); err != nil || a.code != 250 {
					t.Errorf("%s, %v", a, err)
					return
				}
				taken.Add(1)
			}
		})
	}
	group.Wait()
	return taken.Load()
}

// ownProcessorTime returns how long this process has used a processor.
func ownProcessorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
