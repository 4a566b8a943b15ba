package delivery

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/pacing"
	"mailer/app/service"
	"mailer/db"
)

// PlanBroadcast foretells a broadcast that is about to be sent: b has its
// Audience, Relay, TeamID and ScheduledAt, and is not queued yet. Of a relay that
// this server does not have it says nothing.
func (s *Service) PlanBroadcast(r *db.Reader, b *app.Broadcast) (pacing.Plan, error) {
	l := s.laneOf(b.Relay)
	if l == nil {
		return pacing.Plan{Now: b.Audience}, nil
	}
	open, err := l.openBroadcasts(r, b.ID)
	if err != nil {
		return pacing.Plan{}, err
	}
	now := time.Now()
	next := *b
	if next.Status, next.QueuedAt = app.QueuedBroadcast, now; b.ScheduledAt.After(now) {
		next.Status = app.ScheduledBroadcast
	}
	open = append(open, openBroadcast{Broadcast: next, remaining: b.Audience})
	slices.SortStableFunc(open, openBroadcast.compare)
	f, err := l.forecast(r, now, open)
	if err != nil {
		return pacing.Plan{}, err
	}
	return f.Plan(slices.IndexFunc(open, func(o openBroadcast) bool { return o.ID == b.ID })), nil
}

// ForetellEnd returns when the last email of a scheduled or queued broadcast leaves
// as its lane goes; zero: nobody can say.
func (s *Service) ForetellEnd(ctx context.Context, b *app.Broadcast, now time.Time) (time.Time, error) {
	l := s.laneOf(b.Relay)
	if l == nil || b.Status != app.QueuedBroadcast && b.Status != app.ScheduledBroadcast || s.rests(b.TeamID, b.Relay) {
		return time.Time{}, nil
	}
	return l.plans.finish(b.ID, now, func() (map[string]time.Time, error) { return l.finishes(ctx, now) })
}

// planCache keeps what was foretold of all broadcasts of a lane, so that lists cost
// one forecast a second.
type planCache struct {
	mu       sync.Mutex
	at       time.Time
	finishes map[string]time.Time // zero: nobody can say
}

// planFresh is how long a forecast is good enough.
const planFresh = time.Second

// finish gives what is known of a broadcast. One that is not known yet is reason
// enough for a new forecast.
func (c *planCache) finish(id string, now time.Time, foretell func() (map[string]time.Time, error)) (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.finishes[id]; ok && now.Sub(c.at) < planFresh {
		return at, nil
	}
	finishes, err := foretell()
	if err != nil {
		return time.Time{}, err
	}
	c.at, c.finishes = now, finishes
	return finishes[id], nil
}

// finishes foretells all broadcasts of the lane.
func (l *lane) finishes(ctx context.Context, now time.Time) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	err := l.s.DB.Read(ctx, func(r *db.Reader) error {
		open, err := l.openBroadcasts(r, "")
		if err != nil {
			return err
		}
		f, err := l.forecast(r, now, open)
		if err != nil {
			return err
		}
		for i, at := range f.Finishes() {
			if !at.IsZero() {
				at = service.Latest(at, open[i].retryAt)
			}
			out[open[i].ID] = at
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("foretell broadcasts: %w", err)
	}
	return out, nil
}

// openBroadcast is a scheduled or queued broadcast as the planner needs it.
type openBroadcast struct {
	app.Broadcast
	remaining int64     // messages that have not left
	retryAt   time.Time // the latest next try of those that were put off; zero: none
}

// from is when it is queued.
func (b openBroadcast) from() time.Time {
	if b.Status == app.ScheduledBroadcast {
		return b.ScheduledAt
	}
	return b.QueuedAt
}

// compare orders broadcasts as they are, or will be, queued.
func (b openBroadcast) compare(c openBroadcast) int {
	return cmp.Or(b.from().Compare(c.from()), cmp.Compare(b.ID, c.ID))
}

// openBroadcasts reads the scheduled and queued broadcasts of the lane, but one, in
// the order in which they are queued.
func (l *lane) openBroadcasts(r *db.Reader, but string) ([]openBroadcast, error) {
	var open []openBroadcast
	for _, status := range []app.BroadcastStatus{app.QueuedBroadcast, app.ScheduledBroadcast} {
		rows, err := r.OpenBroadcasts(status)
		if err != nil {
			return nil, fmt.Errorf("read open broadcasts: %w", err)
		}
		for _, b := range rows {
			if b.Relay != l.name || b.ID == but {
				continue
			}
			o := openBroadcast{Broadcast: b, remaining: b.Remaining()}
			if err := o.readOpen(r); err != nil {
				return nil, fmt.Errorf("read units of broadcasts: %w", err)
			}
			open = append(open, o)
		}
	}
	slices.SortFunc(open, openBroadcast.compare)
	return open, nil
}

// retriesSeen bounds how many waiting units are looked at for the latest next try.
const retriesSeen = 500

// readOpen counts the begun messages that have not left.
func (b *openBroadcast) readOpen(r *db.Reader) error {
	if b.Open == 0 {
		return nil
	}
	dotted, err := r.CountDotted(b.ID)
	if err != nil {
		return err
	}
	b.remaining += max(0, b.Open-dotted)
	waiting, err := r.WaitingUnits(b.ID, retriesSeen)
	for _, u := range waiting {
		if !u.Since.IsZero() {
			b.retryAt = service.Latest(b.retryAt, u.NextAt)
		}
	}
	return err
}

// forecast is what the planner goes by. With a daily limit it counts what the
// database has as dotted, like remaining, and not places that are only reserved.
func (l *lane) forecast(r *db.Reader, now time.Time, open []openBroadcast) (*pacing.Forecast, error) {
	f := &pacing.Forecast{Now: now, Speed: l.limits.speed(), Daily: l.limits.daily, Share: l.limits.share}
	for _, b := range open {
		f.Queues = append(f.Queues, pacing.PlannedQueue{From: b.from(),
			BulkQueue: pacing.BulkQueue{ID: b.ID, TeamID: b.TeamID, Remaining: b.remaining, Drip: l.limits.drips(b.TeamID)}})
	}
	if l.limits.daily == 0 {
		f.Usage = l.limits.counted(now)
		return f, nil
	}
	rows, err := r.Usage(l.name, now.Unix()/60-dayMinutes+1)
	for _, row := range rows {
		f.Usage = append(f.Usage, pacing.UsageMinute(row))
	}
	if err != nil {
		return nil, fmt.Errorf("read use of relay %s: %w", l.name, err)
	}
	return f, nil
}
