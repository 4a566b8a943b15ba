package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/db/pgtest"
)

// openPostgres opens a new PostgreSQL database with a team, through a proxy that counts round
// trips.
func openPostgres(t *testing.T) (*DB, *pgtest.Proxy) {
	t.Helper()
	dsn := newRemote(t)
	w := pgtest.NewProxy(t, dsn)
	d, err := Open(t.Context(), Options{Path: w.DSN(dsn), Schema: SmallSchema(t), Lazy: true, Create: true, Lock: true, Heartbeat: time.Hour, Gather: -1})
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

// closure is the closure of a Write and what it prefetches; nil: it does not use Prefetch.
type closure struct {
	fn       func(*Tx) error
	prefetch func(*Reader)
}

// together makes closures share a commit, and returns their errors.
func together(t *testing.T, d *DB, closures ...closure) []error {
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
	for i, c := range closures {
		ctx := t.Context()
		if c.prefetch != nil {
			ctx = Prefetch(ctx, c.prefetch)
		}
		waits[i] = d.WriteCriticalAsync(ctx, c.fn)
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

// nothing is a prefetch of no query.
func nothing(*Reader) {}

// groupTrips returns how many of the round trips belong to groups of writes.
func groupTrips(w *pgtest.Proxy) (n int) {
	for _, trip := range w.RoundTrips() { // also those of readers and heartbeats
		if !strings.Contains(strings.Join(trip, " "), "READ ONLY") {
			n++
		}
	}
	return n
}

func TestPrefetchedQueriesShareRoundTrip(t *testing.T) {
	t.Parallel()
	d, w := openPostgres(t)
	const n, queries = 40, 3
	closures := make([]closure, n)
	for i := range closures {
		closures[i] = closure{func(tx *Tx) error {
			for q := range queries {
				if v, err := tx.Setting(fmt.Sprintf("s%d-%d", i, q)); q < 2 && !errors.Is(err, ErrNotFound) || q == 2 && (err != nil || string(v) != fmt.Sprint(i)) {
					return fmt.Errorf("query %d: %q, %w", q, v, err)
				}
			}
			return tx.SetSetting(fmt.Sprint("s", i), []byte(fmt.Sprint("v", i)))
		}, func(r *Reader) {
			for q := range queries {
				_, _ = r.Setting(fmt.Sprintf("s%d-%d", i, q))
			}
		}}
		err := d.Write(t.Context(), func(tx *Tx) error { return tx.SetSetting(fmt.Sprintf("s%d-2", i), []byte(fmt.Sprint(i))) })
		if err != nil {
			t.Fatal(err)
		}
	}
	for run := range 2 { // preparing takes round trips of its own, once
		w.RoundTrips()
		if err := errors.Join(together(t, d, closures...)...); err != nil {
			t.Error(err)
		}
		// The group of the closure that blocks the writer takes two round trips.
		if got := groupTrips(w); run == 1 && got != 2+2 {
			t.Errorf("%d closures with %d queries each took %d round trips", n, queries, got-2)
		}
	}
	for i := range n {
		if got := settingOf(t, d, fmt.Sprint("s", i)); got != fmt.Sprint("v", i) {
			t.Errorf("setting %d is %q", i, got)
		}
	}
}

// TestPrefetchedRowsAreOutdated checks that a closure sees what an earlier one without Prefetch
// wrote, and its own connection's state for queries that were not prefetched.
func TestPrefetchedRowsAreOutdated(t *testing.T) {
	t.Parallel()
	d, _ := openPostgres(t)
	add := func(tx *Tx) error {
		value, err := tx.Setting("n")
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		return tx.SetSetting("n", append(value, 'x'))
	}
	named := func(r *Reader) { _, _ = r.Setting("n") }
	closures := []closure{{add, nil}, {add, named}, {add, nothing}, {add, nil}, {add, named}}
	if err := errors.Join(together(t, d, closures...)...); err != nil {
		t.Error(err)
	}
	if got := settingOf(t, d, "n"); got != "xxxxx" {
		t.Errorf("5 closures added up to %q", got)
	}
}

func TestBufferedClosureFailsAlone(t *testing.T) {
	t.Parallel()
	d, _ := openPostgres(t)
	boom := errors.New("boom")
	for _, prefetch := range []func(*Reader){nil, nothing, func(*Reader) { panic("boom") }, func(r *Reader) { _, _ = r.Setting("none") }} {
		mark, runs := fmt.Sprintf("%p", prefetch), make([]int, 12)
		closures := make([]closure, len(runs))
		for i := range closures {
			closures[i] = closure{func(tx *Tx) error {
				runs[i]++
				if _, err := tx.Setting("none"); !errors.Is(err, ErrNotFound) {
					return err
				}
				if err := tx.SetSetting(fmt.Sprint(mark, i), []byte("x")); err != nil {
					return err
				}
				switch i {
				case 3:
					return boom
				case 5:
					n, err := tx.Exec(`DELETE FROM units WHERE email_id = ?`, "none")
					return oneRow(n, err, ErrNotFound)
				case 6:
					panic("boom")
				case 8: // it gets the error when the group is run again
					return tx.WriteOne(`UPDATE units SET next_at = 1 WHERE email_id = ?`, "none")
				case 10:
					_, err := tx.Exec(`SELECT 1/0`)
					return err
				}
				return nil
			}, prefetch}
		}
		for i, err := range together(t, d, closures...) {
			failed := slices.Contains([]int{3, 5, 6, 8, 10}, i)
			if (err != nil) != failed || i == 3 && !errors.Is(err, boom) || (i == 5 || i == 8) && !errors.Is(err, ErrNotFound) {
				t.Errorf("closure %d: %v", i, err)
			}
			if got := settingOf(t, d, fmt.Sprint(mark, i)); (got == "") != failed {
				t.Errorf("closure %d left %q", i, got)
			}
			if runs[i] > 2 {
				t.Errorf("closure %d ran %d times", i, runs[i])
			}
		}
	}
}

// TestFailedLastWriteIsNotCommitted is about a statement that is sent last: its number of rows
// decides whether the group is committed.
func TestFailedLastWriteIsNotCommitted(t *testing.T) {
	t.Parallel()
	d, _ := openPostgres(t)
	set := func(name string) func(tx *Tx) error {
		return func(tx *Tx) error { return tx.SetSetting(name, []byte("x")) }
	}
	fails := func(tx *Tx) error {
		if err := tx.SetSetting("b", []byte("x")); err != nil {
			return err
		}
		return tx.WriteOne(ofNoRow)
	}
	errs := together(t, d, closure{set("a"), nothing}, closure{fails, nothing}, closure{set("c"), nothing})
	if errs[0] != nil || !errors.Is(errs[1], ErrNotFound) || errs[2] != nil {
		t.Errorf("%v", errs)
	}
	if a, b, c := settingOf(t, d, "a"), settingOf(t, d, "b"), settingOf(t, d, "c"); a != "x" || b != "" || c != "x" {
		t.Errorf("%q, %q, %q", a, b, c)
	}
}

func TestPrefetchedSuppressionVersion(t *testing.T) {
	t.Parallel()
	d, _ := openPostgres(t)
	versions := make([]uint64, 5)
	look := func(i int) func(tx *Tx) error {
		return func(tx *Tx) error { versions[i] = tx.SuppressionVersion(); return nil }
	}
	suppress := func(tx *Tx) error {
		tx.Changed(Suppressions)
		return tx.Write(`DELETE FROM suppressions WHERE team_id = ?`, "none")
	}
	all := []closure{{look(0), nothing}, {suppress, nothing}, {look(1), nothing}, {look(2), nil}, {suppress, nil}, {look(3), nothing}, {look(4), nil}}
	if err := errors.Join(together(t, d, all...)...); err != nil {
		t.Error(err)
	}
	v := versions[0]
	if want := []uint64{v, v, v + 1, v + 2, v + 2}; !slices.Equal(versions, want) {
		t.Errorf("versions %d, want %d", versions, want)
	}
}

func TestNestedWriteIsRefusedOnPostgres(t *testing.T) {
	t.Parallel()
	d, _ := openPostgres(t)
	nested := func(tx *Tx) error { return d.Write(context.Background(), func(*Tx) error { return nil }) }
	fine := func(tx *Tx) error { return nil }
	errs := together(t, d, closure{nested, nothing}, closure{fine, nothing})
	if errs[0] == nil || !strings.Contains(errs[0].Error(), "pass the *Tx on instead") || errs[1] != nil {
		t.Errorf("a nested Write: %v; the other: %v", errs[0], errs[1])
	}
}

func TestPrefetchOfReader(t *testing.T) {
	t.Parallel()
	d, w := openPostgres(t)
	if err := d.Write(t.Context(), func(tx *Tx) error { return tx.SetSetting("a", []byte("v")) }); err != nil {
		t.Fatal(err)
	}
	read := func() (trips int) {
		w.RoundTrips()
		err := d.Read(t.Context(), func(r *Reader) error {
			all := func(r *Reader) (values []string) {
				for _, name := range []string{"a", "b", "a", "c"} {
					v, err := r.Setting(name)
					if err != nil && !errors.Is(err, ErrNotFound) {
						t.Error(err)
					}
					values = append(values, string(v))
				}
				return values
			}
			if err := r.Prefetch(func(r *Reader) { all(r) }); err != nil {
				return err
			}
			if got := all(r); !slices.Equal(got, []string{"v", "", "v", ""}) {
				t.Errorf("read %q", got)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		return len(w.RoundTrips())
	}
	oneReader(t, d, countTeams)
	read() // preparing takes round trips of its own, once
	if got := read(); got != 1 {
		t.Errorf("a prefetching read took %d round trips", got)
	}
	err := d.Read(t.Context(), func(r *Reader) error {
		return r.Prefetch(func(r *Reader) { _ = r.Exists(`SELECT 1 / 0`) })
	})
	if err == nil {
		t.Error("a query that fails is prefetched without an error")
	}
	read()
}

func TestRoundTripsOfGroup(t *testing.T) {
	t.Parallel()
	g := newTestCluster(t)
	wire := pgtest.NewProxy(t, g.dsn)
	other := g.open()
	g.dsn = wire.DSN(g.dsn)
	d := g.open()
	trips := func(write func(*Tx) error) (n int) {
		t.Helper()
		wire.RoundTrips()
		if err := d.Write(t.Context(), write); err != nil {
			t.Fatal(err)
		}
		for _, trip := range wire.RoundTrips() {
			if slices.ContainsFunc(trip, func(text string) bool {
				return text == beginGroup || text == "COMMIT" || strings.Contains(text, "settings")
			}) {
				n++
			}
		}
		return n
	}
	plain := func(tx *Tx) error { return tx.SetSetting("a", []byte("1")) }
	one := func(tx *Tx) error { return tx.WriteOne(`UPDATE settings SET value = '2' WHERE name = 'a'`) }
	trips(plain) // preparing takes round trips of its own, once
	trips(one)
	if p, o := trips(plain), trips(one); p != 2 || o != 3 {
		t.Errorf("a group with a write takes %d round trips, one whose write must touch a row %d", p, o)
	}
	// The other server changes what is cached.
	if err := putSetting(other, "d"); err != nil {
		t.Fatal(err)
	}
	if p := trips(plain); p < 2 {
		t.Errorf("a group after one of another server takes %d round trips", p)
	}
	if got := settingOf(t, d, "a"); got != "1" {
		t.Errorf("read %q", got)
	}
}

// TestQueryThatChangesCountsAsChange is about statements with RETURNING: the closure that fails
// after one leaves nothing, and what was prefetched is outdated after one.
func TestQueryThatChangesCountsAsChange(t *testing.T) {
	t.Parallel()
	d, _ := openPostgres(t)
	boom := errors.New("boom")
	insert := func(name string, then error) func(*Tx) error {
		return func(tx *Tx) error {
			_, err := One(&tx.Conn, scanText, `INSERT INTO settings (name, value) VALUES (?, 'x') RETURNING name`, name)
			return cmp.Or(err, then)
		}
	}
	seen := ""
	look := func(tx *Tx) error {
		v, err := tx.Setting("b")
		seen = string(v)
		return err
	}
	if errs := together(t, d, closure{insert("a", boom), nil}); !errors.Is(errs[0], boom) || settingOf(t, d, "a") != "" {
		t.Errorf("%v, and it left %q", errs, settingOf(t, d, "a"))
	}
	if err := errors.Join(together(t, d, closure{insert("b", nil), nil}, closure{look, func(r *Reader) { _, _ = r.Setting("b") }})...); err != nil || seen != "x" {
		t.Errorf("%v, and the later closure saw %q", err, seen)
	}
}
