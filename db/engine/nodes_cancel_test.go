package engine

import (
	"context"
	"database/sql"
	"io"
	"log/slog"
	"testing"
	"time"
)

// cancelAt cancels a context when a message is logged.
type cancelAt struct {
	slog.Handler
	message string
	cancel  func()
}

func (c cancelAt) Handle(_ context.Context, r slog.Record) error {
	if r.Message == c.message {
		c.cancel()
	}
	return nil
}

// newAbandoned returns a PostgreSQL database with the row of a leader that no longer runs.
func newAbandoned(t *testing.T) (dsn string) {
	t.Helper()
	dsn = newRemote(t)
	pool, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(`INSERT INTO nodes (id, started_at, seen_at, leads, address) VALUES ('gone', 0, 0, 1, 'gone')`); err != nil {
		t.Fatal(err)
	}
	return dsn
}

func TestCancelDuringTakeover(t *testing.T) {
	t.Parallel()
	dsn := newAbandoned(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		log := slog.New(cancelAt{slog.NewTextHandler(io.Discard, nil), "took the lead over from a server that is gone", cancel})
		d, err := Open(ctx, Options{Path: dsn, Schema: SmallSchema(t), Lazy: true, Lock: true, Standby: true, Log: log})
		if err == nil {
			err = d.Close()
		}
		ended <- err
	}()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("it goes on")
	}
	if ctx.Err() == nil {
		t.Error("it was not stopped in time")
	}
	d, err := Open(t.Context(), Options{Path: dsn, Schema: SmallSchema(t), Lazy: true, Lock: true})
	if err != nil {
		t.Fatalf("it left the work as if it had it: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
