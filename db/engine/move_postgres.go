package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"mailer/app/kit/clock"
)

func jsonOfPostgres(column string) string { return column + "::text" }

// postgresSide connects without timeouts, because one side of a move may wait for the other for a
// long time inside a transaction.
func postgresSide(ctx context.Context, url string) (*moveSide, error) {
	e := &postgresEngine{}
	if err := e.configure(url); err != nil {
		return nil, err
	}
	e.config.DialFunc = (&net.Dialer{Timeout: e.config.ConnectTimeout}).DialContext
	e.config.RuntimeParams["tcp_user_timeout"] = "0"
	for _, limit := range []string{"idle_in_transaction_session_timeout", "statement_timeout", "lock_timeout"} {
		e.config.RuntimeParams[limit] = "0"
	}
	pool := stdlib.OpenDB(*e.config)
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, errors.Join(openError(Name(url), err), pool.Close())
	}
	return &moveSide{Conn: newSession(conn, e), pool: pool, jsonText: jsonOfPostgres}, nil
}

// postgresSource begins to read a database and locks the table changes, whose row every group of
// writes locks first, so that nothing else writes. It also locks the row of this node, so that no
// other server takes over.
func postgresSource(ctx context.Context, url, node string) (*moveSide, error) {
	s, err := postgresSide(ctx, url)
	if err != nil {
		return nil, err
	}
	if err := lockSource(ctx, s.conn, node); err != nil {
		return nil, errors.Join(fmt.Errorf("begin to move: %w", err), s.close())
	}
	return s, nil
}

func lockSource(ctx context.Context, conn *sql.Conn, node string) error {
	if _, err := conn.ExecContext(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ"); err != nil {
		return err
	}
	// The first statement that reads takes the snapshot, so the lock comes first.
	if _, err := conn.ExecContext(ctx, "LOCK TABLE changes IN EXCLUSIVE MODE"); err != nil {
		return err
	}
	var restored, timeline bool
	err := conn.QueryRowContext(ctx, readOrigin).Scan(&restored, &timeline)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if restored {
		return refuse(ErrConflict, "the database was restored since a server worked on it, so what waits there may have left since: mailer restore --mark --db … holds that; then move it")
	}
	var id string
	err = conn.QueryRowContext(ctx, `SELECT id FROM nodes WHERE id = $1 AND dead IS NULL FOR KEY SHARE`, node).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return errFenced
	}
	return err
}

// postgresTarget is an empty database. One transaction creates everything in it.
type postgresTarget struct {
	url, schema string
	tables      []*movedTable
	writer      *moveSide
	deferred    []string // statements that create its indexes and foreign keys
}

func (p *postgresTarget) name() string { return Name(p.url) }

func (p *postgresTarget) side() *moveSide { return p.writer }

func (p *postgresTarget) begin(ctx context.Context) (err error) {
	if p.writer, err = postgresSide(ctx, p.url); err != nil {
		return err
	}
	conn := p.writer.conn
	if err := checkPostgres(ctx, conn, p.name(), nil); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, beginGroup); err != nil {
		return fmt.Errorf("begin to move: %w", err)
	}
	if err := p.prepare(ctx, conn); err != nil {
		return err
	}
	return p.makeTables(ctx, conn)
}

// prepare refuses a database that is not empty, and drops its empty tables. Errors: ErrConflict,
// ErrInUse, ErrNotDatabase, ErrOld, ErrNew, ErrSchema.
func (p *postgresTarget) prepare(ctx context.Context, conn *sql.Conn) error {
	var alone bool
	if err := conn.QueryRowContext(ctx, `SELECT pg_try_advisory_xact_lock(hashtext('mailer schema'))`).Scan(&alone); err != nil {
		return fmt.Errorf("look at %s: %w", p.name(), err)
	}
	if !alone {
		return refuse(ErrInUse, "another mailer is making the tables of %s; wait until it is through", p.name())
	}
	found, err := findTables(ctx, conn)
	switch {
	case err != nil:
		return fmt.Errorf("look at %s: %w", p.name(), err)
	case found.ours:
		return p.drop(ctx, conn)
	case found.tables > 0:
		return refuse(ErrConflict, "%s holds the tables of another program, and was left as it is; name an empty database with --to", p.name())
	}
	return nil
}

// drop drops the tables of this program if they contain nothing but the first team. Locks keep
// others from filling them meanwhile.
func (p *postgresTarget) drop(ctx context.Context, conn *sql.Conn) error {
	newer, err := checkPostgresVersion(ctx, conn, p.url, p.schema)
	if err != nil {
		return err
	}
	if newer {
		return refuseNewerMove(p.name())
	}
	all := []string{versionsTable, "changes", "writes", "nodes", "origin"}
	for _, t := range p.tables {
		all = append(all, t.name)
	}
	if _, err := conn.ExecContext(ctx, "LOCK TABLE "+strings.Join(all, ", ")+" IN ACCESS EXCLUSIVE MODE"); err != nil {
		return fmt.Errorf("lock the tables of %s: %w", p.name(), err)
	}
	w, err := currentLeader(ctx, conn, Options{}, deadHeartbeats*DefaultHeartbeat)
	if err != nil {
		return fmt.Errorf("look who works on %s: %w", p.name(), err)
	}
	if w != nil && w.silent < deadHeartbeats*DefaultHeartbeat {
		return refuse(ErrInUse, "%s is worked on by a mailer serve (%s); stop all of them first", p.name(), w.address)
	}
	for _, t := range p.tables {
		n, err := p.writer.count(ctx, t)
		if err != nil {
			return err
		}
		if n > 1 || n == 1 && t.name != "teams" {
			return refuse(ErrConflict, "%s is not empty (%s: %d rows), and was left as it is; name an empty database with --to", p.name(), t.name, n)
		}
	}
	_, err = conn.ExecContext(ctx, "DROP TABLE "+strings.Join(all, ", "))
	return err
}

func (p *postgresTarget) makeTables(ctx context.Context, conn *sql.Conn) error {
	var made []string
	own, keys := postgresStatements(p.schema, map[string][]string{})
	for _, text := range own {
		if tableName.MatchString(text) {
			made = append(made, text)
		} else {
			p.deferred = append(p.deferred, text)
		}
	}
	p.deferred = append(p.deferred, keys...)
	if _, err := conn.ExecContext(ctx, strings.Join(made, ";\n")+";\n"+PostgresTables); err != nil {
		return fmt.Errorf("make schema: %w", err)
	}
	version, err := newSchemaVersion(ctx, p.schema)
	if err != nil {
		return err
	}
	return version.writePostgres(ctx, conn, clock.Now().UnixMilli())
}

// fill uses COPY in binary format. checkTexts finds text that PostgreSQL would refuse before it
// is sent, so that the error names its row.
func (p *postgresTarget) fill(ctx context.Context, t *movedTable, rows *tableRows) error {
	rows.check = t.checkTexts
	return p.writer.conn.Raw(func(driver any) error {
		_, err := driver.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{t.name}, t.columnNames(), rows)
		if rows.err != nil { // the error of COPY has only its text
			return rows.err
		}
		return err
	})
}

// finish creates indexes and foreign keys and runs ANALYZE: without statistics PostgreSQL would
// scan whole tables until its next automatic analysis.
func (p *postgresTarget) finish(ctx context.Context) error {
	for _, text := range append(p.deferred, "ANALYZE") {
		if _, err := p.writer.conn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("finish the tables of %s: %s: %w", p.name(), text, err)
		}
	}
	return nil
}

func (p *postgresTarget) commit(context.Context) error {
	return p.writer.commitPostgres()
}

func (p *postgresTarget) close() error {
	if p.writer == nil {
		return nil
	}
	return p.writer.close()
}

// checkTexts refuses a row with a text that PostgreSQL cannot store, or could not read inside of
// JSON. Error: errInvalidText.
func (t *movedTable) checkTexts(values []any) error {
	for i, v := range values {
		text, ok := v.(string)
		if !ok {
			continue
		}
		problem := ""
		switch {
		case strings.ContainsRune(text, 0) || t.columns[i].json && holdsNUL(text):
			problem = "a character NUL"
		case !utf8.ValidString(text):
			problem = "bytes that are no UTF-8"
		default:
			continue
		}
		return refuse(errInvalidText, "PostgreSQL does not take the text in %s of %s (%s), in which there is %s: nothing was moved; change or delete it, and move again", t.columns[i].name, t.name, t.keyOf(values), problem)
	}
	return nil
}

// errInvalidText means that PostgreSQL cannot store a text.
var errInvalidText = errors.New("db: a text that PostgreSQL does not take")

// holdsNUL reports whether a name or a text of a JSON object contains an escaped NUL.
func holdsNUL(text string) bool {
	if !strings.Contains(text, `\u0000`) {
		return false
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return true
	}
	var all []string
	for name, v := range object {
		s, _ := v.(string)
		all = append(all, name, s)
	}
	return slices.ContainsFunc(all, func(s string) bool { return strings.ContainsRune(s, 0) })
}
