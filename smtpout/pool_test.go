package smtpout

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
)

// counts returns the number of connections, in all and at most concurrently.
func (f *fake) counts() (opened, peak int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opened, f.peak
}

func TestConnectionIsReused(t *testing.T) {
	// The connection is reused after results that leave the session in order.
	script := func(_ int, verb, line string) string {
		switch {
		case verb == "RCPT" && strings.Contains(line, "<refused@"):
			return "550 5.1.1 unknown"
		case verb == "MAIL" && strings.Contains(line, "<sender@"):
			return "450 4.1.8 sender"
		}
		return ""
	}
	f := startFake(t, &fake{script: script})
	r := relayTo(t, f)
	for i := range 3 {
		want(t, r.Send(t.Context(), testMessage("a@example.net"), authorizeAll), "done/dot/250 a=accepted/250")
		want(t, r.Send(t.Context(), testMessage("refused@example.net"), authorizeAll), "done/rcpt/0 refused=refused/550")
		m := testMessage("a@example.net")
		m.EnvelopeFrom = "sender@example.com"
		want(t, r.Send(t.Context(), m, authorizeAll), "deferred/mail/450")
		if opened, _ := f.counts(); opened != 1 {
			t.Fatalf("round %d: %d connections", i, opened)
		}
	}
	for _, line := range f.said("EHLO") {
		if line != "EHLO mailer.example.com" {
			t.Errorf("said %q", line)
		}
	}
	r.Close()
	f.wait("QUIT", func() bool { return f.open == 0 })
	if n := len(f.said("QUIT")); n != 1 {
		t.Errorf("QUIT said %d times", n)
	}
}

// A connection whose session may have ended is not reused.
func TestConnectionIsDropped(t *testing.T) {
	for verb, reply := range map[string]string{
		"RCPT": "421 4.3.2 busy", "DATA": "454 4.7.0 later", "DOT": "421 4.3.2 busy",
	} {
		t.Run(verb, func(t *testing.T) {
			f := startFake(t, &fake{script: func(n int, v, _ string) string {
				if n == 1 && v == verb {
					return reply
				}
				return ""
			}})
			r := relayTo(t, f)
			if res := r.Send(t.Context(), testMessage("a@example.net"), authorizeAll); res.Kind == app.ResultDone {
				t.Errorf("got %s", summary(res))
			}
			f.wait("the end of the connection", func() bool { return f.open == 0 })
			want(t, r.Send(t.Context(), testMessage("a@example.net"), authorizeAll), "done/dot/250 a=accepted/250")
		})
	}
}

func TestConnectionLimit(t *testing.T) {
	f := startFake(t, &fake{})
	r := relayTo(t, f)
	r.pool.connLimit = 3
	for range 7 {
		want(t, r.Send(t.Context(), testMessage("a@example.net"), authorizeAll), "done/dot/250 a=accepted/250")
	}
	f.wait("two goodbyes", func() bool { return f.open == 1 })
	if opened, _ := f.counts(); opened != 3 || len(f.said("QUIT")) != 2 {
		t.Errorf("%d connections, %d goodbyes", opened, len(f.said("QUIT")))
	}
}

func TestDeadIdleConnectionIsReplaced(t *testing.T) {
	for _, goodbye := range []string{hangUp, "421 4.4.2 idle for too long"} {
		eachMode(t, func(t *testing.T, ehlo []string) {
			var mails atomic.Int32
			f := startFake(t, &fake{ehlo: ehlo, script: func(_ int, verb, _ string) string {
				if verb == "MAIL" && mails.Add(1) == 2 {
					return goodbye
				}
				return ""
			}})
			r := relayTo(t, f)
			var h authorizer
			for range 3 {
				want(t, r.Send(t.Context(), testMessage("a@example.net"), h.authorize), "done/dot/250 a=accepted/250")
			}
			if opened, _ := f.counts(); opened != 2 || h.calls() != 3 || len(f.bodies()) != 3 {
				t.Errorf("%d connections, %d holds, %d messages", opened, h.calls(), len(f.bodies()))
			}
		})
	}
}

// EHLO is sent once per connection.
func TestNoCommandBetweenTransactions(t *testing.T) {
	eachMode(t, func(t *testing.T, ehlo []string) {
		f := startFake(t, &fake{ehlo: ehlo, script: func(_ int, verb, line string) string {
			if verb == "RCPT" && strings.Contains(line, "<refused@") {
				return "550 5.1.1 unknown"
			}
			return ""
		}})
		r := relayTo(t, f)
		for range 2 {
			want(t, r.Send(t.Context(), testMessage("a@example.net"), authorizeAll), "done/dot/250 a=accepted/250")
		}
		if len(f.said("RSET"))+len(f.said("NOOP")) != 0 {
			t.Errorf("said %q and %q between transactions that ended well", f.said("RSET"), f.said("NOOP"))
		}
		want(t, r.Send(t.Context(), testMessage("refused@example.net"), authorizeAll), "done/rcpt/0 refused=refused/550")
		want(t, r.Send(t.Context(), testMessage("a@example.net"), authorizeAll), "done/dot/250 a=accepted/250")
		if len(f.said("EHLO")) != 1 || len(f.said("RSET")) != 1 {
			t.Errorf("said %q and %q", f.said("EHLO"), f.said("RSET"))
		}
	})
}

// An unexpected line after a reply must not be taken for the reply to the next command.
func TestUnexpectedReplyReplacesConnection(t *testing.T) {
	for _, unasked := range []string{"250 2.0.0 once more", "421 4.4.2 goodbye"} {
		eachMode(t, func(t *testing.T, ehlo []string) {
			f := startFake(t, &fake{ehlo: ehlo, script: func(n int, verb, _ string) string {
				if n == 1 && verb == "DOT" {
					return "250 2.0.0 Ok\r\n" + unasked
				}
				return ""
			}})
			r := relayTo(t, f)
			for range 2 {
				want(t, r.Send(t.Context(), testMessage("a@example.net"), authorizeAll), "done/dot/250 a=accepted/250")
			}
			if opened, _ := f.counts(); opened != 2 || len(f.bodies()) != 2 || len(f.said("MAIL")) != 2 {
				t.Errorf("%d connections, %d messages, said %q", opened, len(f.bodies()), f.said("MAIL"))
			}
		})
	}
}

// A connection that the end of a context closes must not be reused, even if the transaction has a
// result.
func TestConnectionOfEndedContextIsDropped(t *testing.T) {
	r := relayTo(t, startFake(t, &fake{}))
	c, err := r.connect(t.Context(), slotRequest{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := testMessage("a@example.net")
	m.EnvelopeFrom = "<" // refused locally
	res, end := r.transact(ctx, ctx, c, m, &built{}, authorizeAll)
	r.pool.drop(c)
	want(t, res, "refused/mail/0")
	if end != connBroken {
		t.Errorf("the connection ended as %d", end)
	}
}

// The relay closed the idle connection long before MAIL.
func TestIdleConnectionClosedByRelay(t *testing.T) {
	eachMode(t, func(t *testing.T, ehlo []string) {
		f := startFake(t, &fake{ehlo: ehlo})
		r := relayTo(t, f)
		want(t, r.Send(t.Context(), testMessage("a@example.net"), authorizeAll), "done/dot/250 a=accepted/250")
		f.mu.Lock()
		f.conns[0].Close()
		f.mu.Unlock()
		f.wait("the close", func() bool { return f.open == 0 })
		want(t, r.Send(t.Context(), testMessage("a@example.net"), authorizeAll), "done/dot/250 a=accepted/250")
	})
}

// Only once: a relay that hangs up on each MAIL is in trouble.
func TestDeadConnectionIsReplacedOnce(t *testing.T) {
	var mails atomic.Int32
	f := startFake(t, &fake{script: func(_ int, verb, _ string) string {
		if verb == "MAIL" && mails.Add(1) > 1 {
			return hangUp
		}
		return ""
	}})
	r := relayTo(t, f)
	want(t, r.Send(t.Context(), testMessage("a@example.net"), authorizeAll), "done/dot/250 a=accepted/250")
	want(t, r.Send(t.Context(), testMessage("a@example.net"), authorizeAll), "trouble/mail/0")
	if opened, _ := f.counts(); opened != 2 {
		t.Errorf("%d connections", opened)
	}
}

func TestIdleConnectionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		r := inBubble(t, f, time.Minute)
		want(t, r.Send(t.Context(), testMessage("a@example.net"), authorizeAll), "done/dot/250 a=accepted/250")
		time.Sleep(r.pool.idleLimit - time.Second)
		synctest.Wait()
		if n := len(f.said("QUIT")); n != 0 {
			t.Errorf("QUIT said %d times before its time", n)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := len(f.said("QUIT")); n != 1 {
			t.Errorf("QUIT said %d times", n)
		}
		want(t, r.Send(t.Context(), testMessage("a@example.net"), authorizeAll), "done/dot/250 a=accepted/250")
	})
}

// A relay that never answers QUIT must not keep Close waiting for longer than the timeout.
func TestCloseWithSilentRelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inBubble(t, &fake{script: on("QUIT", stall)}, time.Minute)
		want(t, r.Send(t.Context(), testMessage("a@example.net"), authorizeAll), "done/dot/250 a=accepted/250")
		start := time.Now()
		r.Close()
		if took := time.Since(start); took > time.Minute {
			t.Errorf("took %s", took)
		}
	})
}

func TestConnectionCap(t *testing.T) {
	// No message ends before three are being sent, so the limit is reached.
	var inFlight atomic.Int32
	full := make(chan struct{})
	f := startFake(t, &fake{script: func(_ int, verb, _ string) string {
		if verb == "DATA" {
			if inFlight.Add(1) == 3 {
				close(full)
			}
			<-full
		}
		return ""
	}})
	cfg := configFor(f.listener)
	cfg.Connections = 3
	r := newRelay(t, cfg)
	r.pool.connLimit = 5
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			want(t, r.Send(t.Context(), testMessage(fmt.Sprintf("u%d@example.net", i)), authorizeAll), fmt.Sprintf("done/dot/250 u%d=accepted/250", i))
		})
	}
	wg.Wait()
	if _, peak := f.counts(); peak != 3 {
		t.Errorf("%d concurrent connections, want 3", peak)
	}
	if n := len(f.bodies()); n != 50 {
		t.Errorf("%d messages arrived", n)
	}
}

func TestWaitForAConnectionEndsWithContext(t *testing.T) {
	busy := make(chan struct{})
	f := startFake(t, &fake{})
	cfg := configFor(f.listener)
	cfg.Connections = 1
	r := newRelay(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		h := authorizer{do: func() { close(busy); <-ctx.Done() }}
		want(t, r.Send(t.Context(), testMessage("a@example.net"), h.authorize), "done/dot/250 a=accepted/250")
	})
	<-busy
	var res app.Result
	wg.Go(func() { res = r.Send(ctx, testMessage("b@example.net"), authorizeAll) })
	cancel()
	wg.Wait()
	// The second Send may get the connection just before it sees the end.
	if res.Kind != app.ResultTrouble {
		t.Errorf("got %s", summary(res))
	}
}

func TestBuildersAreBounded(t *testing.T) {
	b := newBuilder(Options{Builders: 1}, false, relayurl.ProfileGeneric)
	if _, err := b.slots.acquire(t.Context(), slotRequest{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, bad := b.build(ctx, testMessage("a@example.net")); bad == nil || bad.Kind != app.ResultTrouble {
		t.Errorf("built beside a full pool: %v", bad)
	}
}
