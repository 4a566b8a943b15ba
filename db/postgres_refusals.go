package db

import (
	"errors"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// refusedOpen is why a database of PostgreSQL could not be opened, and what to do, in words for
// who starts the program.
func refusedOpen(name string, err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return refuse(ErrUnreachable, "the database %s can't be reached: %s; look whether PostgreSQL runs there, and at host and port in --db", name, reason(err))
	}
	switch pg.Code {
	case "28P01", "28000":
		return refuse(ErrUnreachable, "the database %s rejects the connection of --db: %s; check its user and password, and the server's pg_hba.conf", name, pg.Message)
	case "3D000":
		return refuse(ErrUnreachable, "the database %s is not there: %s; make it with CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'", name, pg.Message)
	case "42704":
		return refuse(ErrNotDatabase, "--db %s has an option that PostgreSQL does not know: %s", name, pg.Message)
	case "42501":
		return refuse(ErrSchema, "the user of --db may not work in %s: %s; make it the owner of the database: ALTER DATABASE … OWNER TO …", name, pg.Message)
	case "53300":
		return refuse(ErrUnreachable, "the database %s takes no more connections: %s; raise max_connections, Mailer takes about 10", name, pg.Message)
	}
	return refuse(ErrUnreachable, "the database %s can't be used: %s", name, reason(err))
}

// reason is the last of what an error says: of a connection that failed, all addresses that
// were tried stand before it.
func reason(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && strings.HasPrefix(pg.Message, "unsupported startup parameter") {
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

// otherURL refuses the name of a file that was meant as a URL, of which nothing is repeated: a
// password may stand in it. Error: ErrNotDatabase.
func otherURL(name string) error {
	if strings.Contains(name, "://") || strings.HasPrefix(name, "postgres:") || strings.HasPrefix(name, "postgresql:") {
		return refuse(ErrNotDatabase, "--db looks like a URL, and must be the path of a file, or begin with postgres://")
	}
	return nil
}
