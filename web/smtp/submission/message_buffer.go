package submission

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/emersion/go-smtp"

	"mailer/app/kit/fair"
	"mailer/app/kit/platform"
)

// Refusals for the content of a message.
var (
	errLongLine = newReply(554, 5, 6, 0, "A line of the message is longer than 998 bytes; encode it as quoted-printable or base64")
	errBareCR   = newReply(554, 5, 6, 0, "The message has a carriage return that ends no line; lines end with CR LF")
	errBareLF   = newReply(554, 5, 6, 0, "The message has a line feed without a carriage return before it; lines end with CR LF")
	errNUL      = newReply(554, 5, 6, 0, "The message has a NUL byte; encode what is binary as base64")
	errNoSpace  = newReply(452, 4, 3, 1, "The server has no room for the message now, try again later")
)

// messageBuffer receives a message: in memory while it is small, otherwise in an unlinked file, so
// that nothing is left however the server ends. After an error it reads on, since the peer gets the
// reply at the end of the message only.
type messageBuffer struct {
	disk        *fair.Semaphore[string] // the disk space of messages that are being received, by team
	team        string
	dir         string
	memoryLimit int64
	log         *slog.Logger

	head   []byte
	file   *os.File // everything after head
	size   int64
	onDisk int64
	column int  // in the current line
	cr     bool // the last byte was a CR
	fault  *smtp.SMTPError
}

// Write appends a part of the message. It never fails.
func (in *messageBuffer) Write(b []byte) (int, error) {
	if in.fault == nil {
		in.fault = in.check(b)
	}
	if in.fault == nil {
		in.fault = in.store(b)
	}
	if in.fault != nil {
		in.close()
	}
	in.size += int64(len(b))
	return len(b), nil
}

// check returns the refusal for invalid content.
func (in *messageBuffer) check(b []byte) *smtp.SMTPError {
	for _, c := range b {
		switch {
		case c == '\n' && !in.cr:
			return errBareLF
		case c != '\n' && in.cr:
			return errBareCR
		case c == 0:
			return errNUL
		case c == '\n':
			in.column = 0
		case c != '\r':
			if in.column++; in.column > maxTextLine {
				return errLongLine
			}
		}
		in.cr = c == '\r'
	}
	return nil
}

// store keeps a part.
func (in *messageBuffer) store(b []byte) *smtp.SMTPError {
	if in.file == nil && in.size+int64(len(b)) <= in.memoryLimit {
		in.head = append(in.head, b...)
		return nil
	}
	if !in.disk.TryAcquire(in.team, int64(len(b))) {
		return errNoSpace
	}
	in.onDisk += int64(len(b))
	err := in.open()
	if err == nil {
		_, err = in.file.Write(b)
	}
	if err != nil {
		in.log.Error("keep a message that arrives by SMTP", "err", err)
		if platform.IsFull(err) {
			return errNoSpace
		}
		return errInternal
	}
	return nil
}

// filePattern is the name pattern of files before they are unlinked.
const filePattern = "mailer-smtp-*.tmp"

func (in *messageBuffer) open() (err error) {
	if in.file != nil {
		return nil
	}
	if in.file, err = os.CreateTemp(in.dir, filePattern); err != nil {
		return fmt.Errorf("make a file for the message: %w", err)
	}
	if err := os.Remove(in.file.Name()); err != nil {
		return fmt.Errorf("unlink the message's file: %w", err)
	}
	return nil
}

// sweep removes files of a server that was killed before it unlinked them.
func sweep(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, filePattern))
	for _, name := range left {
		_ = os.Remove(name) // the file is empty
	}
}

// finish returns the refusal of the message; nil: it is valid.
func (in *messageBuffer) finish() *smtp.SMTPError {
	if in.fault == nil && in.cr {
		in.fault = errBareCR
	}
	return in.fault
}

// message returns the whole message. It completes an unfinished last line: a chunk may lack the
// line end.
func (in *messageBuffer) message() ([]byte, error) {
	m := make([]byte, len(in.head), in.size+2)
	copy(m, in.head)
	if in.file != nil {
		m = m[:in.size]
		if _, err := in.file.ReadAt(m[len(in.head):], 0); err != nil && err != io.EOF {
			return nil, fmt.Errorf("read a message that arrived by SMTP: %w", err)
		}
	}
	if !bytes.HasSuffix(m, []byte("\r\n")) {
		m = append(m, "\r\n"...)
	}
	return m, nil
}

// close frees memory and disk.
func (in *messageBuffer) close() {
	if in.file != nil {
		_ = in.file.Close()
	}
	in.disk.Release(in.team, in.onDisk)
	in.head, in.file, in.onDisk = nil, nil, 0
}
