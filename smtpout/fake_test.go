package smtpout

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/testing/apptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Actions that a script may return instead of a reply.
const (
	hangUp = "\x00hang up" // close the connection
	stall  = "\x00stall"   // never answer
	mute   = "\x00mute"    // read without answering
)

// fake is a relay that follows a script.
type fake struct {
	t *testing.T
	// script answers a command; "" is the usual reply. verb is the first word,
	// or BANNER, or DOT for the end of the body. n counts connections from 1.
	script func(n int, verb, line string) string
	ehlo   []string // extensions
	tls    *tls.Config
	noRead bool // read nothing after DATA
	// delayReplies delays the replies to MAIL and RCPT until DATA was read.
	delayReplies bool
	// acceptData answers 354 to DATA although there is no recipient.
	acceptData bool

	listener net.Listener
	work     sync.WaitGroup

	mu       sync.Mutex
	conns    []net.Conn
	opened   int
	open     int
	peak     int
	commands []string
	messages []string      // complete messages, unstuffed
	partial  []string      // bodies without a final dot
	empty    int           // final dots without a body
	changed  chan struct{} // closed and replaced with each change
}

func startFake(t *testing.T, f *fake) *fake {
	t.Helper()
	if f.listener == nil {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		f.listener = l
	}
	l := f.listener
	f.t, f.changed = t, make(chan struct{})
	f.work.Go(f.accept)
	t.Cleanup(func() {
		l.Close()
		f.mu.Lock()
		for _, c := range f.conns {
			c.Close()
		}
		f.mu.Unlock()
		f.work.Wait()
	})
	return f
}

func (f *fake) accept() {
	for {
		c, err := f.listener.Accept()
		if err != nil {
			return
		}
		var n int
		f.change(func() {
			f.conns = append(f.conns, c)
			f.opened++
			f.open++
			f.peak = max(f.peak, f.open)
			n = f.opened
		})
		f.work.Go(func() {
			gone := sync.OnceFunc(func() { f.change(func() { f.open-- }) })
			defer gone()
			defer c.Close()
			f.serve(n, c, gone)
		})
	}
}

func (f *fake) change(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fn()
	close(f.changed)
	f.changed = make(chan struct{})
}

// wait blocks until ok, called under the lock, returns true.
func (f *fake) wait(what string, ok func() bool) {
	f.t.Helper()
	late := time.After(time.Minute)
	for {
		f.mu.Lock()
		done, changed := ok(), f.changed
		f.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-late:
			f.t.Fatalf("never seen: %s", what)
		}
	}
}

// said returns the received commands with a verb, of all connections.
func (f *fake) said(verb string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, line := range f.commands {
		if v, _, _ := strings.Cut(line, " "); v == verb {
			out = append(out, line)
		}
	}
	return out
}

// bodies returns the complete messages.
func (f *fake) bodies() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.messages...)
}

func (f *fake) emptyOnes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.empty
}

func (f *fake) pipelines() bool { return slices.Contains(f.ehlo, "PIPELINING") }

func (f *fake) answer(n int, verb, line string) string {
	if f.script != nil {
		if reply := f.script(n, verb, line); reply != "" {
			return reply
		}
	}
	switch verb {
	case "BANNER":
		return "220 fake ready"
	case "EHLO":
		ext := f.ehlo
		if ext == nil {
			ext = []string{"8BITMIME", "ENHANCEDSTATUSCODES"}
		}
		lines := append([]string{"fake"}, ext...)
		return "250-" + strings.Join(lines[:len(lines)-1], "\r\n250-") + "\r\n250 " + lines[len(lines)-1]
	case "DATA":
		return "354 go on"
	case "AUTH":
		return "235 2.7.0 welcome"
	case "STARTTLS":
		return "220 go on"
	case "QUIT":
		return "221 2.0.0 bye"
	case "DOT":
		return "250 2.0.0 Ok: queued as Q1"
	}
	return "250 2.1.0 Ok"
}

// say sends a reply; false: the connection is closed.
func (f *fake) say(c net.Conn, reply string) bool {
	switch reply {
	case mute:
		return true
	case hangUp:
		return false
	case stall:
		io.Copy(io.Discard, c)
		return false
	}
	_, err := io.WriteString(c, reply+"\r\n")
	return err == nil
}

// serve runs a session. gone is called before the reply to QUIT, because the client may open its
// next connection as soon as it has that.
func (f *fake) serve(n int, c net.Conn, gone func()) {
	if !f.say(c, f.answer(n, "BANNER", "")) {
		return
	}
	in := bufio.NewReaderSize(c, 64<<10)
	state, kept := sequence{}, ""
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		if in.Buffered() > 0 && !f.pipelines() {
			f.t.Errorf("more was sent before the reply to %q", line)
		}
		line = strings.TrimRight(line, "\r\n")
		f.change(func() { f.commands = append(f.commands, line) })
		verb, _, _ := strings.Cut(line, " ")
		reply := state.answer(f, verb, f.answer(n, verb, line))
		if verb == "QUIT" {
			gone()
		}
		if f.delayReplies && !strings.HasPrefix(reply, "\x00") {
			if kept += reply + "\r\n"; verb == "MAIL" || verb == "RCPT" {
				continue
			}
			reply, kept = strings.TrimSuffix(kept, "\r\n"), ""
		}
		if !f.say(c, reply) || verb == "QUIT" {
			return
		}
		if verb == "STARTTLS" && strings.HasPrefix(reply, "220") {
			secure := tls.Server(c, f.tls)
			c, in = secure, bufio.NewReader(secure)
		}
		if verb == "DATA" && strings.HasPrefix(reply[strings.LastIndex(reply, "\n")+1:], "354") && !f.body(n, c, in) {
			return
		}
	}
}

// sequence is the state of the current message in a session.
type sequence struct {
	mail bool
	rcpt int
}

// answer returns the reply to a command, with an error instead of the usual reply to a command out
// of order.
func (s *sequence) answer(f *fake, verb, reply string) string {
	usual := strings.HasPrefix(reply, "250") || reply == "354 go on"
	switch {
	case verb == "RCPT" && usual && !s.mail:
		return "503 5.5.1 MAIL first"
	case verb == "DATA" && usual && s.rcpt == 0 && !f.acceptData:
		return "554 5.5.1 no valid recipients"
	case verb == "MAIL":
		*s = sequence{mail: usual}
	case verb == "RCPT" && strings.HasPrefix(reply, "25"):
		s.rcpt++
	}
	return reply
}

func (f *fake) body(n int, c net.Conn, in *bufio.Reader) bool {
	if f.noRead {
		f.wait("the end", func() bool { return f.partial != nil })
		return false
	}
	var b strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			f.change(func() { f.partial = append(f.partial, b.String()+line) })
			return false
		}
		if line == ".\r\n" && b.Len() == 0 {
			f.change(func() { f.empty++ })
			return f.say(c, f.answer(n, "DOT", ""))
		}
		if line == ".\r\n" {
			f.change(func() { f.messages = append(f.messages, b.String()) })
			return f.say(c, f.answer(n, "DOT", ""))
		}
		b.WriteString(strings.TrimPrefix(line, "."))
	}
}

// on is a script that answers one verb.
func on(verb, reply string) func(int, string, string) string {
	return func(_ int, v, _ string) string {
		if v == verb {
			return reply
		}
		return ""
	}
}

// eachMode runs a test against a relay without PIPELINING and against one with it.
func eachMode(t *testing.T, run func(t *testing.T, ehlo []string)) {
	t.Helper()
	t.Run("one by one", func(t *testing.T) { run(t, []string{"8BITMIME", "ENHANCEDSTATUSCODES"}) })
	t.Run("pipelining", func(t *testing.T) { run(t, []string{"8BITMIME", "PIPELINING", "ENHANCEDSTATUSCODES"}) })
}

func configFor(l net.Listener) relayurl.Relay {
	addr := l.Addr().(*net.TCPAddr)
	return relayurl.Relay{Region: "test", Host: "127.0.0.1", Port: addr.Port, TLS: relayurl.TLSOff, Timeout: time.Minute}
}

func newRelay(t *testing.T, cfg relayurl.Relay) *Relay {
	t.Helper()
	r, err := NewRelay(cfg, Options{Hello: "mailer.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func relayTo(t *testing.T, f *fake) *Relay { return newRelay(t, configFor(f.listener)) }

// inBubble starts a fake and a client of it in a bubble.
func inBubble(t *testing.T, f *fake, timeout time.Duration) *Relay {
	t.Helper()
	return inBubbleAs(t, f, relayurl.Relay{TLS: relayurl.TLSOff, Timeout: timeout})
}

// inBubbleAs is inBubble with further settings in cfg.
func inBubbleAs(t *testing.T, f *fake, cfg relayurl.Relay) *Relay {
	t.Helper()
	p := newPipeListener()
	f.listener = p
	startFake(t, f)
	cfg.Region, cfg.Host, cfg.Timeout = "test", "127.0.0.1", cmp.Or(cfg.Timeout, time.Minute)
	r := newRelay(t, cfg)
	r.dial = p.dial
	return r
}

func testMessage(to ...string) *app.Outgoing {
	return &app.Outgoing{
		EmailID:      "0198c000-0000-7000-8000-000000000001",
		EnvelopeFrom: "send@example.com",
		Recipients:   to,
		MessageID:    "0198c000-0000-7000-8000-000000000001@example.com",
		Date:         time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC),
		Mail: &app.Mail{
			From:    app.Address{Local: "me", Domain: "example.com"},
			To:      []app.Address{{Local: "a", Domain: "example.net"}},
			Subject: "Hello",
			Text:    "Hi",
		},
	}
}

// authorizer counts calls of authorize.
type authorizer struct {
	mu         sync.Mutex
	signatures []string
	err        error
	do         func()
}

func (h *authorizer) authorize(_ context.Context, signature string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.signatures = append(h.signatures, signature)
	if h.do != nil {
		h.do()
	}
	return h.err
}

func (h *authorizer) calls() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.signatures)
}

func authorizeAll(context.Context, string) error { return nil }

var errNo = errors.New("no")

// summary formats a result in one line.
func summary(res app.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s/%d", res.Kind, res.Stage, res.Reply.Code)
	for _, r := range res.Recipients {
		local, _, _ := strings.Cut(r.Address, "@")
		fmt.Fprintf(&b, " %s=%s/%d", local, r.Outcome, r.Reply.Code)
	}
	return b.String()
}

func want(t *testing.T, res app.Result, line string) {
	t.Helper()
	if got := summary(res); got != line {
		t.Errorf("result\n got %s (%s)\nwant %s", got, res.Reply.Text, line)
	}
}

// wantWords checks the text of a result without a reply.
func wantWords(t *testing.T, res app.Result, part string) {
	t.Helper()
	if !strings.Contains(res.Reply.Text, part) {
		t.Errorf("reply %q does not say %q", res.Reply.Text, part)
	}
}

// certificate makes a self-signed server certificate for 127.0.0.1 and a PEM
// file of it.
func certificate(t *testing.T) (*tls.Config, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "relay"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	var b bytes.Buffer
	if err := pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: der}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, file
}

// scriptKey is a DKIM key for example.com.
func scriptKey() *app.DKIMKey {
	return &app.DKIMKey{Domain: "example.com", Selector: "mailer", Signer: apptest.RSAKey(0)}
}
