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

// question is a statement that its closure waits for.
type question struct {
	text    string
	args    []any
	columns []string
	rows    [][]driver.Value
	touched int64
	tag     string // what was done
}

// read takes the answer.
func (a *question) read(conn *pgx.Conn, results pgx.BatchResults) error {
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
	a.touched, a.tag = rows.CommandTag().RowsAffected(), rows.CommandTag().String()
	return nil
}

// valueOf is a value as database/sql has it.
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

// apartDriver makes connections that send nothing themselves: what is asked of one stops its
// part.
type apartDriver struct{}

// Connect and Driver make it a driver.Connector.
func (apartDriver) Connect(context.Context) (driver.Conn, error) { return &apartConn{}, nil }
func (d apartDriver) Driver() driver.Driver                      { return d }

// Open makes it a driver.Driver.
func (apartDriver) Open(string) (driver.Conn, error) { return &apartConn{}, nil }

type apartConn struct{ part *part }

func (c *apartConn) Prepare(text string) (driver.Stmt, error) { return apartStmt{c.part, text}, nil }
func (*apartConn) Close() error                               { return nil }
func (*apartConn) Begin() (driver.Tx, error) {
	return nil, errors.New("db: a closure begins no transaction")
}

type apartStmt struct {
	part *part
	text string
}

func (apartStmt) Close() error  { return nil }
func (apartStmt) NumInput() int { return -1 }

func (s apartStmt) ask(args []driver.Value) (*question, error) {
	a := &question{text: s.text, args: make([]any, len(args))}
	for i, arg := range args {
		a.args[i] = arg
	}
	return a, s.part.ask(a)
}

// Exec and Query run the statement with those of other parts.
func (s apartStmt) Exec(args []driver.Value) (driver.Result, error) {
	a, err := s.ask(args)
	return driver.RowsAffected(a.touched), err
}

func (s apartStmt) Query(args []driver.Value) (driver.Rows, error) {
	a, err := s.ask(args)
	if err != nil {
		return nil, err
	}
	return &apartRows{a}, nil
}

// apartRows are the rows of an answer.
type apartRows struct{ *question }

func (r *apartRows) Columns() []string { return r.columns }
func (r *apartRows) Close() error      { r.rows = nil; return nil }
func (r *apartRows) Next(dest []driver.Value) error {
	if len(r.rows) == 0 {
		return io.EOF
	}
	copy(dest, r.rows[0])
	r.rows = r.rows[1:]
	return nil
}
