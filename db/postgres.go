package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"mailer/app"
)

// postgresEngine is a PostgreSQL database elsewhere. Its one writer is the process that
// holds the work (nodes.go); commands beside it write too, a group at a time: each begins
// with the same row, which is what SQLite's lock is.
type postgresEngine struct {
	config *pgx.ConnConfig
	me     node
	last   int64  // groups of writes of all processes, as of the last one of this
	own    int64  // those of this process
	n      int64  // of the group under way
	writer string // what this process is called among those that write
	group  int64  // of its own, under way
	conns  conns
}

// postgresScheme is what the name of a database of PostgreSQL begins with.
var postgresScheme = []string{"postgres://", "postgresql://"}

// postgresName is the name of a database without what is secret in it, for people; empty: it
// is not one of PostgreSQL.
func postgresName(name string) string {
	for _, scheme := range postgresScheme {
		if rest, ok := strings.CutPrefix(name, scheme); ok {
			rest, _, _ = strings.Cut(rest, "?")
			return scheme + rest[strings.LastIndex(rest, "@")+1:]
		}
	}
	return ""
}

// dialPatience is how long a connection may take to come about; silence is how long what
// was sent may stay without any sign of the other side.
const (
	dialPatience = 3 * time.Second
	silence      = 3 * time.Second
)

// configure reads the name of the database. What the server ends by itself are transactions
// of a writer that stopped in their midst: others wait for them.
func (e *postgresEngine) configure(name string) error {
	config, err := pgx.ParseConfig(name)
	if err != nil {
		return refuse(ErrNotDatabase, "--db %s can't be read: %s", postgresName(name), withoutSecrets(err))
	}
	config.ConnectTimeout = dialPatience
	config.DialFunc = e.conns.dial(&net.Dialer{Timeout: dialPatience, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 2}, Control: userTimeout})
	config.RuntimeParams["application_name"] = "mailer"
	config.RuntimeParams["tcp_user_timeout"] = fmt.Sprint(silence.Milliseconds())
	e.config = config
	return nil
}

// withoutSecrets is an error of the driver without the name that it repeats, in which a
// password may stand.
func withoutSecrets(err error) string {
	var parse *pgconn.ParseConfigError
	if errors.As(err, &parse) && parse.Unwrap() != nil {
		return parse.Unwrap().Error()
	}
	return "it is not the URL of a PostgreSQL database"
}

// pool makes connections whose transactions may stand idle for a while.
func (e *postgresEngine) pool(idle time.Duration) *sql.DB {
	config := e.config.Copy()
	config.RuntimeParams["idle_in_transaction_session_timeout"] = fmt.Sprint(idle.Milliseconds())
	return stdlib.OpenDB(*config)
}

// words returns a statement as PostgreSQL takes it.
func (*postgresEngine) words(text string) string { return postgresWords(text) }

func (*postgresEngine) filters() filterWords { return postgresFilters{} }

// bind has truth be 1 and 0, as columns hold it.
func (*postgresEngine) bind(args []any) []any {
	for i, arg := range args {
		if v := reflect.ValueOf(arg); v.Kind() == reflect.Bool {
			n := int64(0)
			if v.Bool() {
				n = 1
			}
			args[i] = n
		}
	}
	return args
}

func (e *postgresEngine) beginRead(ctx context.Context, d *DB, s *session) error {
	const text = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	if s.conn != nil {
		if _, err := s.exec(text); err == nil || !e.lost(s) {
			return err
		}
	}
	err := e.connect(ctx, d.ro, s) // also where the database was away since it was used last
	if err == nil {
		_, err = s.exec(text)
	} else if s.conn == nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if err != nil && e.lost(s) {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return err
}

// Transactions may stand still that long: a writer's hold up all others.
const (
	writerIdle = 3 * time.Second
	readerIdle = 5 * time.Minute
)

// open connects d, makes the schema of an empty database, and takes up the work where opts ask
// for the lock.
func (e *postgresEngine) open(ctx context.Context, d *DB, opts Options) (session, error) {
	name := postgresName(opts.Path)
	if err := e.configure(opts.Path); err != nil {
		return session{}, err
	}
	d.name, e.writer = name, app.NewID()
	d.pool, d.ro = e.pool(writerIdle), e.pool(readerIdle)
	d.pool.SetMaxIdleConns(0)
	d.ro.SetMaxIdleConns(0)
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return session{}, refuse(ErrUnreachable, "the database %s can't be reached: %s", name, reason(err))
	}
	writer := newSession(conn, e)
	writer.queue = newQueued(conn)
	if err := e.prepare(ctx, d, conn, opts); err != nil {
		return session{}, errors.Join(err, conn.Close())
	}
	for range readers {
		r := &Reader{session: newSession(nil, e)}
		if !opts.Lazy {
			r.conn, err = d.ro.Conn(ctx)
		}
		if ctx.Err() != nil { // it was stopped
			return session{}, errors.Join(ctx.Err(), writer.close())
		}
		if err != nil {
			return session{}, errors.Join(refuse(ErrUnreachable, "the database %s takes no more connections: %s", name, reason(err)), writer.close())
		}
		d.readers.put(r)
		d.opened++
	}
	d.sync = func() error { return nil } // a commit is on the database's disk
	return writer, nil
}

func (e *postgresEngine) prepare(ctx context.Context, d *DB, conn *sql.Conn, opts Options) (err error) {
	if err := checkPostgres(ctx, conn, d.name, d.log); err != nil {
		return err
	}
	if d.made, err = preparePostgresSchema(ctx, conn, d.name, opts); err != nil {
		return err
	}
	if err := refuseMoved(ctx, conn, opts); err != nil {
		return err
	}
	if d.made {
		d.log.Info("made a new database", "db", d.name)
	}
	if err := conn.QueryRowContext(ctx, `SELECT n FROM changes`).Scan(&e.last); err != nil {
		return fmt.Errorf("open database %s: %w", d.name, err)
	}
	if opts.Lock {
		e.me.cut = e.conns.cut
		return e.me.join(ctx, d, opts)
	}
	return nil
}

// reason is the last of what an error says: of a connection that failed, all addresses that
// were tried stand before it.
func reason(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && strings.HasPrefix(pg.Message, "unsupported startup parameter") {
		return "a pooler stands before it, which does not do: name PostgreSQL itself (" + pg.Message + ")"
	}
	if errors.As(err, &pg) {
		return pg.Message
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Error()
	}
	return err.Error()
}

// begin begins the transaction of a group, which waits for those of other processes, and
// refuses a process whose work another one took over.
func (e *postgresEngine) begin(d *DB, s *session) error {
	e.group++
	text := "BEGIN; UPDATE changes SET n = n + 1 RETURNING n" + fmt.Sprintf(noteGroup, e.writer, e.group)
	if e.me.id != "" {
		text += "; SELECT id FROM nodes WHERE id = '" + e.me.id + "' AND dead IS NULL FOR KEY SHARE"
	}
	var rows [][]string
	err := s.simple(text, func(values []string) { rows = append(rows, values) })
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if e.me.id != "" && len(rows) < 2 {
		return errFenced
	}
	if _, err := fmt.Sscan(rows[0][0], &e.n); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	others := e.n != e.last+1
	e.last = e.n - 1 // told of once
	return d.lookElsewhere(s, others)
}

// simple runs texts that are parted by semicolons in one round trip, and hands each row to take.
func (s *session) simple(text string, take func([]string)) error {
	return s.simpleWithin(context.Background(), text, take)
}

// simpleWithin is simple for what must end with ctx, and the connection with it.
func (s *session) simpleWithin(ctx context.Context, text string, take func([]string)) error {
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

// commit ends the transaction of a group. PostgreSQL answers a COMMIT of what failed before
// with a rollback, and no error.
func (e *postgresEngine) commit(s *session) error {
	err := s.conn.Raw(func(driver any) error {
		results, err := driver.(*stdlib.Conn).Conn().PgConn().Exec(context.Background(), "COMMIT").ReadAll()
		if err == nil && (len(results) != 1 || results[0].CommandTag.String() != "COMMIT") {
			err = errors.New("the transaction was rolled back")
		}
		return err
	})
	if err == nil {
		e.last, e.own = e.n, e.own+1
	}
	return err
}

// lost reports whether the connection of s is gone.
func (*postgresEngine) lost(s *session) bool {
	closed := true // also where the pool says so
	_ = s.conn.Raw(func(driver any) error {
		closed = driver.(*stdlib.Conn).Conn().IsClosed()
		return nil
	})
	return closed
}

// noteGroup has the transaction of a group say whose it is, and which. The number of a
// transaction would not do: after a crash, or on a standby that was promoted, PostgreSQL
// counts on from what it knows, and another transaction may get the number of one that was
// lost.
const noteGroup = `; INSERT INTO writers (id, n, at) VALUES ('%[1]s', %[2]d, ` + postgresNow + `) ON CONFLICT (id) DO UPDATE SET n = excluded.n, at = excluded.at`

// committed asks what became of a group whose answer to COMMIT was lost. It waits for the row
// that the group holds as long as its connection lives on the other side. That it asks in a
// transaction that writes, and so is on the synchronous standby once it is answered, has the
// group be there too.
func (e *postgresEngine) committed(ctx context.Context, s *session) (bool, error) {
	var found []string
	text := fmt.Sprintf("BEGIN; UPDATE changes SET n = n; SELECT count(*) FROM writers WHERE id = '%s' AND n = %d; COMMIT", e.writer, e.group)
	err := s.simpleWithin(ctx, text, func(values []string) { found = append(found, values...) })
	if err != nil {
		return false, fmt.Errorf("ask what became of a commit: %w", err)
	}
	if len(found) != 1 || found[0] != "1" {
		return false, nil
	}
	e.last, e.own = e.n, e.own+1
	return true, nil
}

func (e *postgresEngine) renew(ctx context.Context, d *DB, s *session) error {
	return e.connect(ctx, d.pool, s)
}

// connect puts another connection in the place of one that is lost.
func (*postgresEngine) connect(ctx context.Context, pool *sql.DB, s *session) error {
	_ = s.close() // it is lost
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	s.conn, s.stmts = conn, map[string]*prepared{}
	if s.queue != nil {
		s.queue.conn = conn
	}
	return nil
}

func (e *postgresEngine) sure() bool { return e.me.sure() }

// version is as old as the last beat where others write.
func (e *postgresEngine) version(d *DB) Version {
	return Version{commits: d.commits.Load(), others: e.me.others.Load()}
}

func (e *postgresEngine) foreign(s *session) (n int64, err error) {
	err = s.row(`SELECT n FROM changes`, nil, &n)
	return n - e.own, err
}

func (*postgresEngine) sizes(d *DB) (s FileSizes, err error) {
	if err := d.ro.QueryRow(`SELECT pg_database_size(current_database())`).Scan(&s.File); err != nil {
		return s, fmt.Errorf("look at the size of the database: %w", err)
	}
	s.DiskFree, err = DiskFree(".")
	return s, err
}

func (*postgresEngine) space(ctx context.Context, d *DB) (Space, error) {
	s := Space{Tables: map[string]int64{}}
	rows, err := d.ro.QueryContext(ctx, `SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace`)
	if err != nil {
		return s, fmt.Errorf("look at the sizes of the tables: %w", err)
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

// leave clears away what tells of this process.
func (e *postgresEngine) leave(d *DB) error {
	if d.ro == nil || e.group == 0 || !e.sure() {
		return e.me.leave(d)
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialPatience)
	defer cancel()
	if _, err := d.ro.ExecContext(ctx, `DELETE FROM writers WHERE id = $1`, e.writer); err != nil {
		d.log.Debug("the row of a writer that ended stays", "err", err) // it is cleared away with old ones
	}
	return e.me.leave(d)
}
