package smtpout

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/textproto"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
)

// answers is a script with one reply for each verb.
func answers(replies map[string]string) func(int, string, string) string {
	return func(n int, verb, line string) string { return replies[verb] }
}

// After a failed group of commands, the remaining replies are read, nobody gets an empty message,
// and the connection is reused only if both sides are certainly in sync.
func TestFailedCommandGroup(t *testing.T) {
	const no, unknown = "550 5.1.8 sender", "550 5.1.1 unknown"
	tests := []struct {
		name    string
		replies map[string]string
		loose   bool
		want    string
		empty   int // dots without a body
		resets  int
		reused  bool
	}{
		{"MAIL refused, and all after it", map[string]string{"MAIL": no}, false, "refused/mail/550", 0, 0, false},
		{"MAIL postponed, and all after it", map[string]string{"MAIL": "451 4.3.0 later"}, false, "deferred/mail/451", 0, 0, true},
		{"MAIL refused, DATA taken", map[string]string{"MAIL": no}, true, "refused/mail/550", 1, 0, false},
		{"MAIL refused, DATA and the dot taken", map[string]string{"MAIL": no, "DOT": "554 5.5.1 nobody"}, true, "refused/mail/550", 1, 0, false},
		{"MAIL refused, RCPT taken", map[string]string{"MAIL": no, "RCPT": "251 2.1.5 ok"}, false, "refused/mail/550", 0, 0, false},
		{"MAIL refused, 421 at RCPT", map[string]string{"MAIL": no, "RCPT": "421 4.3.2 bye"}, false, "refused/mail/550", 0, 0, false},
		{"MAIL refused, dropped at RCPT", map[string]string{"MAIL": no, "RCPT": hangUp}, false, "refused/mail/550", 0, 0, false},
		{"MAIL refused, stalled at RCPT", map[string]string{"MAIL": no, "RCPT": stall}, false, "refused/mail/550", 0, 0, false},
		{"MAIL refused, 354 at RCPT", map[string]string{"MAIL": no, "RCPT": "354 what"}, false, "refused/mail/550", 0, 0, false},
		{"MAIL refused, garbage at DATA", map[string]string{"MAIL": no, "DATA": "what?"}, false, "refused/mail/550", 0, 0, false},

		{"RCPT refused, and DATA", map[string]string{"RCPT": unknown}, false, "done/rcpt/0 a=refused/550 b=refused/550", 0, 1, true},
		{"RCPT refused, DATA taken", map[string]string{"RCPT": unknown}, true, "done/rcpt/0 a=refused/550 b=refused/550", 1, 1, true},
		{"RCPT postponed, DATA taken, the dot refused", map[string]string{"RCPT": "450 4.2.1 busy", "DOT": "554 5.5.1 nobody"}, true, "done/rcpt/0 a=postponed/450 b=postponed/450", 1, 1, true},
		{"RCPT refused, 421 at the dot", map[string]string{"RCPT": unknown, "DOT": "421 4.3.2 bye"}, true, "done/rcpt/0 a=refused/550 b=refused/550", 1, 0, false},
		{"RCPT refused, dropped at the dot", map[string]string{"RCPT": unknown, "DOT": hangUp}, true, "done/rcpt/0 a=refused/550 b=refused/550", 1, 0, false},
		{"RCPT refused, stalled at the dot", map[string]string{"RCPT": unknown, "DOT": stall}, true, "done/rcpt/0 a=refused/550 b=refused/550", 1, 0, false},
		{"RCPT refused, 421 at DATA", map[string]string{"RCPT": unknown, "DATA": "421 4.3.2 bye"}, false, "done/rcpt/0 a=refused/550 b=refused/550", 0, 0, false},
		{"RCPT refused, dropped at DATA", map[string]string{"RCPT": unknown, "DATA": hangUp}, false, "done/rcpt/0 a=refused/550 b=refused/550", 0, 0, false},
		{"RCPT refused, stalled at DATA", map[string]string{"RCPT": unknown, "DATA": stall}, false, "done/rcpt/0 a=refused/550 b=refused/550", 0, 0, false},
		{"RCPT refused, 250 at DATA", map[string]string{"RCPT": unknown, "DATA": "252 2.0.0 ok"}, false, "done/rcpt/0 a=refused/550 b=refused/550", 0, 0, false},
		{"RCPT refused, RSET too", map[string]string{"RCPT": unknown, "RSET": "500 5.5.1 what"}, false, "done/rcpt/0 a=refused/550 b=refused/550", 0, 1, false},
		{"DATA refused", map[string]string{"DATA": "451 4.3.0 later"}, false, "deferred/data/451", 0, 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				first := answers(tt.replies)
				good := false
				f := &fake{ehlo: []string{"PIPELINING"}, acceptData: tt.loose}
				f.script = func(n int, verb, line string) string {
					f.mu.Lock()
					defer f.mu.Unlock()
					if good {
						return ""
					}
					return first(n, verb, line)
				}
				r := inBubble(t, f, time.Minute)
				var h authorizer
				want(t, r.Send(t.Context(), testMessage("a@example.net", "b@example.net"), h.authorize), tt.want)
				if h.calls() != 0 || len(f.bodies()) != 0 || f.emptyOnes() != tt.empty || len(f.said("RSET")) != tt.resets {
					t.Errorf("%d holds, %d messages, %d empty ones, said %q", h.calls(), len(f.bodies()), f.emptyOnes(), f.said("RSET"))
				}
				f.change(func() { good = true })
				want(t, r.Send(t.Context(), testMessage("c@example.net"), h.authorize), "done/dot/250 c=accepted/250")
				if opened, _ := f.counts(); (opened == 1) != tt.reused || len(f.bodies()) != 1 {
					t.Errorf("%d connections, %d messages", opened, len(f.bodies()))
				}
			})
		})
	}
}

// A relay that accepted a recipient, but not MAIL, and waits for the message must not get its end.
func TestNoEmptyMessageWithAcceptedRecipient(t *testing.T) {
	f := startFake(t, &fake{ehlo: []string{"PIPELINING"}, acceptData: true, script: answers(map[string]string{
		"MAIL": "550 5.1.8 sender", "RCPT": "251 2.1.5 ok",
	})})
	want(t, relayTo(t, f).Send(t.Context(), testMessage("a@example.net"), authorizeAll), "refused/mail/550")
	f.wait("the cut connection", func() bool { return len(f.partial) == 1 })
	if f.emptyOnes() != 0 || len(f.bodies()) != 0 {
		t.Error("a message was ended")
	}
}

// The relay answers only after it has read the whole group.
func TestCommandsArePipelined(t *testing.T) {
	f := startFake(t, &fake{ehlo: []string{"PIPELINING"}, delayReplies: true, script: func(_ int, verb, line string) string {
		switch {
		case verb == "MAIL":
			return "250-2.1.0 one\r\n250-2.1.0 two\r\n250 2.1.0 three"
		case strings.Contains(line, "<b@"):
			return "550-5.1.1 no such\r\n550 5.1.1 user"
		}
		return ""
	}})
	r := relayTo(t, f)
	for range 2 {
		res := r.Send(t.Context(), testMessage("a@example.net", "b@example.net", "c@example.net"), authorizeAll)
		want(t, res, "done/dot/250 a=accepted/250 b=refused/550 c=accepted/250")
		if got := res.Recipients[1].Reply.Text; got != "no such user" {
			t.Errorf("b's reply is %q", got)
		}
	}
	if opened, _ := f.counts(); opened != 1 || len(f.bodies()) != 2 {
		t.Errorf("%d connections, %d messages", opened, len(f.bodies()))
	}
}

// Fifty recipients with the longest addresses and equally long replies are one group: neither side
// may wait for the other.
func TestLargestCommandGroup(t *testing.T) {
	long := strings.Repeat("x", 240) + "@example.net"
	to := make([]string, 50)
	for i := range to {
		to[i] = string(rune('a'+i%26)) + long
	}
	f := startFake(t, &fake{ehlo: []string{"PIPELINING"}, script: answers(map[string]string{
		"RCPT": strings.Repeat("250-2.1.5 "+strings.Repeat("y", 400)+"\r\n", 4) + "250 2.1.5 ok",
	})})
	res := relayTo(t, f).Send(t.Context(), testMessage(to...), authorizeAll)
	if res.Kind != app.ResultDone || len(res.Recipients) != 50 || len(f.said("RCPT")) != 50 {
		t.Errorf("%s after %d RCPT", summary(res), len(f.said("RCPT")))
	}
}

// The relay checks before each reply that no further command has arrived.
func TestCommandsWithoutPipelining(t *testing.T) {
	f := &fake{ehlo: []string{"8BITMIME"}}
	f.script = func(_ int, verb, _ string) string {
		<-time.After(5 * time.Millisecond)
		f.mu.Lock()
		defer f.mu.Unlock()
		if n := len(f.commands); verb != "BANNER" && verb != "DOT" && !strings.HasPrefix(f.commands[n-1], verb) {
			t.Errorf("%s came before the reply to %s", f.commands[n-1], verb)
		}
		return ""
	}
	startFake(t, f)
	want(t, relayTo(t, f).Send(t.Context(), testMessage("a@example.net", "b@example.net"), authorizeAll), "done/dot/250 a=accepted/250 b=accepted/250")
	if len(f.said("MAIL")) != 1 || len(f.said("RCPT")) != 2 || len(f.said("DATA")) != 1 {
		t.Errorf("said %q, %q and %q", f.said("MAIL"), f.said("RCPT"), f.said("DATA"))
	}
}

// Extensions offered before TLS don't count (RFC 3207 4.2).
func TestPipeliningOfferedInTheClearOnly(t *testing.T) {
	config, ca := certificate(t)
	hellos := 0
	f := startFake(t, &fake{tls: config, script: func(_ int, verb, _ string) string {
		if verb != "EHLO" {
			return ""
		}
		if hellos++; hellos == 1 {
			return "250-fake\r\n250-PIPELINING\r\n250 STARTTLS"
		}
		return "250-fake\r\n250 8BITMIME"
	}}) // reports a command that comes too early
	cfg := configFor(f.listener)
	cfg.TLS, cfg.CAFile = relayurl.TLSRequired, ca
	want(t, newRelay(t, cfg).Send(t.Context(), testMessage("a@example.net"), authorizeAll), "done/dot/250 a=accepted/250")
	if hellos != 2 {
		t.Errorf("%d EHLO", hellos)
	}
}

// Replies injected before TLS are not taken for later replies.
func TestRepliesBeforeTLSAreDiscarded(t *testing.T) {
	config, ca := certificate(t)
	hellos := 0
	f := startFake(t, &fake{ehlo: []string{"PIPELINING"}, tls: config, script: func(_ int, verb, line string) string {
		switch {
		case verb == "RCPT" && strings.Contains(line, "<b@"):
			return "550 5.1.1 unknown"
		case verb != "EHLO":
			return ""
		}
		if hellos++; hellos == 1 {
			return "250-fake\r\n250 STARTTLS\r\n" + strings.Repeat("250 2.1.0 injected\r\n", 5) + "354 injected"
		}
		return ""
	}})
	cfg := configFor(f.listener)
	cfg.TLS, cfg.CAFile = relayurl.TLSRequired, ca
	want(t, newRelay(t, cfg).Send(t.Context(), testMessage("a@example.net", "b@example.net"), authorizeAll), "done/dot/250 a=accepted/250 b=refused/550")
}

func TestPipeliningUnderTLS(t *testing.T) {
	config, ca := certificate(t)
	f := startFake(t, &fake{ehlo: []string{"PIPELINING", "STARTTLS"}, tls: config, delayReplies: true})
	cfg := configFor(f.listener)
	cfg.TLS, cfg.CAFile = relayurl.TLSRequired, ca
	r := newRelay(t, cfg)
	for range 2 {
		want(t, r.Send(t.Context(), testMessage("a@example.net", "b@example.net"), authorizeAll), "done/dot/250 a=accepted/250 b=accepted/250")
	}
	r.Close()
	f.wait("QUIT", func() bool { return f.open == 0 })
	if opened, _ := f.counts(); opened != 1 || len(f.said("QUIT")) != 1 {
		t.Errorf("%d connections, said %q", opened, f.said("QUIT"))
	}
}

// counted counts the writes of a connection and their sizes.
type counted struct {
	net.Conn
	writes    []int
	deadlines int
}

func (c *counted) Write(b []byte) (int, error) {
	c.writes = append(c.writes, len(b))
	return c.Conn.Write(b)
}

func (c *counted) SetWriteDeadline(at time.Time) error {
	c.deadlines++
	return c.Conn.SetWriteDeadline(at)
}

// sendCounted sends m on a connection whose writes are counted.
func sendCounted(t *testing.T, ehlo string, m *app.Outgoing) *counted {
	t.Helper()
	r := relayTo(t, startFake(t, &fake{ehlo: []string{ehlo}}))
	c, err := r.connect(t.Context(), slotRequest{})
	if err != nil {
		t.Fatal(err)
	}
	socket := &counted{Conn: c.wire.Conn}
	c.wire.Conn = socket
	r.pool.put(c)
	if res := r.Send(t.Context(), m, authorizeAll); res.Kind != app.ResultDone {
		t.Error(summary(res))
	}
	return socket
}

func TestWritesOfAMessage(t *testing.T) {
	m := testMessage("a@example.net", "b@example.net")
	m.Mail.Text = strings.Repeat("a line of text\n", 1000)
	for ehlo, want := range map[string]int{"PIPELINING": 3, "8BITMIME": 6} {
		if got := sendCounted(t, ehlo, m).writes; len(got) != want {
			t.Errorf("%s: %d writes, want %d: %v", ehlo, len(got), want, got)
		}
	}
}

// The timeout applies to each chunk of a long message.
func TestTimeoutPerBodyChunk(t *testing.T) {
	for _, line := range []string{"a line of text\n", ".a line of text\n"} {
		m := testMessage("a@example.net")
		m.Mail.Text = strings.Repeat(line, 20_000)
		got := sendCounted(t, "PIPELINING", m)
		for _, n := range got.writes {
			if n > bodyChunk {
				t.Errorf("%d bytes in one write", n)
			}
		}
		if len(got.writes) != got.deadlines || got.deadlines < 6 {
			t.Errorf("%d writes under %d deadlines", len(got.writes), got.deadlines)
		}
	}
}

func TestReadReply(t *testing.T) {
	tests := []struct {
		in   string
		code int
		text string
	}{
		{"250 Ok\r\n", 250, "Ok"},
		{"250\r\n", 250, ""},
		{"250 \r\n", 250, ""},
		{"250 Ok\n", 250, "Ok"},
		{"550-one\r\n550-\r\n550 two\r\n", 550, "one\n\ntwo"},
		{"550-one\r\n550\r\n", 550, "one\n"},
		{"550-one\r\nnot a reply\r\n999 nor this\r\n55\r\n550 two\r\n", 550, "one\nnot a reply\n999 nor this\n55\ntwo"},
		{"550-one\r\n554 two\r\n", 0, "codes 550 and 554"},
		{"250-one\r\n354-two\r\n", 0, "codes 250 and 354"},
		{"250-one\r\n", 0, "EOF"},
		{"250 Ok", 0, "EOF"},
		{"", 0, "EOF"},
		{"\r\n", 0, "not an SMTP reply"},
		{"+OK\r\n", 0, "not an SMTP reply: +OK"},
		{"2500 Ok\r\n", 0, "not an SMTP reply"},
		{"199 Ok\r\n", 0, "not an SMTP reply"},
		{"600 Ok\r\n", 0, "not an SMTP reply"},
		{"25 Ok\r\n", 0, "not an SMTP reply"},
		{"-50 Ok\r\n", 0, "not an SMTP reply"},
		{"250 " + strings.Repeat("x", replyBuffer) + "\r\n", 0, "no end"},
		{strings.Repeat("250-x\r\n", maxReply/7+1) + "250 x\r\n", 0, "no end"},
	}
	for _, tt := range tests {
		code, text, err := readReply(bufio.NewReaderSize(strings.NewReader(tt.in), replyBuffer))
		if err != nil {
			text = err.Error()
		}
		if code != tt.code || (err == nil) != (tt.code > 0) || text != tt.text && (err == nil || !strings.Contains(text, tt.text)) {
			t.Errorf("%.60q: got %d %q %v", tt.in, code, text, err)
		}
	}
}

// FuzzReadReply: a reply reads the same however it is split. If all lines have the code, it reads
// as by the standard library, and the data after it is not consumed.
func FuzzReadReply(f *testing.F) {
	for _, seed := range []string{"250 Ok\r\n", "250-a\r\n250 b\r\n", "250\n", "250-a\r\nx\r\n250 b\r\n", "550-a\r\n554 b\r\n", "\x00", "250-\r\n\r\n250 \r\n", "354 go\r\n250 x\r\n", strings.Repeat("250-x\r\n", 20_000)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bufio.NewReaderSize(bytes.NewReader(data), replyBuffer)
		code, text, err := readReply(in)
		slow := bufio.NewReaderSize(iotest.OneByteReader(bytes.NewReader(data)), replyBuffer)
		if c, s, e := readReply(slow); c != code || s != text || (e == nil) != (err == nil) {
			t.Fatalf("byte by byte: %d %q %v, else %d %q %v", c, s, e, code, text, err)
		}
		if err != nil {
			if code != 0 || text != "" {
				t.Fatalf("%d %q with %v", code, text, err)
			}
			return
		}
		rest, _ := io.ReadAll(in)
		used := data[:len(data)-len(rest)]
		if code < 200 || code > 599 || len(used) > maxReply || !bytes.HasSuffix(used, []byte("\n")) {
			t.Fatalf("%d from %q", code, used)
		}
		if strings.Contains(strings.ReplaceAll(string(used), "\r\n", "\n"), "\r") {
			return
		}
		for line := range bytes.Lines(used) {
			if len(bytes.TrimRight(line, "\r\n")) < 4 { // the standard library requires a blank
				return
			}
		}
		wantCode, wantText, wantErr := textproto.NewReader(bufio.NewReader(bytes.NewReader(used))).ReadResponse(0)
		if wantErr != nil || wantCode != code || wantText != text {
			t.Fatalf("%q: got %d %q, the standard library %d %q %v", used, code, text, wantCode, wantText, wantErr)
		}
	})
}

// FuzzDots: undoing the dot stuffing returns the message, and no line ends it early.
func FuzzDots(f *testing.F) {
	for _, seed := range []string{"", ".", "..", ".\r\n", "a\r\n.", "\r\n.\r\n.", "a\r\n..b\r\n", "a.b"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		if !cleanLines(message) {
			return
		}
		var wire bytes.Buffer
		if err := writeStuffed(&wire, message); err != nil {
			t.Fatal(err)
		}
		if (dotLine(message, 0) < 0) != bytes.Equal(wire.Bytes(), message) {
			t.Fatalf("%q went out as %q", message, wire.Bytes())
		}
		got, err := textproto.NewReader(bufio.NewReader(io.MultiReader(&wire, strings.NewReader("\r\n.\r\n")))).ReadDotBytes()
		want := strings.ReplaceAll(string(message), "\r\n", "\n") + "\n"
		if err != nil || string(got) != want {
			t.Fatalf("%q arrived as %q, %v", message, got, err)
		}
	})
}

var errPipe = errors.New("broken")

type broken struct{ after int }

func (b *broken) Write(p []byte) (int, error) {
	if b.after--; b.after < 0 {
		return 0, errPipe
	}
	return len(p), nil
}

func TestStuffingStopsAtFirstError(t *testing.T) {
	for after := range 3 {
		if err := writeStuffed(&broken{after: after}, []byte("a\r\n.b\r\n.c")); !errors.Is(err, errPipe) {
			t.Errorf("after %d writes: %v", after, err)
		}
	}
}
