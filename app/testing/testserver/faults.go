package testserver

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"mailer/app/base"
	"mailer/db"
	"mailer/db/engine"
)

// DiskFullError returns SQLite's error for a full disk.
func DiskFullError(t *testing.T) error {
	t.Helper()
	SQLiteOnly(t)
	pool, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "x.db"))
	Must(t, err)
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	_, err = pool.Exec("PRAGMA max_page_count = 2; CREATE TABLE x (y BLOB)")
	Must(t, err)
	if _, err = pool.Exec("INSERT INTO x VALUES (zeroblob(100000))"); !engine.IsStorage(err) {
		t.Fatalf("no storage error: %v", err)
	}
	return err
}

// FailWrite makes a write fail with a storage error.
func (w *Server) FailWrite(fault error) error {
	return w.DB.Write(context.Background(), func(*db.Tx) error { return fault })
}

// LeaveClockAhead writes what a server with a fast clock leaves in the database: deferred units
// with a later next attempt, and the stored clock.
func (w *Server) LeaveClockAhead(by time.Duration, ids ...string) {
	w.T.Helper()
	for _, id := range ids {
		u := *w.Unit(id)
		if u.Attempts == 0 {
			Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error { return tx.BeginAttempt(u) }))
			u = *w.Unit(id)
		}
		Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error { return tx.RequeueUnit(u, u.Attempts, tx.Now.Add(by)) }))
	}
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		return tx.SetSetting(base.ClockSetting, strconv.AppendInt(nil, tx.Now.Add(by).UnixMilli(), 10))
	}))
}

// LockedError returns SQLite's error for a database that another program has locked.
func LockedError(t testing.TB) error {
	t.Helper()
	SQLiteOnly(t)
	path := "file:" + filepath.Join(t.TempDir(), "x.db") + "?_busy_timeout=0&_txlock=immediate"
	var pools [2]*sql.DB
	for i := range pools {
		pool, err := sql.Open("sqlite", path)
		Must(t, err)
		defer pool.Close()
		pools[i] = pool
	}
	tx, err := pools[0].Begin()
	Must(t, err)
	defer tx.Rollback()
	if _, err = pools[1].Begin(); err == nil {
		t.Fatal("nothing is locked")
	}
	return err
}

// Corrupt stops the server, overwrites bytes in its database file and opens the database again
// without starting the server.
func (w *Server) Corrupt(what string) {
	SQLiteOnly(w.T)
	w.Stop()
	file, err := os.ReadFile(w.Path)
	Must(w.T, err)
	at := bytes.Index(file, []byte(what))
	if at < 0 {
		w.T.Fatalf("%.30q does not stand in the file", what)
	}
	for i := range what {
		file[at+i] ^= 0xff
	}
	Must(w.T, os.WriteFile(w.Path, file, 0o600))
	w.Open()
}
