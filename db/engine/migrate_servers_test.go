package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestCompatibleStepWhileServersWork migrates a database on which two servers work, while another
// program reads a table that the step alters: nobody waits for the step meanwhile, and it runs when
// that program is done.
func TestCompatibleStepWhileServersWork(t *testing.T) {
	t.Parallel()
	g := newTestCluster(t)
	servers := []*DB{g.open(), g.open()}
	reader, err := pgx.Connect(t.Context(), g.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close(context.WithoutCancel(t.Context()))
	if _, err := reader.Exec(t.Context(), `BEGIN; SELECT 1 FROM teams`); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := migrate(t.Context(), withSteps(g.options(), addsOnly), Migrating{}, nextStep(t, addsOnly))
		done <- err
	}()
	waitForPostgres(t, g.dsn, `SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'CREATE TABLE extra%'`)
	for i := range 4 {
		id := fmt.Sprint("team", i)
		err := servers[i%2].Write(t.Context(), func(tx *Tx) error {
			return tx.Write(`INSERT INTO teams (id, name, created_at) VALUES (?, 'new', 1)`, id)
		})
		if err != nil {
			t.Errorf("write %d: %v", i, err)
		}
	}
	select {
	case err := <-done:
		t.Fatalf("the step did not wait for the reader: %v", err)
	default:
	}
	if _, err := reader.Exec(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, d := range servers {
		var teams int
		err := errors.Join(putSetting(d, "after"), d.Read(t.Context(), func(r *Reader) error { return r.Row(`SELECT count(*) FROM teams`, nil, &teams) }))
		if err != nil || teams != 5 {
			t.Errorf("after the step: %d teams, %v", teams, err)
		}
	}
	g.open() // another server of the older version may join
	if got := queryPostgres(t, g.dsn, `SELECT string_agg(extra_note, ',') FROM teams`); got != "none,none,none,none,none" {
		t.Errorf("the new column: %s", got)
	}
}

// waitForPostgres waits until a query returns true.
func waitForPostgres(t *testing.T, dsn, query string) {
	t.Helper()
	for deadline := time.Now().Add(patience); queryPostgres(t, dsn, "SELECT ("+query+")::text") != "true"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", patience, query)
		}
	}
}

// TestIncompatibleStepNeedsDump: it is refused with the command that helps, a dry run says what it
// would do, and with the dump it marks silent servers dead, so that they write nothing any more.
func TestIncompatibleStepNeedsDump(t *testing.T) {
	t.Parallel()
	g := newTestCluster(t)
	onServer(t, g.dsn, `INSERT INTO nodes (id, started_at, seen_at, leads, address) VALUES ('silent', 1, 1, 1, 'gone')`)
	opts := withSteps(g.options(), changesMore)
	m, err := migrate(t.Context(), opts, Migrating{DryRun: true}, nextStep(t, changesMore))
	if err != nil || len(m.Incompatible) != 1 || !strings.Contains(m.Incompatible[0], "RENAME") {
		t.Errorf("a dry run: %+v, %v", m, err)
	}
	_, err = migrate(t.Context(), opts, Migrating{}, nextStep(t, changesMore))
	if !errors.Is(err, ErrOld) || !strings.Contains(err.Error(), "make a dump with pg_dump, then run mailer migrate --dumped --db "+g.dsn) {
		t.Errorf("without a dump: %v", err)
	}
	if d, err := Open(t.Context(), Options{Path: g.dsn, Schema: g.options().Schema, Lazy: true}); err != nil {
		t.Errorf("after the refusal: %v", err)
	} else if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := migrate(t.Context(), opts, Migrating{Dumped: true}, nextStep(t, changesMore)); err != nil {
		t.Fatal(err)
	}
	if got := queryPostgres(t, g.dsn, `SELECT (dead IS NOT NULL)::text FROM nodes WHERE id = 'silent'`); got != "true" {
		t.Error("a silent server could still write")
	}
}

// TestServerJoinsNoDatabaseOfNewerProgram: an incompatible migration between the check of Open and
// the moment at which a server joins or takes the lead is noticed.
func TestServerJoinsNoDatabaseOfNewerProgram(t *testing.T) {
	t.Parallel()
	g := newTestCluster(t)
	opts := g.options()
	opts.Lock = false
	d, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	onServer(t, g.dsn, versionRow(99, 99, "9.9.9"))
	n := &node{interval: g.heartbeat, deadAfter: deadHeartbeats * g.heartbeat, started: time.Now()}
	_, leads := n.takeLead(t.Context(), d, "late", g.options(), false)
	for name, err := range map[string]error{"joins": n.joinAsMember(t.Context(), d, "late", g.options()), "leads": leads} {
		if !errors.Is(err, ErrNew) || !strings.Contains(err.Error(), "mailer 9.9.9") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := queryPostgres(t, g.dsn, `SELECT count(*)::text FROM nodes`); got != "0" {
		t.Errorf("%s servers are left", got)
	}
}
