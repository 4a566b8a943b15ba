package sdktest

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// hostilePeers gives each hostile peer an address of its own, since refusals count against an address.
type hostilePeers struct {
	*receivingFixture
	n int
}

// next connects from another loopback address and says EHLO.
func (p *hostilePeers) next(t *testing.T) *smtpConn {
	t.Helper()
	p.n++
	c, a, err := p.greet(fmt.Sprintf("127.9.%d.%d", p.n/250, p.n%250+1))
	if err != nil || a.code != 250 {
		t.Fatalf("%s, %v", a, err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// begin sends a transaction up to DATA.
func (p *hostilePeers) begin(t *testing.T) *smtpConn {
	t.Helper()
	c := p.next(t)
	if a, err := c.begin("", "support@in.example.test"); err != nil || a.code != 354 {
		t.Fatalf("%s, %v", a, err)
	}
	return c
}

// subjects returns the subjects of all received mail, sorted.
func (w *receivingFixture) subjects(t *testing.T) (list []string) {
	t.Helper()
	var page struct{ Data []receivedThing }
	client{w.in.url, w.key}.get(t, "/emails/receiving?limit=100", &page)
	for _, m := range page.Data {
		list = append(list, m.Subject)
	}
	slices.Sort(list)
	return list
}

// wantReply checks the reply to a command.
func (s *smtpConn) wantReply(t *testing.T, command, want string) {
	t.Helper()
	if a, err := s.cmd(command); err != nil || !a.is(want) {
		t.Errorf("%.100q: %s, %v; want %s", command, a, err, want)
	}
}

// wantEnd checks that the server closes the connection.
func (s *smtpConn) wantEnd(t *testing.T) {
	t.Helper()
	_ = s.SetDeadline(time.Now().Add(time.Minute))
	if rest, err := io.ReadAll(s.r); len(rest) > 0 || isTimeout(err) {
		t.Errorf("still open: %.200q, %v", rest, err)
	}
}

// TestHostileDialogues: no relay in any form of an address, no smuggled message, nothing of what came before TLS counts,
// and the bounds on refusals and lines hold. The mail of others still arrives.
func TestHostileDialogues(t *testing.T) {
	part(t, "clients", shortForm)
	t.Parallel()
	w, _ := secureReceivingFixture(t, strict)
	p := &hostilePeers{receivingFixture: w}
	t.Run("relay", p.relay)
	t.Run("smuggling", p.smuggling)
	t.Run("BDAT", p.chunks)
	t.Run("before TLS", p.beforeTLS)
	t.Run("order and size", p.disorder)
	t.Run("refusals", p.refusals)
	must(t, w.deliver(strings.ReplaceAll(receivedMail, "A question", "Another question")))
	if got := w.subjects(t); !slices.Equal(got, []string{"A question", "Another question", "by BDAT", "chunks"}) {
		t.Errorf("received %q", got)
	}
	if n := len(w.sink.messages()); n != 0 {
		t.Errorf("%d messages left the server", n)
	}
}

func (p *hostilePeers) relay(t *testing.T) {
	const here, far = "in.example.test", "far.test"
	for to, want := range map[string]string{
		"<bob@" + far + ">": "550 5.7.1", "<bob%" + far + "@" + here + ">": "550 5.7.1", "<" + far + "!bob@" + here + ">": "550 5.7.1", "<@" + here + ":bob@" + far + ">": "550 5.7.1",
		"<@" + here + ",@other.test:bob@" + far + ">": "550 5.7.1", "<@" + far + ":support@" + here + ">": "550 5.7.1", `<"bob@` + far + `"@` + here + ">": "550 5.7.1", `<"bob"@` + here + ">": "550 5.7.1",
		`<"support@` + here + `"@` + far + ">": "550 5.7.1", "<bob@" + far + "@" + here + ">": "550 5.7.1", "<bob@" + here + "@" + far + ">": "550 5.7.1", "<bob@[127.0.0.1]>": "550 5.7.1", "<bob@[IPv6:::1]>": "550 5.7.1",
		"<bob@127.0.0.1>": "550 5.7.1", "<bob@localhost>": "550 5.7.1", "<bob@sub." + here + ">": "550 5.7.1", "<bob@" + here + ".>": "550 5.7.1", "<bob@example.test>": "550 5.7.1", "<bob@mx.example.test>": "550 5.7.1",
		"<bob%" + far + "%" + here + "@" + here + ">": "550 5.7.1", "<bob%40" + far + "@" + here + ">": "550 5.7.1", "bob@" + far: "550 5.7.1", " <bob@" + far + ">": "550 5.7.1", "<bob@" + far + "> NOTIFY=SUCCESS": "504 5.5.4",
		"<support@" + here + ">,<bob@" + far + ">": "500 5.5.4", "<support@" + here + " bob@" + far + ">": "550 5.1.3", "<support@" + here + ",bob@" + far + ">": "550 5.7.1", "<support@" + here + "@>": "550 5.1.3",
		`<support\@` + far + "@" + here + ">": "550 5.1.3", "<support(@" + far + ")@" + here + ">": "550 5.1.3", "<>": "550 5.1.3", "<@>": "550 5.1.3", "<postmaster>": "550 5.1.3", "<|/bin/sh@" + here + ">": "250", "<../../etc/passwd@" + here + ">": "550 5.7.1",
		"<" + strings.Repeat("a", 65) + "@" + here + ">": "550 5.7.1", "<bob@" + strings.Repeat("a.", 130) + here + ">": "550 5.7.1",
	} {
		c := p.next(t)
		c.wantReply(t, "MAIL FROM:<ann@peer.test>", "250")
		c.wantReply(t, "RCPT TO:"+to, want)
		if want != "250" {
			c.wantReply(t, "DATA", "5")
		}
		c.Close()
	}
}

func (p *hostilePeers) smuggling(t *testing.T) {
	const second = "MAIL FROM:<ann@peer.test>\r\nRCPT TO:<support@in.example.test>\r\nDATA\r\nFrom: ann@peer.test\r\nSubject: smuggled\r\n\r\nx"
	for _, end := range []string{"\n.\n", "\r.\r", "\n.\r\n", "\r\n.\n", "\r\n.\r", "\r.\r\n", "\n.\r", "\r.\n", "\r\r\n.\r\r\n", "\r\n\x00.\r\n", "\r\n.\x00\r\n", "\n\n.\n\n", "\u2028.\u2028\n"} {
		c := p.begin(t)
		c.wantReply(t, "From: ann@peer.test\r\nSubject: first\r\n\r\nx"+end+second+"\r\n.", "554 5.6.0")
		c.wantReply(t, "NOOP", "250")
		c.wantReply(t, "RSET", "250")
		c.Close()
	}
	c := p.next(t) // the end of a message means nothing in a chunk
	message := "From: ann@peer.test\r\nSubject: by BDAT\r\n\r\nx\r\n.\r\n" + second + "\r\n.\r\n"
	c.wantReply(t, "MAIL FROM:<ann@peer.test>", "250")
	c.wantReply(t, "RCPT TO:<support@in.example.test>", "250")
	c.wantReply(t, fmt.Sprintf("BDAT %d LAST\r\n%s", len(message), strings.TrimSuffix(message, "\r\n")), "250")
	c.wantReply(t, "NOOP", "250")
}

func (p *hostilePeers) chunks(t *testing.T) {
	open := func() *smtpConn {
		c := p.next(t)
		c.wantReply(t, "MAIL FROM:<ann@peer.test>", "250")
		c.wantReply(t, "RCPT TO:<support@in.example.test>", "250")
		return c
	}
	for command, want := range map[string]string{
		"BDAT": "501", "BDAT x": "501", "BDAT -1": "501", "BDAT +1": "501", "BDAT 0x10": "501", "BDAT 1 FIRST": "501", "BDAT 1 LAST LAST": "501", "BDAT 99999999999999999999 LAST": "501", "BDAT 4294967296": "501",
		"BDAT 18446744073709551615": "501", "BDAT 1.5": "501", "BDAT 41943041 LAST": "552", "BDAT 4294967295 LAST": "552", "BDAT 2 LAST\r\nx\r": "554", "BDAT 3\r\nxyz\r\nDATA": "250", "BDAT 4 LAST\r\na\n\nb\r\n": "554",
	} {
		c := open()
		if a, err := c.cmd(command); err != nil || !a.is(want) {
			t.Errorf("%q: %s, %v; want %s", command, a, err, want)
		}
		c.Close()
	}
	c := p.next(t)
	c.wantReply(t, "BDAT 5 LAST\r\nabc", "5") // without a recipient
	c.Close()
	c = open() // chunks of one byte, and empty ones
	message := "From: ann@peer.test\r\nSubject: chunks\r\n\r\nx\r\n"
	for i := range len(message) {
		if _, err := fmt.Fprintf(c, "BDAT 1\r\n%c", message[i]); err != nil {
			t.Fatal(err)
		}
		if a, err := c.answer(); err != nil || a.code != 250 {
			t.Fatalf("byte %d: %s, %v", i, a, err)
		}
	}
	c.wantReply(t, "BDAT 0", "250")
	c.wantReply(t, "BDAT 0 LAST", "250")
	c.Close()
	c = open() // a message that never ends
	c.wantReply(t, "BDAT 2\r\n", "250")
	c.Close()
}

func (p *hostilePeers) beforeTLS(t *testing.T) {
	for _, more := range []string{"\r\nMAIL FROM:<ann@peer.test>", "\r\nEHLO x\r\nMAIL FROM:<ann@peer.test>\r\nRCPT TO:<support@in.example.test>\r\nDATA\r\nSubject: injected\r\n\r\nx\r\n.", "\r\n\x16\x03\x01\x00", "\r\n" + strings.Repeat("NOOP\r\n", 1000)} {
		c := p.next(t)
		c.wantReply(t, "STARTTLS"+more, "501 5.5.1")
		c.wantEnd(t)
	}
	c := p.next(t)
	c.wantReply(t, "MAIL FROM:<ann@peer.test>", "250")
	c.wantReply(t, "RCPT TO:<support@in.example.test>", "250")
	c.wantReply(t, "STARTTLS", "220")
	secure := tls.Client(c.Conn, &tls.Config{InsecureSkipVerify: true})
	s := newSMTPConn(secure)
	s.wantReply(t, "DATA", "502") // nothing said before TLS counts
	s.wantReply(t, "RCPT TO:<support@in.example.test>", "502")
	if a, err := s.cmd("EHLO peer.test"); err != nil || strings.Contains(a.text, "STARTTLS") {
		t.Errorf("offered again: %s, %v", a, err)
	}
	s.wantReply(t, "RCPT TO:<support@in.example.test>", "502")
	s.wantReply(t, "STARTTLS", "5")
	c = p.next(t)
	c.wantReply(t, "STARTTLS", "220")
	_, err := io.WriteString(c, strings.Repeat("MAIL FROM:<ann@peer.test>\r\n", 100)) // instead of TLS
	must(t, err)
	if a, err := c.answer(); err == nil {
		t.Errorf("without TLS: %s", a)
	}
}

func (p *hostilePeers) disorder(t *testing.T) {
	for _, tt := range []struct{ command, want string }{
		{"RCPT TO:<support@in.example.test>", "502"}, {"DATA", "502"}, {"VRFY support", "252"}, {"EXPN all", "502"}, {"AUTH PLAIN AGEAYg==", "5"}, {"TURN", "5"}, {"ETRN example.test", "5"}, {"HELP", "5"}, {"MAIL FROM:<ann@peer.test> SIZE=41943041", "552"},
		{"MAIL FROM:<ann@peer.test> SIZE=-1", "501"}, {"MAIL FROM:<ann@peer.test> BODY=EVIL", "501"}, {"MAIL FROM:<ann@peer.test> XEVIL=1", "5"}, {"MAIL FROM:ann peer", "5"}, {"MAIL FROM:<" + strings.Repeat("a", 1900) + "@peer.test>", "5"},
	} {
		c := p.next(t)
		c.wantReply(t, tt.command, tt.want)
		c.Close()
	}
	for name, text := range map[string]string{
		"1 MB command": "MAIL FROM:<" + strings.Repeat("a", 1<<20) + "\r\n", "EHLO without end": "EHLO " + strings.Repeat("a", 4<<20), "NUL": "EHLO a\x00b\r\n", "bare CR": "NOOP\rMAIL FROM:<ann@peer.test>\r\n",
		"TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x00\n", "HTTP": "POST / HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nContent-Length: 5\r\n\r\nhello\r\n", "many commands": strings.Repeat("RSET\r\n", 1100), "garbage": strings.Repeat("\xff\xfe\r\n", 1000),
	} {
		c := p.next(t)
		go func() { _, _ = io.WriteString(c, text) }()
		var last answer
		var err error
		for a := (answer{}); err == nil; a, err = c.answer() {
			last = a
		}
		if isTimeout(err) || err == io.EOF && last.code < 400 { // a reset may hide the last reply
			t.Errorf("%s: the last reply was %s, and then %v", name, last, err)
		}
		c.Close()
	}
}

func (p *hostilePeers) refusals(t *testing.T) {
	const peer = "127.8.0.1"
	guess := func(times int) *smtpConn {
		c, a, err := p.greet(peer)
		if err != nil || a.code != 250 {
			t.Fatalf("%s, %v", a, err)
		}
		c.wantReply(t, "MAIL FROM:<ann@peer.test>", "250")
		for range times {
			c.wantReply(t, "RCPT TO:<guess@far.test>", "550 5.7.1")
		}
		return c
	}
	for range 9 {
		c := guess(10)
		c.wantReply(t, "RCPT TO:<guess@far.test>", "421 4.7.0")
		c.wantEnd(t)
		c.Close()
	}
	guess(1).Close() // the hundredth
	if _, a, err := p.greet(peer); err != nil || !a.is("421 4.7.0") {
		t.Errorf("after 100 refusals: %s, %v", a, err)
	}
	if c, a, err := p.greet("127.8.0.2"); err != nil || a.code != 250 {
		t.Errorf("another address: %s, %v", a, err)
	} else {
		c.Close()
	}
}

// isTimeout reports whether a read waited for too long.
func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}
