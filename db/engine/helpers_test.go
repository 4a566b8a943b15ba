package engine

import (
	"bytes"
	"log/slog"
	"os"
	"runtime/debug"
	"testing"

	"mailer/db/dbtest"
)

// TestMain makes garbage collection less frequent than in a server: most garbage comes from
// closed databases.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	dbtest.RaiseParallelism()
	os.Exit(m.Run())
}

// stored returns the path of a database with a setting of some pages for each letter.
func stored(t *testing.T, letters ...byte) string {
	t.Helper()
	path := NewFile(t)
	d, err := Open(t.Context(), Options{Path: path, Schema: SmallSchema(t), Lazy: true, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, letter := range letters {
		if err := d.Write(t.Context(), func(tx *Tx) error { return tx.SetSetting("long "+string(letter), bytes.Repeat([]byte{letter}, 20_000)) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// withLog opens a database and returns its log.
func withLog(t *testing.T, path string) (*DB, *dbtest.Log) {
	t.Helper()
	var log dbtest.Log
	d, err := Open(t.Context(), Options{Path: path, Schema: SmallSchema(t), Lazy: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // the test may have closed it
	return d, &log
}
