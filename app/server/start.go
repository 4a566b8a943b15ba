package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"mailer/db"
)

// Stopped reports whether a server did not start because it was told to stop, which is no error.
func Stopped(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, db.ErrClosed) || errors.Is(err, db.ErrUnreachable))
}

// stopTimeout is how long a server that must stop waits for its database.
const stopTimeout = 2 * time.Second

// abandonDatabaseAfter closes a database that does not answer within stopTimeout after ctx ended.
// end must be called when the database is no longer needed.
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

// StartServer makes a server and begins its work, as a leader or follower. If ctx ends meanwhile,
// it waits for the database for at most 2 seconds.
func (k *KeyFile) StartServer(ctx context.Context, log *slog.Logger, cfg Config) (*Server, error) {
	defer abandonDatabaseAfter(ctx, cfg.DB)()
	s, err := k.NewServer(ctx, cfg)
	if err != nil {
		return nil, err
	}
	k.Check(log)
	return s, s.Begin(ctx)
}
