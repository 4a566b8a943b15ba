package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"mailer/db"
)

// Stopped reports whether a server did not come to start since it was told to stop, which is
// no fault.
func Stopped(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, db.ErrClosed) || errors.Is(err, db.ErrUnreachable))
}

// stopTimeout is how long a server that must end waits for its database.
const stopTimeout = 2 * time.Second

// abandonDatabaseAfter has a database given up that does not answer some time after ctx ended. end is
// to be called once it has done what it is needed for.
func abandonDatabaseAfter(ctx context.Context, d *db.DB) (end func()) {
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-ended:
		case <-time.After(stopTimeout):
			d.Abandon()
		}
	})
	return func() { close(ended); stop() }
}

// StartServer makes a server and has it begin to work, or to answer beside another one. Where ctx ends while it does, it waits for its
// database for 2 seconds at most.
func (k *KeyFile) StartServer(ctx context.Context, log *slog.Logger, cfg Config) (*Server, error) {
	defer abandonDatabaseAfter(ctx, cfg.DB)()
	s, err := k.NewServer(ctx, cfg)
	if err != nil {
		return nil, err
	}
	k.Check(log)
	return s, s.Begin(ctx)
}
