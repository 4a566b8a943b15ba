package db

import (
	"fmt"

	"mailer/app/rules/plan"
)

// CountRecipients adds n to the recipients counted for a team on a day (app.UnixDay). It
// returns the new sum and the day's quota event that was sent.
func (tx *Tx) CountRecipients(teamID string, day, n int64) (sum int64, sent plan.QuotaLevel, err error) {
	err = tx.Row(`INSERT INTO team_days (team_id, day, recipients) VALUES (?, ?, ?)
		ON CONFLICT (team_id, day) DO UPDATE SET recipients = team_days.recipients + excluded.recipients RETURNING recipients, quota_event`,
		[]any{teamID, day, n}, &sum, &sent)
	return sum, sent, err
}

// dayCount is what AddRecipients adds to a day.
type dayCount struct {
	teamID string
	day, n int64
}

// AddRecipients is CountRecipients without the sum: the closures of one commit share a
// statement, so a closure does not see the change before its commit.
func (tx *Tx) AddRecipients(teamID string, day, n int64) {
	tx.increments.days = append(tx.increments.days, dayCount{teamID, day, n})
}

func (tx *Tx) storeDays(group []*increments) error {
	sums := map[dayCount]int64{}
	for _, added := range group {
		for _, c := range added.days {
			sums[dayCount{teamID: c.teamID, day: c.day}] += c.n
		}
	}
	for c, n := range sums {
		err := tx.Write(`INSERT INTO team_days (team_id, day, recipients) VALUES (?, ?, ?)
			ON CONFLICT (team_id, day) DO UPDATE SET recipients = team_days.recipients + excluded.recipients`, c.teamID, c.day, n)
		if err != nil {
			return fmt.Errorf("count recipients: %w", err)
		}
	}
	return nil
}

// DayRecipients returns the recipients counted for a team on a day (app.UnixDay), and the
// day's quota event that was sent.
func (r *Reader) DayRecipients(teamID string, day int64) (sum int64, sent plan.QuotaLevel, err error) {
	err = r.Row(`SELECT recipients, quota_event FROM team_days WHERE team_id = ? AND day = ?`, []any{teamID, day}, &sum, &sent)
	return sum, sent, ignoreNotFound(err)
}

// ClearOwed records that the recipients of a unit were counted.
func (tx *Tx) ClearOwed(emailID string) error {
	err := tx.Write(`UPDATE units SET owed = 0, late = 0 WHERE email_id = ?`, emailID)
	return err
}
