package engine

import (
	"context"
	"errors"
	"sync/atomic"
)

// A database that was restored from a dump contains mail that was queued when the dump was made and
// has been sent since. A restore is detected by a row of origin, which stores the transaction that
// wrote it, its table and its database: they no longer match after pg_restore has inserted the row
// again, or CREATE DATABASE … TEMPLATE has copied it.
//
// They still match on a promoted standby and after pg_upgrade, which keep the rows byte by byte, but
// also after a point-in-time recovery. Both a promotion and such a recovery begin a new timeline. A
// new timeline alone is no reason to hold mail, since a synchronous standby misses nothing. A new
// timeline with a configured recovery target is, since no standby can follow with one. Any other
// physical copy (a disk snapshot, a base backup without a target, most restores of providers) looks
// like a restart and must be reported by the operator (mailer restore --mark).

// originMatches is the condition that a row of origin o was written in this database.
const originMatches = `o.transaction = CAST(CAST(o.xmin AS text) AS bigint) AND o.relation = CAST(CAST('origin' AS regclass) AS oid)::bigint
	AND o.database = (SELECT oid::bigint FROM pg_database WHERE datname = current_database())`

// timelineNow is the timeline of the server; toTarget is whether a recovery target is configured.
const (
	timelineNow = `CAST(('x' || substring(pg_walfile_name(pg_current_wal_lsn()) FROM 1 FOR 8))::bit(32)::int AS bigint)`
	toTarget    = `concat(current_setting('recovery_target'), current_setting('recovery_target_lsn'), current_setting('recovery_target_name'), current_setting('recovery_target_time'), current_setting('recovery_target_xid')) <> ''`
)

// readOrigin returns, for the row of origin if there is one, whether the database was restored
// and whether the timeline changed.
const readOrigin = `SELECT NOT (` + originMatches + `) OR o.timeline <> ` + timelineNow + ` AND ` + toTarget + `, o.timeline <> ` + timelineNow + ` FROM origin AS o`

// Origin says whether a database was restored since servers worked on it.
type Origin int

// Origins.
const (
	OriginKnown      Origin = iota // the database on which servers worked before, or a file
	OriginUnrecorded               // no server worked on it, or the timeline changed: to be recorded
	OriginRestored                 // restored since a server worked on it
)

// Origin returns whether the database was restored.
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

// RecordOrigin records this database as the one on which servers work.
func (tx *Tx) RecordOrigin() error {
	e, ok := tx.dialect.(*postgresEngine)
	if !ok {
		return nil
	}
	for _, text := range []string{`DELETE FROM origin`,
		`INSERT INTO origin (database, relation, transaction, timeline) SELECT oid::bigint, CAST(CAST('origin' AS regclass) AS oid)::bigint, 0, ` + timelineNow + ` FROM pg_database WHERE datname = current_database()`,
		`UPDATE origin SET transaction = CAST(CAST(xmin AS text) AS bigint)`, // xmin is the id of this transaction, or of its savepoint
	} {
		if err := tx.Write(text); err != nil {
			return err
		}
	}
	tx.AfterCommit(func() { e.verified.Store(true) })
	return nil
}

// errRestored means that the database was restored while this server worked on it.
var errRestored = refuse(errFenced, "the database was restored while this server worked on it; at its next start what waits there is held")

// origin is what a process knows of the origin of its database.
type origin struct {
	verified atomic.Bool // the origin was seen to match, or was recorded
}

// check returns errRestored if the database was restored since this server began to work on it.
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
