package delivery

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/cache"
	"mailer/app/kit/clock"
	"mailer/app/rules/pacing"
	"mailer/db"
)

// PlanBroadcast forecasts a broadcast that is about to be sent. b has its Audience, Relay, TeamID
// and ScheduledAt, and is not queued yet. For a relay that this server does not have, the plan
// holds only the audience.
func (s *Service) PlanBroadcast(r *db.Reader, b *app.Broadcast) (pacing.Plan, error) {
	l := s.bulkQueueOf(b.Relay)
	if l == nil {
		return pacing.Plan{Now: b.Audience}, nil
	}
	return l.forecaster.plan(r, b)
}

// ForecastFinish returns when the last email of a scheduled or queued broadcast will be sent; zero:
// unknown, or the broadcast is paused.
func (s *Service) ForecastFinish(ctx context.Context, b *app.Broadcast, now time.Time) (time.Time, error) {
	l := s.bulkQueueOf(b.Relay)
	if l == nil || b.Status != app.QueuedBroadcast && b.Status != app.ScheduledBroadcast || !b.PausedAt.IsZero() || s.Guardrails.BroadcastsPaused(b.TeamID, b.Relay) {
		return time.Time{}, nil
	}
	return l.forecaster.finish(ctx, b.ID, now)
}

// forecaster forecasts the broadcasts of a relay.
type forecaster struct {
	db     *db.DB
	region string
	limits *limits
	// cache holds the finish times of all broadcasts by region, so that lists cost one forecast per
	// forecastTTL. A zero time: unknown.
	cache *cache.Cache[string, map[string]time.Time]
}

// forecastTTL is how long a forecast is reused.
const forecastTTL = time.Second

func newForecaster(store *db.DB, region string, limits *limits) *forecaster {
	return &forecaster{db: store, region: region, limits: limits, cache: cache.New[string, map[string]time.Time](1, forecastTTL)}
}

// finish returns when a broadcast is sent to all recipients; zero: unknown. A broadcast that is
// missing in the cache causes a new forecast.
func (c *forecaster) finish(ctx context.Context, id string, now time.Time) (time.Time, error) {
	if known, ok := c.cache.Get(c.region); ok {
		if at, ok := known[id]; ok {
			return at, nil
		}
		c.cache.Forget(c.region)
	}
	finishes, err := c.cache.Load(ctx, c.region, func(ctx context.Context) (map[string]time.Time, error) { return c.finishes(ctx, now) })
	return finishes[id], err
}

// plan forecasts a broadcast that is about to be sent.
func (c *forecaster) plan(r *db.Reader, b *app.Broadcast) (pacing.Plan, error) {
	open, err := c.openBroadcasts(r, b.ID)
	if err != nil {
		return pacing.Plan{}, err
	}
	now := clock.Now()
	next := *b
	if next.Status, next.QueuedAt = app.QueuedBroadcast, now; b.ScheduledAt.After(now) {
		next.Status = app.ScheduledBroadcast
	}
	open = append(open, openBroadcast{Broadcast: next, remaining: b.Audience})
	slices.SortStableFunc(open, openBroadcast.compare)
	f, err := c.forecast(r, now, open)
	if err != nil {
		return pacing.Plan{}, err
	}
	return f.Plan(slices.IndexFunc(open, func(o openBroadcast) bool { return o.ID == b.ID })), nil
}

// finishes forecasts all broadcasts of the relay.
func (c *forecaster) finishes(ctx context.Context, now time.Time) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	err := c.db.Read(ctx, func(r *db.Reader) error {
		open, err := c.openBroadcasts(r, "")
		if err != nil {
			return err
		}
		f, err := c.forecast(r, now, open)
		if err != nil {
			return err
		}
		for i, at := range f.Finishes() {
			if !at.IsZero() {
				at = base.Later(at, open[i].retryAt)
			}
			out[open[i].ID] = at
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("forecast broadcasts: %w", err)
	}
	return out, nil
}

// openBroadcast is a scheduled or queued broadcast with what the forecast needs.
type openBroadcast struct {
	app.Broadcast
	remaining int64     // messages not sent yet
	retryAt   time.Time // latest next try of deferred messages; zero: none
}

// queuedAt is when the broadcast was or will be queued.
func (b openBroadcast) queuedAt() time.Time {
	if b.Status == app.ScheduledBroadcast {
		return b.ScheduledAt
	}
	return b.QueuedAt
}

// compare orders broadcasts by when they are queued.
func (b openBroadcast) compare(c openBroadcast) int {
	return cmp.Or(b.queuedAt().Compare(c.queuedAt()), cmp.Compare(b.ID, c.ID))
}

// openBroadcasts reads the scheduled and queued broadcasts of the relay in the order in which they
// are queued, without paused ones and the one with the id but.
func (c *forecaster) openBroadcasts(r *db.Reader, but string) ([]openBroadcast, error) {
	var open []openBroadcast
	for _, status := range []app.BroadcastStatus{app.QueuedBroadcast, app.ScheduledBroadcast} {
		rows, err := r.OpenBroadcasts(status)
		if err != nil {
			return nil, fmt.Errorf("read open broadcasts: %w", err)
		}
		for _, b := range rows {
			if b.Relay != c.region || b.ID == but || !b.PausedAt.IsZero() {
				continue
			}
			o := openBroadcast{Broadcast: b, remaining: b.Remaining()}
			if err := o.readOpen(r); err != nil {
				return nil, fmt.Errorf("read units of broadcasts: %w", err)
			}
			open = append(open, o)
		}
	}
	slices.SortStableFunc(open, openBroadcast.compare)
	return open, nil
}

// maxRetriesRead bounds how many waiting units are read for the latest next try.
const maxRetriesRead = 500

// readOpen adds the begun messages that are not sent yet.
func (b *openBroadcast) readOpen(r *db.Reader) error {
	if b.Open == 0 {
		return nil
	}
	committed, err := r.CountCommitted(b.ID)
	if err != nil {
		return err
	}
	b.remaining += max(0, b.Open-committed)
	waiting, err := r.WaitingUnits(b.ID, maxRetriesRead)
	for _, u := range waiting {
		if !u.Since.IsZero() {
			b.retryAt = base.Later(b.retryAt, u.NextAt)
		}
	}
	return err
}

// forecast returns the input of the pacing rules. With a daily limit it uses the stored usage, like
// remaining, without reservations in memory.
func (c *forecaster) forecast(r *db.Reader, now time.Time, open []openBroadcast) (*pacing.Forecast, error) {
	f := &pacing.Forecast{Now: now, Speed: c.limits.speed()}
	f.Daily, f.Share = c.limits.caps()
	for _, b := range open {
		f.Queues = append(f.Queues, pacing.PlannedQueue{From: b.queuedAt(),
			BulkQueue: pacing.BulkQueue{ID: b.ID, TeamID: b.TeamID, Remaining: b.remaining, Drip: c.limits.drips(b.TeamID)}})
	}
	if f.Daily == 0 {
		f.Usage = c.limits.usageMinutes(now)
		return f, nil
	}
	rows, err := r.Usage(c.limits.relay, now.Unix()/60-dayMinutes+1)
	for _, row := range rows {
		f.Usage = append(f.Usage, pacing.UsageMinute(row))
	}
	if err != nil {
		return nil, fmt.Errorf("read the usage of relay %s: %w", c.region, err)
	}
	return f, nil
}
