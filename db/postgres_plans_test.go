package db

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"mailer/db/engine"
)

// postgresPlan is a node of EXPLAIN (FORMAT JSON) with its children.
type postgresPlan struct {
	Type  string         `json:"Node Type"`
	Table string         `json:"Relation Name"`
	Index string         `json:"Index Name"`
	Cond  string         `json:"Index Cond"`
	Plans []postgresPlan `json:"Plans"`
}

// walks returns the tables and indexes that a plan scans completely.
func (p *postgresPlan) walks() (out []string) {
	switch p.Type {
	case "Seq Scan":
		out = append(out, p.Table)
	case "Index Scan", "Index Only Scan", "Bitmap Index Scan":
		if p.Cond == "" {
			out = append(out, strings.TrimSpace(p.Table+" by "+p.Index))
		}
	}
	for i := range p.Plans {
		out = append(out, p.Plans[i].walks()...)
	}
	return out
}

// manyRows makes the planner assume 100,000 rows or more in each table, without other
// statistics.
func manyRows(t *testing.T, c *pgx.Conn) {
	t.Helper()
	for _, text := range []string{
		`UPDATE pg_class SET relpages = 1, reltuples = 100000 WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'i')`,
		`SET plan_cache_mode = force_generic_plan`,
		`SET jit = off`,
	} {
		if _, err := c.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
}

// postgresPlanOf returns PostgreSQL's generic plan of a statement.
func postgresPlanOf(t *testing.T, c *pgx.Conn, text string) *postgresPlan {
	t.Helper()
	d, err := c.Prepare(t.Context(), "planned", engine.ToPostgres(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	given := ""
	if n := len(d.ParamOIDs); n > 0 {
		given = "(NULL" + strings.Repeat(", NULL", n-1) + ")"
	}
	results, err := c.PgConn().Exec(t.Context(), `EXPLAIN (FORMAT JSON) EXECUTE planned`+given).ReadAll()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var plans []struct{ Plan postgresPlan }
	if err := json.Unmarshal(results[0].Rows[0][0], &plans); err != nil {
		t.Fatal(err)
	}
	if err := c.Deallocate(t.Context(), "planned"); err != nil {
		t.Fatal(err)
	}
	return &plans[0].Plan
}

// postgresMayScan are functions whose statements PostgreSQL may scan for in this test,
// although SQLite uses an index. With real statistics and parameter values, PostgreSQL
// mostly uses an index too.
var postgresMayScan = map[string]string{
	"BroadcastRelays":    "broadcasts that are not over, by an index of those alone",
	"HoldOpenBroadcasts": "the same",
	"NextRunDue":         "the first row of an index",
	"Members":            "a row for each person with a second factor",
	"Accounts":           "the same",
	"ListAccounts":       "the same",
	"AgedRecipients":     "what waits and what is in doubt, in memory, for up to a thousand recipients",
	"ContactChoices":     "all choices, for a page of an export",
	"DeleteContentPiece": "the key of attachments' pieces, until one of the email comes",
	"purgeEmailsOf":      "attachments' pieces, for a team that is deleted",
	"purgeBroadcastsOf":  "open units of broadcasts, for a team that is deleted",
}

func TestPostgreSQLPlansUseIndexes(t *testing.T) {
	t.Parallel()
	tw := newEnginePair(t)
	c := tw.postgres
	manyRows(t, c)
	all := allStatements(t)
	if len(all) < 50 {
		t.Fatalf("only %d statements found", len(all))
	}
	seen := map[string]bool{}
	for _, s := range all {
		if s.foreign || strings.Contains(s.text, "sqlite_") {
			continue
		}
		walks := postgresPlanOf(t, c, s.text).walks()
		if len(walks) == 0 || mayScan[s.function] != "" {
			continue
		}
		if seen[s.function] = true; postgresMayScan[s.function] == "" {
			t.Errorf("%s walks through all of %s:\n%s", s.function, strings.Join(walks, ", "), s.text)
		}
	}
	version := c.PgConn().ParameterStatus("server_version")
	for function := range postgresMayScan {
		if !seen[function] && strings.HasPrefix(version, "15.") { // other versions may have better plans
			t.Errorf("%s scans nothing", function)
		}
	}
	// The control.
	for _, text := range []string{`SELECT id FROM emails WHERE subject = ?`, `UPDATE units SET next_at = ?2 WHERE size = ?1`} {
		if len(postgresPlanOf(t, c, text).walks()) == 0 {
			t.Errorf("%s passes", text)
		}
	}
}

// TestPostgreSQLWritesUseIndexesOnEmptyQueue makes plans while the queue is empty, as
// after a quiet hour: the plans stay in use when the queue grows.
func TestPostgreSQLWritesUseIndexesOnEmptyQueue(t *testing.T) {
	t.Parallel()
	dsn := newRemote(t)
	onServer(t, dsn, `VACUUM ANALYZE units`)
	d, err := Open(t.Context(), Options{Path: dsn, Schema: schemaText(t), Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var plan []string
	err = d.Write(t.Context(), func(tx *Tx) (err error) {
		plan, err = list(&tx.Reader, scanText, `EXPLAIN UPDATE units SET state = 'due' WHERE email_id = 'x' AND state = 'begun'`)
		return err
	})
	if text := strings.Join(plan, "\n"); err != nil || strings.Contains(text, "Seq Scan") || !strings.Contains(text, "Index Scan") {
		t.Errorf("%v\n%s", err, text)
	}
}
