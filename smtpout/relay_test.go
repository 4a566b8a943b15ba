package smtpout

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
)

// One line for each rule about replies.
func TestSendResults(t *testing.T) {
	three := []string{"a@example.net", "b@example.net", "c@example.net"}
	oneBad := func(reply string) func(int, string, string) string {
		return func(_ int, verb, line string) string {
			if verb == "RCPT" && strings.Contains(line, "<b@") {
				return reply
			}
			return ""
		}
	}
	also := func(first func(int, string, string) string, verb, reply string) func(int, string, string) string {
		return func(n int, v, line string) string {
			if v == verb {
				return reply
			}
			return first(n, v, line)
		}
	}
	tests := []struct {
		name   string
		script func(int, string, string) string
		to     []string
		want   string
		holds  int
		resets bool
	}{
		{"all accepted", nil, three, "done/dot/250 a=accepted/250 b=accepted/250 c=accepted/250", 1, false},
		{"251 is accepted", oneBad("251 2.1.5 will forward"), three[:2], "done/dot/250 a=accepted/250 b=accepted/250", 1, false},
		{"one of three refused", oneBad("550 5.1.1 unknown"), three, "done/dot/250 a=accepted/250 b=refused/550 c=accepted/250", 1, false},
		{"one of three postponed", oneBad("450 4.2.1 busy"), three, "done/dot/250 a=accepted/250 b=postponed/450 c=accepted/250", 1, false},
		{"too many recipients", oneBad("452 4.5.3 too many"), three, "done/dot/250 a=accepted/250 b=postponed/452 c=accepted/250", 1, false},
		{"too many recipients, called permanent", oneBad("552 5.5.3 too many"), three, "done/dot/250 a=accepted/250 b=postponed/552 c=accepted/250", 1, false},
		{"mailbox full", oneBad("552 5.2.2 full"), three, "done/dot/250 a=accepted/250 b=refused/552 c=accepted/250", 1, false},
		{"none accepted", on("RCPT", "550 5.1.1 unknown"), three[:2], "done/rcpt/0 a=refused/550 b=refused/550", 0, true},
		{"421 at RCPT", oneBad("421 4.3.2 later"), three, "trouble/rcpt/421", 0, false},
		{"454 at RCPT", oneBad("454 4.7.0 later"), three, "trouble/rcpt/454", 0, false},
		{"530 at RCPT", oneBad("530 5.7.0 authenticate"), three, "trouble/rcpt/530", 0, false},
		{"nonsense at RCPT", oneBad("354 what"), three, "trouble/rcpt/354", 0, false},

		{"421 at the banner", on("BANNER", "421 4.3.2 busy"), three, "trouble/connect/421", 0, false},
		{"554 at the banner", on("BANNER", "554 5.7.1 go away"), three, "trouble/connect/554", 0, false},
		{"not SMTP", on("BANNER", "+OK POP3 ready"), three, "trouble/connect/0", 0, false},
		{"550 at EHLO", on("EHLO", "550 5.7.1 bad name"), three, "trouble/connect/550", 0, false},
		{"421 at EHLO", on("EHLO", "421 4.7.0 bad name"), three, "trouble/connect/421", 0, false},

		{"421 at MAIL", on("MAIL", "421 4.3.2 busy"), three, "trouble/mail/421", 0, false},
		{"451 at MAIL", on("MAIL", "451 4.3.0 later"), three, "deferred/mail/451", 0, false},
		{"454 at MAIL", on("MAIL", "454 4.7.0 throttled"), three, "trouble/mail/454", 0, false},
		{"530 at MAIL", on("MAIL", "530 5.7.0 authenticate"), three, "trouble/mail/530", 0, false},
		{"538 at MAIL", on("MAIL", "538 5.7.11 encrypt"), three, "trouble/mail/538", 0, false},
		{"503 at MAIL", on("MAIL", "503 5.5.1 AUTH first"), three, "trouble/mail/503", 0, false},
		{"550 at MAIL", on("MAIL", "550 5.1.8 sender"), three, "refused/mail/550", 0, false},
		{"552 at MAIL", on("MAIL", "552 5.3.4 too big"), three, "refused/mail/552", 0, false},

		{"421 at DATA", on("DATA", "421 4.3.2 busy"), three, "trouble/data/421", 0, false},
		{"451 at DATA", also(oneBad("550 5.1.1 unknown"), "DATA", "451 4.3.0 later"), three, "deferred/data/451 b=refused/550", 0, true},
		{"454 at DATA", also(oneBad("550 5.1.1 unknown"), "DATA", "454 4.7.0 later"), three, "trouble/data/454 b=refused/550", 0, false},
		{"554 at DATA", also(oneBad("450 4.2.1 busy"), "DATA", "554 5.6.0 no"), three, "refused/data/554 b=postponed/450", 0, true},
		{"dropped at DATA after a refusal", also(oneBad("550 5.1.1 unknown"), "DATA", hangUp), three, "trouble/data/0 b=refused/550", 0, false},

		{"421 at the dot", also(oneBad("550 5.1.1 unknown"), "DOT", "421 4.3.2 busy"), three, "deferred/dot/421 b=refused/550", 1, false},
		{"451 at the dot", on("DOT", "451 4.3.0 later"), three, "deferred/dot/451", 1, false},
		{"454 at the dot", on("DOT", "454 4.7.0 throttled"), three, "deferred/dot/454", 1, false},
		{"554 at the dot", also(oneBad("450 4.2.1 busy"), "DOT", "554 5.7.1 spam"), three, "refused/dot/554 b=postponed/450", 1, false},
		{"252 at the dot", on("DOT", "252 2.0.0 fine"), three[:1], "done/dot/252 a=accepted/252", 1, false},
		{"nonsense code at the dot", on("DOT", "354 go on"), three, "doubt/dot/354", 1, false},
		{"garbage at the dot", on("DOT", "hello?"), three, "doubt/dot/0", 1, false},
		{"dropped at the dot", also(oneBad("550 5.1.1 unknown"), "DOT", hangUp), three, "doubt/dot/0 b=refused/550", 1, false},

		{"dropped at the banner", on("BANNER", hangUp), three, "trouble/connect/0", 0, false},
		{"dropped at EHLO", on("EHLO", hangUp), three, "trouble/connect/0", 0, false},
		{"dropped at MAIL", on("MAIL", hangUp), three, "trouble/mail/0", 0, false},
		{"dropped at RCPT", on("RCPT", hangUp), three, "trouble/rcpt/0", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			eachMode(t, func(t *testing.T, ehlo []string) {
				f := startFake(t, &fake{ehlo: ehlo, script: tt.script})
				var h authorizer
				res := relayTo(t, f).Send(t.Context(), testMessage(tt.to...), h.authorize)
				want(t, res, tt.want)
				if h.calls() != tt.holds {
					t.Errorf("hold was called %d times, want %d", h.calls(), tt.holds)
				}
				if got := len(f.said("RSET")) > 0; got != tt.resets {
					t.Errorf("RSET said: %v, want %v", got, tt.resets)
				}
				if res.Kind != app.ResultDone && res.Reply.Text == "" {
					t.Error("no words")
				}
				if n := len(f.bodies()); n != tt.holds || f.emptyOnes() != 0 {
					t.Errorf("%d messages arrived, want %d", n, tt.holds)
				}
			})
		})
	}
}

func TestSendKeepsQueueID(t *testing.T) {
	f := startFake(t, &fake{script: on("DOT", "250-2.0.0 Ok\r\n250 2.0.0 queued as 4Bx\x01y")})
	res := relayTo(t, f).Send(t.Context(), testMessage("a@example.net"), authorizeAll)
	if got, want := res.Reply, (app.Reply{Code: 250, Enhanced: "2.0.0", Text: "Ok queued as 4Bx y"}); got != want {
		t.Errorf("reply %+v, want %+v", got, want)
	}
	if res.Recipients[0].Reply != res.Reply {
		t.Errorf("recipient's reply is %+v", res.Recipients[0].Reply)
	}
}

// A name server has its own timeout.
func TestNameServerTimeoutText(t *testing.T) {
	r, err := NewRelay(relayurl.Relay{Region: "us-east-1", Host: "relay.test", TLS: relayurl.TLSOff}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.dial = func(context.Context) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "i/o timeout", Name: "relay.test", IsTimeout: true}}
	}
	res := r.Send(t.Context(), testMessage("a@example.net"), authorizeAll)
	wantWords(t, res, "the name server does not answer for relay.test")
}

// A relay that stops answering at any step must not block Send.
func TestSendStalls(t *testing.T) {
	for verb, result := range map[string]string{
		"BANNER": "trouble/connect/0", "EHLO": "trouble/connect/0", "MAIL": "trouble/mail/0",
		"RCPT": "trouble/rcpt/0", "DATA": "trouble/data/0", "DOT": "doubt/dot/0",
	} {
		eachMode(t, func(t *testing.T, ehlo []string) {
			synctest.Test(t, func(t *testing.T) {
				r := inBubble(t, &fake{ehlo: ehlo, script: on(verb, stall)}, time.Minute)
				start := time.Now()
				res := r.Send(t.Context(), testMessage("a@example.net"), authorizeAll)
				want(t, res, result)
				wantWords(t, res, "no answer within")
				timeout := time.Minute
				if verb == "DOT" {
					timeout *= dotFactor
				}
				if took := time.Since(start); took != timeout {
					t.Errorf("%s took %s, want %s", verb, took, timeout)
				}
			})
		})
	}
}

func TestSendStallWhileReadingBody(t *testing.T) {
	t.Parallel()
	f := startFake(t, &fake{noRead: true})
	defer f.change(func() { f.partial = []string{} })
	cfg := configFor(f.listener)
	cfg.Timeout = 2 * time.Second
	m := testMessage("a@example.net")
	m.Mail.Text = strings.Repeat(strings.Repeat("x", 70)+"\n", 300_000) // more than the sockets hold
	var h authorizer
	res := newRelay(t, cfg).Send(t.Context(), m, h.authorize)
	want(t, res, "trouble/data/0")
	if h.calls() != 0 {
		t.Error("hold was called")
	}
}

func TestSendEndlessReply(t *testing.T) {
	f := startFake(t, &fake{script: on("MAIL", strings.Repeat("250-more\r\n", 50_000)+"250 end")})
	res := relayTo(t, f).Send(t.Context(), testMessage("a@example.net"), authorizeAll)
	want(t, res, "trouble/mail/0")
	wantWords(t, res, "no end")
}

func TestSendRefusedConnection(t *testing.T) {
	f := startFake(t, &fake{})
	f.listener.Close()
	res := relayTo(t, f).Send(t.Context(), testMessage("a@example.net"), authorizeAll)
	want(t, res, "trouble/connect/0")
	wantWords(t, res, "refused")
}

func TestAuthorizeErrorSendsNoDot(t *testing.T) {
	eachMode(t, func(t *testing.T, ehlo []string) {
		f := startFake(t, &fake{ehlo: ehlo})
		r := relayTo(t, f)
		h := authorizer{err: errNo}
		m := testMessage("a@example.net")
		m.Mail.Text = strings.Repeat("a line of text\n", 1000) // more than the buffers of the client
		want(t, r.Send(t.Context(), m, h.authorize), "withdrawn/dot/0")
		r.Close()
		f.wait("the end of the body", func() bool { return len(f.partial) == 1 })
		if n := len(f.bodies()); n != 0 {
			t.Errorf("%d messages arrived", n)
		}
		if h.calls() != 1 {
			t.Errorf("hold was called %d times", h.calls())
		}
	})
}

func TestAuthorizeErrorReportsNoRecipients(t *testing.T) {
	f := startFake(t, &fake{script: func(_ int, verb, line string) string {
		if verb == "RCPT" && strings.Contains(line, "<b@") {
			return "550 5.1.1 unknown"
		}
		return ""
	}})
	h := authorizer{err: errNo}
	want(t, relayTo(t, f).Send(t.Context(), testMessage("a@example.net", "b@example.net"), h.authorize), "withdrawn/dot/0")
}

// The relay receives the message unchanged, whatever its lines begin
// with.
func TestDotsArriveUnchanged(t *testing.T) {
	f := startFake(t, &fake{})
	r := relayTo(t, f)
	for _, text := range []string{
		"Subject: x\r\n\r\n.\r\n..\r\n.x\r\nlast\r\n.\r\n",
		"..\r\n",
		"Subject: x\r\n\r\n" + strings.Repeat(".\r\n", 5000),
	} {
		c, err := r.connect(t.Context(), slotRequest{})
		if err != nil {
			t.Fatal(err)
		}
		b := &built{head: []byte("DKIM-Signature: b=x\r\n" + text)}
		res, end := r.transact(t.Context(), t.Context(), c, testMessage("a@example.net"), b, authorizeAll)
		want(t, res, "done/dot/250 a=accepted/250")
		if end != connReusable {
			t.Errorf("the connection ended as %d", end)
		}
		r.pool.put(c)
		got := f.bodies()
		if last := got[len(got)-1]; last != string(b.head) {
			t.Errorf("arrived: %q", last)
		}
	}
}

func TestEarlierSignatureIsUsedAgain(t *testing.T) {
	f := startFake(t, &fake{})
	cfg := configFor(f.listener)
	cfg.DKIM = true
	m := testMessage("a@example.net")
	m.DKIM, m.Signature = scriptKey(), "DKIM-Signature: v=1; b=earlier\r\n"
	message, err := compose(m)
	if err != nil {
		t.Fatal(err)
	}
	var h authorizer
	want(t, newRelay(t, cfg).Send(t.Context(), m, h.authorize), "done/dot/250 a=accepted/250")
	if got := f.bodies(); len(got) != 1 || got[0] != m.Signature+string(message) {
		t.Errorf("arrived: %q", got)
	}
	if h.calls() != 1 || h.signatures[0] != m.Signature {
		t.Errorf("hold got %q", h.signatures)
	}
}

func TestSigning(t *testing.T) {
	key := scriptKey()
	for _, tt := range []struct {
		name   string
		dkim   bool
		key    *app.DKIMKey
		signed bool
	}{{"on", true, key, true}, {"off", false, key, false}, {"no key", true, nil, false}} {
		t.Run(tt.name, func(t *testing.T) {
			m := testMessage("a@example.net")
			m.DKIM = tt.key
			got, bad := newBuilder(Options{Builders: 1}, tt.dkim, relayurl.ProfileGeneric).build(t.Context(), m)
			if bad != nil {
				t.Fatal(summary(*bad))
			}
			if strings.HasPrefix(got.signature, "DKIM-Signature:") != tt.signed {
				t.Errorf("signature %q", got.signature)
			}
		})
	}
}

func TestSizeAndUTF8(t *testing.T) {
	tests := []struct {
		name string
		ehlo []string
		to   string
		text string
		want string
		enh  string
	}{
		{"fits", []string{"SIZE 100000"}, "a@example.net", "Hi", "done/dot/250 a=accepted/250", "2.0.0"},
		{"no bound", []string{"SIZE 0"}, "a@example.net", "Hi", "done/dot/250 a=accepted/250", "2.0.0"},
		{"too big", []string{"SIZE 1000"}, "a@example.net", strings.Repeat("0123456789\n", 100), "refused/mail/0", "5.3.4"},
		{"utf8 offered", []string{"SMTPUTF8"}, "jürgen@example.net", "Hi", "done/dot/250 jürgen=accepted/250", "2.0.0"},
		{"utf8 missing", []string{"8BITMIME"}, "jürgen@example.net", "Hi", "refused/mail/0", "5.6.7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := startFake(t, &fake{ehlo: tt.ehlo})
			m := testMessage(tt.to)
			m.Mail.Text = tt.text
			res := relayTo(t, f).Send(t.Context(), m, authorizeAll)
			want(t, res, tt.want)
			if res.Reply.Enhanced != tt.enh {
				t.Errorf("enhanced %q, want %q", res.Reply.Enhanced, tt.enh)
			}
			mail := f.said("MAIL")
			if res.Kind == app.ResultRefused {
				if len(mail) > 0 {
					t.Errorf("said %q", mail)
				}
				return
			}
			offered, utf8 := strings.HasPrefix(tt.ehlo[0], "SIZE"), tt.ehlo[0] == "SMTPUTF8"
			if strings.Contains(mail[0], " SIZE=") != offered || strings.Contains(mail[0], " SMTPUTF8") != utf8 {
				t.Errorf("said %q", mail)
			}
		})
	}
}

func TestHeaderNeedsUTF8(t *testing.T) {
	x := &exchange{m: testMessage("a@example.net"), message: &built{utf8: true}}
	if !x.needsUTF8() {
		t.Error("a UTF-8 header was overlooked")
	}
	x.message.utf8 = false
	if x.needsUTF8() {
		t.Error("plain ASCII is said to need SMTPUTF8")
	}
}

// An address must not become a second command or a parameter.
func TestHostileAddresses(t *testing.T) {
	f := startFake(t, &fake{})
	r := relayTo(t, f)
	res := r.Send(t.Context(), testMessage("a@example.net", "b@example.net> NOTIFY=NEVER <x", "c\r\nRSET@example.net", `"d > e"@example.net`), authorizeAll)
	got := make([]app.Outcome, len(res.Recipients))
	for i, rr := range res.Recipients {
		got[i] = rr.Outcome
	}
	if len(got) != 4 || got[0] != app.Accepted || got[1] != app.Refused || got[2] != app.Refused || got[3] != app.Accepted {
		t.Errorf("verdicts %v", got)
	}
	if rcpt := f.said("RCPT"); len(rcpt) != 2 {
		t.Errorf("said %q", rcpt)
	}
	m := testMessage("a@example.net")
	m.EnvelopeFrom = "x> SIZE=1 <@example.com"
	want(t, r.Send(t.Context(), m, authorizeAll), "refused/mail/0")
}

func TestContextEndsBeforeTheDot(t *testing.T) {
	for _, verb := range []string{"BANNER", "EHLO", "MAIL", "RCPT", "DATA"} {
		eachMode(t, func(t *testing.T, ehlo []string) {
			ctx, cancel := context.WithCancel(t.Context())
			f := startFake(t, &fake{ehlo: ehlo, script: func(_ int, v, _ string) string {
				if v == verb {
					cancel()
					return stall
				}
				return ""
			}})
			cfg := configFor(f.listener)
			cfg.Timeout = time.Hour // longer than a test may take
			res := newRelay(t, cfg).Send(ctx, testMessage("a@example.net"), authorizeAll)
			if res.Kind != app.ResultTrouble {
				t.Errorf("%s: %s", verb, summary(res))
			}
			wantWords(t, res, "stopped")
		})
	}
}

func TestContextEndsInAuthorize(t *testing.T) {
	f := startFake(t, &fake{})
	ctx, cancel := context.WithCancel(t.Context())
	h := authorizer{do: cancel}
	want(t, relayTo(t, f).Send(ctx, testMessage("a@example.net"), h.authorize), "trouble/dot/0")
	f.wait("the lost connection", func() bool { return f.open == 0 })
	if len(f.bodies()) != 0 {
		t.Error("the dot was sent")
	}
}

func TestContextEndsAfterTheDot(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := startFake(t, &fake{script: func(_ int, verb, _ string) string {
		if verb == "DOT" {
			cancel() // the client waits for this reply, which comes later
		}
		return ""
	}})
	want(t, relayTo(t, f).Send(ctx, testMessage("a@example.net"), authorizeAll), "done/dot/250 a=accepted/250")
}

func TestCloseEndsTheWaitForTheReply(t *testing.T) {
	committed := make(chan struct{})
	f := startFake(t, &fake{script: func(_ int, verb, _ string) string {
		if verb != "DOT" {
			return ""
		}
		close(committed)
		return stall
	}})
	cfg := configFor(f.listener)
	cfg.Timeout = time.Hour // longer than a test may take
	r := newRelay(t, cfg)
	var wg sync.WaitGroup
	wg.Go(func() {
		res := r.Send(t.Context(), testMessage("a@example.net"), authorizeAll)
		want(t, res, "doubt/dot/0")
		wantWords(t, res, "closed")
	})
	<-committed
	r.Close()
	wg.Wait()
	want(t, r.Send(t.Context(), testMessage("a@example.net"), authorizeAll), "trouble/connect/0")
}

func TestSendWithoutRecipients(t *testing.T) {
	f := startFake(t, &fake{})
	want(t, relayTo(t, f).Send(t.Context(), testMessage(), authorizeAll), "done/compose/0")
	if opened, _ := f.counts(); opened != 0 {
		t.Error("a connection was opened")
	}
}
