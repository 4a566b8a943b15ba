package sdktest

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// smtpConn is an SMTP dialogue with the submission server, one command at a time.
type smtpConn struct {
	net.Conn
	r *bufio.Reader
}

// answer is a reply of an SMTP server.
type answer struct {
	code int
	text string // with the enhanced code; lines are joined by a blank
}

func (a answer) String() string { return fmt.Sprint(a.code, " ", a.text) }

// is reports whether the reply begins so, as in 452 4.3.1.
func (a answer) is(want string) bool { return strings.HasPrefix(a.String(), want) }

// id returns the email's id in the reply to a message; empty: it was refused.
func (a answer) id() string {
	_, id, _ := strings.Cut(a.text, "queued as ")
	if a.code != 250 {
		return ""
	}
	return id
}

// dialSMTP connects and reads the greeting.
func dialSMTP(addr string) (*smtpConn, answer, error) {
	c, err := net.DialTimeout("tcp", addr, time.Minute)
	if err != nil {
		return nil, answer{}, err
	}
	s := newSMTPConn(c)
	a, err := s.answer()
	return s, a, err
}

// quit ends the conversation, and waits until the server has closed it.
func (s *smtpConn) quit() {
	_ = s.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprint(s, "QUIT\r\n")
	_, _ = io.Copy(io.Discard, s.r)
	s.Close()
}

func newSMTPConn(c net.Conn) *smtpConn { return &smtpConn{c, bufio.NewReader(c)} }

func (s *smtpConn) answer() (a answer, err error) {
	_ = s.SetDeadline(time.Now().Add(time.Minute))
	for {
		line, err := s.r.ReadString('\n')
		if err != nil {
			return a, err
		}
		if line = strings.TrimRight(line, "\r\n"); len(line) < 4 {
			return a, fmt.Errorf("no reply: %q", line)
		}
		a.code, err = strconv.Atoi(line[:3])
		if a.text = strings.TrimSpace(a.text + " " + line[4:]); line[3] != '-' {
			return a, err
		}
	}
}

// cmd sends a command and reads its reply.
func (s *smtpConn) cmd(command string) (answer, error) {
	if _, err := io.WriteString(s, command+"\r\n"); err != nil {
		return answer{}, err
	}
	return s.answer()
}

// signIn says EHLO and signs in with a key.
func (s *smtpConn) signIn(key string) (answer, error) {
	if a, err := s.cmd("EHLO client.test"); err != nil || a.code != 250 {
		return a, err
	}
	return s.cmd("AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00resend\x00"+key)))
}

// begin sends everything up to the message: the reply is 354, or the first refusal.
func (s *smtpConn) begin(params string, to ...string) (a answer, err error) {
	commands := []string{"MAIL FROM:<envelope@example.test>" + params}
	for _, r := range to {
		commands = append(commands, "RCPT TO:<"+r+">")
	}
	for _, c := range append(commands, "DATA") {
		if a, err = s.cmd(c); err != nil || a.code != 250 {
			return a, err
		}
	}
	return a, nil
}

// handIn sends a message, whose lines end with CR LF.
func (s *smtpConn) handIn(message, params string, to ...string) (answer, error) {
	a, err := s.begin(params, to...)
	if err != nil || a.code != 354 {
		return a, err
	}
	return s.cmd(dotStuffed(message) + ".")
}

func dotStuffed(message string) string {
	if strings.HasPrefix(message, ".") {
		message = "." + message
	}
	return strings.ReplaceAll(message, "\r\n.", "\r\n..")
}

// signedIn is a connection of a key.
func (h *submissionFixture) signedIn(t *testing.T, key string) *smtpConn {
	t.Helper()
	s, a, err := dialSMTP(h.smtp)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	if a.code != 220 {
		t.Fatalf("greeting: %s", a)
	}
	if a, err = s.signIn(key); err != nil || a.code != 235 {
		t.Fatalf("AUTH: %s, %v", a, err)
	}
	return s
}

// want sends a message and checks the reply, which it returns.
func (s *smtpConn) want(t *testing.T, reply, message string, to ...string) answer {
	t.Helper()
	a, err := s.handIn(message, "", to...)
	if err != nil || !a.is(reply) {
		t.Errorf("%s, %v; want %s", a, err, reply)
	}
	if a.code == 354 || err != nil {
		t.FailNow()
	}
	if a.code != 250 {
		_, _ = s.cmd("RSET") // a closed session shows at the next command
	}
	return a
}

// note is a short message.
func note(from, subject string, more ...string) string {
	header := append([]string{"From: " + from, "To: zofia@example.org", "Subject: " + subject}, more...)
	return strings.Join(header, "\r\n") + "\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nnote " + subject + "\r\n"
}
