package submission

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"mailer/web/smtp/conn"
)

// lineConn is a connection as the SMTP server above reads it: decrypted, and one line at a time, so
// that nothing after a line is read before the line was handled. It bounds lines, and replaces
// replies whose text differs from the documented one.
type lineConn struct {
	*conn.Conn
	stream   net.Conn // Conn, or TLS on top of it
	r        *bufio.Reader
	server   *Server
	port     Port
	secure   bool
	greeted  bool   // the server's greeting was replaced
	greeting string // replaces the server's greeting
	upgraded bool   // another lineConn has the connection now

	line      []byte    // unread rest of a line, in r's buffer
	commands  int       // since the last message
	inMessage bool      // lines belong to a message
	bareCR    bool      // a line had a CR inside
	began     time.Time // of the message's content
	got       int64
	chunk     int64  // remaining bytes of a BDAT chunk (RFC 3030)
	chunks    int64  // bytes of all chunks of the message
	chunking  bool   // a message in chunks has not ended
	out       []byte // first lines of a reply whose last line is not written yet
}

// Read returns at most the rest of one line or chunk.
func (w *lineConn) Read(b []byte) (int, error) {
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
func (w *lineConn) readText(b []byte) (n int, err error) {
	l := &w.server.limits
	now := time.Now()
	if w.began.IsZero() {
		w.began = now
	}
	w.SetCommonDeadline(l.deadline(w.began, now, w.got))
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

// readCommand reads the next line for the server. Commands that the lineConn handles itself end
// with io.EOF.
func (w *lineConn) readCommand() error {
	w.SetCommonDeadline(time.Now().Add(w.server.limits.conn.Idle)) // for the whole line: a trickling line counts as idle
	line, err := w.r.ReadSlice('\n')
	switch {
	case err == bufio.ErrBufferFull:
		w.closeWith("500 5.5.2 The line is too long")
		return io.EOF
	case err != nil:
		return err
	}
	text := bytes.TrimRight(line, "\r\n")
	switch w.commands++; {
	case bytes.ContainsAny(text, "\x00\r"):
		w.closeWith("500 5.5.2 The line has characters that no command has")
		return io.EOF
	case w.commands > w.server.limits.commands:
		w.closeWith("421 4.7.0 Enough for one connection")
		return io.EOF
	case !w.acceptChunk(string(text)):
		return io.EOF
	case w.offersSTARTTLS() && strings.EqualFold(string(bytes.TrimSpace(text)), "STARTTLS"):
		w.upgrade()
		return io.EOF
	}
	w.line = line
	return nil
}

// acceptChunk records the length after BDAT. Between chunks it accepts no other command: the server
// above would mix up its replies.
func (w *lineConn) acceptChunk(line string) bool {
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
	if w.chunks > 0 && w.chunks+int64(size) > w.server.limits.message {
		w.closeWith("552 5.3.4 Maximum message size exceeded")
		return false
	}
	w.chunk, w.chunking, w.chunks = int64(size), !last, w.chunks+int64(size)
	return true
}

// endMessage returns to reading commands.
func (w *lineConn) endMessage() {
	w.inMessage, w.bareCR, w.chunking, w.chunks, w.began, w.got = false, false, false, 0, time.Time{}, 0
}

// beginMessage allows the bytes and commands of another message.
func (w *lineConn) beginMessage() {
	w.Refill()
	w.commands = 0
}

// offersSTARTTLS reports whether STARTTLS is offered.
func (w *lineConn) offersSTARTTLS() bool { return w.server.cfg.TLS != nil && !w.secure }

// confidential reports whether nobody else can read the connection.
func (w *lineConn) confidential() bool { return w.secure || w.peer().IsLoopback() }

// peer returns the peer's address; invalid if it is not known.
func (w *lineConn) peer() netip.Addr {
	at, err := netip.ParseAddrPort(w.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}

// writeReply writes a reply of the lineConn itself.
func (w *lineConn) writeReply(line string) error {
	_, err := io.WriteString(w.stream, line+"\r\n")
	return err
}

// closeWith replies and closes the connection.
func (w *lineConn) closeWith(line string) {
	_ = w.writeReply(line) // a peer that doesn't read it still sees the connection close
	w.CloseAfterReply()
}

// Write collects the lines of a reply, and sends the reply when it is complete.
func (w *lineConn) Write(b []byte) (int, error) {
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
func (w *lineConn) rewrite(line string) string {
	switch {
	case !w.greeted:
		w.greeted = true
		return w.greeting
	case strings.HasPrefix(line, dataReply):
		w.inMessage = true
	case strings.HasPrefix(line, helloLine):
		return "250-" + w.server.cfg.Host + " Hello " + line[len(helloLine):]
	case line == firstExtension && w.offersSTARTTLS():
		return line + "250-STARTTLS\r\n"
	case line == idleReply && w.Stopping():
		return "421 4.3.2 The server is stopping, try again later\r\n"
	case strings.HasPrefix(line, authReply):
		return "235 2.7.0 " + line[len(authReply):]
	case line == badRcptReply:
		return "550 5.1.3 That is no address of a recipient\r\n"
	}
	return line
}

// Close closes the connection, unless another lineConn has it.
func (w *lineConn) Close() error {
	if w.upgraded {
		return nil
	}
	if w.stream != net.Conn(w.Conn) {
		_ = w.stream.Close() // sends close_notify and closes Conn
	}
	return w.Conn.Close()
}
