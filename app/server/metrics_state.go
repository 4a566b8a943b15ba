package server

import (
	"context"
	"slices"
	"time"

	"mailer/app/kit/clock"
	"mailer/app/kit/metrics"
	"mailer/app/sending/delivery"
	"mailer/app/sending/queue"
)

// sampleMetrics returns the current values of the gauges.
func (s *Server) sampleMetrics(ctx context.Context) (state metrics.State, err error) {
	waiting, err := s.Queue.Counts(ctx)
	if err != nil {
		return state, err
	}
	last, err := s.Backup.Last(ctx)
	if err != nil {
		return state, err
	}
	state.LastBackup = last.At
	for _, r := range s.Delivery.RelayQueues.States() {
		state.Relays = append(state.Relays, metrics.Relay{Name: r.Relay.Region, Up: r.State == delivery.RelayOpen})
	}
	addWaiting(&state, waiting, clock.Now())
	sizes, err := s.DB.FileSizes()
	state.DB, state.WAL, state.DiskFree = sizes.File, sizes.WAL, sizes.DiskFree
	return state, err
}

// addWaiting sums the waiting mail of all teams. A relay that has waiting mail but is not
// configured counts as down.
func addWaiting(state *metrics.State, counts []queue.Count, now time.Time) {
	for _, c := range counts {
		i := slices.IndexFunc(state.Waiting, func(w metrics.Waiting) bool { return w.Relay == c.Relay && w.Reason == string(c.State) })
		if i < 0 {
			i = len(state.Waiting)
			state.Waiting = append(state.Waiting, metrics.Waiting{Relay: c.Relay, Reason: string(c.State)})
		}
		state.Waiting[i].Count += c.Count
		at := slices.IndexFunc(state.Relays, func(r metrics.Relay) bool { return r.Name == c.Relay })
		if at < 0 {
			at = len(state.Relays)
			state.Relays = append(state.Relays, metrics.Relay{Name: c.Relay})
		}
		switch c.State {
		case queue.Due, queue.Retry, queue.Relay:
			state.Relays[at].Oldest = max(state.Relays[at].Oldest, now.Sub(c.Oldest))
		}
	}
}
