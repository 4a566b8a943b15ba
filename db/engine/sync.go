package engine

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"time"
)

// maxUnsynced is how many groups may be committed but not synced.
const maxUnsynced = 8

// unsyncedGroup is a group of requests whose transaction is in the write-ahead log.
type unsyncedGroup struct {
	group []*request
	began time.Time
}

// disableSync makes the commits of the writer's connection return without a sync, which syncLoop
// does. With synchronous=NORMAL, SQLite syncs its log before it moves pages to the database file
// and when it restarts the log. A power failure loses the unsynced end of the log, in whole
// transactions, none of which was confirmed. The log is opened separately from SQLite, which
// places no locks on this file, so that closing it cannot release a lock of the process.
func disableSync(ctx context.Context, conn *sql.Conn, path string) (wal *os.File, err error) {
	if _, err := conn.ExecContext(ctx, "PRAGMA synchronous = NORMAL"); err != nil {
		return nil, fmt.Errorf("disable the sync of commits: %w", err)
	}
	if wal, err = os.OpenFile(path+"-wal", os.O_RDWR, 0); err != nil {
		return nil, fmt.Errorf("open the write-ahead log: %w", err)
	}
	return wal, nil
}

// syncLoop syncs the write-ahead log after each commit and then answers the group, while the next
// group is being written. Commits that arrive during a sync share the next one.
func (d *DB) syncLoop() {
	defer close(d.done)
	var failed error
	for w := range d.unsynced {
		all := append(make([]unsyncedGroup, 0, maxUnsynced+1), w)
		for range len(d.unsynced) {
			all = append(all, <-d.unsynced)
		}
		if failed == nil {
			if err := d.sync(); err != nil { // what is on disk is unknown
				d.fail(fmt.Errorf("sync the write-ahead log: %w", err))
				failed = d.Err()
			}
		}
		for _, w := range all {
			if failed == nil {
				d.commits.Add(1)
				d.metrics.Commit(time.Since(w.began))
			}
			answer(&d.generations, w.group, failed)
		}
	}
}
