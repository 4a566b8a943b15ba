package audience

import (
	"context"
	"errors"
	"reflect"
	"time"

	"golang.org/x/sync/errgroup"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/db"
)

const (
	// maxScans is how many connections long scans read from at once. The store
	// has more, so other reads never wait behind scans.
	maxScans = 2
	// maxWaitingScans is how many long scans of one team wait for their turn.
	maxWaitingScans = 100
	// QuickScanRows is how many rows a read may look at, some 10 ms, before it has to
	// queue for a place among the long scans.
	QuickScanRows = 20_480
	// maxCounts bounds how many counts are remembered.
	maxCounts = 10_000
	// liveCountTTL is how long the count of a filter is remembered that changes with the
	// emails that contacts get (app.Filter.IsLive).
	liveCountTTL = 10 * time.Second
)

// Scan runs a read that may have to look at every contact of a team. fn is run
// again where it turns out to be long. No more than maxScans long ones run at
// once, in turn between teams; they end with ctx. Errors: CodeRateLimitExceeded for a
// team of which many wait already.
func (s *Service) Scan(ctx context.Context, teamID string, fn func(*db.Reader, db.Effort) error) error {
	err := s.DB.Read(ctx, func(r *db.Reader) error { return fn(r, db.Effort{MaxRows: QuickScanRows}) })
	if !errors.Is(err, db.ErrLong) {
		return err
	}
	if err := s.scans.Acquire(ctx, teamID, 1); err != nil {
		return err
	}
	defer s.scans.Release(1)
	return s.DB.Read(ctx, func(r *db.Reader) error { return fn(r, db.Effort{}) })
}

// countLong counts contacts of a team where that is long: each half of them on a
// connection of its own. count counts those between the bounds of an effort.
func (s *Service) countLong(ctx context.Context, teamID string, count func(context.Context, *db.Reader, db.Effort) (int, error)) (int, error) {
	if err := s.scans.Acquire(ctx, teamID, maxScans); err != nil {
		return 0, err
	}
	defer s.scans.Release(maxScans)
	middle, err := db.Get(ctx, s.DB, func(r *db.Reader) (string, error) { return r.MiddleContact(teamID) })
	if errors.Is(err, db.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	halves := []db.Effort{{To: middle}, {From: middle}}
	var counted [maxScans]int
	group, ctx := errgroup.WithContext(ctx)
	for i, half := range halves {
		group.Go(func() (err error) {
			counted[i], err = db.Get(ctx, s.DB, func(r *db.Reader) (int, error) { return count(ctx, r, half) })
			return err
		})
	}
	err = group.Wait()
	return counted[0] + counted[1], err
}

// CountAudience counts whom a broadcast goes to.
func (s *Service) CountAudience(ctx context.Context, a *app.Audience) (n int, err error) {
	n, err = db.Get(ctx, s.DB, func(r *db.Reader) (int, error) { return r.CountAudience(ctx, db.Effort{MaxRows: QuickScanRows}, a) })
	if !errors.Is(err, db.ErrLong) {
		return n, err
	}
	return s.countLong(ctx, a.TeamID, func(ctx context.Context, r *db.Reader, half db.Effort) (int, error) {
		return r.CountAudience(ctx, half, a)
	})
}

// segmentCount is how many contacts were in a segment, as its filter was at a
// generation of the store.
type segmentCount struct {
	generation uint64
	filter     *app.Filter
	contacts   int
	at         time.Time
}

// cachedCount returns the count of a segment as it was at a generation of the store,
// or has it counted. generation was read before the snapshot that segment comes
// from; where that has another filter already, the count of the old one is none of
// its own.
func (s *Service) cachedCount(segment *app.Segment, generation uint64, count func() (int, error)) (int, error) {
	known, ok := s.counts.Get(segment.ID)
	valid := ok && (!segment.Filter.IsLive() || clock.Since(known.at) < liveCountTTL)
	if valid && known.generation == generation && reflect.DeepEqual(known.filter, segment.Filter) {
		return known.contacts, nil
	}
	mark := s.counts.Mark()
	n, err := count()
	if err != nil {
		return 0, err
	}
	s.counts.Put(segment.ID, segmentCount{generation, segment.Filter, n, clock.Now()}, mark)
	return n, nil
}
