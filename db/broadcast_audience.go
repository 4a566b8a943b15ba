package db

import (
	"cmp"
	"context"

	"mailer/app"
	"mailer/db/engine"
)

// audienceReachable is the condition on contacts that a broadcast may go to. Its
// parameters are the topic, or NULL, and the topic's default, or 'opt_in'.
const audienceReachable = ` AND c.unsubscribed = 0
	AND NOT EXISTS (SELECT 1 FROM suppressions AS s WHERE s.team_id = c.team_id AND s.address = c.address)
	AND coalesce((SELECT ch.subscription FROM choices AS ch WHERE ch.topic_id = ? AND ch.address = c.address), ?) = 'opt_in'`

// audienceQuery is an app.Audience in the form that statements use.
type audienceQuery struct {
	*app.Audience
	filter      condition
	membersOnly bool // the segment has no filter: read members alone
	args        []any
}

func audienceOf(a *app.Audience, dialect filterDialect) (audienceQuery, error) {
	out := audienceQuery{Audience: a, filter: condition{text: filterPlaceholder}, membersOnly: a.SegmentID != "" && a.Filter == nil}
	out.args = []any{nullText(a.TopicID), string(cmp.Or(a.Default, app.OptIn))}
	if a.Filter == nil {
		return out, nil
	}
	filter, err := where(a.Filter, dialect)
	out.filter = filter
	return out, err
}

// CountAudience counts the contacts of an audience between the bounds of e. Errors:
// ErrLong, ctx.Err().
func (r *Reader) CountAudience(ctx context.Context, e Effort, a *app.Audience) (total int, err error) {
	p, err := audienceOf(a, r.filterDialect())
	if err != nil {
		return 0, err
	}
	query, end := `SELECT count(*) FROM contacts AS c WHERE c.team_id = ? AND c.id > ? AND c.id <= ?
		AND (`+filterPlaceholder+` OR EXISTS (SELECT 1 FROM members AS m WHERE m.segment_id = ? AND m.contact_id = c.id))`+audienceReachable, r.rangeUp(a.TeamID)
	if p.membersOnly {
		query, end = `SELECT count(*) FROM members AS m CROSS JOIN contacts AS c ON c.team_id = ? AND c.id = m.contact_id
			AND m.contact_id > ? AND m.contact_id <= ? AND `+filterPlaceholder+` AND m.segment_id = ?`+audienceReachable, r.membersUp(a.SegmentID)
	}
	q, err := r.filtered(query, p.filter)
	if err != nil {
		return 0, err
	}
	defer q.close()
	err = e.ranges(ctx, e.From, cmp.Or(e.To, a.MaxContactID, lastID), end, func(from, to string) (bool, error) {
		n := 0
		err := q.stmt.Row(ctx, q.with([]any{a.TeamID, from, to}, append([]any{a.SegmentID}, p.args...)...), &n)
		total += n
		return true, engine.ReadFault(query, err)
	})
	return total, err
}

// AudienceContacts returns at most limit contacts of an audience after the id from, in id
// order.
func (r *Reader) AudienceContacts(ctx context.Context, a *app.Audience, from string, limit int) ([]app.Contact, error) {
	p, err := audienceOf(a, r.filterDialect())
	if err != nil {
		return nil, err
	}
	query := `SELECT ` + contactColumns + ` FROM contacts AS c WHERE c.team_id = ? AND c.id > ? AND c.id <= ?
		AND (` + filterPlaceholder + ` OR EXISTS (SELECT 1 FROM members AS m WHERE m.segment_id = ? AND m.contact_id = c.id))` + audienceReachable + ` ORDER BY c.id LIMIT ?`
	if p.membersOnly {
		query = `SELECT ` + contactColumns + ` FROM members AS m CROSS JOIN contacts AS c ON c.team_id = ? AND c.id = m.contact_id
			AND m.contact_id > ? AND m.contact_id <= ? AND ` + filterPlaceholder + ` AND m.segment_id = ?` + audienceReachable + ` ORDER BY m.contact_id LIMIT ?`
	}
	q, err := r.filtered(query, p.filter)
	if err != nil {
		return nil, err
	}
	defer q.close()
	rest := append(append([]any{a.SegmentID}, p.args...), limit)
	contacts, err := engine.Collect(ctx, q.stmt, scanContact, q.with([]any{a.TeamID, from, cmp.Or(a.MaxContactID, lastID)}, rest...)...)
	return contacts, engine.ReadFault(query, err)
}

// LeftOut counts the contacts of a segment or team that a broadcast is not sent to. A
// contact is counted once, for the first reason that applies in this order.
type LeftOut struct {
	Unsubscribed int // from all mail
	Suppressed   int // for any reason
	By           map[app.SuppressionOrigin]int
	Topic        int // opted out of it, or never opted in
}

// suppressionOrigins are the origins in the order of leftOutCounts.
var suppressionOrigins = []app.SuppressionOrigin{app.OriginBounce, app.OriginComplaint, app.OriginManual, app.OriginUnsubscribe}

// suppressionJoin joins the suppressions of contacts.
const suppressionJoin = ` LEFT JOIN suppressions AS s ON s.team_id = c.team_id AND s.address = c.address`

// leftOutCounts counts by reason. It has the parameters of audienceReachable.
const leftOutCounts = `count(*) FILTER (WHERE c.unsubscribed = 1),
	count(*) FILTER (WHERE c.unsubscribed = 0 AND s.origin = 'bounce'),
	count(*) FILTER (WHERE c.unsubscribed = 0 AND s.origin = 'complaint'),
	count(*) FILTER (WHERE c.unsubscribed = 0 AND s.origin = 'manual'),
	count(*) FILTER (WHERE c.unsubscribed = 0 AND s.origin = 'unsubscribe'),
	count(*) FILTER (WHERE c.unsubscribed = 0 AND s.origin IS NULL
		AND coalesce((SELECT ch.subscription FROM choices AS ch WHERE ch.topic_id = ? AND ch.address = c.address), ?) <> 'opt_in')`

// CountLeftOut counts the contacts that are excluded from an audience. Errors: ErrLong,
// ctx.Err().
func (r *Reader) CountLeftOut(ctx context.Context, e Effort, a *app.Audience) (out LeftOut, err error) {
	p, err := audienceOf(a, r.filterDialect())
	if err != nil {
		return out, err
	}
	query, end := `SELECT `+leftOutCounts+` FROM contacts AS c`+suppressionJoin+` WHERE c.team_id = ? AND c.id > ? AND c.id <= ?
		AND (`+filterPlaceholder+` OR EXISTS (SELECT 1 FROM members AS m WHERE m.segment_id = ? AND m.contact_id = c.id))`, r.rangeUp(a.TeamID)
	if p.membersOnly {
		query, end = `SELECT `+leftOutCounts+` FROM members AS m CROSS JOIN contacts AS c ON c.id = m.contact_id`+suppressionJoin+` WHERE c.team_id = ?
			AND m.contact_id > ? AND m.contact_id <= ? AND `+filterPlaceholder+` AND m.segment_id = ?`, r.membersUp(a.SegmentID)
	}
	q, err := r.filtered(query, p.filter)
	if err != nil {
		return out, err
	}
	defer q.close()
	out.By = map[app.SuppressionOrigin]int{}
	err = e.ranges(ctx, e.From, cmp.Or(e.To, a.MaxContactID, lastID), end, func(from, to string) (bool, error) {
		var n [6]int
		args := q.with(append(p.args[:len(p.args):len(p.args)], a.TeamID, from, to), a.SegmentID)
		err := q.stmt.Row(ctx, args, &n[0], &n[1], &n[2], &n[3], &n[4], &n[5])
		out.Unsubscribed, out.Topic = out.Unsubscribed+n[0], out.Topic+n[5]
		for i, origin := range suppressionOrigins {
			out.Suppressed += n[1+i]
			out.By[origin] += n[1+i]
		}
		return true, engine.ReadFault(query, err)
	})
	return out, err
}
