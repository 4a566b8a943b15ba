package engine

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/stdlib"
)

// A read takes as many round trips as it has statements: its BEGIN is sent with the first statement,
// and its ROLLBACK is sent without waiting for the result, which the next read receives.

// beginFilter reads what a server sends and removes the result of a BEGIN that was sent with a
// statement, because the driver expects only the result of the statement.
type beginFilter struct {
	r         *bufio.Reader
	skipBegin bool // the next result is that of a BEGIN
	passBytes int  // rest of a message that is passed on meanwhile
}

// Read implements io.Reader.
func (a *beginFilter) Read(p []byte) (int, error) {
	for a.skipBegin {
		if a.passBytes > 0 {
			n, err := a.r.Read(p[:min(len(p), a.passBytes)])
			a.passBytes -= n
			return n, err
		}
		head, err := a.r.Peek(5)
		if err != nil {
			return 0, err
		}
		size := 1 + int(binary.BigEndian.Uint32(head[1:]))
		switch head[0] {
		case '1', '2', 'C': // ParseComplete, BindComplete, and CommandComplete, which ends it
			end := head[0] == 'C'
			if _, err := a.r.Peek(size); err != nil {
				return 0, err
			}
			if _, err := a.r.Discard(size); err != nil {
				return 0, err
			}
			a.skipBegin = !end
		case 'E': // the server skips what follows
			a.skipBegin = false
		default: // a notice
			a.passBytes = size
		}
	}
	return a.r.Read(p)
}

// frontend makes the driver read through a beginFilter.
func (c *conns) frontend(r io.Reader, w io.Writer) *pgproto3.Frontend {
	a := &beginFilter{r: bufio.NewReader(r)}
	if k := trackedConnOf(w); k != nil {
		k.filter = a
	}
	return pgproto3.NewFrontend(a, w)
}

// trackedConnOf returns the connection below that of a driver; nil: it is not one of conns.
func trackedConnOf(w any) *trackedConn {
	if secured, ok := w.(*tls.Conn); ok {
		w = secured.NetConn()
	}
	k, _ := w.(*trackedConn)
	return k
}

// withPgConn calls fn with the connection of s and reports whether the connection is usable and
// fn returned true.
func withPgConn(s *Conn, fn func(pg *pgconn.PgConn, k *trackedConn) bool) (ok bool) {
	err := s.conn.Raw(func(driver any) error {
		pg := driver.(*stdlib.Conn).Conn().PgConn()
		k := trackedConnOf(pg.Conn())
		ok = k != nil && !pg.IsClosed() && !pg.IsBusy() && fn(pg, k)
		return nil
	})
	return ok && err == nil
}

// beginAhead queues a BEGIN that is sent with the next statement. It reports whether the
// connection appears to be open.
func beginAhead(s *Conn, text string) bool {
	return withPgConn(s, func(pg *pgconn.PgConn, k *trackedConn) bool {
		for k.ending {
			m, err := pg.ReceiveMessage(context.Background())
			if err != nil {
				return false
			}
			_, ready := m.(*pgproto3.ReadyForQuery)
			k.ending = !ready
		}
		if closedByPeer(k.Conn) {
			return false
		}
		f := pg.Frontend()
		f.SendParse(&pgproto3.Parse{Query: text})
		f.SendBind(&pgproto3.Bind{})
		f.SendExecute(&pgproto3.Execute{})
		k.filter.skipBegin = true
		return true
	})
}

// endAhead sends a ROLLBACK without waiting for the result, and reports whether it was sent.
func endAhead(s *Conn) bool {
	return withPgConn(s, func(pg *pgconn.PgConn, k *trackedConn) bool {
		f := pg.Frontend()
		f.SendQuery(&pgproto3.Query{String: "ROLLBACK"})
		k.ending = f.Flush() == nil
		return k.ending
	})
}
