package engine

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATEs of a database that accepts no writes at the moment. A standby is read-only, and so is
// a database whose provider made it so because its disk is nearly full.
const (
	postgresDiskFull = "53100"
	postgresReadOnly = "25006"
)

// writeRefusal returns why a PostgreSQL database accepts no writes at the moment, in the store's
// terms; nil: err means something else. The connection may still be usable.
func writeRefusal(err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return nil
	}
	switch pg.Code {
	case postgresLocked:
		return refuse(ErrLocked, "somebody holds a lock on the database: %s", pg.Message)
	case postgresDiskFull:
		return refuse(ErrFull, "the disk of the database is full: %s", pg.Message)
	case postgresReadOnly:
		return refuse(ErrUnreachable, "the database takes no writes: %s", pg.Message)
	}
	return nil
}

// setWriteRefusal refuses new work until the database accepts writes again.
func setWriteRefusal(d *DB, why, cause error) {
	if errors.Is(why, ErrLocked) {
		setLockedOnPostgres(d, nil, cause)
		return
	}
	next := time.Now()
	d.setOutage(why, next, "the database takes no writes: make room on its disk, or let it be the one that is written to", cause, func() error {
		if time.Now().Before(next) {
			return why
		}
		err := probeDiskSpace(d)
		next = time.Now().Add(recoverEvery)
		return err
	})
}

// probeDiskSpaceSQL writes about as much as the reserve of a file, and rolls back.
const probeDiskSpaceSQL = `BEGIN; CREATE TEMPORARY TABLE room_for_mail (text text); INSERT INTO room_for_mail SELECT repeat('x', 1900) FROM generate_series(1, 2200); ROLLBACK`

// probeDiskSpace returns nil if the database accepts writes.
func probeDiskSpace(d *DB) error {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	err = (&Conn{conn: conn}).simpleWithin(ctx, probeDiskSpaceSQL, func([]string) {})
	var pg *pgconn.PgError
	if errors.As(err, &pg) && writeRefusal(err) == nil {
		return nil // the user may not create a temporary table: the next write finds out
	}
	return err
}
