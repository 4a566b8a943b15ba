package engine

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// openError explains to the person who starts the program why a PostgreSQL database could not be
// opened, and what to do.
func openError(name string, err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return refuse(ErrUnreachable, "the database %s can't be reached: %s; look whether PostgreSQL runs there, and at host and port in --db", name, driverMessage(err))
	}
	switch pg.Code {
	case "28P01", "28000":
		return refuse(ErrUnreachable, "the database %s rejects the connection of --db: %s; check its user and password, and the server's pg_hba.conf", name, pg.Message)
	case "3D000":
		return refuse(ErrUnreachable, "the database %s is not there: %s; make it with "+createDatabase, name, pg.Message)
	case "42704":
		return refuse(ErrNotDatabase, "--db %s has an option that PostgreSQL does not know: %s", name, pg.Message)
	case "42501":
		return refuse(ErrSchema, "the user of --db may not work in %s: %s; make it the owner of the database: ALTER DATABASE … OWNER TO …", name, pg.Message)
	case postgresTooManyConns:
		return refuse(ErrUnreachable, "the database %s takes no more connections: %s; raise max_connections: about 10 for each server, and 3 for a command beside them", name, pg.Message)
	}
	return refuse(ErrUnreachable, "the database %s can't be used: %s", name, driverMessage(err))
}

// postgresPrepared is the SQLSTATE of a statement that another client has prepared on a
// connection that a pooler shares.
const postgresPrepared = "42P05"

// postgresTooManyConns is the SQLSTATE of a server that accepts no more connections.
const postgresTooManyConns = "53300"

// tooManyConnections explains the error of a query if the server accepts no more connections.
func tooManyConnections(d *DB, err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == postgresTooManyConns {
		return openError(d.name, err)
	}
	return err
}

// driverMessage returns the last part of a driver error, without the list of all addresses that
// were tried.
func driverMessage(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (strings.HasPrefix(pg.Message, "unsupported startup parameter") || pg.Code == postgresPrepared) {
		return "the connection goes through a pooler, which is not supported: connect to PostgreSQL directly (" + pg.Message + ")"
	}
	if errors.As(err, &pg) {
		return pg.Message
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Error()
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return "there is no host " + dns.Name + " (" + dns.Err + ")"
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// refuseURL refuses the path of a file that was meant as a URL. The error does not repeat it,
// since it may contain a password. Error: ErrNotDatabase.
func refuseURL(name string) error {
	if strings.Contains(name, "://") || strings.HasPrefix(name, "postgres:") || strings.HasPrefix(name, "postgresql:") {
		return refuse(ErrNotDatabase, "--db looks like a URL, and must be the path of a file, or begin with postgres://")
	}
	if conninfo.MatchString(name) {
		return refuse(ErrNotDatabase, "--db looks like settings of a connection (host=… dbname=…), and must be the path of a file, or a URL: postgres://USER@HOST/DATABASE")
	}
	return nil
}

// conninfo matches the connection strings of libpq that are not URLs.
var conninfo = regexp.MustCompile(`^\s*(host|hostaddr|port|dbname|user|password|passfile|service|sslmode|sslrootcert|target_session_attrs|application_name|connect_timeout|options)\s*=`)

// warnPooler logs a warning if a pooler drops the settings of the writer's connections.
func warnPooler(ctx context.Context, d *DB, conn *sql.Conn) {
	var idle int64
	err := conn.QueryRowContext(ctx, `SELECT CAST(setting AS bigint) FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'`).Scan(&idle)
	if err == nil && idle != writerIdle.Milliseconds() {
		d.log.Warn("a pooler stands before the database and drops settings of connections: a server that is lost may hold up the others, and locks are waited for without an end", "db", d.name, "help", "name PostgreSQL itself in --db")
	}
}
