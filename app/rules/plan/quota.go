package plan

import (
	"time"

	"mailer/app"
	"mailer/app/kit/schedule"
	"mailer/app/rules/webhook"
)

// QuotaLevel is how much of a quota is used.
type QuotaLevel int

// The levels at which webhook events are sent.
const (
	QuotaFree QuotaLevel = iota
	QuotaNear            // 80 %: quota.warning
	QuotaUsed            // all of it: quota.reached
)

const quotaWarnsAt = 80 // percent

// LevelOf returns the level of a used quota.
func LevelOf(used, limit int64) QuotaLevel {
	switch {
	case used >= limit:
		return QuotaUsed
	case used*100 >= limit*quotaWarnsAt:
		return QuotaNear
	}
	return QuotaFree
}

// maxBacklogDays is how many daily quotas of mail may wait for later days.
const maxBacklogDays = 3

// MaxScheduledDays is how many daily quotas of mail may be scheduled: as many as there are days
// until schedule.MaxAhead.
const MaxScheduledDays = int64(schedule.MaxAhead / schedule.Day)

// Backlog counts a team's accepted recipients that have not been counted yet.
type Backlog struct {
	Delayed   int64 // mail that waits for a later day's quota
	Scheduled int64 // mail that waits for its scheduled time
}

// DayFits reports whether mail of n recipients may be sent on a day with the given usage.
func (t *Terms) DayFits(used, n int64) bool { return used+n <= t.PerDay }

// BacklogFits reports whether n more recipients fit in the backlog, minus those that the rest of
// the day's quota allows.
func (t *Terms) BacklogFits(late, used, n int64) bool {
	return late+n-max(0, t.PerDay-used) <= maxBacklogDays*t.PerDay
}

// QuotaData is the data of quota.warning and quota.reached.
type QuotaData struct {
	Plan       Name   `json:"plan"`
	Period     string `json:"period"` // "day" or "month"
	EmailsSent int64  `json:"emails_sent"`
	Limit      int64  `json:"limit"` // a day's quota, or the included volume of a period
	ResetsAt   string `json:"resets_at"`
}

// DayQuota returns the data of events about a day's quota.
func (p *Plan) DayQuota(used int64, now time.Time) QuotaData {
	return QuotaData{Plan: p.Name, Period: "day", EmailsSent: used, Limit: p.Terms().PerDay, ResetsAt: app.FormatTime(DayEnd(now))}
}

// PeriodQuota returns the data of events about a period's included volume.
func (p *Plan) PeriodQuota(used int64, now time.Time) QuotaData {
	_, end := p.Period(now)
	return QuotaData{Plan: p.Name, Period: "month", EmailsSent: used, Limit: p.Included(), ResetsAt: app.FormatTime(end)}
}

// QuotaEvents returns the events to send when a quota reaches level and reported was the level of
// the last report.
func QuotaEvents(reported, level QuotaLevel) (names []webhook.EventName) {
	if reported < QuotaNear && level >= QuotaNear {
		names = append(names, webhook.QuotaWarning)
	}
	if reported < QuotaUsed && level >= QuotaUsed {
		names = append(names, webhook.QuotaReached)
	}
	return names
}

// FinishTime returns when the last of n recipients is sent, not before from. left is what remains
// of the daily quota on the first day. The result is a midnight, or from if the first day is
// sufficient.
func (t *Terms) FinishTime(from time.Time, left, n int64) time.Time {
	if n <= left {
		return from
	}
	days := (n - left + t.PerDay - 1) / t.PerDay
	return DaysLater(from, min(days, 100_000))
}
