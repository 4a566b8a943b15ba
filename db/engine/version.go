package engine

import (
	"context"
	"fmt"
	"time"
)

// Version is a state of the database as it looks from outside; two are compared
// with ==.
type Version struct {
	commits        uint64 // of this process
	externalGroups int64  // groups of writes of other processes, as far as was looked
	size           int64  // of the log of a file
	modified       time.Time
}

// Version answers another value after every commit of this process, without a look
// into the database. What another process commits shows too, but perhaps a moment
// before it can be read, and not where that follows an earlier commit within
// milliseconds: who waits for it looks twice, and now and then without any sign.
func (d *DB) Version() Version { return d.engine.version(d) }

// Foreign is another number after every commit of another process, as soon as that
// can be read, and stands still while only this one commits. It waits for the writer
// until ctx ends. Errors: those of the store.
func (d *DB) ExternalVersion(ctx context.Context) (n int64, err error) {
	err = d.run(ctx, func(s *Conn) (err error) {
		n, err = d.engine.externalVersion(s)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("look for changes of other processes: %w", err)
	}
	return n, nil
}
