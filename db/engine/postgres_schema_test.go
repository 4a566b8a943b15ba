package engine

import (
	"strings"
	"testing"
)

// TestPostgresIndexesEndWithPrimaryKey: SQLite sorts equal entries of an index by the primary
// key, and PostgreSQL must too.
func TestPostgresIndexesEndWithPrimaryKey(t *testing.T) {
	made := PostgresSchema(`CREATE TABLE a (
  id TEXT NOT NULL PRIMARY KEY, -- its own
  at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX a_at ON a (at) WHERE at IS NOT NULL;
CREATE INDEX a_id ON a (at, id);
CREATE TABLE b (
  x TEXT, y TEXT, z INTEGER, PRIMARY KEY (x, y)
) STRICT, WITHOUT ROWID;
CREATE INDEX b_z ON b (y, (coalesce(z, 1) + 1));
CREATE UNIQUE INDEX b_u ON b (z);
CREATE TABLE c (id INTEGER PRIMARY KEY, z INTEGER) STRICT;
CREATE INDEX c_z ON c (z);`)
	for _, want := range []string{"a (at, id) WHERE at IS NOT NULL;", "a_id ON a (at, id);", "b (y, (coalesce(z, 1) + 1), x);", "b_u ON b (z);", "c (z);"} {
		if !strings.Contains(made, want) {
			t.Errorf("no %s in\n%s", want, made)
		}
	}
}
