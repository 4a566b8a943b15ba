package delivery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"mailer/app/kit/clock"
	"mailer/app/rules/pacing"
	"mailer/app/rules/relayurl"
	"mailer/db"
)

// dayMinutes is the window of a relay's daily limit in minutes.
const dayMinutes = pacing.DayMinutes

// mailPriority is how long free capacity of the daily limit is kept for transactional mail that was
// promised capacity after a wait.
const mailPriority = 5 * time.Second

// limits enforces what a relay allows: messages per second (see rateLimit) and messages in any 24
// hours, counted by minute. The Write that commits a unit stores the count; without a daily limit
// and reserves of its region it is only kept in memory, for forecasts.
type limits struct {
	*rateLimit
	relay        string
	bulkFraction float64 // fraction of daily that broadcasts may use
	// inWarning reports whether a team's broadcasts are throttled; nil: none are. It must not block
	// and is set before the queue starts.
	inWarning func(teamID string) bool

	mu                sync.Mutex
	rate              float64           // messages a second of all servers; 0: no limit
	serverCount       int               // servers that share the relay
	stale             bool              // other servers may have sent since the last reload
	reservedUsage     usage             // reservations that are not stored yet
	daily             int64             // 0: no limit
	counted           bool              // messages are counted in the database without a daily limit too
	bulkLimit         int64             // how much of daily broadcasts may use
	loaded            bool              // stored usage of earlier processes was read
	minutes           [dayMinutes]usage // messages committed or reserved, by Unix minute % dayMinutes
	latest            int64             // last Unix minute of the window
	total             usage             // sum of minutes
	mailPriorityUntil time.Time         // until then, free capacity is kept for waiting mail
	teams             map[string]*teamUse
	meter             meter
	lastBroadcast     string               // last broadcast of the last shareBulk
	nextDrip          map[string]time.Time // by team: when a throttled team may send its next message
}

// usage counts messages: all, and those of broadcasts.
type usage struct{ sent, bulk int64 }

func (u *usage) add(n int64, bulk bool) {
	u.sent += n
	if bulk {
		u.bulk += n
	}
}

// newLimits makes the limits of a relay. bulkFraction is the fraction of its daily limit that
// broadcasts may use; 0: pacing.DefaultBulkShare.
func newLimits(r relayurl.Relay, bulkFraction float64) *limits {
	if bulkFraction == 0 {
		bulkFraction = pacing.DefaultBulkShare
	}
	return &limits{rateLimit: newRateLimit(r.Rate), relay: r.FullName(), bulkFraction: bulkFraction, rate: r.Rate, serverCount: 1, daily: r.Daily, bulkLimit: pacing.BulkShare(r.Daily, bulkFraction),
		meter: newMeter(r), nextDrip: map[string]time.Time{}, teams: map[string]*teamUse{}}
}

// setServers divides the rate by the number of servers.
func (l *limits) setServers(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stale = l.stale || n != l.serverCount
	l.serverCount = n
	l.applyServerShare()
}

// applyServerShare sets this server's part of the rate. l.mu is held.
func (l *limits) applyServerShare() {
	part := l.rate / float64(l.serverCount)
	l.setRate(part)
	l.meter.rate = part
}

// servers is how many servers share the rate.
func (l *limits) servers() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.serverCount
}

// setRelay applies a changed relay configuration. The usage stays.
func (l *limits) setRelay(r relayurl.Relay) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rate = r.Rate
	l.applyServerShare()
	l.daily, l.bulkLimit = r.Daily, pacing.BulkShare(r.Daily, l.bulkFraction)
}

// setCounted sets whether messages are counted in the database without a daily limit too.
func (l *limits) setCounted(counted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counted = counted
}

// setBulkShare changes the fraction of the daily limit that broadcasts may use.
func (l *limits) setBulkShare(bulkFraction float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bulkFraction, l.bulkLimit = bulkFraction, pacing.BulkShare(l.daily, bulkFraction)
}

// caps returns how many messages may be sent in any 24 hours, and how many of broadcasts among
// them; 0: no limit.
func (l *limits) caps() (daily, share int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.daily, l.bulkLimit
}

// load reads the usage of the last 24 hours, once.
func (l *limits) load(ctx context.Context, store *db.DB) error {
	l.mu.Lock()
	known := l.daily == 0 || l.loaded
	l.mu.Unlock()
	if known {
		return nil
	}
	now := clock.Now().Unix() / 60
	err := store.Read(ctx, func(r *db.Reader) error {
		rows, err := r.Usage(l.relay, now-dayMinutes+1)
		if err != nil {
			return err
		}
		use, err := r.RegionUse(l.relay, now/60-teamHours+1)
		if err != nil {
			return fmt.Errorf("read the usage of teams: %w", err)
		}
		l.restore(now, rows, use)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the usage of relay %s: %w", l.relay, err)
	}
	return nil
}

// restore adds stored usage; now is the current Unix minute. Usage stored by a clock that was ahead
// counts as of now.
func (l *limits) restore(now int64, rows []db.UsageMinute, use []db.TeamUse) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(now)
	l.fillMinutes(rows)
	for _, row := range use {
		l.use(row.TeamID, time.Unix(min(row.Hour, now/60)*3600, 0), row.Sent)
	}
	l.loaded = true
}

// reserve counts a team's message in the daily limit, and a message of a broadcast (bulk) in the
// limit of broadcasts too. If there is no capacity, free is when there may be. The reservation must
// be returned by unreserve unless the unit is committed.
func (l *limits) reserve(now time.Time, team string, bulk bool) (minute int64, free time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	minute = l.advance(now.Unix() / 60)
	all, share := l.daily > 0 && l.total.sent >= l.daily, bulk && l.daily > 0 && l.total.bulk >= l.bulkLimit
	switch {
	case all || share:
		free = l.nextFree(all, share)
		if !bulk {
			l.mailPriorityUntil = free.Add(mailPriority)
		}
		return minute, free, false
	case bulk && now.Before(l.mailPriorityUntil):
		return minute, l.mailPriorityUntil, false
	}
	l.use(team, now, 1)
	l.addAt(minute, 1, bulk)
	l.reservedUsage.add(1, bulk)
	return minute, time.Time{}, true
}

// nextFree is when the oldest counted message leaves the window: the oldest of all, of broadcasts
// (share), or the later of both.
func (l *limits) nextFree(all, share bool) time.Time {
	for minute := l.latest - dayMinutes + 1; minute <= l.latest; minute++ {
		u := l.minutes[minute%dayMinutes]
		all, share = all && u.sent == 0, share && u.bulk == 0
		if !all && !share {
			return time.Unix((minute+dayMinutes)*60, 0)
		}
	}
	return time.Unix((l.latest+dayMinutes)*60, 0) // broadcasts may use nothing
}

// bulkRemaining is how many messages of broadcasts the daily limit allows now; negative: no limit.
func (l *limits) bulkRemaining(now time.Time) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.daily == 0 {
		return -1
	}
	l.advance(now.Unix() / 60)
	if now.Before(l.mailPriorityUntil) {
		return 0
	}
	return max(0, min(l.bulkLimit-l.total.bulk, l.daily-l.total.sent))
}

// advance moves the window to a minute and returns the minute to count in: that one, or the latest
// one if the clock moved back.
func (l *limits) advance(minute int64) int64 {
	if minute-l.latest >= dayMinutes {
		l.minutes, l.total, l.latest = [dayMinutes]usage{}, usage{}, minute
	}
	for l.latest < minute {
		l.latest++
		u := &l.minutes[l.latest%dayMinutes]
		l.total.sent -= u.sent
		l.total.bulk -= u.bulk
		*u = usage{}
	}
	return l.latest
}

// clockMovedBack adjusts the window to a clock that moved back: usage counted in minutes that are
// now in the future counts as of now.
func (l *limits) clockMovedBack(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	current := now.Unix() / 60
	if l.latest <= current {
		return
	}
	old, latest := l.minutes, l.latest
	l.minutes, l.total, l.latest, l.mailPriorityUntil = [dayMinutes]usage{}, usage{}, current, time.Time{}
	for minute := latest - dayMinutes + 1; minute <= latest; minute++ {
		u := old[minute%dayMinutes]
		l.addAt(minute, u.sent-u.bulk, false)
		l.addAt(minute, u.bulk, true)
	}
}

// addAt adds n messages, which may be negative, to a minute. Minutes out of the window are ignored.
func (l *limits) addAt(minute, n int64, bulk bool) {
	if minute <= l.latest-dayMinutes {
		return
	}
	minute = min(minute, l.latest) // the clock may have moved back since the reservation
	l.minutes[minute%dayMinutes].add(n, bulk)
	l.total.add(n, bulk)
}

// moveToNow moves a reservation to the current minute: the message may have waited, and the 24
// hours count from its final dot.
func (l *limits) moveToNow(minute int64, now time.Time, bulk bool) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.meter.sent(now)
	current := l.advance(now.Unix() / 60)
	l.addAt(minute, -1, bulk)
	l.addAt(current, 1, bulk)
	return current
}

// unreserve returns a reservation.
func (l *limits) unreserve(minute int64, team string, bulk bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.use(team, time.Unix(minute*60, 0), -1)
	l.addAt(minute, -1, bulk)
	l.reservedUsage.add(-1, bulk)
}

// errDailyLimit reports that other servers used up the daily limit.
var errDailyLimit = errors.New("the daily limit is used up")

// count stores a committed message in the transaction that commits it. Error: errDailyLimit.
func (l *limits) count(tx *db.Tx, minute int64, bulk bool) error {
	l.mu.Lock()
	daily, share, alone := l.daily, l.bulkLimit, l.serverCount == 1 && !l.stale || l.daily == 0
	counted := l.counted
	l.mu.Unlock()
	if daily == 0 && !counted {
		return nil
	}
	n := int64(0)
	if bulk {
		n = 1
	}
	if !alone {
		if !bulk {
			share = daily
		}
		used, err := tx.AddUsageWithin(l.relay, time.Unix(minute*60, 0), n, minute-dayMinutes+1, daily, share)
		if err != nil {
			return err
		}
		if !used {
			return errDailyLimit
		}
	} else if err := tx.AddUsage(l.relay, time.Unix(minute*60, 0), 1, n); err != nil {
		return err
	}
	tx.AfterCommit(func() { l.markStored(bulk) })
	return nil
}

// markStored notes that a reservation was stored.
func (l *limits) markStored(bulk bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reservedUsage.add(-1, bulk)
}

// reload reads the usage of all servers if other servers may have sent: the database changed
// (changed) while there were others, or the number of servers changed.
func (l *limits) reload(ctx context.Context, store *db.DB, changed bool) error {
	l.mu.Lock()
	known, count := l.daily == 0 || !l.stale && (l.serverCount == 1 || !changed), l.serverCount
	l.mu.Unlock()
	if known {
		return nil
	}
	now := clock.Now().Unix() / 60
	rows, err := db.Get(ctx, store, func(r *db.Reader) ([]db.UsageMinute, error) { return r.Usage(l.relay, now-dayMinutes+1) })
	if err != nil {
		return fmt.Errorf("read the usage of relay %s: %w", l.relay, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stale = l.stale && count != l.serverCount
	l.minutes, l.total, l.latest = [dayMinutes]usage{}, usage{}, now
	l.fillMinutes(rows)
	l.minutes[now%dayMinutes].add(l.reservedUsage.sent, false)
	l.minutes[now%dayMinutes].bulk += l.reservedUsage.bulk
	l.total = usage{l.total.sent + l.reservedUsage.sent, l.total.bulk + l.reservedUsage.bulk}
	return nil
}

// fillMinutes adds stored usage. Usage stored by a clock that was ahead counts as of now.
func (l *limits) fillMinutes(rows []db.UsageMinute) {
	for _, row := range rows {
		l.addAt(row.Minute, row.Sent-row.Bulk, false)
		l.addAt(row.Minute, row.Bulk, true)
	}
}

// usageMinutes returns the minutes of the window that have messages, including reservations.
func (l *limits) usageMinutes(now time.Time) []pacing.UsageMinute {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(now.Unix() / 60)
	var rows []pacing.UsageMinute
	for minute := l.latest - dayMinutes + 1; minute <= l.latest; minute++ {
		if u := l.minutes[minute%dayMinutes]; u.sent > 0 {
			rows = append(rows, pacing.UsageMinute{Minute: minute, Sent: u.sent, Bulk: u.bulk})
		}
	}
	return rows
}
