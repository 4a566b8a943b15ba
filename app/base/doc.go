// Package service is what every service of Mailer is handed: the store, the
// sealer, the log and the life of the process; and the words and helpers that all
// of them use. It holds no use case. The services and what wires them import it;
// it imports db and app alone. Its Bell wakes whoever works in the background.
//
// Failure policy: what was answered with success is in the database; a worker
// that fails leaves its work there to be tried again. An *app.Error is for the
// caller; any other error is a fault of ours that the doors log and hide.
package base

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"mailer/app"
	"mailer/app/kit/metrics"
	"mailer/db"
)

// Base is what all services of a process share.
type Base struct {
	DB     *db.DB
	Sealer *app.Sealer
	Log    *slog.Logger
	Load   *app.Load // counts the callers that wait; nil: nobody asks
	// Metrics count what happens; nil: nobody watches.
	Metrics *metrics.Metrics
	// PollEvery is how often workers look for changes by other processes, and the shortest
	// interval between two runs of a cron job. NewBase sets SweepEvery.
	PollEvery time.Duration
	// Settings are what the server of this database is; New fills them.
	Settings Settings

	Claiming context.Context // ends when no new unit may be begun
	Sending  context.Context // ends when running transactions must be dropped
	Workers  sync.WaitGroup  // whoever works in the background

	stop, abort context.CancelFunc
	draining    atomic.Bool
	warned      atomic.Bool // that another server has other rules
}

// NewBase makes the Base of a process and proves that the sealer fits the
// database. own is what this process is, without regions for a command beside a
// server. Error: seal.ErrSeal for another master key.
func NewBase(ctx context.Context, store *db.DB, sealer *app.Sealer, log *slog.Logger, load *app.Load, own Settings) (*Base, error) {
	b := &Base{DB: store, Sealer: sealer, Log: log, Load: load, PollEvery: SweepEvery}
	b.Claiming, b.stop = context.WithCancel(context.Background())
	b.Sending, b.abort = context.WithCancel(context.Background())
	if err := b.CheckMasterKey(ctx); err != nil {
		return nil, err
	}
	return b, b.loadSettings(ctx, own)
}

// Draining reports whether the process is about to stop.
func (s *Base) Draining() bool { return s.draining.Load() }

// Drain has Ready refuse, so that no new work comes while the doors close.
func (s *Base) Drain() { s.draining.Store(true) }

// StopClaiming ends Taking, so that no new unit is begun; it drains too.
func (s *Base) StopClaiming() {
	s.draining.Store(true)
	s.stop()
}

// Abort ends Sending, so that the transactions that run are dropped.
func (s *Base) Abort() { s.abort() }
