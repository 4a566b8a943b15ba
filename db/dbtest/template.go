package dbtest

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// File returns the path of a new database file, in its own directory, which is removed when the
// test ends. The file is a copy of a template, which create creates at the given path. The
// process creates one template for each key.
func File(t testing.TB, key string, create func(path string) error) string {
	t.Helper()
	content, err := template(t, key, create)
	if err != nil {
		t.Fatalf("make a template of a database: %v", err)
	}
	path := filepath.Join(Dir(t), "mailer.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatalf("copy the template of a database: %v", err)
	}
	return path
}

// templates holds the content of template files by key.
var templates = struct {
	sync.Mutex
	content map[string][]byte
}{content: map[string][]byte{}}

func template(t testing.TB, key string, create func(path string) error) ([]byte, error) {
	t.Helper()
	templates.Lock()
	defer templates.Unlock()
	if content, ok := templates.content[key]; ok {
		return content, nil
	}
	path := filepath.Join(Dir(t), "template.db")
	if err := create(path); err != nil {
		return nil, err
	}
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return nil, fmt.Errorf("a part of the template is still in its write-ahead log")
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	templates.content[key] = content
	return content, nil
}
