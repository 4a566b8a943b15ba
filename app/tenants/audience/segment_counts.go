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
	// maxScans is how many connections long scans use at the same time. The store has more, so
	// other reads never wait for scans.
	maxScans = 2
	// maxWaitingScans is how many long scans of one team may wait.
	maxWaitingScans = 100
	// QuickScanRows is how many rows a read may scan, in about 10 ms, before it needs a slot for
	// long scans.
	QuickScanRows = 20_480
	// maxCounts bounds the cache of counts.
	maxCounts = 10_000
	// liveCountTTL is how long the count of a filter is cached that depends on the activity of
	// contacts (app.Filter.IsLive).
	liveCountTTL = 10 * time.Second
)

// Scan runs a read that may scan every contact of a team. If the read is long, fn is run again with
// a scan slot. At most maxScans long reads run at the same time, and teams take turns. They end
// with ctx. Errors: CodeRateLimitExceeded for a team with too many waiting reads.
func (s *Service) Scan(ctx context.Context, teamID string, fn func(*db.Reader, db.Effort) error) error {
	err := s.DB.Read(ctx, func(r *db.Reader) error { return fn(r, db.Effort{MaxRows: QuickScanRows}) })
	if !errors.Is(err, db.ErrLong) {
		return err
	}
	if err := s.scans.Acquire(ctx, teamID, 1); err != nil {
		return err
	}
	defer s.scans.Release(teamID, 1)
	return s.DB.Read(ctx, func(r *db.Reader) error { return fn(r, db.Effort{}) })
}

// countLong counts contacts of a team in a long scan: each half of them on its own connection.
// count counts those within the bounds of an Effort.
func (s *Service) countLong(ctx context.Context, teamID string, count func(context.Context, *db.Reader, db.Effort) (int, error)) (int, error) {
	if err := s.scans.Acquire(ctx, teamID, maxScans); err != nil {
		return 0, err
	}
	defer s.scans.Release(teamID, maxScans)
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

// CountAudience counts the recipients of a broadcast.
func (s *Service) CountAudience(ctx context.Context, a *app.Audience) (n int, err error) {
	n, err = db.Get(ctx, s.DB, func(r *db.Reader) (int, error) { return r.CountAudience(ctx, db.Effort{MaxRows: QuickScanRows}, a) })
	if !errors.Is(err, db.ErrLong) {
		return n, err
	}
	return s.countLong(ctx, a.TeamID, func(ctx context.Context, r *db.Reader, half db.Effort) (int, error) {
		return r.CountAudience(ctx, half, a)
	})
}

// segmentCount is the number of contacts in a segment, for a filter and a generation of the store.
type segmentCount struct {
	generation uint64
	filter     *app.Filter
	contacts   int
	at         time.Time
}

// cachedCount returns the count of a segment for a generation of the store, from the cache or from
// count. generation was read before the snapshot that segment comes from. The cached count of
// another filter is not used.
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
