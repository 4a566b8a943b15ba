package engine

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestExternalSQLiteLock holds the write lock in another connection for longer than the store
// waits.
func TestExternalSQLiteLock(t *testing.T) {
	path := NewFile(t)
	d, log := withLog(t, path)
	if err := d.run(t.Context(), func(s *Conn) error { return s.pragma(`PRAGMA busy_timeout = 50`) }); err != nil {
		t.Fatal(err)
	}
	pool, err := sql.Open("sqlite", dsn(path, "_txlock=immediate"))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	foreign, err := pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	set := func(tx *Tx) error { return tx.SetSetting("a", []byte("x")) }
	for n := range 3 {
		for name, write := range map[string]func(context.Context, func(*Tx) error) error{"Write": d.Write, "WriteCritical": d.WriteCritical} {
			if err := write(t.Context(), set); !errors.Is(err, ErrLocked) {
				t.Errorf("%s %d: %v", name, n, err)
			}
		}
	}
	if err := d.Err(); !errors.Is(err, ErrLocked) {
		t.Errorf("Err is %v", err)
	}
	if err := d.Read(t.Context(), func(r *Reader) error { _, err := r.Setting("b"); return ignoreNotFound(err) }); err != nil {
		t.Errorf("a read: %v", err)
	}
	if err := foreign.Rollback(); err != nil {
		t.Fatal(err)
	}
	within(t, patience, "new work is taken", func() bool { return d.Err() == nil })
	if err := d.Write(t.Context(), set); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 || !strings.Contains(log.String(), "after=") || strings.Contains(log.String(), "level=WARN") {
		t.Errorf("the log:\n%s", log)
	}
}

func TestTooManyOpenFiles(t *testing.T) {
	d, log := withLog(t, stored(t, 'x'))
	schema, other := SmallSchema(t), filepath.Join(t.TempDir(), "y.db")
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	next, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	low := syscall.Rlimit{Cur: uint64(next.Fd()), Max: limit.Max}
	next.Close()
	pool, err := sql.Open("sqlite", "file:"+other)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	openErr := pool.Ping() // SQLite only reports that it cannot open a file
	err = d.Write(t.Context(), func(*Tx) error { return openErr })
	refused := d.Write(t.Context(), func(*Tx) error { return nil })
	_, opened := Open(t.Context(), Options{Path: d.path, Schema: schema})
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if primaryCode(openErr) != sqliteCantOpen || !errors.Is(err, ErrFiles) || !errors.Is(refused, ErrFiles) {
		t.Errorf("%v comes back as %v, and then %v", openErr, err, refused)
	}
	if opened == nil || !strings.Contains(opened.Error(), "too many open files") {
		t.Errorf("opening: %v", opened)
	}
	within(t, patience, "new work is taken", func() bool { return d.Err() == nil })
	if err := d.Write(t.Context(), func(tx *Tx) error { return tx.SetSetting("a", []byte("x")) }); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if strings.Contains(log.String(), "disk full") || !strings.Contains(log.String(), "LimitNOFILE") {
		t.Errorf("the log:\n%s", log)
	}
}

const childPath = "MAILER_TEST_BESIDE_DB"

// TestOpenWhileServerIsLoaded opens and closes the database in another process while the log is
// written, checkpointed and truncated.
func TestOpenWhileServerIsLoaded(t *testing.T) {
	if path := os.Getenv(childPath); path != "" {
		for range 20 {
			d, err := Open(t.Context(), Options{Path: path, Schema: SmallSchema(t)})
			if err != nil {
				t.Fatal(err)
			}
			err = d.Write(t.Context(), func(tx *Tx) error { return tx.SetSetting("beside", []byte("x")) })
			if err := errors.Join(err, d.Close()); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	path := stored(t, 'x')
	d, err := Open(t.Context(), Options{Path: path, Schema: SmallSchema(t), Lock: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), childPath+"="+path)
	done := make(chan error, 1)
	go func() {
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = errors.Join(err, errors.New(string(out)))
		}
		done <- err
	}()
	load := time.NewTicker(3 * time.Millisecond) // a writer without pauses would starve all others
	defer load.Stop()
	for n := 0; ; n++ {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		case <-load.C:
		}
		filler := make([]byte, 2000*(1+n%20))
		for i := range filler {
			filler[i] = byte(rand.Uint32())
		}
		if err := d.Write(t.Context(), func(tx *Tx) error { return tx.SetSetting("load"+string(rune('a'+n%20)), filler) }); err != nil {
			t.Fatal(err)
		}
		if err := d.run(t.Context(), func(s *Conn) error { return s.pragma(`PRAGMA wal_checkpoint(TRUNCATE)`) }); err != nil && primaryCode(err) != sqliteBusy {
			t.Fatal(err)
		}
	}
}
