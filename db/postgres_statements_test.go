package db

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"mailer/db/engine"
	"mailer/db/pgtest"
)

// sqlitesOwn are the functions with statements about SQLite's own pages and tables.
var sqlitesOwn = []string{"writePages", "rootPages", "rootTables", "pointers", "SQLiteVersion", "makeSchema", "readSchemaTexts", "movedTables", "makeTables", "readFileVersion"}

// postgresTypes are the parameter types that accept every value bound to them.
var postgresTypes = []uint32{pgtype.TextOID, pgtype.Int8OID, pgtype.ByteaOID, pgtype.JSONOID, pgtype.Float8OID}

// smallParameters are parameters of other types, by type and number, with the reason why
// no value is too large.
var smallParameters = map[string]string{
	"QueuedUnits int4 $10":       "the length of a domain",
	"QueuedUnitsBefore int4 $10": "the length of a domain",
}

func postgresConn(t *testing.T) *pgx.Conn {
	t.Helper()
	server := pgtest.Server(t)
	c, err := pgx.Connect(t.Context(), pgtest.Database(t, server, pgtest.Template(t, server, engine.PostgresSchema(schemaText(t))+engine.PostgresTables)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(t.Context()) })
	return c
}

func TestPostgreSQLAcceptsStatements(t *testing.T) {
	t.Parallel()
	c := postgresConn(t)
	all := allStatements(t)
	seen := map[string]bool{}
	for _, s := range all {
		d, err := c.Prepare(t.Context(), "", engine.ToPostgres(s.text))
		if slices.Contains(sqlitesOwn, s.function) && strings.Contains(s.text, "sqlite_") {
			if seen[s.function] = true; err == nil {
				t.Errorf("%s is not SQLite's own: PostgreSQL takes %s", s.function, s.text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v\n%s\n%s", s.function, err, s.text, engine.ToPostgres(s.text))
			continue
		}
		for _, small := range smallOf(c, d) {
			key := s.function + " " + small
			if seen[key] = true; smallParameters[key] == "" {
				t.Errorf("%s may be too small for bound values\n%s", key, s.text)
			}
		}
	}
	for _, function := range sqlitesOwn {
		if !seen[function] {
			t.Errorf("%s has no statement", function)
		}
	}
	for key := range smallParameters {
		if !seen[key] {
			t.Errorf("%s does not exist", key)
		}
	}
}

// smallOf returns the parameters of a statement whose types are not in postgresTypes.
func smallOf(c *pgx.Conn, d *pgconn.StatementDescription) (out []string) {
	for i, oid := range d.ParamOIDs {
		if slices.Contains(postgresTypes, oid) {
			continue
		}
		name := fmt.Sprint(oid)
		if known, ok := c.TypeMap().TypeForOID(oid); ok {
			name = known.Name
		}
		out = append(out, fmt.Sprintf("%s $%d", name, i+1))
	}
	return out
}

func TestPostgreSQLStatementCheckFindsErrors(t *testing.T) {
	t.Parallel()
	c := postgresConn(t)
	if _, err := c.Prepare(t.Context(), "", engine.ToPostgres(`SELECT nothing FROM emails WHERE id = ?`)); err == nil {
		t.Error("an unknown column passes")
	}
	for text, want := range map[string]string{
		`SELECT substr(email, ?) FROM contacts WHERE id = ?`: "int4 $1",
		`SELECT id FROM contacts WHERE ? OR id = ?`:          "bool $1",
		`SELECT id FROM contacts WHERE created_at > ?`:       "",
	} {
		d, err := c.Prepare(t.Context(), "", engine.ToPostgres(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(smallOf(c, d), ", "); got != want {
			t.Errorf("%s has %q, want %q", text, got, want)
		}
	}
}
