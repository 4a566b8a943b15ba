package engine

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"time"
)

// maxUnsynced is how many groups may be written and not yet on disk.
const maxUnsynced = 8

// written is a group of requests whose transaction stands in the write-ahead log.
type unsyncedGroup struct {
	group []*request
	began time.Time
}

// disableSync has the writer's connection leave it to syncLoop to have commits on disk.
// With synchronous=NORMAL, SQLite syncs its log before it moves pages to the database file
// and when it begins the log anew; frames without a sync are lost from the end of the log
// on, whole transactions at a time, and none of those was answered.
// The log is opened beside SQLite, which locks no bytes of this file: closing it can't end a
// lock of the process.
func disableSync(ctx context.Context, conn *sql.Conn, path string) (wal *os.File, err error) {
	if _, err := conn.ExecContext(ctx, "PRAGMA synchronous = NORMAL"); err != nil {
		return nil, fmt.Errorf("have commits synced here: %w", err)
	}
	if wal, err = os.OpenFile(path+"-wal", os.O_RDWR, 0); err != nil {
		return nil, fmt.Errorf("open the write-ahead log: %w", err)
	}
	return wal, nil
}

// syncLoop syncs the write-ahead log after each commit and then answers, while the next
// group is being written. Commits that come meanwhile share one sync.
func (d *DB) syncLoop() {
	defer close(d.done)
	var failed error
	for w := range d.unsynced {
		all := append(make([]unsyncedGroup, 0, maxUnsynced+1), w)
		for range len(d.unsynced) {
			all = append(all, <-d.unsynced)
		}
		if failed == nil {
			if err := d.sync(); err != nil { // nobody knows what is on disk
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
