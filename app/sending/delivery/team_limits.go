package delivery

import "time"

// sharedFraction is the part of a relay's daily limit that is shared equally between teams:
// the last fifth. Up to there who comes first is served first.
const sharedFraction = 5

// teamHours is the window in which a team's use is counted, the hour that runs with it.
const teamHours = 25

// teamUse is what a team used of a relay's daily limit, by Unix hour % teamHours.
type teamUse struct {
	hours  [teamHours]int64
	latest int64
}

// at is the counter of an hour, once what is out of the window is forgotten.
func (u *teamUse) at(hour int64) *int64 {
	if hour-u.latest >= teamHours {
		u.hours, u.latest = [teamHours]int64{}, hour
	}
	for u.latest < hour {
		u.latest++
		u.hours[u.latest%teamHours] = 0
	}
	if u.latest-hour >= teamHours { // the clock was put back
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

// use counts messages of a team, which may be negative. l.mu is held.
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

// runningLow reports whether little is left of the daily limit.
func (l *limits) runningLow(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.daily == 0 {
		return false
	}
	l.advance(now.Unix() / 60)
	return l.daily-l.total.sent <= l.daily/sharedFraction
}

// mayUse reports whether a team may take another place for transactional mail while
// little is left, where there are so many teams: those may that used less than their
// equal part.
func (l *limits) mayUse(now time.Time, team string, teams int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.teams[team]
	return u == nil || u.sum(now.Unix()/3600)*teams < l.daily
}
