package plan

import (
	"time"

	"mailer/app"
	"mailer/app/kit/schedule"
	"mailer/app/rules/webhook"
)

// QuotaLevel says how much of a quota is used.
type QuotaLevel int

// The levels at which webhooks are told.
const (
	QuotaFree QuotaLevel = iota
	QuotaNear            // 80 %: quota.warning
	QuotaUsed            // all of it: quota.reached
)

const quotaWarnsAt = 80 // percent

// LevelOf is the level of a quota of which a part is used.
func LevelOf(used, limit int64) QuotaLevel {
	switch {
	case used >= limit:
		return QuotaUsed
	case used*100 >= limit*quotaWarnsAt:
		return QuotaNear
	}
	return QuotaFree
}

// maxBacklogDays is how many days' quotas of mail may wait for the days to come.
const maxBacklogDays = 3

// MaxScheduledDays is how many days' quotas of mail may be scheduled: as many as
// lie before the latest time that mail can be scheduled for.
const MaxScheduledDays = int64(schedule.MaxAhead / schedule.Day)

// Backlog are a team's recipients that were accepted and have not counted yet.
type Backlog struct {
	Delayed   int64 // of mail that waits for a later day's quota
	Scheduled int64 // of mail that waits for its time
}

// DayFits reports whether mail of n recipients may leave on a day of which a part is
// used.
func (t *Terms) DayFits(used, n int64) bool { return used+n <= t.PerDay }

// BacklogFits reports whether the backlog has a place for n more, of which as many as
// the day has left are about to go.
func (t *Terms) BacklogFits(late, used, n int64) bool {
	return late+n-max(0, t.PerDay-used) <= maxBacklogDays*t.PerDay
}

// QuotaData is the data of quota.warning and quota.reached.
type QuotaData struct {
	Plan       Name   `json:"plan"`
	Period     string `json:"period"` // "day" or "month"
	EmailsSent int64  `json:"emails_sent"`
	Limit      int64  `json:"limit"` // a day's quota, or what a period includes
	ResetsAt   string `json:"resets_at"`
}

// DayQuota returns what events say of a day's quota of which so much is used.
func (p *Plan) DayQuota(used int64, now time.Time) QuotaData {
	return QuotaData{Plan: p.Name, Period: "day", EmailsSent: used, Limit: p.Terms().PerDay, ResetsAt: app.FormatTime(DayEnd(now))}
}

// PeriodQuota returns what events say of what a period includes, of which so much is used.
func (p *Plan) PeriodQuota(used int64, now time.Time) QuotaData {
	_, end := p.Period(now)
	return QuotaData{Plan: p.Name, Period: "month", EmailsSent: used, Limit: p.Included(), ResetsAt: app.FormatTime(end)}
}

// QuotaEvents are the names of what is to be told when a level is reached of a
// quota of which another was told before.
func QuotaEvents(told, level QuotaLevel) (names []webhook.EventName) {
	if told < QuotaNear && level >= QuotaNear {
		names = append(names, webhook.QuotaWarning)
	}
	if told < QuotaUsed && level >= QuotaUsed {
		names = append(names, webhook.QuotaReached)
	}
	return names
}

// FinishTime is when the last of n recipients leaves, none before from, at a quota a
// day of which room is left on the first: that midnight, or from where the first
// day takes them all.
func (t *Terms) FinishTime(from time.Time, room, n int64) time.Time {
	if n <= room {
		return from
	}
	days := (n - room + t.PerDay - 1) / t.PerDay
	return DayStart(from).Add(time.Duration(min(days, 100_000)) * secondsADay * time.Second)
}
