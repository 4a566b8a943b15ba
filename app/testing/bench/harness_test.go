package bench

import (
	"bufio"
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/emersion/go-msgauth/dkim"

	"mailer/app/testing/apptest"
)

// markedMessage returns a message with a mark.
func markedMessage(number int, body string) string {
	return fmt.Sprintf("From: a@example.com\r\n%s%07d\r\n\r\n%s", markField, number, body)
}

func TestSinkAnswersPipelinedCommands(t *testing.T) {
	t.Parallel()
	s := newSink(t)
	conn, err := net.Dial("tcp", s.addr())
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(conn, "EHLO me\r\n"+envelope)
	must(t, err)
	r := bufio.NewReader(conn)
	must(t, replies(r, "220", "250", "250", "250", "354"))
	m := s.expect(2)
	_, err = io.WriteString(conn, markedMessage(0, "x\r\n")+".\r\n"+envelope)
	must(t, err)
	must(t, replies(r, "250", "250", "250", "354"))
	_, err = io.WriteString(conn, markedMessage(1, "x\r\n")+".\r\nQUIT\r\n")
	must(t, err)
	must(t, replies(r, "250", "221"))
	must(t, m.check(false))
}

// TestSinkAnswersBeforePartialCommand: waiting for the rest of a command before the reply would be
// a deadlock.
func TestSinkAnswersBeforePartialCommand(t *testing.T) {
	t.Parallel()
	s := newSink(t)
	conn, err := net.Dial("tcp", s.addr())
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(conn, "NOOP\r\nNO")
	must(t, err)
	must(t, replies(bufio.NewReader(conn), "220", "250"))
}

func TestSinkFindsSplitFinalDot(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"one line":               "x\r\n",
		"dots":                   "..\r\n...\r\n.. x\r\n\r\n",
		"longer than the buffer": strings.Repeat("0123456789\r\n", sinkBuffer/8),
	} {
		for chunk, cut := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader, "bytes": iotest.OneByteReader,
		} {
			s := &sink{}
			m := s.expect(1)
			c := &sinkSession{sink: s, r: bufio.NewReaderSize(cut(strings.NewReader(markedMessage(0, body)+".\r\nrest")), sinkBuffer)}
			if !c.message() {
				t.Errorf("%s, %s: no end found", name, chunk)
			}
			rest, _ := io.ReadAll(c.r)
			if string(rest) != "rest" {
				t.Errorf("%s, %s: %q is left", name, chunk, rest)
			}
			if err := m.check(false); err != nil {
				t.Errorf("%s, %s: %v", name, chunk, err)
			}
		}
	}
	empty := &sinkSession{sink: &sink{}, r: bufio.NewReaderSize(strings.NewReader(".\r\nrest"), sinkBuffer)}
	if !empty.message() {
		t.Error("an empty message has no end")
	}
}

// TestMarksReportFaults covers each fault that makes figures invalid, and a correct round.
func TestMarksReportFaults(t *testing.T) {
	t.Parallel()
	signed := "DKIM-Signature: v=1\r\n"
	for name, c := range map[string]struct {
		arrive []string
		signed bool
		want   string
	}{
		"all there":          {[]string{markedMessage(0, ""), markedMessage(1, "")}, false, ""},
		"all there, signed":  {[]string{signed + markedMessage(0, ""), signed + markedMessage(1, "")}, true, ""},
		"one is lost":        {[]string{markedMessage(1, "")}, false, "1 messages did not arrive"},
		"one is doubled":     {[]string{markedMessage(0, ""), markedMessage(1, ""), markedMessage(0, "")}, false, "1 messages arrived twice"},
		"one is a stranger":  {[]string{markedMessage(0, ""), markedMessage(1, ""), markedMessage(2, "")}, false, "1 messages are not of this round"},
		"one has no mark":    {[]string{markedMessage(0, ""), markedMessage(1, ""), "Subject: Hello\r\n\r\n"}, false, "1 messages are not of this round"},
		"one is not signed":  {[]string{signed + markedMessage(0, ""), markedMessage(1, "")}, true, "1 messages are signed, 2 should be"},
		"one is signed":      {[]string{signed + markedMessage(0, ""), markedMessage(1, "")}, false, "1 messages are signed, 0 should be"},
		"a signature inside": {[]string{markedMessage(0, signed), markedMessage(1, signed)}, true, "0 messages are signed, 2 should be"},
	} {
		m := newMarks(2)
		for _, message := range c.arrive {
			m.received([]byte(message))
		}
		got := ""
		if err := m.check(c.signed); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestMarkRoundTrip(t *testing.T) {
	t.Parallel()
	message := []byte("To: you\r\nSubject: " + markZero + "\r\n\r\n")
	at, err := stampAt(message)
	must(t, err)
	for _, number := range []int{0, 1, 90, 4711, 9_999_999} {
		stamp(message[at:at+markDigits], number)
		if got, ok := markIn(message); !ok || got != number {
			t.Errorf("%d is read as %d, %v", number, got, ok)
		}
	}
	for message, want := range map[string]bool{markField + "0000012\r\nTo: you\r\n": true, markField + "12": false, "To: you\r\n": false} {
		if got, ok := markIn([]byte(message)); ok != want || ok && got != 12 {
			t.Errorf("%q is read as %d, %v", message, got, ok)
		}
	}
	if _, err := stampAt([]byte("Subject: Hello\r\n")); err == nil {
		t.Error("a message without a place for a mark can be stamped")
	}
}

func TestAlteredMessageFailsVerification(t *testing.T) {
	t.Parallel()
	key := apptest.RSAKey(0)
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	must(t, err)
	record := "v=DKIM1; k=rsa; p=" + base64.StdEncoding.EncodeToString(public)
	message := "From: a@example.com\r\nTo: b@example.org\r\nSubject: x\r\nDate: Sat, 21 Nov 2026 20:00:00 +0000\r\n" +
		"Message-ID: <1@example.com>\r\nMIME-Version: 1.0\r\nContent-Type: text/plain\r\n\r\nHello\r\n.dot\r\n"
	var signed bytes.Buffer
	must(t, dkim.Sign(&signed, strings.NewReader(message), &dkim.SignOptions{Domain: "example.com", Selector: "bench", Signer: key}))
	onWire := bytes.ReplaceAll(signed.Bytes(), []byte("\r\n."), []byte("\r\n.."))
	if err := verify(onWire, record); err != nil {
		t.Errorf("as signed: %v", err)
	}
	if err := verify(bytes.Replace(onWire, []byte("Hello"), []byte("Hallo"), 1), record); err == nil {
		t.Error("an altered body verifies")
	}
	if err := verify([]byte(message), record); err == nil {
		t.Error("a message without a signature verifies")
	}
}

// TestRatioIsMedianOfRounds: rounds are compared with their neighbours in time, so that a slow
// phase of the machine does not change the ratio.
func TestRatioIsMedianOfRounds(t *testing.T) {
	t.Parallel()
	r := newReport(io.Discard)
	for _, rates := range [][2]float64{{300, 100}, {30, 10}, {500, 100}} {
		r.outcomes["Mailer"] = append(r.outcomes["Mailer"], outcome{rate: rates[0]})
		r.outcomes["Postfix"] = append(r.outcomes["Postfix"], outcome{rate: rates[1]})
	}
	if got := r.ratio("Mailer", "Postfix", rateOf); got != 3 {
		t.Errorf("ratio %v, want 3", got)
	}
}
