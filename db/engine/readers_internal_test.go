package engine

import (
	"testing"
)

func openReadersTest(t *testing.T) *DB {
	t.Helper()
	d, err := Open(t.Context(), Options{Path: NewFile(t), Schema: SmallSchema(t), Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// TestReadersReuseLastConnection reads repeatedly, one read at a time: only one connection
// prepares statements.
func TestReadersReuseLastConnection(t *testing.T) {
	d := openReadersTest(t)
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

func TestNumberOfReaders(t *testing.T) {
	path := NewFile(t)
	for asked, want := range map[int]int{0: readers, 2: 2, readers + 1: readers} {
		d, err := Open(t.Context(), Options{Path: path, Schema: SmallSchema(t), Create: true, Lazy: true, Readers: asked})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(d.readers.free); got != want {
			t.Errorf("%d readers for %d", got, want)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
