package dbtest

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestFileCopiesTemplate(t *testing.T) {
	made := 0
	fill := func(path string) error {
		made++
		return os.WriteFile(path, []byte("content"), 0o600)
	}
	var paths []string
	t.Run("two files", func(t *testing.T) {
		for range 2 {
			path := File(t, t.Name(), fill)
			got, err := os.ReadFile(path)
			if err != nil || string(got) != "content" {
				t.Fatalf("%q, %v", got, err)
			}
			if err := os.WriteFile(path, []byte("changed"), 0o600); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
	})
	if made != 1 || paths[0] == paths[1] {
		t.Errorf("made %d times, at %q", made, paths)
	}
	for _, path := range paths {
		if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
			t.Errorf("%s outlives its test: %v", path, err)
		}
	}
}

func TestRemoveAbandoned(t *testing.T) {
	root := t.TempDir()
	running, unlock, err := makeDir(root)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	killed, unlockKilled, err := makeDir(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := unlockKilled(); err != nil {
		t.Fatal(err)
	}
	young := filepath.Join(root, prefix+"young")
	other := filepath.Join(root, "other")
	for _, dir := range []string{young, other} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-2 * unlockedFor)
	for _, dir := range []string{running, killed, other} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeAbandoned(root); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(root, "*"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{running: true, young: true, other: true}
	for _, dir := range left {
		if !want[dir] {
			t.Errorf("%s is left", dir)
		}
		delete(want, dir)
	}
	if len(want) > 0 {
		t.Errorf("removed: %v", want)
	}
}
