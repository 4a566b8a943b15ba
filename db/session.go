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
	stmts map[string]*sql.Stmt
	room  room.Room // of the answer that is read for; nil: no bound
}

func newSession(conn *sql.Conn) session {
	return session{conn: conn, stmts: map[string]*sql.Stmt{}}
}

func (s *session) close() error {
	for _, stmt := range s.stmts {
		stmt.Close()
	}
	return s.conn.Close()
}

func (s *session) stmt(query string) (*sql.Stmt, error) {
	if stmt := s.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := s.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	s.stmts[query] = stmt
	return stmt, nil
}

// Reader is a read-only view; its methods are the queries of every resource.
type Reader struct {
	session
}
