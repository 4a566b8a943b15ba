package server

import (
	"context"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/kit/metrics"
	"mailer/app/operate/retention"
	"mailer/app/sending/delivery"
	"mailer/app/sending/queue"
	"mailer/db"
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
		state.Relays = append(state.Relays, metrics.Relay{Name: r.Relay.FullName(), Region: r.Relay.Region, Up: r.State == delivery.RelayOpen})
	}
	for _, r := range s.Settings.Relays().Regions {
		if len(r.Relays) > 1 {
			for _, relay := range r.Relays {
				state.Active = append(state.Active, metrics.Active{Region: r.Name, Relay: relay, Active: relay == r.Active})
			}
		}
	}
	addWaiting(&state, waiting, clock.Now())
	if state.Images, err = db.Get(ctx, s.DB, (*db.Reader).AllImageBytes); err != nil {
		return state, err
	}
	received, err := retention.ReceivedOf(ctx, s.Base)
	if err != nil {
		return state, err
	}
	state.Received = received.Stored
	if state.OpenRuns, err = db.Get(ctx, s.DB, (*db.Reader).AllOpenRuns); err != nil {
		return state, err
	}
	if err := s.Health.EachListing(ctx, func(list, address string, listed bool) {
		state.Listings = append(state.Listings, metrics.Listing{List: list, Address: address, Listed: listed})
	}); err != nil {
		return state, err
	}
	sizes, err := s.DB.FileSizes()
	state.DB, state.WAL, state.DiskFree = sizes.File, sizes.WAL, sizes.DiskFree
	return state, err
}

// addWaiting sums the waiting mail of all teams. A relay that has waiting mail but is not
// configured counts as down.
func addWaiting(state *metrics.State, counts []queue.Count, now time.Time) {
	for _, c := range counts {
		region := app.QueueRegion(c.Queue)
		i := slices.IndexFunc(state.Waiting, func(w metrics.Waiting) bool { return w.Relay == region && w.Reason == string(c.State) })
		if i < 0 {
			i = len(state.Waiting)
			state.Waiting = append(state.Waiting, metrics.Waiting{Relay: region, Reason: string(c.State)})
		}
		state.Waiting[i].Count += c.Count
		at := slices.IndexFunc(state.Relays, func(r metrics.Relay) bool { return r.Region == region })
		if at < 0 {
			at = len(state.Relays)
			state.Relays = append(state.Relays, metrics.Relay{Name: region, Region: region})
		}
		switch c.State {
		case queue.Due, queue.Retry, queue.Relay:
			state.Relays[at].Oldest = max(state.Relays[at].Oldest, now.Sub(c.Oldest))
		}
	}
}
