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
	return ls.serveUnready(log, "standby", func() unready {
		return unready{"standby", "", rest.NewError(app.CodeServiceUnavailable, "This server is a standby: another server is active, and this one takes over when that server is gone")}
	})
}

// ServeMigrating is ServeStandby while the database is migrated. step is called with the name of each
// step of the migration.
func (ls *Listeners) ServeMigrating(log *slog.Logger) (step func(string), end func(), err error) {
	var current atomic.Value
	current.Store("")
	end, err = ls.serveUnready(log, "migrating", func() unready {
		name, message := current.Load().(string), "The database is being migrated"
		if name != "" {
			message += ": step " + name
		}
		return unready{"migrating", name, rest.NewError(app.CodeServiceUnavailable, message)}
	})
	return func(name string) { current.Store(name) }, end, err
}

// unready is the answer of a server that does not work yet.
type unready struct {
	Status      string `json:"status"`
	Step        string `json:"step,omitempty"` // of a migration
	*rest.Error `json:",inline"`
}

// serveUnready answers 503 with answer to every request but /healthz, until end is called.
func (ls *Listeners) serveUnready(log *slog.Logger, status string, answer func() unready) (end func(), err error) {
	if err := ls.openAPI(); err != nil {
		return nil, err
	}
	l := &pausableListener{Listener: ls.http}
	s := rest.NewSmallServer(unreadyHandler(status, answer), log)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := s.Serve(l); err != nil {
			log.Warn("the HTTP API can't report that this server is "+status, "err", err)
		}
	}()
	return sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			log.Warn("requests were cut off when the server began to work", "err", err)
		}
		<-ended
		l.resume()
	}), nil
}

func unreadyHandler(status string, answer func() unready) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/healthz" {
			_, _ = w.Write([]byte(`{"status":"` + status + `"}`)) // the client may be gone
			return
		}
		body, err := json.Marshal(answer())
		if err != nil {
			body = nil
		}
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write(body) // the client may be gone
	}
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
