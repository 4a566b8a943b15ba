package engine

import (
	"context"
	"errors"
	"sync/atomic"
)

// A database that was restored from a dump holds mail that waited when the dump was made and
// has left since. It is told from the one that was dumped by a row that says in which
// transaction it was written, and in which table of which database: of a row that pg_restore
// wrote again, or that CREATE DATABASE … TEMPLATE copied, that is not true.
//
// It stays true where nothing is restored: on a standby that takes over, and after pg_upgrade,
// since both have the same rows byte by byte. So has a database that was restored to a point in
// time, and both a standby that takes over and such a restore begin a new timeline. That alone
// is no reason to hold mail, since nothing is missing on a synchronous standby; but with a
// recovery target in the configuration, with which no standby can follow, it is. Another
// physical copy (a snapshot of a disk, a base backup without a target, most restores of
// providers) looks like a restart: whoever makes one of it says so (mailer restore --mark).

// originMatches is whether a row of origin is the one that was written there.
const originMatches = `o.transaction = CAST(CAST(o.xmin AS text) AS bigint) AND o.relation = CAST(CAST('origin' AS regclass) AS oid)::bigint
	AND o.database = (SELECT oid::bigint FROM pg_database WHERE datname = current_database())`

// timelineNow is the timeline of the server, and toTarget whether it was recovered to a target.
const (
	timelineNow = `CAST(('x' || substring(pg_walfile_name(pg_current_wal_lsn()) FROM 1 FOR 8))::bit(32)::int AS bigint)`
	toTarget    = `concat(current_setting('recovery_target'), current_setting('recovery_target_lsn'), current_setting('recovery_target_name'), current_setting('recovery_target_time'), current_setting('recovery_target_xid')) <> ''`
)

// readOrigin returns for each row of origin, of which there is one at most, whether the
// database is another one by now, and whether the timeline is.
const readOrigin = `SELECT NOT (` + originMatches + `) OR o.timeline <> ` + timelineNow + ` AND ` + toTarget + `, o.timeline <> ` + timelineNow + ` FROM origin AS o`

// Origin is what is known of where a database comes from.
type Origin int

// Origins.
const (
	OriginKnown      Origin = iota // it is the one that servers worked on before, or a file
	OriginUnrecorded               // no server worked on it, or the timeline is another one since: it is to be noted
	OriginRestored                 // it was restored since a server worked on it
)

// Origin returns where the database comes from.
func (r *Reader) Origin() (Origin, error) {
	e, ok := r.dialect.(*postgresEngine)
	if !ok {
		return OriginKnown, nil
	}
	var restored, timeline bool
	err := r.Row(readOrigin, nil, &restored, &timeline)
	switch {
	case errors.Is(err, ErrNotFound):
		return OriginUnrecorded, nil
	case err != nil:
		return 0, err
	case restored:
		return OriginRestored, nil
	}
	e.verified.Store(true)
	if timeline {
		return OriginUnrecorded, nil
	}
	return OriginKnown, nil
}

// RecordOrigin has the database be the one that servers work on.
func (tx *Tx) RecordOrigin() error {
	e, ok := tx.dialect.(*postgresEngine)
	if !ok {
		return nil
	}
	for _, text := range []string{`DELETE FROM origin`,
		`INSERT INTO origin (database, relation, transaction, timeline) SELECT oid::bigint, CAST(CAST('origin' AS regclass) AS oid)::bigint, 0, ` + timelineNow + ` FROM pg_database WHERE datname = current_database()`,
		`UPDATE origin SET transaction = CAST(CAST(xmin AS text) AS bigint)`, // of this transaction, or its savepoint
	} {
		if err := tx.Write(text); err != nil {
			return err
		}
	}
	tx.AfterCommit(func() { e.verified.Store(true) })
	return nil
}

// errRestored: what the server worked on is another database by now.
var errRestored = refuse(errFenced, "the database was restored while this server worked on it; at its next start what waits there is held")

// origin is what a process knows of the database that it works on.
type origin struct {
	verified atomic.Bool // it was seen to be the one that it says, or was noted so
}

// check refuses a database that was restored since this server began to work on it.
func (o *origin) check(ctx context.Context, q rowQuerier) error {
	if !o.verified.Load() {
		return nil
	}
	var restored, timeline bool
	if err := q.QueryRowContext(ctx, readOrigin).Scan(&restored, &timeline); err != nil {
		return err
	}
	if restored {
		return errRestored
	}
	return nil
}
