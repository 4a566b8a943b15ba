package conn

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// LineConn is a connection as the SMTP server above reads it: decrypted, and one line at a time, so
// that nothing after a line is read before the line was handled. It bounds lines, and replaces
// replies whose text differs from the documented one.
type LineConn struct {
	*Conn
	lines    *Lines
	stream   net.Conn // Conn, or TLS on top of it
	r        *bufio.Reader
	port     Port
	secure   bool
	greeted  bool   // the server's greeting was replaced
	greeting string // replaces the server's greeting
	upgraded bool   // another LineConn has the connection now

	line      []byte        // unread rest of a line, in r's buffer
	command   string        // the last command
	timeout   time.Duration // for the next command
	commands  int           // since the last message
	malformed func() string // replies to a malformed RCPT; nil: the server does
	inMessage bool          // lines belong to a message
	bareCR    bool          // a line had a CR inside
	began     time.Time     // of the message's content
	got       int64
	chunk     int64  // remaining bytes of a BDAT chunk (RFC 3030)
	chunks    int64  // bytes of all chunks of the message
	chunking  bool   // a message in chunks has not ended
	out       []byte // first lines of a reply whose last line is not written yet
}

// Command returns the last command as the peer sent it, without its line end.
func (w *LineConn) Command() string { return w.command }

// BareCR reports whether the message has a CR that ends no line. Each is replaced by NUL.
func (w *LineConn) BareCR() bool { return w.bareCR }

// Port returns the port of the connection.
func (w *LineConn) Port() Port { return w.port }

// SetCommandTimeout sets how long the peer may take for each following command.
func (w *LineConn) SetCommandTimeout(d time.Duration) { w.timeout = d }

// OnMalformedRecipient sets a function that is called for each RCPT command that the server above can't parse. It may
// return another reply, with CR LF.
func (w *LineConn) OnMalformedRecipient(reply func() string) { w.malformed = reply }

// Read returns at most the rest of one line or chunk.
func (w *LineConn) Read(b []byte) (int, error) {
	if len(w.line) == 0 {
		if w.Closing() || w.upgraded {
			return 0, io.EOF
		}
		if w.inMessage || w.chunk > 0 {
			return w.readText(b)
		}
		if err := w.readCommand(); err != nil {
			return 0, err
		}
	}
	n := copy(b, w.line)
	w.line = w.line[n:]
	return n, nil
}

// readText reads content of a message.
func (w *LineConn) readText(b []byte) (n int, err error) {
	now := time.Now()
	if w.began.IsZero() {
		w.began = now
	}
	w.SetCommonDeadline(w.lines.Deadline(w.began, now, w.got))
	if w.chunk > 0 {
		n, err = w.r.Read(b[:min(int64(len(b)), w.chunk)])
		w.chunk -= int64(n)
	} else {
		var line []byte
		line, err = w.r.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			err = nil
		}
		w.bareCR = replaceBareCR(line) || w.bareCR
		n = copy(b, line)
		w.line = line[n:]
	}
	w.got += int64(n)
	if n > 0 {
		err = nil // the next read returns it again
	}
	return n, err
}

// replaceBareCR replaces each CR that no LF follows by NUL, for which the message is refused as
// well, and reports whether it found one. The server above loses such a CR after a dot, and misses
// the end of a line with two CRs.
func replaceBareCR(line []byte) (found bool) {
	for at := 0; ; at++ {
		n := bytes.IndexByte(line[at:], '\r')
		if n < 0 {
			return found
		}
		if at += n; at+1 == len(line) || line[at+1] != '\n' {
			line[at], found = 0, true
		}
	}
}

// readCommand reads the next line for the server. Commands that the LineConn handles itself end
// with io.EOF.
func (w *LineConn) readCommand() error {
	w.SetCommonDeadline(time.Now().Add(w.timeout)) // for the whole line: a trickling line counts as idle
	line, err := w.r.ReadSlice('\n')
	switch {
	case err == bufio.ErrBufferFull:
		w.closeWith("500 5.5.2 The line is too long")
		return io.EOF
	case err != nil:
		return err
	}
	text := bytes.TrimRight(line, "\r\n")
	w.command = string(text)
	switch w.commands++; {
	case bytes.ContainsAny(text, "\x00\r"):
		w.closeWith("500 5.5.2 The line has characters that no command has")
		return io.EOF
	case w.commands > w.lines.Commands:
		w.closeWith("421 4.7.0 Enough for one connection")
		return io.EOF
	case !w.acceptChunk(w.command):
		return io.EOF
	case w.offersSTARTTLS() && strings.EqualFold(strings.TrimSpace(w.command), "STARTTLS"):
		w.upgrade()
		return io.EOF
	}
	w.line = line
	return nil
}

// acceptChunk records the length after BDAT. Between chunks it accepts no other command: the server
// above would mix up its replies.
func (w *LineConn) acceptChunk(line string) bool {
	fields := strings.Fields(line)
	isChunk := len(fields) > 1 && strings.EqualFold(fields[0], "BDAT")
	if !isChunk {
		if w.chunking {
			w.closeWith("503 5.5.1 Only BDAT may follow BDAT")
		}
		return !w.chunking
	}
	size, err := strconv.ParseUint(fields[1], 10, 32)
	last := len(fields) == 3 && strings.EqualFold(fields[2], "LAST")
	if err != nil || len(fields) > 2 && !last {
		w.closeWith("501 5.5.4 BDAT needs a size, and LAST or nothing behind it")
		return false
	}
	if w.chunks > 0 && w.chunks+int64(size) > w.lines.Message {
		w.closeWith("552 5.3.4 Maximum message size exceeded")
		return false
	}
	w.chunk, w.chunking, w.chunks = int64(size), !last, w.chunks+int64(size)
	return true
}

// EndMessageText returns to reading commands.
func (w *LineConn) EndMessageText() {
	w.inMessage, w.bareCR, w.chunking, w.chunks, w.began, w.got = false, false, false, 0, time.Time{}, 0
}

// AllowMessage allows the bytes and commands of another message.
func (w *LineConn) AllowMessage() {
	w.Refill()
	w.commands = 0
}

// offersSTARTTLS reports whether STARTTLS is offered.
func (w *LineConn) offersSTARTTLS() bool { return w.lines.TLS != nil && !w.secure }

// Confidential reports whether nobody else can read the connection.
func (w *LineConn) Confidential() bool { return w.secure || w.Peer().IsLoopback() }

// Peer returns the peer's address; invalid if it is not known.
func (w *LineConn) Peer() netip.Addr {
	at, err := netip.ParseAddrPort(w.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}

// writeReply writes a reply of the LineConn itself.
func (w *LineConn) writeReply(line string) error {
	_, err := io.WriteString(w.stream, line+"\r\n")
	return err
}

// closeWith replies and closes the connection.
func (w *LineConn) closeWith(line string) {
	_ = w.writeReply(line) // a peer that doesn't read it still sees the connection close
	w.CloseAfterReply()
}

// Write collects the lines of a reply, and sends the reply when it is complete.
func (w *LineConn) Write(b []byte) (int, error) {
	w.out = append(w.out, w.rewrite(string(b))...)
	if len(b) > 3 && b[3] == '-' || len(w.out) == 0 {
		return len(b), nil
	}
	_, err := w.stream.Write(w.out)
	w.out = w.out[:0]
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

// Replies of the server that are replaced by documented ones.
const (
	helloLine      = "250-Hello "
	firstExtension = "250-PIPELINING\r\n"
	dataReply      = "354 "
	idleReply      = "421 4.4.2 Idle timeout, bye bye\r\n"
	authReply      = "235 2.0.0 "
	badRcptReply   = "501 5.5.2 Was expecting RCPT arg syntax of TO:<address>\r\n"
)

// rewrite returns a line of a reply in its documented form.
func (w *LineConn) rewrite(line string) string {
	switch {
	case !w.greeted:
		w.greeted = true
		return w.greeting
	case strings.HasPrefix(line, dataReply):
		w.inMessage = true
	case strings.HasPrefix(line, helloLine):
		return "250-" + w.lines.Host + " Hello " + line[len(helloLine):]
	case line == firstExtension && w.offersSTARTTLS():
		return line + "250-STARTTLS\r\n"
	case line == idleReply && w.Stopping():
		return "421 4.3.2 The server is stopping, try again later\r\n"
	case strings.HasPrefix(line, authReply):
		return "235 2.7.0 " + line[len(authReply):]
	case w.malformed != nil && isMalformedRecipient(w.command, line):
		if reply := w.malformed(); reply != "" {
			return reply
		}
	}
	if line == badRcptReply {
		return w.lines.BadRecipient
	}
	return line
}

// isMalformedRecipient reports whether the server above replies to a RCPT command that it can't parse, or with
// parameters that it does not know.
func isMalformedRecipient(command, reply string) bool {
	return len(command) >= 4 && strings.EqualFold(command[:4], "RCPT") && (strings.HasPrefix(reply, "501 ") || strings.HasPrefix(reply, "504 ") || strings.HasPrefix(reply, "500 "))
}

// Close closes the connection, unless another LineConn has it.
func (w *LineConn) Close() error {
	if w.upgraded {
		return nil
	}
	if w.stream != net.Conn(w.Conn) {
		_ = w.stream.Close() // sends close_notify and closes Conn
	}
	return w.Conn.Close()
}
