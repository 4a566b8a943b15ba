package engine

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// smallDisk mounts a separate file system.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a full disk can't be tried here, mounting one takes root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// fill writes until the disk is full and returns the error.
func fill(t *testing.T, d *DB) error {
	t.Helper()
	chunk := bytes.Repeat([]byte("x"), 256<<10)
	for n := range 1000 {
		err := d.Write(t.Context(), func(tx *Tx) error { return tx.SetSetting("fill"+string(rune('a'+n)), chunk) })
		if err != nil {
			return err
		}
	}
	return nil
}

func within(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(limit); !ok(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

func TestFullDiskTakesCriticalWritesOnly(t *testing.T) {
	dir := smallDisk(t, "24m")
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 12<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Open(t.Context(), Options{Path: filepath.Join(dir, "x.db"), Schema: SmallSchema(t), Create: true, Lock: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for round := range 2 {
		if err := fill(t, d); !errors.Is(err, ErrFull) {
			t.Fatalf("round %d: %v", round, err)
		}
		for range 200 {
			err := d.WriteCritical(t.Context(), func(tx *Tx) error { return tx.SetSetting("vital", make([]byte, 4096)) })
			if err != nil {
				t.Fatalf("round %d: a vital write: %v", round, err)
			}
		}
		if err := d.Write(t.Context(), func(*Tx) error { return nil }); !errors.Is(err, ErrFull) {
			t.Fatalf("round %d: still full, and new work: %v", round, err)
		}
		if err := d.Err(); !errors.Is(err, ErrFull) {
			t.Errorf("round %d: Err is %v", round, err)
		}
		if round == 1 {
			break
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		within(t, 3*recoverEvery, "recovery", func() bool { return d.Err() == nil })
		if err := d.Write(t.Context(), func(tx *Tx) error { return tx.SetSetting("after", []byte("x")) }); err != nil {
			t.Fatalf("after recovery: %v", err)
		}
		if info, err := os.Stat(d.reservePath()); err != nil || info.Size() != DefaultReserve {
			t.Errorf("the reserve is not back: %v", err)
		}
	}
	if got := ask(t, d.path, "PRAGMA integrity_check"); got != "ok" {
		t.Errorf("integrity: %s", got)
	}
}

func TestRecoveryNeedsTwiceTheReserve(t *testing.T) {
	dir := smallDisk(t, "10m")
	d := &DB{path: filepath.Join(dir, "x.db"), reserve: DefaultReserve}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 4<<20), 0o600); err != nil { // leaves 6 MiB: the reserve would fit
		t.Fatal(err)
	}
	if err := d.recoverReserve(); err == nil {
		t.Error("it recovers with less than twice the reserve free, and would be full again at once")
	}
	if _, err := os.Stat(d.reservePath()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the reserve is made: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := d.recoverReserve(); err != nil {
		t.Errorf("with 10 MiB free: %v", err)
	}
}

// overwritten opens a store and overwrites its file, except the first page, without SQLite.
func overwritten(t *testing.T) *DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	d, err := Open(t.Context(), Options{Path: path, Schema: SmallSchema(t), Create: true, Lock: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	pool, err := sql.Open("sqlite", dsn(path, "_busy_timeout=5000"))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	// A change by another connection clears the caches of the store; the checkpoint
	// writes every page to the file.
	for _, text := range []string{"INSERT INTO settings VALUES ('a', x'00')", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if _, err := pool.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xa5}, int(info.Size())-4096), 4096); err != nil {
		t.Fatal(err)
	}
	return d
}

// wantFailed checks that the store has stopped for good.
func wantFailed(t *testing.T, d *DB) {
	t.Helper()
	select {
	case <-d.Failed():
	case <-time.After(30 * time.Second):
		t.Fatal("Failed is not closed")
	}
	if err := d.Err(); !errors.Is(err, ErrFailed) || !IsStorage(err) {
		t.Errorf("Err is %v", err)
	}
	nothing := func(*Tx) error { t.Error("a write ran"); return nil }
	for name, write := range map[string]func(context.Context, func(*Tx) error) error{"Write": d.Write, "WriteCritical": d.WriteCritical} {
		if err := write(t.Context(), nothing); !errors.Is(err, ErrFailed) {
			t.Errorf("%s after the latch: %v", name, err)
		}
	}
	if err := d.WriteCriticalAsync(t.Context(), nothing)(); !errors.Is(err, ErrFailed) {
		t.Errorf("WriteVitalAsync after the latch: %v", err)
	}
}

func TestWriteToDamagedFileFailsStore(t *testing.T) {
	d := overwritten(t)
	if err := d.Write(t.Context(), func(tx *Tx) error { return tx.SetSetting("b", []byte("x")) }); !errors.Is(err, ErrFailed) {
		t.Errorf("the write: %v", err)
	}
	wantFailed(t, d)
}

func TestReadOfDamagedFileFailsStore(t *testing.T) {
	d := overwritten(t)
	err := d.Read(t.Context(), func(r *Reader) error { _, err := r.Setting("a"); return err })
	if !errors.Is(err, ErrFailed) || !IsStorage(err) { // 503, as for the first write
		t.Errorf("the read: %v", err)
	}
	wantFailed(t, d)
}

func TestClosureErrorDoesNotFailStore(t *testing.T) {
	d, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "x.db"), Schema: SmallSchema(t), Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	err = d.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.Exec(`INSERT INTO keys (id, team_id, name, permission, role, public, hash, created_at) VALUES ('k', 'no team', 'k', 'x', 'y', 'p', x'00', 1)`)
		return err
	})
	if err == nil || IsStorage(err) {
		t.Errorf("a row that breaks the schema: %v", err)
	}
	if err := d.Err(); err != nil {
		t.Errorf("Err is %v", err)
	}
}

// TestFullDiskUnderWALIndex: SQLite returns IOERR_SHMSIZE instead of FULL if the -shm file cannot
// grow, which happens every 4096 frames of the log.
func TestFullDiskUnderWALIndex(t *testing.T) {
	const frame, perIndexPage = 4096 + 24, 4062
	dir := smallDisk(t, "64m")
	path := filepath.Join(dir, "x.db")
	d, err := Open(t.Context(), Options{Path: path, Schema: SmallSchema(t), Create: true, Lock: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	n := 0
	write := func() error {
		if n++; n > 20_000 {
			return errors.New("the log does not grow")
		}
		return d.Write(t.Context(), func(tx *Tx) error { return tx.SetSetting("x", []byte{byte(n), byte(n >> 8)}) })
	}
	// An open snapshot keeps SQLite from restarting the log.
	done, reading := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = d.Read(context.Background(), func(r *Reader) error {
			_, err := r.Setting("x")
			close(reading)
			<-done
			return err
		})
	})
	defer wg.Wait()
	defer close(done)
	<-reading
	for logSize(t, path) < (perIndexPage-3)*frame {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		t.Fatal(err)
	}
	free := fs.Bavail * uint64(fs.Bsize)
	if err := os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, free-24<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	for err = nil; err == nil; {
		err = write()
	}
	if !errors.Is(err, ErrFull) {
		t.Errorf("new work: %v", err)
	}
	if err := d.WriteCritical(t.Context(), func(tx *Tx) error { return tx.SetSetting("vital", []byte("x")) }); err != nil {
		t.Errorf("a vital write: %v", err)
	}
	if err := d.Err(); !errors.Is(err, ErrFull) {
		t.Errorf("Err is %v", err)
	}
}

func logSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestOpenOnAlmostFullDisk(t *testing.T) {
	dir := smallDisk(t, "3m") // less than the reserve
	d, err := Open(t.Context(), Options{Path: filepath.Join(dir, "x.db"), Schema: SmallSchema(t), Create: true, Lock: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Write(t.Context(), func(*Tx) error { return nil }); !errors.Is(err, ErrFull) {
		t.Errorf("new work: %v", err)
	}
	if err := d.WriteCritical(t.Context(), func(tx *Tx) error { return tx.SetSetting("vital", []byte("x")) }); err != nil {
		t.Errorf("a vital write: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
