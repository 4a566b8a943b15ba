package db

import (
	"cmp"
	"context"

	"mailer/app"
)

// LeftOut counts the contacts of a segment, or of a team, that a broadcast does not go
// to: each once, by the first of these reasons that holds.
type LeftOut struct {
	Unsubscribed int // from everything
	Suppressed   int
	Topic        int // opted out of it, or never opted in
}

// leftOutCounts counts by reason. Its parameters are those of audienceRest.
const leftOutCounts = `count(*) FILTER (WHERE c.unsubscribed = 1),
	count(*) FILTER (WHERE c.unsubscribed = 0 AND EXISTS (SELECT 1 FROM suppressions AS s WHERE s.team_id = c.team_id AND s.address = c.address)),
	count(*) FILTER (WHERE c.unsubscribed = 0 AND NOT EXISTS (SELECT 1 FROM suppressions AS s WHERE s.team_id = c.team_id AND s.address = c.address)
		AND coalesce((SELECT ch.subscription FROM choices AS ch WHERE ch.topic_id = ? AND ch.address = c.address), ?) <> 'opt_in')`

// CountLeftOut counts who is kept from an audience. Errors: ErrLong, and that of ctx.
func (r *Reader) CountLeftOut(ctx context.Context, e Effort, a *app.Audience) (out LeftOut, err error) {
	p, err := audienceOf(a)
	if err != nil {
		return out, err
	}
	query, end := `SELECT `+leftOutCounts+` FROM contacts AS c WHERE c.team_id = ? AND c.id > ? AND c.id <= ?
		AND (`+filterPlace+` OR EXISTS (SELECT 1 FROM members AS m WHERE m.segment_id = ? AND m.contact_id = c.id))`, r.rangeUp(a.TeamID)
	if p.byHand {
		query, end = `SELECT `+leftOutCounts+` FROM members AS m CROSS JOIN contacts AS c WHERE c.team_id = ? AND c.id = m.contact_id
			AND m.contact_id > ? AND m.contact_id <= ? AND `+filterPlace+` AND m.segment_id = ?`, r.membersUp(a.SegmentID)
	}
	q, err := r.filtered(query, p.filter)
	if err != nil {
		return out, err
	}
	defer q.close()
	err = e.ranges(ctx, e.From, cmp.Or(e.To, a.Bound, lastID), end, func(from, to string) (bool, error) {
		var n LeftOut
		args := q.with(append(p.rest[:len(p.rest):len(p.rest)], a.TeamID, from, to), a.SegmentID)
		err := q.stmt.QueryRowContext(ctx, args...).Scan(&n.Unsubscribed, &n.Suppressed, &n.Topic)
		out.Unsubscribed, out.Suppressed, out.Topic = out.Unsubscribed+n.Unsubscribed, out.Suppressed+n.Suppressed, out.Topic+n.Topic
		return true, readFault(query, err)
	})
	return out, err
}
