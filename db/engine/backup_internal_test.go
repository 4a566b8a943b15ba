package engine

import (
	"errors"
	"path/filepath"
	"testing"
)

// openNew opens a new database in a directory of the test.
func openNew(t *testing.T) *DB {
	t.Helper()
	d, err := Open(t.Context(), Options{Path: NewFile(t), Schema: SmallSchema(t), Lazy: true, Create: true, Gather: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestCopyLimitsLogGrowth(t *testing.T) {
	d := openNew(t)
	value := make([]byte, 1<<20)
	grow := func() error {
		for i := range value { // SQLite does not write an unchanged page
			value[i]++
		}
		return d.Write(t.Context(), func(tx *Tx) error { return tx.SetSetting("large", value) })
	}
	if err := grow(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "copy.db")
	if err := createPrivate(file); err != nil {
		t.Fatal(err)
	}
	tries := 0
	c := copier{path: d.path, file: file, maxLog: 8 << 20, progress: func(int64, int64) {
		tries++
		for range 10 { // while the snapshot is held
			if err := grow(); err != nil {
				t.Error(err)
			}
		}
	}}
	if _, err := c.run(t.Context()); !errors.Is(err, ErrLogGrows) || tries != copyTries {
		t.Errorf("%v after %d tries", err, tries)
	}
	c.progress = func(int64, int64) {}
	c.maxLog = maxLog
	if made, err := c.run(t.Context()); err != nil || made.Bytes < 1<<20 {
		t.Errorf("%+v, %v", made, err)
	}
}
