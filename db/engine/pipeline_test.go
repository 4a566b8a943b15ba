package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mailer/db/dbtest"
	"mailer/db/pgtest"
)

// openPostgres opens a new PostgreSQL database with a team, through a proxy that counts round
// trips.
func openPostgres(t *testing.T) (*DB, *pgtest.Proxy) {
	t.Helper()
	dsn := newRemote(t)
	w := pgtest.NewProxy(t, dsn)
	d, err := Open(t.Context(), Options{Path: w.DSN(dsn), Schema: dbtest.Schema(t), Create: true, Lock: true, Heartbeat: time.Hour, Gather: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d, w
}

// together makes closures share a commit, and returns their errors.
func together(t *testing.T, d *DB, ctx context.Context, closures ...func(*Tx) error) []error {
	t.Helper()
	queued, begun := make(chan struct{}), make(chan struct{})
	first := d.WriteCriticalAsync(t.Context(), func(*Tx) error {
		select {
		case begun <- struct{}{}:
		case <-queued:
		}
		<-queued
		return nil
	})
	<-begun
	waits := make([]func() error, len(closures))
	for i, fn := range closures {
		waits[i] = d.WriteCriticalAsync(ctx, fn)
	}
	close(queued)
	if err := first(); err != nil {
		t.Fatal(err)
	}
	errs := make([]error, len(waits))
	for i, wait := range waits {
		errs[i] = wait()
	}
	return errs
}

func settingOf(t *testing.T, d *DB, name string) string {
	t.Helper()
	value, err := Get(t.Context(), d, func(r *Reader) ([]byte, error) { return r.Setting(name) })
	if err != nil && !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	return string(value)
}

func TestPipelinedClosuresShareRoundTrips(t *testing.T) {
	t.Parallel()
	d, w := openPostgres(t)
	const closures, queries = 40, 3
	ask := make([]func(*Tx) error, closures)
	for i := range ask {
		ask[i] = func(tx *Tx) error {
			for q := range queries {
				if _, err := tx.Setting(fmt.Sprintf("s%d-%d", i, q)); !errors.Is(err, ErrNotFound) {
					return fmt.Errorf("question %d: %w", q, err)
				}
			}
			return tx.SetSetting(fmt.Sprint("s", i), []byte(fmt.Sprint("v", i)))
		}
	}
	for range 2 { // preparing takes round trips of its own, once
		for i, err := range together(t, d, Pipelined(t.Context()), ask...) {
			if err != nil {
				t.Errorf("closure %d: %v", i, err)
			}
		}
		t.Logf("%d round trips", len(w.RoundTrips()))
	}
	for i, err := range together(t, d, Pipelined(t.Context()), ask...) {
		if err != nil {
			t.Errorf("closure %d: %v", i, err)
		}
	}
	// The closure that blocks the writer runs no statement.
	if got := len(w.RoundTrips()); got != queries+1 {
		t.Errorf("%d closures with %d queries each took %d round trips", closures, queries, got)
	}
	for i := range closures {
		if got := settingOf(t, d, fmt.Sprint("s", i)); got != fmt.Sprint("v", i) {
			t.Errorf("setting %d is %q", i, got)
		}
	}
}

func TestConcurrentPartsShareRoundTrips(t *testing.T) {
	t.Parallel()
	d, w := openPostgres(t)
	const closures, parts, queries = 3, maxParts, 2
	var after atomic.Int64
	all := make([]func(*Tx) error, closures)
	for i := range all {
		all[i] = func(tx *Tx) error {
			errs := make([]error, parts)
			tx.Extra = new(int)
			tx.Concurrently(parts, func(tx *Tx, n int) {
				for q := range queries {
					if _, err := tx.Setting(fmt.Sprint("none", q)); !errors.Is(err, ErrNotFound) {
						errs[n] = err
						return
					}
				}
				tx.AfterCommit(func() { after.Add(1) })
				*tx.Extra.(*int)++
				errs[n] = tx.SetSetting(fmt.Sprintf("s%d-%d", i, n), []byte("x"))
			})
			if *tx.Extra.(*int) != parts {
				errs = append(errs, fmt.Errorf("the parts added %d to what the closure keeps", *tx.Extra.(*int)))
			}
			return errors.Join(errs...)
		}
	}
	run := func() (took int) {
		w.RoundTrips()
		for i, err := range together(t, d, Pipelined(t.Context()), all...) {
			if err != nil {
				t.Errorf("closure %d: %v", i, err)
			}
		}
		return len(w.RoundTrips())
	}
	run() // preparing takes round trips of its own, once
	after.Store(0)
	if got := run(); got != queries+1 {
		t.Errorf("%d closures of %d parts with %d queries each took %d round trips", closures, parts, queries, got)
	}
	if got := after.Load(); got != closures*parts {
		t.Errorf("%d were called after the commit, want %d", got, closures*parts)
	}
	for i := range closures {
		for n := range parts {
			if settingOf(t, d, fmt.Sprintf("s%d-%d", i, n)) != "x" {
				t.Errorf("closure %d, part %d wrote nothing", i, n)
			}
		}
	}
}

func TestConcurrentPartsSerializeAndPanic(t *testing.T) {
	t.Parallel()
	d, _ := openPostgres(t)
	add := func(tx *Tx) error {
		errs := make([]error, 40)
		tx.Concurrently(len(errs), func(tx *Tx, i int) {
			if _, err := tx.Setting("beside"); !errors.Is(err, ErrNotFound) {
				errs[i] = err
				return
			}
			tx.Serialize()
			value, err := tx.Setting("n")
			if err != nil && !errors.Is(err, ErrNotFound) {
				errs[i] = err
				return
			}
			errs[i] = tx.SetSetting("n", append(value, 'x'))
		})
		return errors.Join(errs...)
	}
	panics := func(tx *Tx) error {
		tx.Concurrently(3, func(tx *Tx, i int) {
			if _, err := tx.Setting("n"); err != nil && !errors.Is(err, ErrNotFound) {
				t.Error(err)
			}
			if i == 1 {
				panic("boom")
			}
		})
		return nil
	}
	errs := together(t, d, Pipelined(t.Context()), add, panics, add)
	if errs[0] != nil || errs[2] != nil || errs[1] == nil || !strings.Contains(errs[1].Error(), "boom") {
		t.Errorf("%v", errs)
	}
	if got := settingOf(t, d, "n"); got != strings.Repeat("x", 80) {
		t.Errorf("80 parts added up to %d", len(got))
	}
}

func TestPipelinedClosureFailsAlone(t *testing.T) {
	t.Parallel()
	d, _ := openPostgres(t)
	boom := errors.New("boom")
	for _, pipelined := range []bool{true, false} {
		ctx, mark := t.Context(), fmt.Sprint(pipelined)
		if pipelined {
			ctx = Pipelined(ctx)
		}
		closures := make([]func(*Tx) error, 12)
		for i := range closures {
			closures[i] = func(tx *Tx) error {
				if _, err := tx.Setting("none"); !errors.Is(err, ErrNotFound) {
					return err
				}
				if err := tx.SetSetting(fmt.Sprint(mark, i), []byte("x")); err != nil {
					return err
				}
				switch i {
				case 3:
					return boom
				case 5: // it gets the error when the group is run again
					n, err := tx.Exec(`DELETE FROM units WHERE email_id = ?`, "none")
					return oneRow(n, err, ErrNotFound)
				case 6:
					panic("boom")
				case 8: // the number of rows does not matter
					return tx.WriteOne(`UPDATE units SET next_at = 1 WHERE email_id = ?`, "none")
				case 10:
					_, err := tx.Exec(`SELECT 1/0`)
					return err
				}
				return nil
			}
		}
		for i, err := range together(t, d, ctx, closures...) {
			failed := slices.Contains([]int{3, 5, 6, 8, 10}, i)
			if (err != nil) != failed || i == 3 && !errors.Is(err, boom) || (i == 5 || i == 8) && !errors.Is(err, ErrNotFound) {
				t.Errorf("apart %t, closure %d: %v", pipelined, i, err)
			}
			if got := settingOf(t, d, fmt.Sprint(mark, i)); (got == "") != failed {
				t.Errorf("apart %t, closure %d left %q", pipelined, i, got)
			}
		}
	}
}

func TestSerializedClosuresSeeEarlierWrites(t *testing.T) {
	t.Parallel()
	d, _ := openPostgres(t)
	add := func(tx *Tx) error {
		if _, err := tx.Setting("beside"); !errors.Is(err, ErrNotFound) {
			return err
		}
		tx.Serialize()
		value, err := tx.Setting("n")
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		return tx.SetSetting("n", append(value, 'x'))
	}
	closures := slices.Repeat([]func(*Tx) error{add}, 20)
	for i, err := range together(t, d, Pipelined(t.Context()), closures...) {
		if err != nil {
			t.Errorf("closure %d: %v", i, err)
		}
	}
	if got := settingOf(t, d, "n"); got != strings.Repeat("x", 20) {
		t.Errorf("20 closures added up to %d", len(got))
	}
}

func TestPipelinedSuppressionVersion(t *testing.T) {
	t.Parallel()
	d, _ := openPostgres(t)
	var looked, marked, later uint64
	suppress := func(tx *Tx) error {
		tx.Changed(Suppressions)
		return tx.Write(`DELETE FROM suppressions WHERE team_id = ?`, "none")
	}
	look := func(tx *Tx) error {
		if _, err := tx.Setting("none"); !errors.Is(err, ErrNotFound) {
			return err
		}
		marked = tx.SuppressionVersion()
		return nil
	}
	before := func(tx *Tx) error { looked = tx.SuppressionVersion(); return nil }
	for i, err := range together(t, d, Pipelined(t.Context()), before, suppress, look) {
		if err != nil {
			t.Errorf("closure %d: %v", i, err)
		}
	}
	if err := d.Write(t.Context(), func(tx *Tx) error { later = tx.SuppressionVersion(); return nil }); err != nil {
		t.Fatal(err)
	}
	if marked != looked || later == marked {
		t.Errorf("marks: %d before, %d beside, %d later", looked, marked, later)
	}
}

func TestPipelinedClosureCanceled(t *testing.T) {
	t.Parallel()
	d, _ := openPostgres(t)
	nested := func(tx *Tx) error {
		if _, err := tx.Setting("none"); !errors.Is(err, ErrNotFound) {
			return err
		}
		return d.Write(context.Background(), func(*Tx) error { return nil })
	}
	fine := func(tx *Tx) error { return nil }
	errs := together(t, d, Pipelined(t.Context()), nested, fine)
	if errs[0] == nil || !strings.Contains(errs[0].Error(), "pass the *Tx on instead") || errs[1] != nil {
		t.Errorf("a nested Write: %v; the other: %v", errs[0], errs[1])
	}
}

func TestPipelinedValuesScanAlike(t *testing.T) {
	t.Parallel()
	d, _ := openPostgres(t)
	const text = `SELECT CAST(? AS bigint), CAST(7 AS smallint), 2.5::float8, 'x'::text, NULL::text, '\x00ff'::bytea, true, sum(n)::numeric, '{"a": 1}'::jsonb, 'n'::name FROM generate_series(1, 4) AS n`
	read := func(out *[]any) func(*Tx) error {
		return func(tx *Tx) error {
			values := make([]any, 10)
			dest := make([]any, len(values))
			for i := range values {
				dest[i] = &values[i]
			}
			err := tx.Row(text, []any{int64(1) << 40}, dest...)
			*out = values
			return err
		}
	}
	var pipelined, alone, other []any
	for _, err := range together(t, d, Pipelined(t.Context()), read(&pipelined), read(&other)) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Write(t.Context(), read(&alone)); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%#v", pipelined), fmt.Sprintf("%#v", alone); got != want {
		t.Errorf("beside others %s, alone %s", got, want)
	}
}

func TestWriteOnlyGroupTakesOneRoundTrip(t *testing.T) {
	t.Parallel()
	g := newTestCluster(t)
	wire := pgtest.NewProxy(t, g.dsn)
	other := g.open()
	g.dsn = wire.DSN(g.dsn)
	d := g.open()
	write := func(name string) int {
		t.Helper()
		wire.RoundTrips()
		if err := putSetting(d, name); err != nil {
			t.Fatal(err)
		}
		trips := 0
		for _, trip := range wire.RoundTrips() { // also those of heartbeats
			if slices.Contains(trip, beginGroup) || slices.Contains(trip, "COMMIT") || slices.Contains(trip, "ROLLBACK") {
				trips++
			}
		}
		return trips
	}
	write("a") // preparing takes round trips of its own, once
	write("b")
	if got := write("c"); got != 1 {
		t.Errorf("a group took %d round trips", got)
	}
	// The other server changes what is cached, which must be read again.
	if err := putSetting(other, "d"); err != nil {
		t.Fatal(err)
	}
	if got := write("e"); got < 3 {
		t.Errorf("a group after one of another server took %d round trips: it began early again", got)
	}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		if got := settingOf(t, d, name); got != "1" {
			t.Errorf("%s is %q", name, got)
		}
	}
}
