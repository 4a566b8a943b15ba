package engine

import (
	"context"
	"testing"
)

// oneReader leaves d a single reader, which has prepared the query.
func oneReader(t *testing.T, d *DB, query string) {
	t.Helper()
	for range readers - 1 {
		<-d.readers.free
		r := d.readers.take()
		t.Cleanup(func() { d.readers.put(r) })
	}
	readOnce(t, d, query)
}

func readOnce(t *testing.T, d *DB, queries ...string) {
	t.Helper()
	err := d.Read(context.Background(), func(r *Reader) error {
		for _, query := range queries {
			var n int64
			if err := r.Row(query, nil, &n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

const (
	countTeams = `SELECT count(*) FROM teams`
	readsOnly  = `SELECT CASE WHEN current_setting('transaction_read_only') = 'on' AND current_setting('transaction_isolation') = 'repeatable read' THEN 1 END`
)

func TestPostgresReadRoundTrips(t *testing.T) {
	t.Parallel()
	d, w := openPostgres(t)
	oneReader(t, d, countTeams)
	w.RoundTrips()
	for range 5 {
		readOnce(t, d, countTeams)
		if n := len(w.RoundTrips()); n != 1 {
			t.Errorf("a read of one statement takes %d round trips", n)
		}
		readOnce(t, d, countTeams, countTeams, countTeams)
		if n := len(w.RoundTrips()); n != 3 {
			t.Errorf("a read of three statements takes %d round trips", n)
		}
		readOnce(t, d)
		if n := len(w.RoundTrips()); n != 0 {
			t.Errorf("a read of no statement takes %d round trips", n)
		}
	}
}

func TestPostgresReadSnapshot(t *testing.T) {
	t.Parallel()
	d := postgresForTest(t)
	readOnce(t, d, readsOnly, countTeams)
	read := func(fn func(r *Reader)) {
		t.Helper()
		if err := d.Read(context.Background(), func(r *Reader) error { fn(r); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	length := func(r *Reader) (n int) {
		if err := r.Row(`SELECT count(*) FROM settings`, nil, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	read(func(r *Reader) {
		before := length(r)
		if err := d.Write(context.Background(), func(tx *Tx) error { return tx.Write(`INSERT INTO settings (name, value) VALUES ('n', '')`) }); err != nil {
			t.Fatal(err)
		}
		if after := length(r); after != before {
			t.Errorf("%d rows, then %d in one read", before, after)
		}
		read(func(r *Reader) {
			if n := length(r); n != before+1 {
				t.Errorf("%d rows in a read that began later, want %d", n, before+1)
			}
		})
	})
}

func TestPostgresReadAfterLostConnection(t *testing.T) {
	t.Parallel()
	d := postgresForTest(t)
	oneReader(t, d, readsOnly)
	for range 3 {
		if err := d.Write(context.Background(), func(tx *Tx) error {
			return tx.Write(`SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		}); err != nil {
			t.Fatal(err)
		}
		readOnce(t, d, readsOnly)
		err := d.Read(context.Background(), func(r *Reader) error {
			var n int
			return r.Row(`SELECT 1 / (count(*) - count(*)) FROM teams`, nil, &n)
		})
		if err == nil {
			t.Error("a division by zero is no error")
		}
		readOnce(t, d, readsOnly)
	}
}
