package engine

import (
	"context"
	"database/sql"
	"fmt"
)

// namesOf are the queries for shell completion by kind. Long lists are limited to the newest
// rows.
var namesOf = map[string]string{
	"team":   `SELECT name FROM teams WHERE deleted_at IS NULL ORDER BY id LIMIT 500`,
	"domain": `SELECT name FROM domains ORDER BY id DESC LIMIT 500`,
	"relay":  `SELECT region FROM relays UNION SELECT region FROM relay_states ORDER BY region`,
	"key":    `SELECT id FROM keys ORDER BY id DESC LIMIT 100`,
	"email":  `SELECT id FROM emails ORDER BY id DESC LIMIT 100`,
}

// Names returns names or ids of a kind (team, domain, relay, key, email), for shell completion.
// It only reads, waits for no lock and checks no version.
func Names(ctx context.Context, path, kind string) ([]string, error) {
	pool, err := namesPool(path)
	if err != nil {
		return nil, fmt.Errorf("names of %s: %w", Name(path), err)
	}
	defer pool.Close()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("names of %s: %w", Name(path), err)
	}
	s := newSession(conn, engineOf(path))
	defer s.close()
	return List(&s, scanText, namesOf[kind])
}

func namesPool(path string) (*sql.DB, error) {
	if IsRemote(path) {
		return openBriefly(path)
	}
	return sql.Open("sqlite", dsn(path, "mode=ro&_query_only=1&_busy_timeout=20"))
}
