package rest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
)

// fakeBody is a body that arrives in parts, with pauses, and respects the deadline of its
// connection like a socket.
type fakeBody struct {
	*httptest.ResponseRecorder
	part  int           // bytes per read
	pause time.Duration // before each
	left  int           // then it ends
	until time.Time
}

// SetReadDeadline sets the deadline.
func (l *fakeBody) SetReadDeadline(at time.Time) error {
	l.until = at
	return nil
}

// SetWriteDeadline does nothing.
func (l *fakeBody) SetWriteDeadline(time.Time) error { return nil }

// Read implements io.Reader.
func (l *fakeBody) Read(p []byte) (int, error) {
	if l.left == 0 {
		return 0, io.EOF
	}
	if !l.until.IsZero() && time.Now().Add(l.pause).After(l.until) {
		time.Sleep(time.Until(l.until))
		return 0, os.ErrDeadlineExceeded
	}
	time.Sleep(l.pause)
	n := min(len(p), l.part, l.left)
	for i := range n {
		p[i] = 'x'
	}
	l.left -= n
	return n, nil
}

// Close implements io.Closer.
func (l *fakeBody) Close() error { return nil }

// bodyOf returns the exchange of a request with a fakeBody.
func (b *fixture) bodyOf(l *fakeBody, team string, n int64) (*Exchange, *http.Request) {
	l.ResponseRecorder = httptest.NewRecorder()
	r := httptest.NewRequest("POST", "/", l)
	r.ContentLength, r.Body = n, l
	x := &Exchange{ResponseWriter: l}
	if team != "" {
		x.Key = &app.Key{TeamID: team}
	}
	setReadDeadline(x, time.Now().Add(b.handler.limits.SmallTime)) // as ServeHTTP
	return x, r
}

func statusOfErr(err error) int {
	if e, ok := err.(*Error); ok {
		return e.StatusCode
	}
	return 0
}

func TestBodyTimeLimits(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	for name, tt := range map[string]struct {
		rt     Route
		line   fakeBody
		n      int64 // announced; -1: not
		status int   // 0: accepted
		within time.Duration
	}{
		"small at once":               {Route{}, fakeBody{part: kib, left: kib}, kib, 0, 0},
		"small that stops":            {Route{}, fakeBody{part: 1, left: kib, pause: time.Hour}, kib, 408, 10 * time.Second},
		"small that trickles":         {Route{}, fakeBody{part: 1, left: kib, pause: time.Second}, kib, 408, 10 * time.Second},
		"public that stops":           {Route{Public: true}, fakeBody{part: 1, left: kib, pause: time.Hour}, kib, 408, 5 * time.Second},
		"public in chunks that stops": {Route{Public: true}, fakeBody{part: 1, left: kib, pause: time.Hour}, -1, 408, 5 * time.Second},
		"large that stops":            {Route{}, fakeBody{part: 1, left: mib, pause: time.Hour}, mib, 408, 10 * time.Second},
		"large public that stops":     {Route{Public: true}, fakeBody{part: 1, left: mib, pause: time.Hour}, mib, 408, 10 * time.Second},
		"large that trickles":         {Route{}, fakeBody{part: 1, left: mib, pause: 9 * time.Second}, mib, 408, 21 * time.Second},
		"large in chunks":             {Route{}, fakeBody{part: 80 * kib, left: mib, pause: time.Second}, -1, 0, 30 * time.Second},
		"large that is slow":          {Route{}, fakeBody{part: 30 * kib, left: mib, pause: time.Second}, mib, 0, 40 * time.Second},
		"large over a minute":         {Route{}, fakeBody{part: 100 * kib, left: 10 * mib, pause: time.Second}, 10 * mib, 408, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, l := newFixture(t), tt.line
				x, r := b.bodyOf(&l, "a", tt.n)
				start := time.Now()
				left := l.left
				err := b.handler.readBody(x, r, &tt.rt, 40*mib)
				took := time.Since(start)
				if statusOfErr(err) != tt.status || took > tt.within || tt.status == 0 && len(x.Body) != left {
					t.Errorf("after %s and %d of %d bytes: %v", took, len(x.Body), left, err)
				}
				if tt.status == 0 && !l.until.IsZero() {
					t.Error("a deadline outlives the body")
				}
			})
		})
	}
}

// TestTricklingStreamIsCut: one byte a minute, or a few a second.
func TestTricklingStreamIsCut(t *testing.T) {
	for name, tt := range map[string]struct {
		l      fakeBody
		within time.Duration
	}{
		"stalls":          {fakeBody{part: 1, left: 100, pause: time.Minute}, 10 * time.Second},
		"trickles":        {fakeBody{part: 100, left: 1 << 20, pause: time.Second}, 21 * time.Second},
		"slow and honest": {fakeBody{part: 16 << 10, left: 1 << 20, pause: time.Second}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, l := newFixture(t), tt.l
				x, r := b.bodyOf(&l, "a", -1)
				if err := b.handler.openStream(x, r, b.handler.limits.Upload); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				_, err := io.Copy(io.Discard, x.Stream)
				if honest := tt.within == 0; honest != (err == nil) || !honest && (time.Since(start) > tt.within || statusOfErr(x.Stream.Failure()) != 408) {
					t.Errorf("after %s: %v", time.Since(start), err)
				}
				b.handler.bodyBudget.release(&x.bodyMemory)
				if n := used(b.handler.bodyBudget.large); n != 0 {
					t.Errorf("%d bytes are still held", n)
				}
			})
		})
	}
}

// TestUnsentBodyReservesNothing: while 48 bodies are announced with their full length and do not
// arrive, another team's large body and a third team's small body are read immediately.
func TestUnsentBodyReservesNothing(t *testing.T) {
	const mib = 1 << 20
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		done := make(chan int, 48)
		for range 48 {
			go func() {
				l := &fakeBody{part: 1, left: 40 * mib, pause: time.Hour}
				x, r := b.bodyOf(l, "bad", 40*mib)
				done <- statusOfErr(b.handler.readBody(x, r, &Route{}, 40*mib))
				b.handler.bodyBudget.release(&x.bodyMemory)
			}()
		}
		synctest.Wait()
		if n := used(b.handler.bodyBudget.large); n > 48*2*firstStep {
			t.Errorf("%d bytes are held by nothing", n)
		}
		for team, n := range map[string]int{"good": 40 * mib, "other": 100} {
			l := &fakeBody{part: mib, left: n}
			x, r := b.bodyOf(l, team, int64(n))
			start := time.Now()
			if err := b.handler.readBody(x, r, &Route{}, 40*mib); err != nil || time.Since(start) > 0 || len(x.Body) != n {
				t.Errorf("%s: %d bytes after %s: %v", team, len(x.Body), time.Since(start), err)
			}
			b.handler.bodyBudget.release(&x.bodyMemory)
		}
		for range 48 {
			if status := <-done; status != 408 {
				t.Errorf("one that stalled: %d", status)
			}
		}
		if n := used(b.handler.bodyBudget.large) + used(b.handler.bodyBudget.slots); n != 0 {
			t.Errorf("%d bytes are still held", n)
		}
	})
}

// TestLargeBodiesOfTeamAreSerial: bodies that grow at the same time would all get stuck. Another
// team's body does not wait.
func TestLargeBodiesOfTeamAreSerial(t *testing.T) {
	const n, size = 8, 4 << 20
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, func(c *Config) { c.Limits.Body, c.Limits.LargeBudget = c.Limits.Body/10, c.Limits.LargeBudget/10 }) // for less to copy
		failed := make(chan error, n+1)
		send := func(team string) {
			l := &fakeBody{part: size / 5, left: size, pause: 100 * time.Millisecond}
			x, r := b.bodyOf(l, team, size)
			failed <- b.handler.readBody(x, r, &Route{}, size)
			b.handler.bodyBudget.release(&x.bodyMemory)
		}
		start := time.Now()
		for range n {
			go send("busy")
		}
		synctest.Wait()
		send("other")
		if took := time.Since(start); took > 1600*time.Millisecond {
			t.Errorf("another team's took %s", took)
		}
		for range n + 1 {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestBodyLengths reads bodies around the step sizes of the buffer.
func TestBodyLengths(t *testing.T) {
	for _, n := range []int{1, firstStep - 1, firstStep, firstStep + 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 128 << 10, 300 << 10, 1<<20 + 1} {
		for _, length := range []int64{int64(n), -1} {
			for _, passing := range []bool{true, false} {
				b := newFixture(t)
				want := bytes.Repeat([]byte("abcdefg"), n/7+1)[:n]
				r := httptest.NewRequest("POST", "/", bytes.NewReader(want))
				r.ContentLength = length
				x := &Exchange{ResponseWriter: httptest.NewRecorder(), Key: &app.Key{TeamID: "a"}}
				err := b.handler.readBody(x, r, &Route{ReusesBuffer: passing}, 40<<20)
				if err != nil || !bytes.Equal(x.Body, want) {
					t.Errorf("%d bytes, announced %d, passing %v: %d come, %v", n, length, passing, len(x.Body), err)
				}
				weight := x.bodyMemory.weight
				if weight < int64(2*n) || weight > max(int64(8*n), 2*firstStep) {
					t.Errorf("%d bytes, announced %d: weight %d", n, length, weight)
				}
				b.handler.bodyBudget.release(&x.bodyMemory)
				if n := used(b.handler.bodyBudget.small) + used(b.handler.bodyBudget.large) + used(b.handler.bodyBudget.slots); n != 0 {
					t.Errorf("%d bytes are still held", n)
				}
			}
		}
	}
}

// TestTeamRateIsShared, and is another team's not.
func TestTeamRateIsShared(t *testing.T) {
	now := testTime
	l := newRateLimiter(3, 5, func() time.Time { return now })
	ask := func(key, team string) (http.Header, error) {
		head := http.Header{}
		return head, l.take(head, &app.Key{ID: key, TeamID: team})
	}
	for i, want := range []string{"2", "1", "0", "1", "0"} {
		head, err := ask(fmt.Sprint("k", i/3), "a")
		if got := head["Ratelimit-Remaining"][0]; err != nil || got != want {
			t.Errorf("request %d: %s left, want %s: %v", i, got, want, err)
		}
	}
	head, err := ask("k2", "a")
	if statusOfErr(err) != 429 || !strings.Contains(err.Error(), "your team") || head.Get("Ratelimit-Limit") != "5" || head.Get("Retry-After") != "1" {
		t.Errorf("the sixth: %v %v", head, err)
	}
	if head, err := ask("b", "b"); err != nil || head.Get("Ratelimit-Remaining") != "2" {
		t.Errorf("another team: %v %v", head, err)
	}
	for range 10 { // what one key has too much is not the others'
		_, _ = ask("b", "b")
	}
	if _, err := ask("b2", "b"); err != nil {
		t.Errorf("another key of a team with a busy one: %v", err)
	}
	now = now.Add(time.Second)
	if _, err := ask("k2", "a"); err != nil {
		t.Errorf("a second later: %v", err)
	}
	alone := newRateLimiter(0, 2, func() time.Time { return now })
	head = http.Header{}
	alone.announceAll(head)
	if head.Get("Ratelimit-Limit") != "2" {
		t.Errorf("a team's limit alone: %v", head)
	}
}
