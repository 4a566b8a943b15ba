package smtpout

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net/textproto"
	"time"
)

// replyBuffer bounds one line of a reply, in bytes. RFC 5321 4.5.3.1.5 allows
// 512; some relays write more.
const replyBuffer = 4 << 10

// bodyChunk is how much of a body must be written within one timeout, in bytes.
const bodyChunk = 64 << 10

var errUnexpectedReply = errors.New("the relay spoke out of turn")

// offer holds the EHLO extensions that transactions use.
type offer struct {
	pipelining bool // RFC 2920
	eightBit   bool // RFC 6152
	utf8       bool // RFC 6531
	size       bool // RFC 1870
	limit      int64
}

// startTransactions reads the extensions after the last EHLO and replaces the SMTP client: from now
// on send and readReply are used, because go-smtp waits for the reply to each command before it
// sends the next.
func (c *conn) startTransactions() {
	offers := func(name string) bool { ok, _ := c.client.Extension(name); return ok }
	limit, _ := c.client.MaxMessageSize()
	c.offer = offer{
		pipelining: offers("PIPELINING"), eightBit: offers("8BITMIME"), utf8: offers("SMTPUTF8"),
		size: offers("SIZE"), limit: int64(limit),
	}
	c.in, c.client = bufio.NewReaderSize(c.stream, replyBuffer), nil
	if secured, ok := c.stream.(*tls.Conn); ok {
		c.tls = tls.VersionName(secured.ConnectionState().Version)
	}
}

// send writes complete command lines in one write.
func (c *conn) send(lines []byte) error {
	_, err := c.stream.Write(lines)
	return err
}

// readReply reads the reply to the oldest unanswered command, within timeout. text is the text
// after the code, lines joined by LF. want is the expected code, or its first two digits; any other
// code is returned as a *textproto.Error.
func (c *conn) readReply(want int, timeout time.Duration) (text string, err error) {
	c.wire.expectReply(timeout)
	code, text, err := readReply(c.in)
	c.last = commandReply{code: code, text: text}
	if err != nil {
		return "", err
	}
	if code != want && code/10 != want {
		return "", &textproto.Error{Code: code, Msg: text}
	}
	return text, nil
}

// Write writes part of a body, in chunks that each have the whole timeout.
func (c *conn) Write(p []byte) (n int, err error) {
	for err == nil && n < len(p) {
		var m int
		m, err = c.stream.Write(p[n:min(len(p), n+bodyChunk)])
		n += m
	}
	return n, err
}

// readReply reads one reply (RFC 5321 4.2). A line without a code is text of the current reply. A
// line with another code is an error, because it belongs to another reply and would shift all later
// replies to the wrong commands.
func readReply(in *bufio.Reader) (code int, text string, err error) {
	var joined []byte
	for size := 0; ; {
		line, err := in.ReadSlice('\n')
		if size += len(line); errors.Is(err, bufio.ErrBufferFull) || size > maxReply {
			return 0, "", errReplyTooLong
		}
		if err != nil {
			return 0, "", err
		}
		line = bytes.TrimRight(line, "\r\n")
		n, more, rest := replyLine(line)
		switch {
		case n == 0 && code == 0:
			return 0, "", fmt.Errorf("not an SMTP reply: %s", line)
		case n == 0:
			n, more, rest = code, true, line
		case code != 0 && n != code:
			return 0, "", fmt.Errorf("codes %d and %d in one reply", code, n)
		}
		code = n
		if joined == nil && !more {
			return code, string(rest), nil
		}
		if joined = append(joined, rest...); !more {
			return code, string(joined), nil
		}
		joined = append(joined, '\n')
	}
}

// replyLine parses a line of a reply; code 0: it has none. A relay may leave out
// the text and the space before it (RFC 5321 4.2).
func replyLine(line []byte) (code int, more bool, rest []byte) {
	if len(line) < 3 || line[0] < '2' || line[0] > '5' || !isDigit(line[1]) || !isDigit(line[2]) {
		return 0, false, nil
	}
	code = int(line[0]-'0')*100 + int(line[1]-'0')*10 + int(line[2]-'0')
	if len(line) == 3 {
		return code, false, nil
	}
	if line[3] != ' ' && line[3] != '-' {
		return 0, false, nil
	}
	return code, line[3] == '-', line[4:]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
