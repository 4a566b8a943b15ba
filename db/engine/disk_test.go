package engine

import (
	"strings"
	"testing"
	"time"
)

// TestSpaceAgreesWithDBStat compares the result from the pointer maps with dbstat, which reads
// all pages.
func TestSpaceAgreesWithDBStat(t *testing.T) {
	t.Parallel()
	d, err := Open(t.Context(), Options{Path: NewFile(t), Schema: SmallSchema(t), Lazy: true, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	write := func(query string) {
		t.Helper()
		if err := d.Write(t.Context(), func(tx *Tx) error { _, err := tx.Exec(query); return err }); err != nil {
			t.Fatal(err)
		}
	}
	write(`INSERT INTO captures (email_id, message, created_at) WITH RECURSIVE n_open (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n_open WHERE i < 3000)
		SELECT 'x' || i, zeroblob(i * 7), 1 FROM n_open`)
	write(`INSERT INTO settings (name, value) VALUES ('` + strings.Repeat("n", 20000) + `', x'00')`)
	write(`DELETE FROM captures WHERE rowid % 3 = 0`)
	compare := func() (free int64) {
		t.Helper()
		got, err := d.Space(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var count int64
		err = d.Read(t.Context(), func(r *Reader) error {
			rows, err := List(&r.Conn, func(s Scanner) (none struct{}, err error) {
				var name string
				var bytes int64
				err = s.Scan(&name, &bytes)
				if name != "sqlite_schema" && got.Tables[name] != bytes {
					t.Errorf("%s takes %d bytes, SQLite says %d", name, got.Tables[name], bytes)
				}
				return none, err
			}, `SELECT s.tbl_name, sum(d.pgsize) FROM dbstat AS d JOIN sqlite_schema AS s ON s.name = d.name WHERE d.aggregate = 1 GROUP BY s.tbl_name`)
			if len(rows) < 10 {
				t.Errorf("%d tables", len(rows))
			}
			if err != nil {
				return err
			}
			return r.Row(`PRAGMA freelist_count`, nil, &count)
		})
		if err != nil || got.Free != count*4096 || count == 0 {
			t.Errorf("%d bytes are free, SQLite says %d pages, %v", got.Free, count, err)
		}
		return count
	}
	before := compare()
	for more := true; more; {
		if _, more, err = d.Shrink(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	if after := compare(); after > sparePages+before/2 {
		t.Errorf("%d of %d pages are still unused", after, before)
	}
}
