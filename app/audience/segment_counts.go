package audience

import (
	"context"
	"errors"
	"reflect"
	"sync"

	"golang.org/x/sync/errgroup"

	"mailer/app"
	"mailer/db"
)

const (
	// maxScans is how many connections long scans read from at once. The store
	// has more, so other reads never wait behind scans.
	maxScans = 2
	// QuickScan is how many rows a read may look at, some 10 ms, before it has to
	// queue for a place among the long scans.
	QuickScan = 20_480
	// maxCounts bounds how many counts are remembered.
	maxCounts = 10_000
)

// Scan runs a read that may have to look at every contact of a team. fn is run
// again where it turns out to be long. No more than maxScans long ones run at
// once; they end with ctx.
func (s *Service) Scan(ctx context.Context, fn func(*db.Reader, db.Effort) error) error {
	err := s.DB.Read(ctx, func(r *db.Reader) error { return fn(r, db.Effort{Most: QuickScan}) })
	if !errors.Is(err, db.ErrLong) {
		return err
	}
	if err := s.scans.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.scans.Release(1)
	return s.DB.Read(ctx, func(r *db.Reader) error { return fn(r, db.Effort{}) })
}

// countLong counts contacts of a team where that is long: each half of them on a
// connection of its own. count counts those between the bounds of an effort.
func (s *Service) countLong(ctx context.Context, teamID string, count func(context.Context, *db.Reader, db.Effort) (int, error)) (int, error) {
	if err := s.scans.Acquire(ctx, maxScans); err != nil {
		return 0, err
	}
	defer s.scans.Release(maxScans)
	var middle string
	err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
		middle, err = r.MiddleContact(teamID)
		return err
	})
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
		group.Go(func() error {
			return s.DB.Read(ctx, func(r *db.Reader) (err error) {
				counted[i], err = count(ctx, r, half)
				return err
			})
		})
	}
	err = group.Wait()
	return counted[0] + counted[1], err
}

// CountAudience counts whom a broadcast goes to.
func (s *Service) CountAudience(ctx context.Context, a *app.Audience) (n int, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) (err error) {
		n, err = r.CountAudience(ctx, db.Effort{Most: QuickScan}, a)
		return err
	})
	if !errors.Is(err, db.ErrLong) {
		return n, err
	}
	return s.countLong(ctx, a.TeamID, func(ctx context.Context, r *db.Reader, half db.Effort) (int, error) {
		return r.CountAudience(ctx, half, a)
	})
}

// segmentCounts remembers how many contacts are in segments. The zero value is
// ready.
type segmentCounts struct {
	mu sync.Mutex
	by map[string]segmentCount
}

type segmentCount struct {
	generation uint64
	filter     *app.Filter
	contacts   int
}

// of gives the count of a segment as it was at a generation of the store, or has
// it counted. generation was read before the snapshot that s comes from; where
// that has another filter already, the count of the old one is none of its own.
func (c *segmentCounts) of(s *app.Segment, generation uint64, count func() (int, error)) (int, error) {
	c.mu.Lock()
	known, ok := c.by[s.ID]
	c.mu.Unlock()
	if ok && known.generation == generation && reflect.DeepEqual(known.filter, s.Filter) {
		return known.contacts, nil
	}
	n, err := count()
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil || len(c.by) >= maxCounts {
		c.by = map[string]segmentCount{}
	}
	c.by[s.ID] = segmentCount{generation, s.Filter, n}
	return n, nil
}
