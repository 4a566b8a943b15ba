package conn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/emersion/go-smtp"
)

// Shutdown stops a server of the limiter: it refuses new connections, closes idle ones, and waits
// for running messages. When ctx ends it calls drop, which must cancel what runs, and drops the
// messages without a reply, so that their senders keep them.
func (lim *Limiter) Shutdown(ctx context.Context, server *smtp.Server, drop func()) error {
	lim.Drain()
	done := make(chan error, 1)
	go func() {
		err := server.Shutdown(context.Background())
		lim.waitIdle()
		done <- err
	}()
	defer drop()
	select {
	case err := <-done:
		return unlessClosed(err)
	case <-ctx.Done():
	}
	drop()
	lim.CloseAll()
	return unlessClosed(<-done)
}

func unlessClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Log is the logger of an SMTP server; Name names its listener.
type Log struct {
	Log  *slog.Logger
	Name string
}

// Printf logs an error.
func (l Log) Printf(format string, args ...any) {
	l.Log.Debug(l.Name, "what", fmt.Sprintf(format, args...))
}

// Println logs an error.
func (l Log) Println(args ...any) { l.Log.Debug(l.Name, "what", fmt.Sprint(args...)) }
