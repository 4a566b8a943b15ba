package engine

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestGroupCostDuringLongTransaction writes groups during a transaction that keeps all row
// versions, such as a pg_dump, and counts the blocks that the first statements of each group
// read.
func TestGroupCostDuringLongTransaction(t *testing.T) {
	t.Parallel()
	dsn := newRemote(t)
	d, err := Open(t.Context(), Options{Path: dsn, Schema: SmallSchema(t), Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	for _, text := range []string{`BEGIN ISOLATION LEVEL REPEATABLE READ`, `SELECT count(*) FROM writes`} {
		if _, err := c.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	write := func(groups int) {
		for range groups {
			if err := d.Write(t.Context(), func(tx *Tx) error { return tx.SetSetting("rule", []byte("1")) }); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(50)
	before := blocksOfAGroup(t, d, dsn)
	write(750)
	for text, hit := range blocksOfAGroup(t, d, dsn) {
		if hit > before[text]+4 { // the index of a larger table may have one level more
			t.Errorf("it reads %d blocks after 50 groups and %d after 800:\n%s", before[text], hit, text)
		}
	}
}

// blocksOfAGroup returns how many blocks the first statements of a group, and a heartbeat, read.
func blocksOfAGroup(t *testing.T, d *DB, dsn string) map[string]int {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if _, err := c.Exec(t.Context(), `SET enable_seqscan = off`); err != nil { // like the writer's connection
		t.Fatal(err)
	}
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }() // it only reads
	blocks := map[string]int{}
	for text, args := range map[string][]any{lockGroups: nil, noteGroup: {"other", int64(1), d.engine.(*postgresEngine).lastRow}, `SELECT ` + renewReturning: nil} {
		blocks[text] = math.MaxInt
		for range 3 { // a run may also read the catalog after an invalidation
			blocks[text] = min(blocks[text], blocksOf(t, tx, text, args))
		}
	}
	return blocks
}

// blocksOf runs a statement and returns how many blocks it read.
func blocksOf(t *testing.T, tx pgx.Tx, text string, args []any) int {
	t.Helper()
	var plan []byte
	if err := tx.QueryRow(t.Context(), `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) `+text, args...).Scan(&plan); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var read []struct {
		Plan struct {
			Hit int `json:"Shared Hit Blocks"`
		}
	}
	if err := json.Unmarshal(plan, &read); err != nil {
		t.Fatal(err)
	}
	return read[0].Plan.Hit
}
