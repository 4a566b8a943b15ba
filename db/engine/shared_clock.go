package engine

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"mailer/app/kit/clock"
)

// Servers on several machines must agree when something is due, expires or was created, even if the
// clock of a machine is wrong. All servers follow the clock of the database.

// adoptClock makes this process follow the clock of the database, if opts.Clock is set.
func adoptClock(ctx context.Context, d *DB, conn *sql.Conn, opts Options) error {
	if d.usesDatabaseClock = opts.Clock; !opts.Clock {
		return nil
	}
	var shown int64
	began := time.Now()
	if err := conn.QueryRowContext(ctx, `SELECT `+postgresNow).Scan(&shown); err != nil {
		return fmt.Errorf("ask %s for the time: %w", d.name, err)
	}
	followClock(d, shown, began)
	return nil
}

// followClock adjusts the clock of this process to a time of the database, in Unix milliseconds,
// that was queried at asked. It reports whether the clock was adjusted.
func followClock(d *DB, shown int64, asked time.Time) (moved bool) {
	if !d.usesDatabaseClock {
		return false
	}
	by := clock.Follow(time.UnixMilli(shown), asked, time.Now())
	if by != 0 {
		d.log.Warn("this machine's clock is not that of the database, which all servers go by: set both right", "db", d.name,
			"moved_by", by.Round(time.Millisecond).String(), "machine_ahead_by", clock.Ahead().Round(time.Millisecond).String())
	}
	return by != 0
}
