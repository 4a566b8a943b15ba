package submission

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/emersion/go-smtp"
)

// pool bounds what the messages that arrive take of the disk. No team can use it up:
// one has at most its share.
type pool struct {
	capacity, share int64
	mu              sync.Mutex
	used            int64
	held            map[string]int64 // by team
}

func newDiskBudget(capacity, share int64) *pool {
	return &pool{capacity: capacity, share: share, held: map[string]int64{}}
}

// take counts n more of a team; false: there is no room.
func (p *pool) take(team string, n int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used+n > p.capacity || p.held[team]+n > p.share {
		return false
	}
	p.used += n
	p.held[team] += n
	return true
}

func (p *pool) give(team string, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= n
	if p.held[team] -= n; p.held[team] == 0 {
		delete(p.held, team)
	}
}

// maxTextLine is how long a line of a message may be, without its end (RFC 5322 2.1.1).
const maxTextLine = 998

// Why a message is refused for its bytes.
var (
	errLongLine = refuse(554, 5, 6, 0, "A line of the message is longer than 998 bytes; encode it as quoted-printable or base64")
	errBareCR   = refuse(554, 5, 6, 0, "The message has a carriage return that ends no line; lines end with CR LF")
	errBareLF   = refuse(554, 5, 6, 0, "The message has a line feed without a carriage return before it; lines end with CR LF")
	errNUL      = refuse(554, 5, 6, 0, "The message has a NUL byte; encode what is binary as base64")
	errNoSpace  = refuse(452, 4, 3, 1, "The server has no room for the message now, try again later")
)

// intake is a message on its way: in memory while it is small, else in a file that has
// no name any more, so that nothing of it stays behind however the server ends. It reads
// on over a message that it refuses, whose sender hears the answer only at its end.
type intake struct {
	pool   *pool
	team   string
	dir    string
	memory int64
	log    *slog.Logger

	head   []byte
	file   *os.File // of all that is not in head
	size   int64
	onDisk int64
	column int  // of the line
	cr     bool // the last byte was one
	fault  *smtp.SMTPError
}

// Write takes a part of the message. It never fails.
func (in *intake) Write(b []byte) (int, error) {
	if in.fault == nil {
		in.fault = in.check(b)
	}
	if in.fault == nil {
		in.fault = in.keep(b)
	}
	if in.fault != nil {
		in.close()
	}
	in.size += int64(len(b))
	return len(b), nil
}

// check finds what no message may have.
func (in *intake) check(b []byte) *smtp.SMTPError {
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

// keep stores a part.
func (in *intake) keep(b []byte) *smtp.SMTPError {
	if in.file == nil && in.size+int64(len(b)) <= in.memory {
		in.head = append(in.head, b...)
		return nil
	}
	if !in.pool.take(in.team, int64(len(b))) {
		return errNoSpace
	}
	in.onDisk += int64(len(b))
	err := in.open()
	if err == nil {
		_, err = in.file.Write(b)
	}
	if err != nil {
		in.log.Error("keep a message that arrives by SMTP", "err", err)
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			return errNoSpace
		}
		return errInternal
	}
	return nil
}

// filePattern is how files of messages on their way are named for a moment.
const filePattern = "mailer-smtp-*.tmp"

func (in *intake) open() (err error) {
	if in.file != nil {
		return nil
	}
	if in.file, err = os.CreateTemp(in.dir, filePattern); err != nil {
		return fmt.Errorf("make a file for the message: %w", err)
	}
	if err := os.Remove(in.file.Name()); err != nil {
		return fmt.Errorf("take its name from the message's file: %w", err)
	}
	return nil
}

// sweep removes files whose server was killed before it took their names.
func sweep(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, filePattern))
	for _, name := range left {
		_ = os.Remove(name) // it is empty
	}
}

// end says why the message can't be taken as it came; nil: it can.
func (in *intake) end() *smtp.SMTPError {
	if in.fault == nil && in.cr {
		in.fault = errBareCR
	}
	return in.fault
}

// message is all of it. A last line that has no end gets one: a chunk may lack it.
func (in *intake) message() ([]byte, error) {
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

// close lets go of what it holds.
func (in *intake) close() {
	if in.file != nil {
		_ = in.file.Close()
	}
	in.pool.give(in.team, in.onDisk)
	in.head, in.file, in.onDisk = nil, nil, 0
}
