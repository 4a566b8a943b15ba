package db_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"mailer/db"
)

// A file that is there and not yet written would stop the other, and for good
// the next start after a kill.
func TestProcessesThatMakeTheMasterKeyAtOnceAgreeOnOne(t *testing.T) {
	for range 50 {
		path := filepath.Join(t.TempDir(), "mailer.db.key")
		var keys [8][]byte
		var errs [8]error
		var wg sync.WaitGroup
		for i := range keys {
			wg.Go(func() { keys[i], errs[i] = db.MasterKey(path, true) })
		}
		wg.Wait()
		for i := range keys {
			if errs[i] != nil || !bytes.Equal(keys[i], keys[0]) {
				t.Fatalf("process %d: %x, %v; the first has %x", i, keys[i], errs[i], keys[0])
			}
		}
		again, err := db.MasterKey(path, false)
		if err != nil || !bytes.Equal(again, keys[0]) {
			t.Fatalf("read again: %x, %v", again, err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("mode %s", info.Mode())
		}
		if left, err := filepath.Glob(path + "*"); err != nil || len(left) != 1 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}
