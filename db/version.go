package db

import (
	"context"
	"fmt"
	"time"
)

// Version is a state of the database as it looks from outside; two are compared
// with ==.
type Version struct {
	commits uint64 // of this process
	others  int64  // groups of writes of other processes, as far as was looked
	size    int64  // of the log of a file
	written time.Time
}

// Version answers another value after every commit of this process, without a look
// into the database. What another process commits shows too, but perhaps a moment
// before it can be read, and not where that follows an earlier commit within
// milliseconds: who waits for it looks twice, and now and then without any sign.
func (d *DB) Version() Version { return d.engine.version(d) }

// Heard has a value once the server has heard that another process wrote to its database
// elsewhere, which Version then shows; that a file changed only Version tells.
func Heard(d *DB) <-chan struct{} { return d.heard }

// Sure reports whether no other server can have taken over the work on d since this one last
// told its database that it works. Where it is not sure, nothing may leave: the other one
// sends it. Of a file it always is.
func Sure(d *DB) bool { return d.engine.sure() }

// Foreign is another number after every commit of another process, as soon as that
// can be read, and stands still while only this one commits. It waits for the writer
// until ctx ends. Errors: those of the store.
func (d *DB) Foreign(ctx context.Context) (n int64, err error) {
	err = d.run(ctx, func(s *session) (err error) {
		n, err = d.engine.foreign(s)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("look for changes of other processes: %w", err)
	}
	return n, nil
}
