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
	minutes map[int64]int64 // Unix minute -> messages dotted or reserved
	total   int64
}

func newLimits(r app.Relay) *limits {
	l := &limits{relay: r.Region, daily: r.Daily, minutes: map[int64]int64{}}
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
			l.minutes[row.Minute] = row.Sent
			l.total += row.Sent
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read use of relay %s: %w", l.relay, err)
	}
	return nil
}

// reserve takes a place in the daily limit; without one it answers when the
// next is free. The place must be given back (unreserve) unless a dot follows.
func (l *limits) reserve(now time.Time) (minute int64, free time.Time, ok bool) {
	minute = now.Unix() / 60
	if l.daily == 0 {
		return minute, time.Time{}, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	oldest := minute
	for m, n := range l.minutes {
		if m <= minute-dayMinutes {
			delete(l.minutes, m)
			l.total -= n
			continue
		}
		oldest = min(oldest, m)
	}
	if l.total >= l.daily {
		return minute, time.Unix((oldest+dayMinutes)*60, 0), false
	}
	l.minutes[minute]++
	l.total++
	return minute, time.Time{}, true
}

// renew moves a place to the minute of now: the message may have waited long
// for its turn, and the 24 hours run from its dot.
func (l *limits) renew(minute int64, now time.Time) int64 {
	current := now.Unix() / 60
	if l.daily == 0 || current == minute {
		return current
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.minutes[minute] > 0 {
		l.minutes[minute]--
	} else {
		l.total++
	}
	l.minutes[current]++
	return current
}

// unreserve gives a place back.
func (l *limits) unreserve(minute int64) {
	if l.daily == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.minutes[minute] > 0 {
		l.minutes[minute]--
		l.total--
	}
}

// count stores a dotted message in the transaction that marks it.
func (l *limits) count(tx *db.Tx, minute int64) error {
	if l.daily == 0 {
		return nil
	}
	return tx.AddUsage(l.relay, time.Unix(minute*60, 0), 1)
}

// wait takes a token of the rate; it answers false when ctx ends.
func (l *limits) wait(ctx context.Context) bool {
	return l.bucket == nil || l.bucket.Wait(ctx) == nil
}
