// Package spool receives the content of one message from an SMTP peer: in memory while it is small, otherwise in an
// unlinked file, so that nothing is left however the server ends.
//
// Failure policy: after an error it reads on, since the peer gets the reply at the end of the message only.
package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/emersion/go-smtp"

	"mailer/app/kit/fair"
	"mailer/app/kit/platform"
)

func refusal(code int, class, subject, detail int, text string) *smtp.SMTPError {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{class, subject, detail}, Message: text}
}

// Refusals for the content of a message.
var (
	ErrLongLine = refusal(554, 5, 6, 0, "A line of the message is longer than 998 bytes; encode it as quoted-printable or base64")
	ErrBareCR   = refusal(554, 5, 6, 0, "The message has a carriage return that ends no line; lines end with CR LF")
	ErrBareLF   = refusal(554, 5, 6, 0, "The message has a line feed without a carriage return before it; lines end with CR LF")
	ErrNUL      = refusal(554, 5, 6, 0, "The message has a NUL byte; encode what is binary as base64")
	ErrNoSpace  = refusal(452, 4, 3, 1, "The server has no room for the message now, try again later")
	ErrInternal = refusal(451, 4, 3, 0, "Something went wrong on the server, try again later")
)

// maxTextLine is the maximum length of a message's line without its end (RFC 5322 2.1.1).
const maxTextLine = 998

// Config configures Messages.
type Config struct {
	Disk      *fair.Semaphore[string] // the disk space of messages that are being received, by owner
	Dir       string                  // of the files
	Memory    int64                   // bytes of a message that are kept in memory
	LongLines bool                    // lines may be longer than 998 bytes
	Log       *slog.Logger
}

// Message receives a message. Close frees it. It is not safe for concurrent use.
type Message struct {
	cfg   *Config
	owner string

	head   []byte
	file   *os.File // everything after head
	size   int64
	onDisk int64
	column int  // in the current line
	cr     bool // the last byte was a CR
	fault  *smtp.SMTPError
}

// New returns an empty message of an owner.
func (c *Config) New(owner string) *Message { return &Message{cfg: c, owner: owner} }

// Size returns how many bytes were written.
func (in *Message) Size() int64 { return in.size }

// Refuse makes err the refusal of the message, unless it has one, and frees it.
func (in *Message) Refuse(err *smtp.SMTPError) {
	if in.fault == nil {
		in.fault = err
		in.Close()
	}
}

// Refused reports whether the message has a refusal already.
func (in *Message) Refused() bool { return in.fault != nil }

// ReadAt implements io.ReaderAt.
func (in *Message) ReadAt(b []byte, off int64) (n int, err error) {
	if off < int64(len(in.head)) {
		n = copy(b, in.head[off:])
	}
	if n == len(b) {
		return n, nil
	}
	if in.file == nil {
		return n, io.EOF
	}
	m, err := in.file.ReadAt(b[n:], off+int64(n)-int64(len(in.head)))
	return n + m, err
}

// Write appends a part of the message. It never fails.
func (in *Message) Write(b []byte) (int, error) {
	if in.fault == nil {
		in.fault = in.check(b)
	}
	if in.fault == nil {
		in.fault = in.store(b)
	}
	if in.fault != nil {
		in.Close()
	}
	in.size += int64(len(b))
	return len(b), nil
}

// check returns the refusal for invalid content.
func (in *Message) check(b []byte) *smtp.SMTPError {
	for _, c := range b {
		switch {
		case c == '\n' && !in.cr:
			return ErrBareLF
		case c != '\n' && in.cr:
			return ErrBareCR
		case c == 0:
			return ErrNUL
		case c == '\n':
			in.column = 0
		case c != '\r':
			if in.column++; in.column > maxTextLine && !in.cfg.LongLines {
				return ErrLongLine
			}
		}
		in.cr = c == '\r'
	}
	return nil
}

// store keeps a part.
func (in *Message) store(b []byte) *smtp.SMTPError {
	if in.file == nil && in.size+int64(len(b)) <= in.cfg.Memory {
		in.head = append(in.head, b...)
		return nil
	}
	if !in.cfg.Disk.TryAcquire(in.owner, int64(len(b))) {
		return ErrNoSpace
	}
	in.onDisk += int64(len(b))
	err := in.open()
	if err == nil {
		_, err = in.file.Write(b)
	}
	if err != nil {
		in.cfg.Log.Error("keep a message that arrives by SMTP", "err", err)
		if platform.IsFull(err) {
			return ErrNoSpace
		}
		return ErrInternal
	}
	return nil
}

// filePattern is the name pattern of files before they are unlinked.
const filePattern = "mailer-smtp-*.tmp"

func (in *Message) open() (err error) {
	if in.file != nil {
		return nil
	}
	if in.file, err = os.CreateTemp(in.cfg.Dir, filePattern); err != nil {
		return fmt.Errorf("make a file for the message: %w", err)
	}
	if err := os.Remove(in.file.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) { // another server may have swept it
		return fmt.Errorf("unlink the message's file: %w", err)
	}
	return nil
}

// Sweep removes files of a server that was killed before it unlinked them.
func Sweep(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, filePattern))
	for _, name := range left {
		_ = os.Remove(name) // the file is empty
	}
}

// Finish returns the refusal of the message; nil: it is valid.
func (in *Message) Finish() *smtp.SMTPError {
	if in.fault == nil && in.cr {
		in.fault = ErrBareCR
	}
	return in.fault
}

// Bytes returns the whole message. It completes an unfinished last line: a chunk may lack the
// line end.
func (in *Message) Bytes() ([]byte, error) {
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

// Close frees memory and disk.
func (in *Message) Close() {
	if in.file != nil {
		_ = in.file.Close()
	}
	in.cfg.Disk.Release(in.owner, in.onDisk)
	in.head, in.file, in.onDisk = nil, nil, 0
}
