package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"mailer/app"
	"mailer/db"
)

// dayMinutes is the window of a relay's daily limit. The count keeps whole
// minutes, so the window is one longer: never more than daily in any 24 h.
const dayMinutes = 24*60 + 1

// limits are what a relay allows: messages a second (a token bucket on the
// monotonic clock) and messages in any 24 hours (counted by minutes, kept in
// the database by the Write that marks a unit dotted).
type limits struct {
	relay  string
	bucket *rate.Limiter // nil: no limit
	daily  int64         // 0: no limit

	mu      sync.Mutex
	minutes map[int64]usage // Unix minute -> messages dotted or reserved
	total   usage
}

// usage counts messages, bulk of them of broadcasts.
type usage struct{ sent, bulk int64 }

func (u *usage) add(n int64, bulk bool) {
	u.sent += n
	if bulk {
		u.bulk += n
	}
}

func newLimits(r app.Relay) *limits {
	l := &limits{relay: r.Region, daily: r.Daily, minutes: map[int64]usage{}}
	if r.Rate > 0 {
		l.bucket = rate.NewLimiter(rate.Limit(r.Rate), 1)
	}
	return l
}

// load reads what was sent in the last 24 hours.
func (l *limits) load(ctx context.Context, store *db.DB) error {
	if l.daily == 0 {
		return nil
	}
	err := store.Read(ctx, func(r *db.Reader) error {
		rows, err := r.Usage(l.relay, time.Now().Unix()/60-dayMinutes)
		for _, row := range rows {
			l.minutes[row.Minute] = usage{row.Sent, row.Bulk}
			l.total.sent += row.Sent
			l.total.bulk += row.Bulk
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read use of relay %s: %w", l.relay, err)
	}
	return nil
}

// reserve takes a place in the daily limit, for a message of a broadcast (bulk) in
// the share of broadcasts too; without one it answers when the next is free. The
// place must be given back (unreserve) unless a dot follows.
func (l *limits) reserve(now time.Time, bulk bool) (minute int64, free time.Time, ok bool) {
	minute = now.Unix() / 60
	if l.daily == 0 {
		return minute, time.Time{}, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	oldest := l.forget(minute)
	if l.total.sent >= l.daily || bulk && l.total.bulk >= l.share() {
		return minute, time.Unix((oldest+dayMinutes)*60, 0), false
	}
	l.move(minute, 1, bulk)
	return minute, time.Time{}, true
}

// share is how many messages of broadcasts are allowed in 24 h.
func (l *limits) share() int64 { return int64(float64(l.daily) * app.DefaultBulkShare) }

// window is how many messages of broadcasts the daily limit allows now; negative:
// there is none.
func (l *limits) window(now time.Time) int64 {
	if l.daily == 0 {
		return -1
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(now.Unix() / 60)
	return max(0, min(l.share()-l.total.bulk, l.daily-l.total.sent))
}

// forget drops minutes that are out of the window and gives the oldest that is
// not.
func (l *limits) forget(minute int64) (oldest int64) {
	oldest = minute
	for m, n := range l.minutes {
		if m <= minute-dayMinutes {
			delete(l.minutes, m)
			l.total.sent -= n.sent
			l.total.bulk -= n.bulk
			continue
		}
		oldest = min(oldest, m)
	}
	return oldest
}

// move counts n messages, which may be negative, in a minute.
func (l *limits) move(minute, n int64, bulk bool) {
	u := l.minutes[minute]
	u.add(n, bulk)
	l.minutes[minute] = u
	l.total.add(n, bulk)
}

// renew moves a place to the minute of now: the message may have waited long
// for its turn, and the 24 hours run from its dot.
func (l *limits) renew(minute int64, now time.Time, bulk bool) int64 {
	current := now.Unix() / 60
	if l.daily == 0 || current == minute {
		return current
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.minutes[minute].sent > 0 { // else it was forgotten meanwhile
		l.move(minute, -1, bulk)
	}
	l.move(current, 1, bulk)
	return current
}

// unreserve gives a place back.
func (l *limits) unreserve(minute int64, bulk bool) {
	if l.daily == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.minutes[minute].sent > 0 {
		l.move(minute, -1, bulk)
	}
}

// count stores a dotted message in the transaction that marks it.
func (l *limits) count(tx *db.Tx, minute int64, bulk bool) error {
	if l.daily == 0 {
		return nil
	}
	n := int64(0)
	if bulk {
		n = 1
	}
	return tx.AddUsage(l.relay, time.Unix(minute*60, 0), 1, n)
}

// wait takes a token of the rate; it answers false when ctx ends.
func (l *limits) wait(ctx context.Context, bulk bool) bool {
	return l.bucket == nil || l.bucket.Wait(ctx) == nil
}
