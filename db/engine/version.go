package engine

import (
	"context"
	"fmt"
	"time"
)

// Version is a state of the database. Versions are compared with ==.
type Version struct {
	commits        uint64 // of this process
	externalGroups int64  // of other processes, as of the last heartbeat
	size           int64  // of the log of a file
	modified       time.Time
}

// Version returns another value after every commit of this process, without a query. A commit of
// another process shows too, but possibly a moment before it can be read, and not always if it
// follows an earlier commit within milliseconds. A caller that waits for one must check twice,
// and from time to time without a change of Version.
func (d *DB) Version() Version { return d.engine.version(d) }

// ExternalVersion returns another number after every commit of another process, as soon as the
// commit can be read, and the same number while only this process commits. It waits for the
// writer until ctx ends. Errors: those of the store.
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
