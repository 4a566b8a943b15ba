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

// wire is a connection as the SMTP server on top of it sees it: in the clear, whether
// TLS is below or not, and one line at a time, so that nothing which follows a line is
// read before the line was obeyed. It bounds lines, and puts the server's words right
// where our contract has others.
type wire struct {
	*conn.Conn
	stream  net.Conn // Conn, or TLS on it
	r       *bufio.Reader
	server  *Server
	port    Port
	secure  bool
	greeted bool   // the greeting of the server on top has come
	hail    string // what is said instead of it
	moved   bool   // another wire has the connection now

	line     []byte    // what is left to read of a line, in r's buffer
	commands int       // since the last message
	text     bool      // lines are those of a message
	bareCR   bool      // one of them has a CR that ends no line
	began    time.Time // of what is being read of a message
	got      int64
	chunk    int64  // bytes of a chunk (RFC 3030) that are still to come
	chunks   int64  // bytes of the chunks of a message that has not ended
	chunking bool   // a message that comes in chunks has not ended
	out      []byte // lines of an answer whose last one is still to come
}

// Read returns at most what is left of one line, or of a chunk.
func (w *wire) Read(b []byte) (int, error) {
	if len(w.line) == 0 {
		if w.Ended() || w.moved {
			return 0, io.EOF
		}
		if w.text || w.chunk > 0 {
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

// readText reads what is part of a message.
func (w *wire) readText(b []byte) (n int, err error) {
	l := &w.server.limits
	now := time.Now()
	if w.began.IsZero() {
		w.began = now
	}
	w.Due(l.deadline(w.began, now, w.got))
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
		err = nil // it comes again
	}
	return n, err
}

// replaceBareCR puts a NUL, for which the message is refused as well, in the place of each CR in
// a line that no LF follows. The server on top loses such a CR behind a dot, and does not
// see that a line ends behind two. It reports whether there was one.
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

// deadline is until when more of a message must have come, of which got bytes are here
// since start: it may not stop, not trickle, and not take for ever.
func (l *limits) deadline(start, now time.Time, got int64) time.Time {
	at := now.Add(l.stall)
	if slow := start.Add(l.grace + time.Duration(got)*time.Second/time.Duration(l.rate)); slow.Before(at) {
		at = slow
	}
	if end := start.Add(l.transfer); end.Before(at) {
		at = end
	}
	return at
}

// readCommand reads the next line that the server is to see; what this wire obeys by
// itself it does not.
func (w *wire) readCommand() error {
	w.Due(time.Now().Add(w.server.limits.door.Idle)) // of the whole line: one that trickles is idle
	line, err := w.r.ReadSlice('\n')
	switch {
	case err == bufio.ErrBufferFull:
		w.dismiss("500 5.5.2 The line is too long")
		return io.EOF
	case err != nil:
		return err
	}
	words := bytes.TrimRight(line, "\r\n")
	switch w.commands++; {
	case bytes.ContainsAny(words, "\x00\r"):
		w.dismiss("500 5.5.2 The line has characters that no command has")
		return io.EOF
	case w.commands > w.server.limits.commands:
		w.dismiss("421 4.7.0 Enough for one connection")
		return io.EOF
	case !w.acceptChunk(string(words)):
		return io.EOF
	case w.offersSTARTTLS() && strings.EqualFold(string(bytes.TrimSpace(words)), "STARTTLS"):
		w.upgrade()
		return io.EOF
	}
	w.line = line
	return nil
}

// acceptChunk notes how many bytes follow a BDAT. Between the chunks of a message it lets
// nothing else through: the server on top would mix up the answers.
func (w *wire) acceptChunk(line string) bool {
	fields := strings.Fields(line)
	isChunk := len(fields) > 1 && strings.EqualFold(fields[0], "BDAT")
	if !isChunk {
		if w.chunking {
			w.dismiss("503 5.5.1 Only BDAT may follow BDAT")
		}
		return !w.chunking
	}
	size, err := strconv.ParseUint(fields[1], 10, 32)
	last := len(fields) == 3 && strings.EqualFold(fields[2], "LAST")
	if err != nil || len(fields) > 2 && !last {
		w.dismiss("501 5.5.4 BDAT needs a size, and LAST or nothing behind it")
		return false
	}
	if w.chunks > 0 && w.chunks+int64(size) > w.server.limits.message {
		w.dismiss("552 5.3.4 Maximum message size exceeded")
		return false
	}
	w.chunk, w.chunking, w.chunks = int64(size), !last, w.chunks+int64(size)
	return true
}

// endMessage goes back to commands.
func (w *wire) endMessage() {
	w.text, w.bareCR, w.chunking, w.chunks, w.began, w.got = false, false, false, 0, time.Time{}, 0
}

// beginMessage allows the bytes and commands of another message.
func (w *wire) beginMessage() {
	w.Refill()
	w.commands = 0
}

// offersSTARTTLS reports whether STARTTLS is offered.
func (w *wire) offersSTARTTLS() bool { return w.server.cfg.TLS != nil && !w.secure }

// private reports whether nobody else can read what is said.
func (w *wire) private() bool { return w.secure || w.peer().IsLoopback() }

// peer is the address of the other side; invalid where it is not known.
func (w *wire) peer() netip.Addr {
	at, err := netip.ParseAddrPort(w.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}

// say writes an answer of the wire's own.
func (w *wire) say(line string) error {
	_, err := io.WriteString(w.stream, line+"\r\n")
	return err
}

// dismiss says why the connection is closed.
func (w *wire) dismiss(line string) {
	_ = w.say(line) // who does not read it finds the connection closed
	w.End()
}

// Write takes a line of an answer, and sends the answer when it is whole.
func (w *wire) Write(b []byte) (int, error) {
	w.out = append(w.out, w.reworded(string(b))...)
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

// Answers of the server on top that our contract has in other words.
const (
	helloLine      = "250-Hello "
	firstExtension = "250-PIPELINING\r\n"
	dataReply      = "354 "
	idleReply      = "421 4.4.2 Idle timeout, bye bye\r\n"
	authReply      = "235 2.0.0 "
	badRcptReply   = "501 5.5.2 Was expecting RCPT arg syntax of TO:<address>\r\n"
)

// reworded is a line of an answer in the words of our contract.
func (w *wire) reworded(line string) string {
	switch {
	case !w.greeted:
		w.greeted = true
		return w.hail
	case strings.HasPrefix(line, dataReply):
		w.text = true
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

// Close ends the connection, unless another wire has it.
func (w *wire) Close() error {
	if w.moved {
		return nil
	}
	if w.stream != net.Conn(w.Conn) {
		_ = w.stream.Close() // tells the peer, and closes Conn
	}
	return w.Conn.Close()
}
