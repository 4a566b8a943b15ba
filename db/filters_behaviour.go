package db

import (
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/rules/filter"
)

// activityCondition is a condition on received, opened, clicked or answered emails.
func activityCondition(c *app.Condition, now time.Time) (condition, error) {
	column := map[string]string{app.FieldReceived: `c.last_sent_at`, app.FieldOpened: `c.last_opened_at`, app.FieldClicked: `c.last_clicked_at`, app.FieldReplied: `c.last_replied_at`}[c.Field]
	switch c.Op {
	case app.OpIsTrue:
		return condition{text: column + ` IS NOT NULL`}, nil
	case app.OpIsFalse:
		return condition{text: column + ` IS NULL`}, nil
	case app.OpInBroadcast, app.OpNotInBroadcast:
		return broadcastCondition(c), nil
	}
	from, ok := filter.Since(c, now)
	switch {
	case !ok:
		return condition{}, fmt.Errorf("filter by days: %q is no number of days", c.Value)
	case c.Op == app.OpWithinDays:
		return condition{column + ` >= ?`, []any{milli(from)}}, nil
	case c.Op == app.OpNotWithinDays && c.Field == app.FieldReceived:
		return condition{`coalesce(` + column + `, 0) < ?`, []any{milli(from)}}, nil
	case c.Op == app.OpNotWithinDays:
		return condition{`c.last_sent_at IS NOT NULL AND c.created_at <= ? AND coalesce(` + column + `, 0) < ?`, []any{milli(from), milli(from)}}, nil
	}
	return condition{}, unknownOp(c)
}

// broadcastComplete is whether retention has deleted no recipient of a broadcast b: the
// first recipient exists, or there were none.
const broadcastComplete = `(b.written = 0 OR EXISTS (SELECT 1 FROM broadcast_recipients AS fr WHERE fr.id = b.mails || '00000001'))`

// broadcastCondition selects by the recipients of a broadcast, using the index
// broadcast_recipients_contact. SQLite uses that index only for an argument without column
// affinity. It matches no contact if the broadcast does not exist.
func broadcastCondition(c *app.Condition) condition {
	const recipient = `EXISTS (SELECT 1 FROM broadcast_recipients AS br WHERE substr(br.id, 1, 28) = b.mails || '' AND br.contact_id = c.id AND br.seen & ? <> 0 AND br.seen & ? = 0)`
	not := ``
	if c.Field == app.FieldReceived && c.Op == app.OpNotInBroadcast {
		not = broadcastComplete + ` AND NOT `
	}
	with, without := c.BroadcastBits()
	return condition{`EXISTS (SELECT 1 FROM broadcasts AS b WHERE b.id = ? AND b.team_id = c.team_id AND ` + not + recipient + `)`,
		[]any{c.Value, int64(with), int64(without)}}
}

// topicCondition matches no contact if the topic does not exist.
func topicCondition(c *app.Condition) (condition, error) {
	want := app.OptIn
	switch c.Op {
	case app.OpSubscribed:
	case app.OpNotSubscribed:
		want = app.OptOut
	default:
		return condition{}, unknownOp(c)
	}
	return condition{`(SELECT coalesce((SELECT tc.subscription FROM choices AS tc WHERE tc.topic_id = t.id AND tc.address = c.address), t.subscription)
		FROM topics AS t WHERE t.id = ? AND t.team_id = c.team_id) = ?`, []any{c.Value, string(want)}}, nil
}
