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

// ServeStandby serves the HTTP API's address alone, and answers that another server is active,
// until end is called. Open then continues with the same listener. All other listeners stay closed
// meanwhile, so that clients try the other server.
func (ls *Listeners) ServeStandby(log *slog.Logger) (end func(), err error) {
	if err := ls.openAPI(); err != nil {
		return nil, err
	}
	l := &pausableListener{Listener: ls.http}
	s := rest.NewSmallServer(http.HandlerFunc(answerStandby), log)
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
		l.resume()
	}), nil
}

// answerStandby answers 503 to every request but /healthz.
func answerStandby(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/healthz" {
		_, _ = w.Write([]byte(`{"status":"standby"}`)) // the client may be gone
		return
	}
	body, err := json.Marshal(rest.NewError(app.CodeServiceUnavailable, "This server is a standby: another server is active, and this one takes over when that server is gone"))
	if err != nil {
		body = nil
	}
	w.Header().Set("Retry-After", "5")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write(body) // the client may be gone
}

// pausableListener is a listener that outlives its server: Close only interrupts Accept.
type pausableListener struct {
	net.Listener
	closed atomic.Bool
}

// Accept implements net.Listener.
func (l *pausableListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil && l.closed.Load() {
		return nil, net.ErrClosed
	}
	return c, err
}

// deadliner is a listener whose Accept can be interrupted.
type deadliner interface{ SetDeadline(time.Time) error }

// Close interrupts Accept.
func (l *pausableListener) Close() error {
	l.closed.Store(true)
	if d, ok := l.Listener.(deadliner); ok {
		return d.SetDeadline(time.Unix(1, 0))
	}
	return nil
}

// resume makes Accept work again.
func (l *pausableListener) resume() {
	if d, ok := l.Listener.(deadliner); ok {
		_ = d.SetDeadline(time.Time{}) // an open listener accepts it
	}
}
