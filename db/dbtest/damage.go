package dbtest

import (
	"bytes"
	"os"
	"sync"
	"testing"
)

// Corrupt changes a database file without SQLite: change is called with the first page that
// contains content.
func Corrupt(t testing.TB, path string, content []byte, change func(page []byte)) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(file, content)
	if at < 0 {
		t.Fatalf("%.20q is not in the file", content)
	}
	change(file[at/4096*4096:][:4096])
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Log is a buffer for log output, safe for concurrent use.
type Log struct {
	mu  sync.Mutex
	log bytes.Buffer
}

// Write implements io.Writer.
func (b *Log) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.Write(p)
}

// String returns the log output so far.
func (b *Log) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.String()
}
