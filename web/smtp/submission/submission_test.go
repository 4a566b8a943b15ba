package submission

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/mail"
	"mailer/db"
)

func TestReplyAfterMessageIsStored(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t, w.plain).signIn(w.key)
	c.cmd("MAIL FROM:<anybody@else.test> SIZE=100 BODY=8BITMIME SMTPUTF8", "250 ")
	c.cmd("RCPT TO:<bob@example.com>", "250 ")
	c.cmd("RCPT TO:<jörg@BÜCHER.example>", "250 ")
	c.cmd("DATA", "354 ")
	if got := c.cmd(message+"..dot\r\n.", "250 "); got != "250 2.0.0 Ok: queued as id-1" {
		t.Errorf("%q", got)
	}
	got := w.calls()
	if len(got) != 1 || got[0].team != "one" || got[0].via != mail.SourceSMTP || string(got[0].Message) != message+".dot\r\n" ||
		!slices.Equal(got[0].Recipients, []string{"bob@example.com", "jörg@xn--bcher-kva.example"}) {
		t.Errorf("%+v", got)
	}
	if want := (app.Actor{Type: app.ActorKey, Name: "key-one", Address: "127.0.0.1"}); got[0].actor != want {
		t.Errorf("acts: %+v", got[0].actor)
	}
	c.begin()
	c.cmd(message+".", "250 2.0.0 Ok: queued as id-2")
	c.cmd("QUIT", "221 ")
	c.wantClosed()
}

func TestEHLOExtensions(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t, w.plain)
	if got := c.cmd("", "220"); got != "220 mail.acme.test ESMTP Mailer" {
		t.Errorf("%q", got)
	}
	got := strings.Split(strings.ReplaceAll(c.cmd("EHLO peer.test", "250"), "\r", ""), "\n")
	want := []string{"250-mail.acme.test Hello peer.test", "250-PIPELINING", "250-STARTTLS", "250-8BITMIME", "250-ENHANCEDSTATUSCODES", "250-CHUNKING", "250-AUTH PLAIN LOGIN",
		"250-SMTPUTF8", "250-SIZE 41943040", "250 LIMITS RCPTMAX=50"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	c.cmd("HELO peer.test", "250 ")
	c.cmd("VRFY bob", "252 ")
	c.cmd("EXPN all", "502 ")
}

func TestKeyIsRequired(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t, w.plain).greet()
	c.cmd("MAIL FROM:<a@acme.test>", "530 5.7.0 ")
	c.cmd("RCPT TO:<bob@example.com>", "502 ")
	c.cmd("DATA", "502 ")
	c.cmd(plainResponse("nonsense"), "535 5.7.8 API key not found")
	c.cmd("MAIL FROM:<a@acme.test>", "530 5.7.0 ")
	token, _, _ := app.NewKey()
	c.cmd(plainResponse(token), "535 5.7.8 API key not found")
	c.cmd(plainResponse(w.key), "235 ")
	c.cmd("MAIL FROM:<a@acme.test>", "250 ")
}

func TestAUTHMechanisms(t *testing.T) {
	w := newTestServer(t, nil)
	user, key := encodedReply("anything"), encodedReply(w.key)
	for name, dialogue := range map[string][]string{
		"PLAIN at once":        {plainResponse(w.key), "235 2.7.0 "},
		"PLAIN when asked":     {"AUTH PLAIN", "334", encodedReply("\x00u\x00" + w.key), "235 "},
		"PLAIN for another":    {"AUTH PLAIN " + encodedReply("other\x00u\x00"+w.key), "235 "},
		"lower case":           {"auth plain " + encodedReply("\x00u\x00"+w.key), "235 "},
		"LOGIN":                {"AUTH LOGIN", "334 " + encodedReply("Username:"), user, "334 " + encodedReply("Password:"), key, "235 2.7.0 "},
		"LOGIN with the user":  {"AUTH LOGIN " + user, "334 " + encodedReply("Password:"), key, "235 "},
		"LOGIN without a user": {"AUTH LOGIN", "334", "=", "334", key, "235 "},
		"LOGIN with a bad key": {"AUTH LOGIN " + user, "334", user, "535 5.7.8 API key not found"},
		"PLAIN in two parts":   {"AUTH PLAIN " + encodedReply("u\x00"+w.key), "501 5.5.2 "},
		"given up":             {"AUTH LOGIN", "334", "*", "501 "},
		"not base64":           {"AUTH PLAIN ???", "454 "},
		"unknown":              {"AUTH XOAUTH2 YWJj", "504 5.5.4 "},
	} {
		t.Run(name, func(t *testing.T) {
			c := w.dial(t, w.plain).greet()
			for i := 0; i < len(dialogue); i += 2 {
				c.cmd(dialogue[i], dialogue[i+1])
			}
			c.conn.Close()
		})
	}
}

func TestAUTHNeedsTLS(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t, w.plain, "192.0.2.7")
	c.cmd("", "220 ")
	if got := c.cmd("EHLO peer.test", "250"); strings.Contains(got, "AUTH") || !strings.Contains(got, "250-STARTTLS") {
		t.Errorf("offered: %s", got)
	}
	c.cmd(plainResponse(w.key), "538 5.7.11 ")
	c.cmd("AUTH LOGIN", "538 5.7.11 ")
	c.cmd("MAIL FROM:<a@acme.test>", "530 5.7.0 ")
	c.startTLS()
	if got := c.cmd("EHLO peer.test", "250-mail.acme.test Hello"); !strings.Contains(got, "AUTH PLAIN LOGIN") || strings.Contains(got, "STARTTLS") {
		t.Errorf("offered under TLS: %s", got)
	}
	c.cmd("STARTTLS", "502 ")
	c.cmd(plainResponse(w.key), "235 ")
	c.begin()
	c.cmd(message+".", "250 2.0.0 Ok: queued as ")

	c = w.dial(t, w.tls, "192.0.2.7")
	c.handshake()
	c.signIn(w.key).begin()
	c.cmd(message+".", "250 2.0.0 Ok: queued as ")
	c.cmd("QUIT", "221 ")
	c.wantClosed()
}

// startTLS starts TLS.
func (c *smtpClient) startTLS() {
	c.t.Helper()
	c.cmd("STARTTLS", "220 2.0.0 ")
	c.handshake()
}

func (c *smtpClient) handshake() {
	c.t.Helper()
	conn := tls.Client(c.conn, &tls.Config{InsecureSkipVerify: true})
	if err := conn.Handshake(); err != nil {
		c.t.Fatal(err)
	}
	c.conn, c.r = conn, bufio.NewReader(conn)
}

func TestSTARTTLSResetsSession(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t, w.plain).signIn(w.key)
	c.cmd("MAIL FROM:<a@acme.test>", "250 ")
	c.cmd("RCPT TO:<bob@example.com>", "250 ")
	c.startTLS()
	c.cmd("DATA", "502 ")
	c.cmd("RCPT TO:<bob@example.com>", "502 ")
	c.cmd("MAIL FROM:<a@acme.test>", "502 ")
	c.cmd("EHLO peer.test", "250")
	c.cmd("MAIL FROM:<a@acme.test>", "530 ")
}

func TestPipelinedAfterSTARTTLSIsRefused(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t, w.plain).greet()
	c.send("STARTTLS\r\n" + plainResponse(w.key) + "\r\nMAIL FROM:<a@acme.test>\r\n")
	c.cmd("", "501 5.5.1 ")
	c.wantClosed()
	w.wantAlive(t)
}

func TestNoSTARTTLSWithoutCertificate(t *testing.T) {
	w := newTestServer(t, func(c *Config, _ *limits) { c.TLS = nil })
	c := w.dial(t, w.plain)
	c.cmd("", "220 ")
	if got := c.cmd("EHLO peer.test", "250"); strings.Contains(got, "STARTTLS") || !strings.Contains(got, "AUTH PLAIN LOGIN") {
		t.Errorf("%s", got)
	}
	c.cmd("STARTTLS", "502 ")
	c.cmd(plainResponse(w.key), "235 ")
}

func TestFailedHandshakeCloses(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t, w.plain).greet()
	c.cmd("STARTTLS", "220 ")
	c.send("EHLO peer.test\r\nNOOP\r\n")
	c.wantClosed()
	c = w.dial(t, w.tls)
	c.send("EHLO peer.test\r\nNOOP\r\n")
	c.wantClosed()
	w.wantAlive(t)
}

func TestTooManyWrongKeys(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t, w.plain).greet()
	for range 20 {
		c.cmd(plainResponse("wrong"), "535 5.7.8 ")
	}
	c.cmd(plainResponse("wrong"), "421 4.7.0 ")
	c.wantClosed()
	w.wantAlive(t)
}

func TestKeyAddressRestriction(t *testing.T) {
	w := newTestServer(t, nil)
	w.set(func(f *fakeService) {
		k := f.keys[w.key]
		k.AllowedIPs = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		f.keys[w.key] = k
	})
	c := w.dial(t, w.tls, "198.51.100.1")
	c.handshake()
	c.greet().cmd(plainResponse(w.key), "550 5.7.1 ")
	c = w.dial(t, w.tls, "192.0.2.9")
	c.handshake()
	c.signIn(w.key)
}

func TestDeletedKeyEndsConnection(t *testing.T) {
	w := newTestServer(t, nil)
	between, within := w.dial(t, w.plain).signIn(w.key), w.dial(t, w.plain).signIn(w.key).begin()
	neighbour := w.dial(t, w.plain).signIn(w.other)
	w.set(func(f *fakeService) { delete(f.keys, w.key) })
	between.cmd("MAIL FROM:<a@acme.test>", "535 5.7.8 API key not found")
	between.wantClosed()
	within.cmd(message+".", "535 5.7.8 API key not found")
	within.wantClosed()
	neighbour.begin().cmd(message+".", "250 ")
	if got := w.calls(); len(got) != 1 || got[0].team != "two" {
		t.Errorf("%+v", got)
	}
}

func TestDevNeedsNoKey(t *testing.T) {
	var dev string
	w := newTestServer(t, func(c *Config, _ *limits) { dev, _, _ = app.NewKey(); c.DefaultToken = dev })
	w.set(func(f *fakeService) { f.keys[dev] = app.Key{ID: "dev", TeamID: "dev"} })
	w.dial(t, w.plain).greet().begin().cmd(message+".", "250 ")
	w.dial(t, w.plain).signIn("password").begin().cmd(message+".", "250 ")
	unknown, _, _ := app.NewKey()
	w.dial(t, w.plain).signIn(unknown).begin().cmd(message+".", "250 ")
	w.dial(t, w.plain).signIn(w.other).begin().cmd(message+".", "250 ")
	var teams []string
	for _, c := range w.calls() {
		teams = append(teams, c.team)
	}
	if want := []string{"dev", "dev", "dev", "two"}; !slices.Equal(teams, want) {
		t.Errorf("taken for %q, want %q", teams, want)
	}
}

func TestRecipientChecks(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t, w.plain).signIn(w.key)
	c.cmd("MAIL FROM:<>", "250 ")
	for _, bad := range []string{"<bob>", "<bob@example>", "<bob@>", "<>", "<@example.com>", "bob", "<a b@example.com>", `<"a b"@example.com>`, `<"x <evil@b.test>"@example.com>`, "<bob@[127.0.0.1]>", "<.bob@example.com>", "<bob@exa_mple..com>"} {
		c.cmd("RCPT TO:"+bad, "550 5.1.3 ")
	}
	c.cmd("DATA", "502 ")
	for n := range 50 {
		c.cmd(fmt.Sprintf("RCPT TO:<bob%d@example.com>", n), "250 ")
	}
	c.cmd("RCPT TO:<bob51@example.com>", "452 4.5.3 ")
	c.cmd("DATA", "354 ")
	c.cmd(message+".", "250 ")
	if got := w.calls(); len(got) != 1 || len(got[0].Recipients) != 50 {
		t.Errorf("%+v", got)
	}
}

func TestErrorReplies(t *testing.T) {
	w := newTestServer(t, nil)
	refusal := func(code app.Code) error { return app.Errorf(code, "The words") }
	for _, test := range []struct {
		err    error
		want   string
		closes bool
	}{
		{refusal(app.CodeRestrictedAPIKey), "550 5.7.1 The words", false},
		{refusal(app.CodeForbidden), "550 5.7.1 The words", false},
		{refusal(app.CodeSendingPaused), "550 5.7.1 The words", false},
		{(&app.Domain{Name: "acme.test", Status: "pending"}).Unverified(), "550 5.7.1 `from` uses the domain acme.test, which is not verified", false},
		{app.Invalid("from", "uses the domain acme.test, which this team has not added"), "550 5.7.1 `from` uses the domain acme.test", false},
		{refusal(app.CodeAllRecipientsSuppressed), "550 5.7.1 The words", false},
		{app.Invalid("to", "is no address"), "550 5.1.3 `to` is no address", false},
		{app.Invalid("subject", "is too long"), "550 5.6.0 `subject` is too long", false},
		{app.NotFound("topic"), "550 5.6.0 ", false},
		{refusal(app.CodeInvalidParameter), "550 5.6.0 The words", false},
		{refusal(app.CodeInvalidIdempotencyKey), "550 5.6.0 The words", false},
		{refusal(app.CodePayloadTooLarge), "552 5.3.4 The words", false},
		{refusal(app.CodeInvalidIdempotent), "550 5.5.0 The words", false},
		{refusal(app.CodeConcurrentIdempotent), "451 4.5.0 The words", false},
		{refusal(app.CodeRateLimitExceeded), "450 4.7.1 The words", false},
		{refusal(app.CodeDailyQuotaExceeded), "452 4.7.1 The words", false},
		{refusal(app.CodeMonthlyQuotaExceeded), "452 4.7.1 The words", false},
		{refusal(app.CodeServiceUnavailable), "451 4.3.0 The words", false},
		{base.Unavailable(db.ErrFull), "452 4.3.1 ", false},
		{base.Unavailable(db.ErrDamaged), "451 4.3.0 Something went wrong", false},
		{errors.New("secret"), "451 4.3.0 Something went wrong", false},
		{base.Unavailable(db.ErrClosed), "421 4.3.2 ", true},
		{refusal(app.CodeInvalidAPIKey), "535 5.7.8 API key not found", false},
	} {
		w.set(func(f *fakeService) { f.answer = test.err })
		c := w.dial(t, w.plain).signIn(w.key).begin()
		if got := c.cmd(message+".", test.want); strings.Contains(got, "secret") {
			t.Errorf("tells strangers: %s", got)
		}
		if test.closes {
			c.wantClosed()
			continue
		}
		w.set(func(f *fakeService) { f.answer = nil })
		c.begin().cmd(message+".", "250 ")
		c.conn.Close()
	}
}

func TestKeyErrorsAtMAIL(t *testing.T) {
	w := newTestServer(t, func(_ *Config, l *limits) { l.rateWait = 0 })
	c := w.dial(t, w.plain).signIn(w.key)
	w.set(func(f *fakeService) { f.rate = app.Errorf(app.CodeRateLimitExceeded, "Too many requests") })
	c.cmd("MAIL FROM:<a@acme.test>", "450 4.7.1 Too many requests")
	w.set(func(f *fakeService) { f.rate, f.check = nil, base.Unavailable(db.ErrFull) })
	c.cmd("MAIL FROM:<a@acme.test>", "452 4.3.1 ")
	w.set(func(f *fakeService) {
		f.check, f.memory = nil, app.Errorf(app.CodeServiceUnavailable, "Your team has too many large bodies")
	})
	c.begin().cmd(message+".", "451 4.3.0 Your team has")
	w.set(func(f *fakeService) { f.memory = nil })
	c.begin().cmd(message+".", "250 ")
}

func TestPanicIsTemporaryFailure(t *testing.T) {
	w := newTestServer(t, nil)
	w.set(func(f *fakeService) { f.panics = true })
	c := w.dial(t, w.plain).signIn(w.key).begin()
	c.cmd(message+".", "451 4.3.0 ")
	w.set(func(f *fakeService) { f.panics = false })
	c.begin().cmd(message+".", "250 ")
}

func TestLongRefusalsAreSplit(t *testing.T) {
	w := newTestServer(t, nil)
	text := strings.TrimSpace(strings.Repeat("a record is missing, ", 50)) + " ü\r\n250 smuggled"
	w.set(func(f *fakeService) { f.answer = app.Errorf(app.CodeForbidden, "%s", text) })
	got := w.dial(t, w.plain).signIn(w.key).begin().cmd(message+".", "550-5.7.1 a record")
	lines := strings.Split(got, "\r\n")
	for i, line := range lines {
		want := "550-5.7.1 "
		if i == len(lines)-1 {
			want = "550 5.7.1 "
		}
		if !strings.HasPrefix(line, want) || len(line) > 510 {
			t.Errorf("%q", line)
		}
	}
	if len(lines) != 3 || !strings.HasSuffix(got, "250 smuggled") {
		t.Errorf("%q", lines)
	}
	if text := splitLines([3]int{5, 7, 1}, strings.Repeat("x", 1<<20)); len(text) > 4096 {
		t.Errorf("%d bytes", len(text))
	}
}

func encodedReply(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestShutdownWaitsForMessage(t *testing.T) {
	w := newTestServer(t, nil)
	w.block, w.entered = make(chan struct{}), make(chan struct{}, 1)
	idle := w.dial(t, w.plain)
	idle.cmd("", "220 ")
	begun := w.dial(t, w.plain).signIn(w.key)
	begun.cmd("MAIL FROM:<a@acme.test>", "250 ")
	busy := w.dial(t, w.tls)
	busy.handshake()
	busy.signIn(w.key).begin()
	busy.send(message + ".\r\n")
	<-w.entered
	over := make(chan error, 1)
	go func() { over <- w.server.Shutdown(context.Background()) }()
	for _, c := range []*smtpClient{idle, begun} {
		c.cmd("", "421 4.3.2 ")
		c.wantClosed()
	}
	select {
	case err := <-over:
		t.Fatalf("over before the message was: %v", err)
	default:
	}
	close(w.block)
	busy.cmd("", "250 2.0.0 Ok: queued as id-1")
	busy.cmd("", "421 4.3.2 ")
	busy.wantClosed()
	if err := <-over; err != nil {
		t.Error(err)
	}
}

func TestShutdownTimeout(t *testing.T) {
	w := newTestServer(t, nil)
	w.block, w.entered = make(chan struct{}), make(chan struct{}, 1)
	half := w.dial(t, w.plain).signIn(w.key).begin()
	stored := w.dial(t, w.plain).signIn(w.key).begin()
	stored.send(message + ".\r\n")
	<-w.entered
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	half.wantClosed()
	if got, _ := stored.answer(); strings.HasPrefix(got, "250") {
		t.Errorf("said %q of what is not stored", got)
	}
}
