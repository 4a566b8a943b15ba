package engine

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"

	"mailer/app"
	"mailer/app/kit/clock"
)

// PostgresTables are the tables that a PostgreSQL database has in addition to schema.sql: the row
// that each group of writes locks, the last group of each writing process, the origin of the database (Origin), and the servers of the cluster, including dead
// ones.
const PostgresTables = `
CREATE TABLE changes (id bigint NOT NULL PRIMARY KEY);
INSERT INTO changes (id) VALUES (1);
CREATE TABLE writes (n bigint NOT NULL PRIMARY KEY, writer text NOT NULL, own bigint NOT NULL, at bigint NOT NULL, rules bigint NOT NULL, erasures bigint NOT NULL);
CREATE TABLE origin (database bigint NOT NULL, relation bigint NOT NULL, transaction bigint NOT NULL, timeline bigint NOT NULL);
INSERT INTO writes (n, writer, own, at, rules, erasures) VALUES (0, '', 0, 0, 0, 0);
CREATE TABLE nodes (id text NOT NULL PRIMARY KEY, started_at bigint NOT NULL, seen_at bigint NOT NULL, dead bigint, well bigint NOT NULL DEFAULT 0, freed bigint NOT NULL DEFAULT 0, leads bigint NOT NULL, address text NOT NULL);
CREATE UNIQUE INDEX nodes_lead ON nodes (leads) WHERE leads = 1 AND dead IS NULL;
`

// createDatabase is the statement that creates a suitable database. It names the provider, since
// a cluster may have another default.
const createDatabase = `CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C'`

// oldestPostgres is the oldest supported version.
const oldestPostgres = 15

// postgresFacts are properties of a server and its database.
type postgresFacts struct {
	version    string
	number     int
	provider   string // of the collation; c: the C library
	collation  string
	characters string
	encoding   string
	commit     string
	standbys   string
	readOnly   string
}

// checkPostgres refuses a database whose settings would break a promise of the store. Error:
// ErrSchema.
func checkPostgres(ctx context.Context, conn *sql.Conn, name string, log *slog.Logger) error {
	var f postgresFacts
	err := conn.QueryRowContext(ctx, `SELECT version(), current_setting('server_version_num')::int, datlocprovider, datcollate, datctype, pg_encoding_to_char(encoding), current_setting('synchronous_commit'),
		current_setting('synchronous_standby_names'), current_setting('transaction_read_only') FROM pg_database WHERE datname = current_database()`).
		Scan(&f.version, &f.number, &f.provider, &f.collation, &f.characters, &f.encoding, &f.commit, &f.standbys, &f.readOnly)
	if err != nil {
		return fmt.Errorf("look at the database %s: %s", name, driverMessage(err))
	}
	if err := f.refusal(name); err != nil {
		return err
	}
	if f.standbys == "" && log != nil {
		log.Warn("the database has no synchronous standby: if its machine is lost, so is what it has not copied elsewhere", "db", name)
	}
	return nil
}

// refusal returns why a database is refused; nil: it is accepted. Errors: ErrSchema, or
// ErrUnreachable for a database that accepts no writes.
func (f *postgresFacts) refusal(name string) error {
	switch {
	case strings.Contains(f.version, "CockroachDB"):
		return refuse(ErrSchema, "%s is CockroachDB, whose locks do not hold what is promised here; use PostgreSQL", name)
	case f.number/10_000 < oldestPostgres:
		return refuse(ErrSchema, "%s is PostgreSQL %d; at least %d is needed", name, f.number/10_000, oldestPostgres)
	case f.encoding != "UTF8":
		return refuse(ErrSchema, "%s has the encoding %s, must be UTF8; make it with "+createDatabase, name, f.encoding)
	case f.provider != "c":
		return refuse(ErrSchema, "%s has its collation from another provider than libc (%s), whose order is not that of bytes, so that lists would miss rows; make it with "+createDatabase, name, f.provider)
	case !isC(f.collation) || !isC(f.characters):
		return refuse(ErrSchema, "%s has the collation %s and the character type %s, both must be C, since lists are in the order of bytes; make it with "+createDatabase, name, f.collation, f.characters)
	case f.commit == "off":
		return refuse(ErrSchema, "%s has synchronous_commit = off, with which mail that was answered could get lost; set it to on", name)
	case f.commit == "local" && f.standbys != "":
		return refuse(ErrSchema, "%s has synchronous_commit = local, with which a commit does not wait for the standbys of synchronous_standby_names: mail that was answered could get lost when one of them takes over; set it to on", name)
	case f.readOnly == "on":
		return refuse(ErrUnreachable, "%s takes no writes: it is a standby, or set to read only; name the primary too, and add target_session_attrs=read-write", name)
	}
	return nil
}

// isC reports whether a locale compares bytes.
func isC(locale string) bool { return locale == "C" || locale == "POSIX" }

// schemaSum returns a hash of the schema that ignores whitespace.
func schemaSum(schema string) string {
	sum := sha256.Sum256([]byte(strings.Join(strings.Fields(PostgresSchema(schema)+PostgresTables), " ")))
	return hex.EncodeToString(sum[:])
}

// preparePostgresSchema creates the schema in an empty database. It refuses a database of another
// version, unless this program can work on it. Errors: ErrOld, ErrNew, ErrSchema, ErrNotDatabase,
// ErrNotFound.
func preparePostgresSchema(ctx context.Context, conn *sql.Conn, name string, opts Options) (p prepared, err error) {
	// What takes long is computed before the transaction, which may not be idle for long.
	tables := PostgresSchema(opts.Schema) + PostgresTables
	var version schemaVersion
	if opts.Create {
		if version, err = newSchemaVersion(ctx, opts.Schema); err != nil {
			return p, fmt.Errorf("make schema: %w", err)
		}
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return p, fmt.Errorf("open database %s: %w", name, err)
	}
	defer func() { _ = tx.Rollback() }() // no effect after a commit
	ours, err := lockSchema(ctx, tx, name)
	switch {
	case err != nil:
		return p, err
	case ours:
		p.newer, err = checkPostgresVersion(ctx, tx, opts.Path, opts.Schema)
		return p, err
	case !opts.Create:
		return p, refuse(ErrNotFound, "the database %s is empty; mailer migrate --db … makes its tables", name)
	}
	if _, err := tx.ExecContext(ctx, tables); err != nil {
		return p, openError(name, err)
	}
	now := clock.Now().UnixMilli()
	if _, err := tx.ExecContext(ctx, "INSERT INTO teams (id, name, created_at) VALUES ($1, $2, $3)", app.NewID(), app.DefaultTeam, now); err != nil {
		return p, fmt.Errorf("make first team: %w", err)
	}
	if err := version.writePostgres(ctx, tx, now); err != nil {
		return p, fmt.Errorf("make schema: %w", err)
	}
	err = tx.Commit()
	return prepared{made: err == nil}, err
}

// checkPostgresVersion refuses a database that this program can't work on, and reports whether it
// is of a newer program. Errors: ErrOld, ErrNew, ErrSchema.
func checkPostgresVersion(ctx context.Context, tx rowQuerier, url, schema string) (newer bool, err error) {
	have, err := readPostgresVersion(ctx, tx, Name(url))
	if err != nil {
		return false, err
	}
	newer, err = have.check(withoutPassword(url))
	if err == nil && !newer {
		err = have.checkSum(Name(url), schema)
	}
	return newer, err
}

// checkSum refuses a database of this version that was made of another schema. Error: ErrSchema.
func (v schemaVersion) checkSum(name, schema string) error {
	if v.sum != schemaSum(schema) {
		return refuseSchema(name, "it was made of another schema.sql")
	}
	return nil
}
