// Package base provides what every service of Mailer is given: the store, the sealer, the log, the
// settings and the contexts of the process, and the helpers that services share. It implements no
// use case. Services import it; it imports db and app alone.
//
// Failure policy: a change that was answered with success is in the database. A worker that fails
// leaves its work in the database and tries again. An *app.Error is meant for the caller; any other
// error is an internal fault, which the HTTP and SMTP layers log and do not show.
package base

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"mailer/app"
	"mailer/app/kit/metrics"
	"mailer/app/kit/seal"
	"mailer/db"
)

// Base is what all services of a process share.
type Base struct {
	DB     *db.DB
	Sealer *app.Sealer
	Log    *slog.Logger
	Load   *app.Load // counts the callers that wait; nil: not counted
	// Metrics counts events; nil: not counted.
	Metrics *metrics.Metrics
	// Pictures lets one picture be decoded at a time, which may take 200 MB.
	Pictures *TeamSemaphore
	// PollEvery is how often workers look for changes by other processes. It is also the shortest
	// interval between two runs of a cron job. NewBase sets SweepEvery.
	PollEvery time.Duration
	// Settings are the settings of the server of this database. NewBase sets them.
	Settings Settings

	Claiming context.Context // ends when no new work may begin
	Sending  context.Context // ends when running transactions must be dropped
	Workers  sync.WaitGroup  // the goroutines that work in the background

	stop, abort context.CancelFunc
	draining    atomic.Bool
	warned      atomic.Bool // another server has other settings, which was logged
}

// NewBase makes the Base of a process and checks that the sealer fits the database. own are the
// settings of this process; a command that runs next to a server passes no regions. Error:
// seal.ErrSeal for another master key.
func NewBase(ctx context.Context, store *db.DB, sealer *app.Sealer, log *slog.Logger, load *app.Load, own Settings) (*Base, error) {
	b := &Base{DB: store, Sealer: sealer, Log: log, Load: load, PollEvery: SweepEvery, Pictures: NewTeamSemaphore(1, maxWaitingPictures)}
	b.Claiming, b.stop = context.WithCancel(context.Background())
	b.Sending, b.abort = context.WithCancel(context.Background())
	if err := b.CheckMasterKey(ctx); err != nil {
		return nil, err
	}
	return b, b.loadSettings(ctx, own)
}

// maxWaitingPictures bounds the uploaded pictures of one team that wait to be decoded.
const maxWaitingPictures = 5

// Draining reports whether the process is about to stop.
func (s *Base) Draining() bool { return s.draining.Load() }

// Drain makes Ready fail, so that no new mail is accepted while the listeners close.
func (s *Base) Drain() { s.draining.Store(true) }

// StopClaiming ends Claiming, so that no new work begins. It drains too.
func (s *Base) StopClaiming() {
	s.draining.Store(true)
	s.stop()
}

// Abort ends Sending, so that running transactions are dropped.
func (s *Base) Abort() { s.abort() }

// seedSetting is the sealed setting that holds the seed of hashes that outlive a master key.
const seedSetting = "seed"

// CheckMasterKey stores a sealed seed in a new database and opens that seed at every later start,
// so that a wrong master key is found at the start and not at the first signature. It passes the
// seed to the sealer. Error: seal.ErrSeal.
func (s *Base) CheckMasterKey(ctx context.Context) error {
	seed, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]byte, error) { return s.SealedSetting(r, seedSetting) })
	if err == nil {
		return s.Sealer.SetSeed(seed)
	}
	if !errors.Is(err, db.ErrNotFound) {
		return fmt.Errorf("read the seed of hashes: %w", err)
	}
	return s.DB.WriteCritical(ctx, func(tx *db.Tx) error { // a server must also start on a full disk
		seed, err := s.SealedSetting(&tx.Reader, seedSetting)
		if errors.Is(err, db.ErrNotFound) {
			seed = seal.NewMasterKey()
			err = s.SetSealedSetting(tx, seedSetting, seed)
		}
		if err != nil {
			return fmt.Errorf("read the seed of hashes: %w", err)
		}
		return s.Sealer.SetSeed(seed)
	})
}

// SealedSetting returns a sealed setting of the server. name is also the purpose that it is sealed
// for. Errors: db.ErrNotFound, seal.ErrSeal.
func (s *Base) SealedSetting(r *db.Reader, name string) ([]byte, error) {
	sealed, err := r.Setting(db.SealedSetting + name)
	if err != nil {
		return nil, err
	}
	return s.Sealer.Open(name, "", sealed)
}

// SetSealedSetting stores a setting that SealedSetting reads.
func (s *Base) SetSealedSetting(tx *db.Tx, name string, value []byte) error {
	return tx.SetSetting(db.SealedSetting+name, s.Sealer.Seal(name, "", value))
}

// RelayMode returns RelayNone, RelayCapture or RelayConfigured.
func (s *Base) RelayMode() string { return s.Settings.RelayMode() }

// Compat returns how requests are read: app.CompatStrict or app.CompatResend.
func (s *Base) Compat() app.Compat { return cmp.Or(s.Settings.Rules().Compat, app.CompatStrict) }

// Ready returns nil while mail can be accepted, else an *app.Error of CodeServiceUnavailable with
// the reason.
func (s *Base) Ready() error {
	if s.draining.Load() {
		return Unavailable(db.ErrClosed)
	}
	return Unavailable(s.DB.Err())
}
