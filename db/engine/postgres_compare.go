package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// formOfPostgres lists the columns, constraints and indexes of the current schema, one on each
// line, in an order that does not depend on how they were created.
const formOfPostgres = `SELECT line FROM (
	SELECT c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END || coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '') AS line
		FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
		WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND a.attnum > 0 AND NOT a.attisdropped
	UNION ALL
	SELECT c.relname || ': ' || pg_get_constraintdef(k.oid) || CASE WHEN k.convalidated THEN '' ELSE ' NOT VALID' END FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid
		WHERE c.relnamespace = current_schema()::regnamespace AND k.contype IN ('c', 'f', 'p', 'u')
	UNION ALL
	SELECT c.relname || ': ' || replace(pg_get_indexdef(i.indexrelid), ' ON ' || current_schema() || '.', ' ON ') || CASE WHEN i.indisvalid THEN '' ELSE ' INVALID' END FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND NOT i.indisprimary
) AS lines ORDER BY line COLLATE "C"`

// scratchSchema creates an empty schema that is first in the search path until the rollback.
const scratchSchema = `SAVEPOINT fresh; CREATE SCHEMA mailer_fresh; SET LOCAL search_path = mailer_fresh`

// comparePostgres refuses a database whose tables differ from those of the schema, as after an
// incomplete restore or a faulty step. It changes nothing. If the user may not create a schema,
// the check is skipped. Error: ErrSchema.
func comparePostgres(ctx context.Context, tx *sql.Tx, name, schema string) error {
	have, err := linesOf(ctx, tx, formOfPostgres)
	if err != nil {
		return fmt.Errorf("compare the schema of %s: %w", name, err)
	}
	if _, err := tx.ExecContext(ctx, scratchSchema+";\n"+PostgresSchema(schema)+PostgresTables); err != nil {
		var pg *pgconn.PgError
		if errors.As(err, &pg) && pg.Code == "42501" {
			_, err = tx.ExecContext(ctx, `ROLLBACK TO SAVEPOINT fresh`)
			return err
		}
		return fmt.Errorf("compare the schema of %s: %w", name, err)
	}
	want, err := linesOf(ctx, tx, formOfPostgres)
	if err != nil {
		return fmt.Errorf("compare the schema of %s: %w", name, err)
	}
	if _, err := tx.ExecContext(ctx, `ROLLBACK TO SAVEPOINT fresh`); err != nil {
		return fmt.Errorf("compare the schema of %s: %w", name, err)
	}
	if diff := firstDifferentLine(have, want); diff != "" {
		return refuseSchema(name, diff)
	}
	return nil
}

// firstDifferentLine describes the first difference of two sorted lists; empty: they are equal.
func firstDifferentLine(have, want []string) string {
	for i := 0; i < len(have) || i < len(want); i++ {
		switch {
		case i == len(want) || i < len(have) && have[i] < want[i]:
			return "it has " + have[i]
		case i == len(have) || have[i] > want[i]:
			return "it lacks " + want[i]
		}
	}
	return ""
}

func linesOf(ctx context.Context, tx *sql.Tx, query string) (lines []string, err error) {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, rows.Err()
}

// lockSchema waits for other processes that create or change the tables, and reports whether the
// tables are those of this program. Errors: ErrNotDatabase if they are another program's,
// ErrSchema if the user may not use them, ErrInUse if the wait exceeds the lock timeout.
func lockSchema(ctx context.Context, tx *sql.Tx, name string) (ours bool, err error) {
	_, err = tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtext('mailer schema'))`)
	if lockedOnPostgres(err) {
		return false, refuse(ErrInUse, "another mailer is making or migrating the tables of %s; wait until it is done", name)
	}
	if err != nil {
		return false, fmt.Errorf("open database %s: %w", name, err)
	}
	found, err := findTables(ctx, tx)
	switch {
	case err != nil:
		return false, fmt.Errorf("open database %s: %w", name, err)
	case found.ours && found.otherOwner != "":
		return false, refuse(ErrSchema, "the tables of %s belong to %s, and the user of --db, %s, may not use them, as after a pg_restore --no-owner by another user; restore them as that user (pg_restore --no-owner --role=%s), or give it each of them: ALTER TABLE … OWNER TO %s", name, found.otherOwner, found.user, found.user, found.user)
	case found.ours || found.tables == 0:
		return found.ours, nil
	}
	return false, refuse(ErrNotDatabase, "%s is another program's database, and was left as it is; name another one with --db", name)
}

// foundTables describes the tables of the current schema, including those that the user may not
// see.
type foundTables struct {
	tables     int
	ours       bool   // they are this program's
	otherOwner string // owner of tables that the user may not use; empty: there are none
	user       string
}

func findTables(ctx context.Context, tx rowQuerier) (f foundTables, err error) {
	err = tx.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE relname = 'schema_versions') > 0,
		coalesce(min(pg_get_userbyid(relowner)::text) FILTER (WHERE NOT (has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT') AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE'))), ''), current_user::text
		FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = current_schema()::regnamespace`).Scan(&f.tables, &f.ours, &f.otherOwner, &f.user)
	return f, err
}

// oneColumnPerLine puts each column and constraint of a CREATE TABLE on a line of its own.
func oneColumnPerLine(text string) string {
	from := strings.IndexByte(text, '(')
	if !strings.HasPrefix(text, "CREATE TABLE ") || from < 0 {
		return text
	}
	var lines []string
	depth, begin := 0, from+1
	for i := from; i < len(text); {
		switch text[i] {
		case '\'', '"':
			quoted, _ := cutQuoted(text[i:])
			i += max(1, len(quoted))
			continue
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 1 && text[i] == ',' || depth == 0 {
			lines = append(lines, "  "+strings.Join(strings.Fields(text[begin:i]), " "))
			begin = i + 1
		}
		if depth == 0 {
			return text[:from] + "(\n" + strings.Join(lines, ",\n") + "\n" + text[i:]
		}
		i++
	}
	return text
}
