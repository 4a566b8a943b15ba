package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
)

const maxHeaderBytes = 64 << 10

// Server serves a Handler on listeners, with bounds against slow clients: 10 s
// for a header of at most 64 KiB, one minute for a body, 5 minutes until the answer
// begins, 30 s for each part of it, 2 minutes idle.
type Server struct {
	handler *Handler
	http    *http.Server
}

// NewServer makes a server that does not listen yet.
func NewServer(h *Handler) *Server {
	return &Server{handler: h, http: &http.Server{
		Handler:           h,
		ReadHeaderTimeout: h.limits.Header,
		WriteTimeout:      h.limits.write,
		IdleTimeout:       h.limits.idle,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnContext:       boundSending,
		// OPTIONS * gets the 404 of any unknown path, in JSON.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(h.log.Handler(), slog.LevelDebug),
	}}
}

// Serve answers on l until Shutdown, and is nil then. It closes l.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving on %s: %w", l.Addr(), err)
	}
	return nil
}

// Shutdown stops listening and waits for the requests at work; from its start
// on /readyz says 503. When ctx ends first, the connections left are cut and
// the error is that of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	s.handler.draining.Store(true)
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
		return fmt.Errorf("waiting for open requests: %w", err)
	}
	return nil
}
