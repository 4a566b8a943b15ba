package dbtest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Schema returns schema.sql of this repository. It searches the working directory of the test and
// its parents.
func Schema(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "schema.sql"))
		if err == nil {
			return string(text)
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			t.Fatal(err)
		}
		dir = filepath.Dir(dir)
	}
}
