package engine

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// postgresEngine is a PostgreSQL database. All processes write to it, one group at a time: each
// group begins by locking the same row, as SQLite locks the file. So a closure sees every write
// that was confirmed before, by any process, and what it reads does not change before its commit.
type postgresEngine struct {
	config    *pgx.ConnConfig
	node      node
	known     marks        // as of the last group of this process, including its own changes
	now       marks        // of the current group, without its own changes
	bump      marks        // changes of the current group
	before    changeCounts // of the writer's session, before the current group
	ownGroups int64        // committed groups of this process
	lastRow   int64        // number of the row of writes of the last own group; 0: none
	writer    string       // id of this process in writes and nodes
	group     int64        // number of the current group among the own ones
	conns     conns
	origin
	locks time.Duration // lock timeout of writes
}

// postgresScheme are the URL schemes of PostgreSQL.
var postgresScheme = []string{"postgres://", "postgresql://"}

// postgresName returns a database URL without user, password and parameters, for messages; empty:
// it is no URL of PostgreSQL.
func postgresName(name string) string {
	for _, scheme := range postgresScheme {
		if rest, ok := strings.CutPrefix(name, scheme); ok {
			rest, _, _ = strings.Cut(rest, "?")
			return scheme + rest[strings.LastIndex(rest, "@")+1:]
		}
	}
	return ""
}

// dialTimeout is how long connecting may take, unless connect_timeout of the URL or of
// PGCONNECT_TIMEOUT sets another time; tcpUserTimeout is how long sent data may stay
// unacknowledged.
const (
	dialTimeout    = 3 * time.Second
	tcpUserTimeout = 3 * time.Second
)

// configure parses the URL of the database. The timeouts make the server end transactions of a
// writer that is gone, for which others wait.
func (e *postgresEngine) configure(name string) error {
	secured, err := withTLS(name)
	var config *pgx.ConnConfig
	if err == nil {
		config, err = pgx.ParseConfig(secured)
	}
	if err != nil {
		return refuse(ErrNotDatabase, "--db %s can't be read: %s", postgresName(name), withoutSecrets(err))
	}
	if config.Database == "" {
		return refuse(ErrNotDatabase, "--db %s names no database: it ends with /NAME", postgresName(name))
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = dialTimeout
	}
	config.DialFunc = e.conns.dial(&net.Dialer{Timeout: config.ConnectTimeout, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 2}, Control: setUserTimeout})
	config.RuntimeParams["application_name"] = applicationName(e.writer)
	config.RuntimeParams["jit"] = "off"                                      // compiling would take longer than running any statement
	config.RuntimeParams["default_transaction_isolation"] = "read committed" // overrides defaults of the role and the database
	config.RuntimeParams["tcp_user_timeout"] = fmt.Sprint(tcpUserTimeout.Milliseconds())
	for setting, seconds := range map[string]string{"tcp_keepalives_idle": "1", "tcp_keepalives_interval": "1", "tcp_keepalives_count": "3"} {
		config.RuntimeParams[setting] = seconds // the defaults of hours would detect a lost machine too late
	}
	e.config = config
	return nil
}

// applicationName returns the application_name of the connections of a process.
func applicationName(writer string) string { return strings.TrimSpace("mailer " + writer) }

// withoutSecrets returns the text of a driver error without the URL that it repeats, which may
// contain a password.
func withoutSecrets(err error) string {
	var parse *pgconn.ParseConfigError
	if errors.As(err, &parse) && parse.Unwrap() != nil {
		return parse.Unwrap().Error()
	}
	return "it is not the URL of a PostgreSQL database"
}

// pool returns a pool of connections whose transactions may be idle for a while. Connections that
// write use indexes only: a plan made while a table was empty, like the queue after a quiet hour,
// would scan the whole table until PostgreSQL analyzes it again.
func (e *postgresEngine) pool(idle time.Duration) *sql.DB {
	config := e.config.Copy()
	locks := lockTimeout
	if idle == writerIdle {
		config.RuntimeParams["enable_seqscan"] = "off"
		locks = e.locks
	}
	config.RuntimeParams["lock_timeout"] = fmt.Sprint(locks.Milliseconds())
	config.RuntimeParams["idle_in_transaction_session_timeout"] = fmt.Sprint(idle.Milliseconds())
	return stdlib.OpenDB(*config, stdlib.OptionAfterConnect(registerTypes))
}

// translate returns a statement in PostgreSQL's SQL.
func (*postgresEngine) translate(text string) string { return ToPostgres(text) }

func (*postgresEngine) postgres() bool { return true }

// bind converts booleans to 1 and 0, as columns store them, and replaces bytes in texts that
// PostgreSQL cannot store. Such texts in API requests are refused before; texts of third parties,
// like the replies of a relay, are informative only, and a result must not be lost because of
// them.
func (*postgresEngine) bind(args []any) []any {
	for i, arg := range args {
		if null, ok := arg.(sql.NullString); ok && null.Valid {
			arg = null.String
			args[i] = arg
		}
		switch v := reflect.ValueOf(arg); v.Kind() {
		case reflect.Bool:
			n := int64(0)
			if v.Bool() {
				n = 1
			}
			args[i] = n
		case reflect.String:
			if text := v.String(); !storable(text) {
				args[i] = storableText(text)
			}
		case reflect.Pointer:
			if text := v.Elem(); text.Kind() == reflect.String && !storable(text.String()) {
				args[i] = storableText(text.String())
			}
		}
	}
	return args
}

// storable reports whether PostgreSQL can store a text.
func storable(text string) bool {
	return strings.IndexByte(text, 0) < 0 && utf8.ValidString(text)
}

// storableText replaces what PostgreSQL cannot store by U+FFFD.
func storableText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// beginRead leaves the BEGIN to the first query of the read, which it is sent with.
func (e *postgresEngine) beginRead(ctx context.Context, d *DB, s *Conn) error {
	s.pg.reset()
	if s.conn == nil || !isOpen(s) { // the connection may have been lost since its last use
		err := e.connect(ctx, d.ro, s)
		var pg *pgconn.PgError
		if errors.As(err, &pg) {
			return openError(d.name, err)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
	}
	s.pg.begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	return nil
}

// isOpen reports whether a connection appears to be open.
func isOpen(s *Conn) (open bool) {
	err := s.conn.Raw(func(driver any) error {
		pg := driver.(*stdlib.Conn).Conn().PgConn()
		open = !pg.IsClosed() && !pg.IsBusy() && !closedByPeer(rawConn(pg.Conn()))
		return nil
	})
	return open && err == nil
}

// endRead ends the transaction of a read.
func (e *postgresEngine) endRead(s *Conn) error {
	if s.pg.begin != "" { // there was no query
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	if err := s.simpleWithin(ctx, "ROLLBACK", func([]string) {}); err != nil {
		_ = s.close() // the next read connects again
		s.conn = nil
	}
	return nil
}

// How long transactions may be idle. Those of a writer block all others.
const (
	writerIdle = 3 * time.Second
	readerIdle = 5 * time.Minute
)

// open connects d, creates the schema in an empty database, and joins the cluster if opts ask for
// the lock.
func (e *postgresEngine) open(ctx context.Context, d *DB, opts Options) (Conn, error) {
	name := postgresName(opts.Path)
	e.locks = cmp.Or(opts.locks, groupLockTimeout)
	d.name, e.writer = name, uuid.NewString() // not app.NewID, which needs the clock of the database
	if err := e.configure(opts.Path); err != nil {
		return Conn{}, err
	}
	if tls := TLSOf(opts.Path); tls.Weak && opts.Lock {
		d.log.Warn("the way to the database can be read or taken over by others on the network", "db", name, "sslmode", tls.Mode, "help", "remove sslmode from the URL, or use sslmode=verify-full, with sslrootcert=FILE for your own certificate authority")
	}
	d.pool, d.ro = e.pool(writerIdle), e.pool(readerIdle)
	d.pool.SetMaxIdleConns(0)
	d.ro.SetMaxIdleConns(0)
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return Conn{}, openError(name, err)
	}
	writer := newSession(conn, e)
	writer.pg.immediate = false
	writer.pg.slowAfter, writer.pg.onSlow = time.Duration(float64(e.locks)*lockReportAfter), func(pid uint32) { reportLockHolder(d, pid) }
	err = e.prepare(ctx, d, conn, opts)
	if lockedOnPostgres(err) {
		err = lockedError(name, err)
	}
	if err != nil {
		return Conn{}, errors.Join(err, conn.Close())
	}
	for range readers {
		r := &Reader{Conn: newSession(nil, e)}
		r.pg.immediate = false
		if !opts.Lazy {
			r.conn, err = d.ro.Conn(ctx)
		}
		if ctx.Err() != nil { // Open was canceled
			return Conn{}, errors.Join(ctx.Err(), writer.close())
		}
		if err != nil {
			return Conn{}, errors.Join(openError(name, err), writer.close())
		}
		d.readers.put(r)
		d.opened++
	}
	d.sync = func() error { return nil } // PostgreSQL syncs in COMMIT
	return writer, nil
}

func (e *postgresEngine) prepare(ctx context.Context, d *DB, conn *sql.Conn, opts Options) (err error) {
	if err := checkPostgres(ctx, conn, d.name, d.log); err != nil {
		return err
	}
	if err := adoptClock(ctx, d, conn, opts); err != nil {
		return err
	}
	if d.prepared, err = preparePostgresSchema(ctx, conn, d.name, opts); err != nil {
		return err
	}
	d.logNewer()
	if err := refuseMoved(ctx, conn, opts); err != nil {
		return err
	}
	if opts.Lock {
		warnPooler(ctx, d, conn)
	}
	if d.made {
		d.log.Info("made a new database", "db", d.name)
	}
	if err := conn.QueryRowContext(ctx, lastGroup).Scan(&e.known.n, &e.known.rules, &e.known.erasures); err != nil {
		return fmt.Errorf("open database %s: %w", d.name, err)
	}
	if opts.Lock {
		e.node.closeConns = e.conns.closeAll
		return e.node.join(ctx, d, e.writer, opts)
	}
	return nil
}

// simpleWithin runs statements, separated by semicolons, in one round trip and calls take with
// each row. If ctx ends, the connection is closed.
func (s *Conn) simpleWithin(ctx context.Context, text string, take func([]string)) error {
	return s.conn.Raw(func(driver any) error {
		results, err := driver.(*stdlib.Conn).Conn().PgConn().Exec(ctx, text).ReadAll()
		for _, r := range results {
			for _, row := range r.Rows {
				values := make([]string, len(row))
				for i, v := range row {
					values[i] = string(v)
				}
				take(values)
			}
		}
		return err
	})
}

// lost reports whether the connection of s is broken.
func (*postgresEngine) lost(s *Conn) bool {
	closed := true // also if the pool refuses to use it
	_ = s.conn.Raw(func(driver any) error {
		closed = driver.(*stdlib.Conn).Conn().IsClosed()
		return nil
	})
	return closed
}

func (e *postgresEngine) renew(ctx context.Context, d *DB, s *Conn) error {
	if err := e.connect(ctx, d.pool, s); err != nil {
		return err
	}
	return e.check(ctx, s.conn)
}

// connect replaces a broken connection.
func (*postgresEngine) connect(ctx context.Context, pool *sql.DB, s *Conn) error {
	_ = s.close() // it is broken
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	s.conn = conn
	return nil
}

func (e *postgresEngine) closeConns() { e.conns.closeAll() }

func (e *postgresEngine) leaseValid() bool { return e.node.leaseValid() }

// version reflects writes of other processes as of the last heartbeat.
func (e *postgresEngine) version(d *DB) Version {
	return Version{commits: d.commits.Load(), externalGroups: e.node.externalGroups.Load()}
}

func (*postgresEngine) sizes(d *DB) (s FileSizes, err error) {
	if err := d.ro.QueryRow(`SELECT pg_database_size(current_database())`).Scan(&s.File); err != nil {
		return s, fmt.Errorf("look at the size of the database: %w", tooManyConnections(d, err))
	}
	s.DiskFree, err = DiskFree(".")
	return s, err
}

func (*postgresEngine) space(ctx context.Context, d *DB) (Space, error) {
	s := Space{Tables: map[string]int64{}}
	rows, err := d.ro.QueryContext(ctx, `SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace`)
	if err != nil {
		return s, fmt.Errorf("look at the sizes of the tables: %w", tooManyConnections(d, err))
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var bytes int64
		if err := rows.Scan(&name, &bytes); err != nil {
			return s, fmt.Errorf("look at the sizes of the tables: %w", err)
		}
		s.Tables[name] = bytes
		s.Total += bytes
	}
	return s, rows.Err()
}
