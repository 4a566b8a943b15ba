package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// postgresSession is the state of a session on PostgreSQL. A round trip costs more than a
// statement, so writes are buffered until the next query or the commit, and sent with it in one
// pgx.Batch.
type postgresSession struct {
	translated map[string]string
	begin      string // begins the transaction of a reader, sent with its first query; empty: it has begun
	writes     []bufferedWrite
	prefetched map[string]*fetchedRows // by query.key
	asOf       uint64                  // SuppressionVersion of prefetched
	immediate  bool                    // send each write immediately, so that its closure gets its error
	changes    int                     // number of statements that may have changed something
	failed     error                   // of a statement; nothing may be committed
	// onSlow is called with the process id of the connection on the server if a round trip takes
	// longer than slowAfter; nil: never.
	onSlow    func(pid uint32)
	slowAfter time.Duration
}

// bufferedWrite is a statement that was not sent yet.
type bufferedWrite struct {
	query
	one bool // it must touch a row
}

// reset clears the state of a transaction that has ended.
func (p *postgresSession) reset() {
	if p != nil {
		p.begin, p.writes, p.prefetched, p.changes, p.failed = "", nil, nil, 0, nil
	}
}

// failure returns the error of a statement of the transaction.
func (p *postgresSession) failure() error {
	if p == nil {
		return nil
	}
	return p.failed
}

// translate returns a query in PostgreSQL's SQL, with arguments that PostgreSQL takes.
func (s *Conn) translate(text string, args []any) query {
	t, ok := s.pg.translated[text]
	if !ok {
		t = s.dialect.translate(text)
		s.pg.translated[text] = t
	}
	return query{t, s.dialect.bind(args)}
}

// exchange sends the buffered writes and queries in one round trip. It calls read with the rows of
// each query. Error: ErrNotFound for a write that had to touch a row and did not.
func (s *Conn) exchange(ctx context.Context, queries []query, read func(i int, rows pgx.Rows) error) error {
	p := s.pg
	batch, begin, writes := &pgx.Batch{}, p.begin, p.writes
	p.begin, p.writes = "", nil
	if begin != "" {
		batch.Queue(begin)
	}
	for _, w := range writes {
		batch.Queue(w.text, w.args...)
	}
	for _, q := range queries {
		batch.Queue(q.text, q.args...)
	}
	var readErr error // of read; the transaction is sound
	err := s.conn.Raw(func(driver any) (err error) {
		conn := driver.(*stdlib.Conn).Conn()
		if p.onSlow != nil {
			defer time.AfterFunc(p.slowAfter, func() { p.onSlow(conn.PgConn().PID()) }).Stop()
		}
		results := conn.SendBatch(ctx, batch)
		defer func() {
			if closed := results.Close(); err == nil {
				err = closed
			}
		}()
		if begin != "" {
			if _, err := results.Exec(); err != nil {
				return fmt.Errorf("begin: %w", err)
			}
		}
		for _, w := range writes {
			tag, err := results.Exec()
			if err == nil && w.one && tag.RowsAffected() == 0 {
				err = ErrNotFound
			}
			if err != nil {
				return mapForeignKey(err)
			}
		}
		for i := range queries {
			rows, err := results.Query()
			if err != nil {
				return mapForeignKey(err)
			}
			if readErr == nil {
				readErr = read(i, rows)
			}
			rows.Close()
			if err := rows.Err(); err != nil && (readErr == nil || failedInside(err)) {
				return mapForeignKey(err)
			}
		}
		return nil
	})
	if err != nil && !p.immediate && p.failed == nil {
		p.failed = err
	}
	return cmp.Or(err, readErr)
}

// run runs a query, with the buffered writes in the same round trip, and calls read with its
// rows. It sends nothing if the query was prefetched.
func (s *Conn) run(ctx context.Context, text string, args []any, read func(rows) error) error {
	q := s.translate(text, args)
	switch {
	case s.named != nil:
		*s.named = append(*s.named, q)
		return read(&fetchedRows{})
	case s.pg.failed != nil:
		return s.pg.failed
	case len(s.pg.prefetched) > 0:
		if found, ok := s.pg.prefetched[q.key()]; ok {
			found.next = 0
			return read(found)
		}
	}
	if strings.Contains(text, "RETURNING") {
		s.pg.changes++
	}
	return s.exchange(ctx, []query{q}, func(_ int, r pgx.Rows) error { return read(r) })
}

// execAll runs statements in one round trip and returns how many rows each of them touched.
func (s *Conn) execAll(queries []query) ([]int64, error) {
	touched := make([]int64, len(queries))
	if s.pg.failed != nil {
		return touched, s.pg.failed
	}
	s.pg.changes += len(queries)
	return touched, s.exchange(context.Background(), queries, func(i int, r pgx.Rows) error {
		r.Close()
		touched[i] = r.CommandTag().RowsAffected()
		return nil
	})
}

// prefetch sends first and queries in one round trip, calls read with the rows of the former, and
// keeps the rows of the latter for run.
func (s *Conn) prefetch(first, queries []query, read func(i int, rows pgx.Rows) error) error {
	if len(first)+len(queries) == 0 {
		return nil
	}
	if s.pg.prefetched == nil {
		s.pg.prefetched = map[string]*fetchedRows{}
	}
	return s.exchange(context.Background(), append(first, queries...), func(i int, r pgx.Rows) error {
		if i < len(first) {
			return read(i, r)
		}
		fetched := &fetchedRows{types: r.Conn().TypeMap(), fields: slices.Clone(r.FieldDescriptions())}
		for r.Next() {
			fetched.add(r.RawValues())
		}
		s.pg.prefetched[queries[i-len(first)].key()] = fetched
		return nil
	})
}

// outdate drops what was prefetched, after a closure wrote something that may change it.
func (s *Conn) outdate() {
	s.pg.prefetched, s.pg.asOf = nil, 1+s.changes[Suppressions]
}

// checkWrites sends the buffered writes if their numbers of rows decide whether to commit. Others
// leave with the COMMIT. Error: that of a statement of the transaction.
func (s *Conn) checkWrites() error {
	if s.pg == nil {
		return nil
	}
	if s.pg.failed == nil && slices.ContainsFunc(s.pg.writes, func(w bufferedWrite) bool { return w.one }) {
		return s.exchange(context.Background(), nil, nil)
	}
	return s.pg.failed
}

// commitPostgres commits the transaction, with the buffered writes in the same round trip.
func (s *Conn) commitPostgres() error {
	var tag string
	err := s.exchange(context.Background(), []query{{text: "COMMIT"}}, func(_ int, r pgx.Rows) error {
		r.Close()
		tag = r.CommandTag().String()
		return nil
	})
	if err == nil && tag != "COMMIT" { // PostgreSQL rolls back what failed before, without an error
		err = errors.New("the transaction was rolled back")
	}
	return err
}

// rows are the rows of a query.
type rows interface {
	Scanner
	Next() bool
	Err() error
}

// fetchedRows are rows in memory.
type fetchedRows struct {
	types  *pgtype.Map
	fields []pgconn.FieldDescription
	values [][][]byte
	next   int
}

// add appends a copy of a row.
func (f *fetchedRows) add(raw [][]byte) {
	row := make([][]byte, len(raw))
	for i, v := range raw {
		row[i] = bytes.Clone(v)
	}
	f.values = append(f.values, row)
}

// Next and Scan are like those of sql.Rows.
func (f *fetchedRows) Next() bool {
	f.next++
	return f.next <= len(f.values)
}

func (f *fetchedRows) Scan(dest ...any) error {
	return pgx.ScanRow(f.types, f.fields, f.values[f.next-1], dest...)
}

// Err returns nil: the rows were received completely.
func (*fetchedRows) Err() error { return nil }

// Write runs a statement whose number of rows does not matter. On PostgreSQL it may be buffered
// until the next query or the commit. Error: ErrNotFound for a row whose parent is missing, if
// the statement is run immediately.
func (s *Conn) Write(query string, args ...any) error { return s.write(query, args, false) }

// WriteOne is Write for a statement that must touch a row. Error: ErrNotFound if it does not. If
// a buffered statement fails, the group is run again with immediate writes, and its closure gets
// the error then.
func (s *Conn) WriteOne(query string, args ...any) error { return s.write(query, args, true) }

func (s *Conn) write(text string, args []any, one bool) error {
	if s.pg == nil || s.pg.immediate {
		n, err := s.Exec(text, args...)
		if !one {
			return err
		}
		return oneRow(n, err, ErrNotFound)
	}
	// The caller may reuse args for the next row, so copy them.
	s.pg.writes = append(s.pg.writes, bufferedWrite{s.translate(text, slices.Clone(args)), one})
	s.pg.changes++
	return nil
}

// errRunSingly means that a closure failed after it changed something, or that a buffered write
// failed. The group is run again with each closure in its own savepoint.
var errRunSingly = errors.New("db: to be run one by one")

// failedInside reports whether err is that of a statement, after which PostgreSQL refuses the
// rest of the transaction.
func failedInside(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg)
}

// registerTypes makes pgx scan numbers into booleans, which columns store as 1 and 0.
func registerTypes(_ context.Context, conn *pgx.Conn) error {
	types := conn.TypeMap()
	types.TryWrapScanPlanFuncs = append([]pgtype.TryWrapScanPlanFunc{func(target any) (pgtype.WrappedScanPlanNextSetter, any, bool) {
		if _, ok := target.(*bool); !ok {
			return nil, nil, false
		}
		return &boolPlan{}, new(int64), true
	}}, types.TryWrapScanPlanFuncs...)
	return nil
}

// boolPlan scans a number into a boolean.
type boolPlan struct{ next pgtype.ScanPlan }

// SetNext and Scan implement pgtype.WrappedScanPlanNextSetter.
func (b *boolPlan) SetNext(next pgtype.ScanPlan) { b.next = next }
func (b *boolPlan) Scan(src []byte, target any) error {
	var n int64
	if err := b.next.Scan(src, &n); err != nil {
		return err
	}
	*target.(*bool) = n != 0
	return nil
}
