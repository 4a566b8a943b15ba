package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/net/netutil"
)

// Limits of the metrics server, which one or two clients ask every few seconds.
const (
	maxConnections = 32
	maxHeaderBytes = 16 << 10
	readTimeout    = 10 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	stateTimeout   = 10 * time.Second
)

// Flags holds the flags of the metrics listener.
type Flags struct {
	listen   string
	metrics  *Metrics
	listener net.Listener // nil: not requested
}

// Bind adds the flags to those of a command.
func (f *Flags) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.listen, "metrics-listen", "", "listen address of GET /metrics for Prometheus, like 127.0.0.1:9464; no authentication (default: off)")
}

// Check validates the flags before anything is opened. Errors name the flag.
func (f *Flags) Check() error {
	if f.listen == "" {
		return nil
	}
	if _, err := net.ResolveTCPAddr("tcp", f.listen); err != nil {
		return fmt.Errorf("--metrics-listen: %w", err)
	}
	f.metrics = New()
	return nil
}

// Metrics returns the counters to use after Check; nil: metrics are disabled.
func (f *Flags) Metrics() *Metrics { return f.metrics }

// Open opens the listener if requested. listen opens the address of a flag; its errors name the
// flag.
func (f *Flags) Open(listen func(flag, address string) (net.Listener, error)) (err error) {
	if f.listen == "" {
		return nil
	}
	f.listener, err = listen("metrics-listen", f.listen)
	return err
}

// Close closes the listener. The function that Serve returned stops the server.
func (f *Flags) Close() {
	if f.listener != nil {
		_ = f.listener.Close() // already closed if the server ran
	}
}

// Serve answers GET /metrics until stop is called. stop waits for answers in progress.
func (f *Flags) Serve(logger *slog.Logger, ended chan<- error) (stop func(ctx context.Context) error) {
	if f.listener == nil {
		return func(context.Context) error { return nil }
	}
	address := f.listener.Addr().String()
	logger.Info("listening for metrics", "address", address)
	if ip := f.listener.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
		logger.Warn("the metrics address has no authentication: use a loopback address for --metrics-listen, or restrict access", "address", address)
	}
	server := &http.Server{
		Handler:     f.metrics.Handler(logger),
		ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: log.New(io.Discard, "", 0), // errors of clients
	}
	go func() {
		if err := server.Serve(netutil.LimitListener(f.listener, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
			ended <- fmt.Errorf("listen for metrics: %w", err)
		}
	}()
	return func(ctx context.Context) error {
		if err := server.Shutdown(ctx); err != nil {
			return errors.Join(fmt.Errorf("accept connections for metrics: %w", err), server.Close())
		}
		return nil
	}
}

// Handler answers GET /metrics only.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.Header().Set("Allow", http.MethodGet)
			http.Error(w, "only GET is answered here", http.StatusMethodNotAllowed)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), stateTimeout)
		defer cancel()
		state, err := m.watch.state(ctx)
		seen := &state
		if err != nil {
			if r.Context().Err() != nil {
				return // the client is gone
			}
			log.Warn("metrics of the queue and the database are missing in an answer", "err", err)
			seen = nil
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(m.text(seen)) // an error means that the client is gone
	})
	return mux
}
