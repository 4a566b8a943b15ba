package engine_test

import (
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"mailer/app/kit/seal"
	"mailer/db/engine"
)

// TestConcurrentMasterKeyCreation creates the file from several goroutines. A file that is
// visible before it is written would make the others fail and, after a crash, every start.
func TestConcurrentMasterKeyCreation(t *testing.T) {
	for range 50 {
		path := filepath.Join(t.TempDir(), "mailer.db.key")
		var keys [8][]seal.MasterKey
		var errs [8]error
		var wg sync.WaitGroup
		for i := range keys {
			wg.Go(func() { keys[i], errs[i] = engine.MasterKeys(path, true) })
		}
		wg.Wait()
		for i := range keys {
			if errs[i] != nil || !reflect.DeepEqual(keys[i], keys[0]) {
				t.Fatalf("process %d: %v, %v; the first has %v", i, keys[i], errs[i], keys[0])
			}
		}
		again, err := engine.MasterKeys(path, false)
		if err != nil || !reflect.DeepEqual(again, keys[0]) {
			t.Fatalf("read again: %v, %v", again, err)
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
