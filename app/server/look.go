package server

import (
	"context"

	"mailer/app/metrics"
)

// look finds what the metrics show of this moment.
func (s *Server) look(ctx context.Context) (metrics.State, error) {
	state := metrics.State{Relays: s.Delivery.RelaysUp()}
	var err error
	state.DB, state.WAL, state.DiskFree, err = s.DB.Sizes()
	return state, err
}
