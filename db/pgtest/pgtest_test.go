package pgtest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"mailer/db/pgtest"
)

func TestDatabaseCopiesTemplate(t *testing.T) {
	server := pgtest.Server(t)
	template := pgtest.Template(t, server, `CREATE TABLE words (word text PRIMARY KEY); INSERT INTO words VALUES ('a'), ('B')`)
	for range 4 {
		t.Run("copy", func(t *testing.T) {
			t.Parallel()
			c, err := pgx.Connect(t.Context(), pgtest.Database(t, server, template))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(t.Context())
			var first string
			var n int
			if err := c.QueryRow(t.Context(), `SELECT min(word), count(*) FROM words`).Scan(&first, &n); err != nil {
				t.Fatal(err)
			}
			if first != "B" || n != 2 {
				t.Errorf("%d words, the first is %q: texts are to be ordered by their bytes", n, first)
			}
			if _, err := c.Exec(t.Context(), `INSERT INTO words VALUES ('c')`); err != nil {
				t.Error(err)
			}
		})
	}
}
