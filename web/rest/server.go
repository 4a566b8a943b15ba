package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const maxHeaderBytes = 64 << 10

// Server serves a Handler on listeners, with bounds against slow clients: 10 s
// for a header of at most 64 KiB, the times of Limits for a body, 5 minutes until the
// answer begins, 30 s for each part of it, 2 minutes idle; and against many connections.
type Server struct {
	handler *Handler
	http    *http.Server
	conns   *connections
}

// NewServer makes a server that does not listen yet.
func NewServer(h *Handler) *Server {
	conns := newConnections(h.limits.Connections, h.limits.ConnectionsPerAddress, h.named, h.log)
	return &Server{handler: h, conns: conns, http: &http.Server{
		Handler:           h,
		ReadHeaderTimeout: h.limits.Header,
		WriteTimeout:      h.limits.write,
		IdleTimeout:       h.limits.idle,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnState:         conns.changed,
		ConnContext:       connContext,
		// OPTIONS * gets the 404 of any unknown path, in JSON.
		DisableGeneralOptionsHandler: true,
		HTTP2:                        &http2Limits,
		ErrorLog:                     log.New(noise{h.log}, "", 0),
	}}
}

// Serve answers on l until Shutdown, and is nil then. It closes l.
func (s *Server) Serve(l net.Listener) error {
	warnDescriptors(s.handler.log, s.conns.most)
	return served(l, s.http.Serve(boundListener{l, s.conns}))
}

// ServeTLS is Serve for HTTPS, with HTTP/2. Connections of both count together. A
// handshake has the time of a header.
func (s *Server) ServeTLS(l net.Listener, cfg *tls.Config) error {
	// ServeTLS of net/http takes its configuration from the server, of which there is one.
	cfg = cfg.Clone()
	cfg.NextProtos = append([]string{"h2", "http/1.1"}, cfg.NextProtos...)
	return served(l, s.http.Serve(tls.NewListener(boundListener{l, s.conns}, cfg)))
}

func served(l net.Listener, err error) error {
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving on %s: %w", l.Addr(), err)
	}
	return nil
}

// Drain has /readyz say 503 from now on, and returns after delay, or once failed is
// closed. Everything is answered as before meanwhile: a load balancer needs that time
// to send no more.
func (s *Server) Drain(delay time.Duration, failed <-chan struct{}) {
	s.handler.draining.Store(true)
	if delay <= 0 {
		return
	}
	select {
	case <-time.After(delay):
	case <-failed:
	}
}

// Shutdown stops listening and waits for the requests at work, but ends those
// that only listen; from its start on /readyz says 503. When ctx ends first, the connections left are cut and
// the error is that of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	s.handler.draining.Store(true)
	s.handler.stopFollowing(ctx)
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
		return fmt.Errorf("waiting for open requests: %w", err)
	}
	return nil
}

// Bounds of a Small.
const (
	smallConnections           = 512
	smallConnectionsPerAddress = 64
	smallTime                  = 5 * time.Second
)

// Small serves a handler whose answers are short and take no body, with bounds against
// slow clients and many connections as a Server has them.
type Small struct {
	http  *http.Server
	conns *connections
}

// NewSmallServer makes one that does not listen yet.
func NewSmallServer(h http.Handler, logger *slog.Logger) *Small {
	conns := newConnections(smallConnections, smallConnectionsPerAddress, nil, logger)
	return &Small{conns: conns, http: &http.Server{
		Handler: h, ReadTimeout: smallTime, WriteTimeout: smallTime, IdleTimeout: smallTime, MaxHeaderBytes: maxHeaderBytes,
		ConnState: conns.changed, ErrorLog: log.New(noise{logger}, "", 0),
	}}
}

// Serve answers on l until Shutdown, and is nil then. It closes l.
func (s *Small) Serve(l net.Listener) error {
	return served(l, s.http.Serve(boundListener{l, s.conns}))
}

// Shutdown stops listening and waits for answers on their way.
func (s *Small) Shutdown(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("wait for those who are redirected: %w", err), s.http.Close())
	}
	return nil
}
