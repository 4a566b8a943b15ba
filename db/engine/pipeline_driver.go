package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// pendingQuery is a statement whose result its closure waits for.
type pendingQuery struct {
	text     string
	args     []any
	columns  []string
	rows     [][]driver.Value
	affected int64
	tag      string // command tag of the result
}

// read reads the result.
func (a *pendingQuery) read(conn *pgx.Conn, results pgx.BatchResults) error {
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	fields := rows.FieldDescriptions()
	a.columns = make([]string, len(fields))
	for i, f := range fields {
		a.columns[i] = f.Name
	}
	for rows.Next() {
		values := make([]driver.Value, len(fields))
		for i, raw := range rows.RawValues() {
			if values[i], err = valueOf(conn.TypeMap(), fields[i], raw); err != nil {
				return err
			}
		}
		a.rows = append(a.rows, values)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	rows.Close()
	a.affected, a.tag = rows.CommandTag().RowsAffected(), rows.CommandTag().String()
	return nil
}

// valueOf converts a value to a type of database/sql.
func valueOf(types *pgtype.Map, field pgconn.FieldDescription, raw []byte) (driver.Value, error) {
	var into driver.Valuer
	switch field.DataTypeOID {
	case pgtype.Int8OID, pgtype.Int4OID, pgtype.Int2OID:
		into = &pgtype.Int8{}
	case pgtype.Float8OID, pgtype.Float4OID:
		into = &pgtype.Float8{}
	case pgtype.BoolOID:
		into = &pgtype.Bool{}
	case pgtype.ByteaOID, pgtype.JSONOID, pgtype.JSONBOID:
		var b []byte // a copy
		err := types.Scan(field.DataTypeOID, field.Format, raw, &b)
		if err != nil || b == nil {
			return nil, err
		}
		return b, nil
	default:
		into = &pgtype.Text{}
	}
	if err := types.Scan(field.DataTypeOID, field.Format, raw, into); err != nil {
		return nil, err
	}
	return into.Value()
}

// pipelinedDriver makes connections that send nothing themselves: a query makes their part yield.
type pipelinedDriver struct{}

// Connect and Driver implement driver.Connector.
func (pipelinedDriver) Connect(context.Context) (driver.Conn, error) { return &pipelinedConn{}, nil }
func (d pipelinedDriver) Driver() driver.Driver                      { return d }

// Open implements driver.Driver.
func (pipelinedDriver) Open(string) (driver.Conn, error) { return &pipelinedConn{}, nil }

type pipelinedConn struct{ part *part }

func (c *pipelinedConn) Prepare(text string) (driver.Stmt, error) {
	return pipelinedStmt{c.part, text}, nil
}
func (*pipelinedConn) Close() error { return nil }
func (*pipelinedConn) Begin() (driver.Tx, error) {
	return nil, errors.New("db: a closure begins no transaction")
}

type pipelinedStmt struct {
	part *part
	text string
}

func (pipelinedStmt) Close() error  { return nil }
func (pipelinedStmt) NumInput() int { return -1 }

func (s pipelinedStmt) ask(args []driver.Value) (*pendingQuery, error) {
	a := &pendingQuery{text: s.text, args: make([]any, len(args))}
	for i, arg := range args {
		a.args[i] = arg
	}
	return a, s.part.query(a)
}

// Exec and Query run the statement in one round trip with those of other parts.
func (s pipelinedStmt) Exec(args []driver.Value) (driver.Result, error) {
	a, err := s.ask(args)
	return driver.RowsAffected(a.affected), err
}

func (s pipelinedStmt) Query(args []driver.Value) (driver.Rows, error) {
	a, err := s.ask(args)
	if err != nil {
		return nil, err
	}
	return &pipelinedRows{a}, nil
}

// pipelinedRows are the rows of a result.
type pipelinedRows struct{ *pendingQuery }

func (r *pipelinedRows) Columns() []string { return r.columns }
func (r *pipelinedRows) Close() error      { r.rows = nil; return nil }
func (r *pipelinedRows) Next(dest []driver.Value) error {
	if len(r.rows) == 0 {
		return io.EOF
	}
	copy(dest, r.rows[0])
	r.rows = r.rows[1:]
	return nil
}
