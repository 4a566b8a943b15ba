package engine

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"mailer/db/pgtest"
)

// TestOriginDetectsRestore simulates restores of a database, and operations that are no restore.
func TestOriginDetectsRestore(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		statements []string
		copied     bool
		want       Origin
	}{
		"nothing":                                  {nil, false, OriginKnown},
		"a vacuum that rewrites the table":         {[]string{`VACUUM FULL origin`}, false, OriginKnown},
		"a standby that took over":                 {[]string{`UPDATE origin SET timeline = timeline + 1, transaction = CAST(CAST(CAST(pg_current_xact_id() AS xid) AS text) AS bigint)`}, false, OriginUnrecorded},
		"another database":                         {nil, true, OriginRestored},
		"the same one, with its rows written anew": {[]string{`CREATE TABLE kept AS SELECT * FROM origin`, `DELETE FROM origin`, `INSERT INTO origin SELECT * FROM kept`, `DROP TABLE kept`}, false, OriginRestored},
		"the same one, with its tables made anew": {[]string{`CREATE TABLE again (LIKE origin)`, `DROP TABLE origin`, `ALTER TABLE again RENAME TO origin`,
			`INSERT INTO origin SELECT oid, 1, CAST(CAST(CAST(pg_current_xact_id() AS xid) AS text) AS bigint), 1 FROM pg_database WHERE datname = current_database()`}, false, OriginRestored},
		"one that no server worked on": {[]string{`DELETE FROM origin`}, false, OriginUnrecorded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := newRemote(t)
			originOf(t, dsn, OriginUnrecorded, true)
			originOf(t, dsn, OriginKnown, false)
			if tc.copied {
				dsn = pgtest.Copy(t, dsn)
			}
			onServer(t, dsn, tc.statements...)
			originOf(t, dsn, tc.want, true)
			originOf(t, dsn, OriginKnown, false)
		})
	}
}

// originOf checks the origin of a database and, with note, records it.
func originOf(t *testing.T, dsn string, want Origin, note bool) {
	t.Helper()
	d, err := Open(t.Context(), Options{Path: dsn, Schema: SmallSchema(t), Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	got, err := Get(t.Context(), d, (*Reader).Origin)
	if err != nil || got != want {
		t.Errorf("the origin is %d, %v, want %d", got, err, want)
	}
	if !note {
		return
	}
	if err := d.Write(t.Context(), func(tx *Tx) error { return tx.RecordOrigin() }); err != nil {
		t.Fatal(err)
	}
}

// TestServerStopsAfterRestore checks that a server writes nothing once it has reconnected to a
// restored database.
func TestServerStopsAfterRestore(t *testing.T) {
	t.Parallel()
	dsn := newRemote(t)
	d, err := Open(t.Context(), Options{Path: dsn, Schema: SmallSchema(t), Lazy: true, Lock: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Write(t.Context(), func(tx *Tx) error { return tx.RecordOrigin() }); err != nil {
		t.Fatal(err)
	}
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	for _, text := range []string{`CREATE TABLE kept AS SELECT * FROM origin`, `DELETE FROM origin`, `INSERT INTO origin SELECT * FROM kept`,
		`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`} {
		if _, err := c.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	err = d.WriteCritical(t.Context(), func(tx *Tx) error { return tx.SetSetting("result", []byte("1")) })
	if !errors.Is(err, ErrFailed) || !errors.Is(err, ErrInUse) {
		t.Errorf("a result: %v", err)
	}
	var n int
	if err := c.QueryRow(t.Context(), `SELECT count(*) FROM settings WHERE name = 'result'`).Scan(&n); err != nil || n != 0 {
		t.Errorf("it is written: %d, %v", n, err)
	}
}
