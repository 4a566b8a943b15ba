package delivery

import "time"

// sharedFraction: the last 1/sharedFraction of a relay's daily limit is shared equally between
// teams. The rest is used by whoever sends first.
const sharedFraction = 5

// teamHours is the window of a team's use in hours, including the current one.
const teamHours = 25

// teamUse is how much of a relay's daily limit a team used, by Unix hour % teamHours.
type teamUse struct {
	hours  [teamHours]int64
	latest int64
}

// at returns the counter of an hour after dropping hours that are out of the window.
func (u *teamUse) at(hour int64) *int64 {
	if hour-u.latest >= teamHours {
		u.hours, u.latest = [teamHours]int64{}, hour
	}
	for u.latest < hour {
		u.latest++
		u.hours[u.latest%teamHours] = 0
	}
	if u.latest-hour >= teamHours { // the clock moved back
		hour = u.latest
	}
	return &u.hours[hour%teamHours]
}

func (u *teamUse) sum(hour int64) (n int64) {
	u.at(hour)
	for _, h := range u.hours {
		n += h
	}
	return n
}

// use adds n messages of a team, which may be negative. l.mu is held.
func (l *limits) use(team string, now time.Time, n int64) {
	if l.daily == 0 {
		return
	}
	u := l.teams[team]
	if u == nil {
		u = &teamUse{}
		l.teams[team] = u
	}
	*u.at(now.Unix() / 3600) += n
}

// runningLow reports whether only the shared part of the daily limit is left.
func (l *limits) runningLow(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.daily == 0 {
		return false
	}
	l.advance(now.Unix() / 60)
	return l.daily-l.total.sent <= l.daily/sharedFraction
}

// mayUse reports whether a team may send another transactional message from the shared part of the
// daily limit: it may if it used less than its equal part among teams.
func (l *limits) mayUse(now time.Time, team string, teams int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.teams[team]
	return u == nil || u.sum(now.Unix()/3600)*teams < l.daily
}
