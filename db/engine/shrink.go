package engine

import (
	"context"
	"fmt"
	"time"
)

// Unused pages are reused before the file grows, so some are kept: sparePages, and one of
// spareShare of the whole file.
const (
	sparePages = 256
	spareShare = 100
)

// Shrink returns unused pages to the disk for about the duration budget. It returns how long the
// writer was blocked and whether there are more such pages. It does nothing on PostgreSQL.
func (d *DB) Shrink(ctx context.Context, budget time.Duration) (took time.Duration, more bool, err error) {
	if err := d.refusal(); err != nil || d.path == "" {
		return 0, false, err
	}
	err = d.run(ctx, func(s *Conn) error {
		start := time.Now()
		var free, count int64
		if err := s.Row(`PRAGMA freelist_count`, nil, &free); err != nil {
			return err
		}
		if err := s.Row(`PRAGMA page_count`, nil, &count); err != nil {
			return err
		}
		if free -= sparePages + count/spareShare; free <= 0 {
			return nil
		}
		n, err := s.vacuum(start, budget, free)
		took, more = time.Since(start), n < free
		return err
	})
	if err != nil {
		return 0, false, fmt.Errorf("shrink the database: %w", err)
	}
	return took, more, nil
}

// vacuumStep is how many pages are moved between two looks at the clock.
const vacuumStep = 8

// vacuum moves up to limit pages from the end of the file into unused ones and truncates the
// file, in one transaction.
func (s *Conn) vacuum(start time.Time, budget time.Duration, limit int64) (n int64, err error) {
	rows, err := s.conn.QueryContext(context.Background(), fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, min(limit, maxVacuum)))
	if err != nil {
		return 0, err
	}
	for rows.Next() { // one row for each page
		if n++; n%vacuumStep == 0 && time.Since(start) > budget {
			break
		}
	}
	if err := rows.Close(); err != nil {
		return n, err
	}
	return n, rows.Err()
}

// maxVacuum bounds the pages that one transaction moves.
const maxVacuum = 512
