package engine

import (
	"testing"

	"mailer/db/dbtest"
)

func openReadersTest(t *testing.T, n int) *DB {
	t.Helper()
	d, err := Open(t.Context(), Options{Path: NewFile(t), Schema: dbtest.Schema(t), Create: true, Readers: n})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestNumberOfReaders(t *testing.T) {
	for option, want := range map[int]int{0: readers, 2: 2} {
		if d := openReadersTest(t, option); len(d.readers.free) != want || d.ro.Stats().MaxOpenConnections != want {
			t.Errorf("Readers %d: %d readers of %d connections, want %d", option, len(d.readers.free), d.ro.Stats().MaxOpenConnections, want)
		}
	}
}

// TestReadersReuseLastConnection reads repeatedly, one read at a time: only one connection
// prepares statements.
func TestReadersReuseLastConnection(t *testing.T) {
	d := openReadersTest(t, 0)
	var n int
	for range 3 * readers {
		if err := d.Read(t.Context(), func(r *Reader) error { return r.Row(`SELECT count(*) FROM teams`, nil, &n) }); err != nil {
			t.Fatal(err)
		}
	}
	used := 0
	for range readers {
		<-d.readers.free
		r := d.readers.take()
		defer d.readers.put(r)
		if len(r.stmts) > 0 {
			used++
		}
	}
	if used != 1 {
		t.Errorf("%d of %d connections were used", used, readers)
	}
}
