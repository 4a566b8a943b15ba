package db

import (
	"context"
	"database/sql"
	"fmt"

	"mailer/app/room"
)

// session is one connection with its prepared statements. It is used by one
// goroutine at a time. Statements run without a cancellable context: the driver
// would start a goroutine for each, and every statement here is bounded.
type session struct {
	conn  *sql.Conn
	stmts map[string]prepared
	room  room.Room // of the answer that is read for; nil: no bound
	// standings counts the statements that may have changed whom mail may not go to.
	standings *uint64
}

func newSession(conn *sql.Conn) session {
	return session{conn: conn, stmts: map[string]prepared{}, standings: new(uint64)}
}

func (s *session) close() error {
	for _, stmt := range s.stmts {
		stmt.Close()
	}
	return s.conn.Close()
}

// prepared is a statement, and whether it counts in standings.
type prepared struct {
	*sql.Stmt
	standings bool
}

func (s *session) stmt(query string) (*sql.Stmt, error) {
	if p, ok := s.stmts[query]; ok {
		if p.standings {
			*s.standings++
		}
		return p.Stmt, nil
	}
	stmt, err := s.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	p := prepared{stmt, changesStandings.MatchString(query)}
	if s.stmts[query] = p; p.standings {
		*s.standings++
	}
	return stmt, nil
}

// Reader is a read-only view; its methods are the queries of every resource.
type Reader struct {
	session
}
