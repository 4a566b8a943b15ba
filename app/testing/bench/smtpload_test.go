package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strings"
	"time"
)

// envelope is sent together with the message before it, in as few round trips as RFC 2920 allows,
// in Postfix's favour.
const envelope = "MAIL FROM:<hello@example.com>\r\nRCPT TO:<you@example.org>\r\nDATA\r\n"

// smtpPeer is a mail server that gets its messages by SMTP.
type smtpPeer struct {
	*programs
	addr   string
	sample []byte // the message to send
	record string // of the DKIM key; empty: unsigned
}

// deliver sends all messages over connections that are kept open.
func (p *smtpPeer) deliver(m *marks, clients int) []time.Duration {
	p.tb.Helper()
	return spread(p.tb, len(m.sent), clients, func(n int) ([]time.Duration, error) { return p.session(n, m) })
}

// peak is the sampled peak memory.
func (p *smtpPeer) peak(sampled float64) float64 { return sampled }

func (p *smtpPeer) dkimRecord() string { return p.record }

// session sends n messages over one connection and returns the time of each from its first byte to
// its reply.
func (p *smtpPeer) session(n int, m *marks) ([]time.Duration, error) {
	conn, err := net.Dial("tcp", p.addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	if err := replies(r, "220"); err != nil {
		return nil, err
	}
	if _, err := conn.Write([]byte("EHLO load.example.com\r\n")); err != nil {
		return nil, err
	}
	if err := replies(r, "250"); err != nil {
		return nil, err
	}
	message := append(bytes.Clone(p.sample), ".\r\n"...)
	at, err := stampAt(message)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write([]byte(envelope)); err != nil {
		return nil, err
	}
	following := append(bytes.Clone(message), envelope...)
	latencies := make([]time.Duration, 0, n)
	for i := range n {
		if err := replies(r, "250", "250", "354"); err != nil {
			return nil, err
		}
		if i == n-1 {
			following = append(message, "QUIT\r\n"...)
		}
		m.send(following[at : at+markDigits])
		start := time.Now()
		if _, err := conn.Write(following); err != nil {
			return nil, err
		}
		if err := replies(r, "250"); err != nil {
			return nil, err
		}
		latencies = append(latencies, time.Since(start))
	}
	return latencies, replies(r, "221")
}

// replies reads one reply for each code, including continuation lines.
func replies(r *bufio.Reader, codes ...string) error {
	for _, code := range codes {
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return fmt.Errorf("waiting for %s: %w", code, err)
			}
			if !strings.HasPrefix(line, code) {
				return fmt.Errorf("%q instead of %s", line, code)
			}
			if !strings.HasPrefix(line[len(code):], "-") {
				break
			}
		}
	}
	return nil
}
