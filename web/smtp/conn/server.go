package conn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/emersion/go-smtp"
)

// Shutdown ends a server behind the door: it takes no new connection, closes those that
// wait for a command, and waits for messages that are on their way; when ctx ends it calls
// drop, which has what is at work end, and drops them unanswered, so that their senders
// keep them. It returns when all is over.
func (lim *Door) Shutdown(ctx context.Context, server *smtp.Server, drop func()) error {
	lim.Drain()
	done := make(chan error, 1)
	go func() {
		err := server.Shutdown(context.Background())
		lim.settled()
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

// Log takes the words of the SMTP package about peers; Name says which listener's.
type Log struct {
	Log  *slog.Logger
	Name string
}

// Printf notes what failed.
func (l Log) Printf(format string, args ...any) {
	l.Log.Debug(l.Name, "what", fmt.Sprintf(format, args...))
}

// Println notes what failed.
func (l Log) Println(args ...any) { l.Log.Debug(l.Name, "what", fmt.Sprint(args...)) }
