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

// Server serves a Handler with limits against slow clients (10 s for a header of at most 64 KiB,
// Limits for a body, 5 minutes until the answer begins, 30 s for each part of it, 2 minutes idle)
// and against many connections.
type Server struct {
	handler *Handler
	http    *http.Server
	conns   *connections
}

// NewServer makes a server without listeners.
func NewServer(h *Handler) *Server {
	conns := newConnections(h.limits.Connections, h.limits.ConnectionsPerAddress, h.named, h.log)
	return &Server{handler: h, conns: conns, http: &http.Server{
		Handler:           h,
		ReadHeaderTimeout: h.limits.Header,
		WriteTimeout:      h.limits.write,
		IdleTimeout:       h.limits.idle,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnState:         conns.stateChanged,
		ConnContext:       connContext,
		// OPTIONS * gets the JSON 404 of an unknown path.
		DisableGeneralOptionsHandler: true,
		HTTP2:                        &http2Limits,
		ErrorLog:                     log.New(httpLog{h.log}, "", 0),
	}}
}

// Serve serves l until Shutdown, and closes it. It returns nil after Shutdown.
func (s *Server) Serve(l net.Listener) error {
	warnDescriptors(s.handler.log, s.conns.max)
	return serveError(l, s.http.Serve(boundListener{l, s.conns}))
}

// ServeTLS is Serve for HTTPS and HTTP/2. Connections of both count together. A handshake has as
// long as a header.
func (s *Server) ServeTLS(l net.Listener, cfg *tls.Config) error {
	// net/http's ServeTLS would take its configuration from the shared server.
	cfg = cfg.Clone()
	cfg.NextProtos = append([]string{"h2", "http/1.1"}, cfg.NextProtos...)
	return serveError(l, s.http.Serve(tls.NewListener(boundListener{l, s.conns}, cfg)))
}

func serveError(l net.Listener, err error) error {
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving on %s: %w", l.Addr(), err)
	}
	return nil
}

// Drain makes /readyz answer 503, and returns after delay, or when failed is closed. Other requests
// are still answered: a load balancer needs the time to stop sending.
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

// Shutdown stops listening, ends answers of Follow, and waits for running requests; /readyz answers
// 503 meanwhile. If ctx ends first, it closes the remaining connections and returns the error of
// ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	s.handler.draining.Store(true)
	s.handler.stopFollowing(ctx)
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
		return fmt.Errorf("waiting for open requests: %w", err)
	}
	return nil
}

// Limits of a SmallServer.
const (
	smallConnections           = 512
	smallConnectionsPerAddress = 64
	smallTime                  = 5 * time.Second
)

// SmallServer serves a handler with short answers and without bodies, with limits against slow
// clients and many connections.
type SmallServer struct {
	http  *http.Server
	conns *connections
}

// NewSmallServer makes a server without listeners.
func NewSmallServer(h http.Handler, logger *slog.Logger) *SmallServer {
	conns := newConnections(smallConnections, smallConnectionsPerAddress, nil, logger)
	return &SmallServer{conns: conns, http: &http.Server{
		Handler: h, ReadTimeout: smallTime, WriteTimeout: smallTime, IdleTimeout: smallTime, MaxHeaderBytes: maxHeaderBytes,
		ConnState: conns.stateChanged, ErrorLog: log.New(httpLog{logger}, "", 0),
	}}
}

// Serve serves l until Shutdown, and closes it. It returns nil after Shutdown.
func (s *SmallServer) Serve(l net.Listener) error {
	return serveError(l, s.http.Serve(boundListener{l, s.conns}))
}

// Shutdown stops listening and waits for running answers.
func (s *SmallServer) Shutdown(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("wait for redirected requests: %w", err), s.http.Close())
	}
	return nil
}
