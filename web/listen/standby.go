package listen

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/web/rest"
)

// Wait listens for the HTTP API alone, and answers that another server does the work, until
// end is called. Open then goes on with the same listener. The other doors stay shut
// meanwhile: whoever knocks there is to try the other server.
func (ls *Doors) Wait(log *slog.Logger) (end func(), err error) {
	if err := ls.openAPI(); err != nil {
		return nil, err
	}
	l := &lent{Listener: ls.http}
	s := rest.NewSmallServer(http.HandlerFunc(wait), log)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := s.Serve(l); err != nil {
			log.Warn("the HTTP API can't report that this server is waiting", "err", err)
		}
	}()
	return sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			log.Warn("requests were cut off at the end of the wait", "err", err)
		}
		<-ended
		l.back()
	}), nil
}

// wait answers every request but whether the process lives.
func wait(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/healthz" {
		_, _ = w.Write([]byte(`{"status":"standby"}`)) // who asked may be gone
		return
	}
	body, err := json.Marshal(rest.NewError(app.CodeServiceUnavailable, "This server is a standby: another server is active, and this one takes over when that server is gone"))
	if err != nil {
		body = nil
	}
	w.Header().Set("Retry-After", "5")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write(body) // who asked may be gone
}

// lent is a listener that a server has for a while: closing it ends accepting alone.
type lent struct {
	net.Listener
	closed atomic.Bool
}

// Accept implements net.Listener.
func (l *lent) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil && l.closed.Load() {
		return nil, net.ErrClosed
	}
	return c, err
}

// deadliner is a listener that can be woken.
type deadliner interface{ SetDeadline(time.Time) error }

// Close has Accept fail from now on.
func (l *lent) Close() error {
	l.closed.Store(true)
	if d, ok := l.Listener.(deadliner); ok {
		return d.SetDeadline(time.Unix(1, 0))
	}
	return nil
}

// back has Accept wait again.
func (l *lent) back() {
	if d, ok := l.Listener.(deadliner); ok {
		_ = d.SetDeadline(time.Time{}) // it is an open listener's
	}
}
