package db

import (
	"database/sql"
	"time"

	"mailer/app"
)

// trackingColumn writes how an email is tracked; NULL: not at all.
func trackingColumn(t *app.Tracking) (any, error) {
	if t == nil {
		return nil, nil
	}
	return jsonText(t)
}

// TrackedEmail is what is asked of an email to judge a fetch of its pixel or of
// one of its links.
type TrackedEmail struct {
	TeamID    string
	Recipient string    // the only one of the envelope; empty: there are several
	Taken     time.Time // the last time up to the fetch that a relay took it, or may have; zero: none did
	// Events is how many opens, clicks and prefetches its timeline holds,
	// Prefetched how many of them are prefetches.
	Events, Prefetched int
}

// TrackedEmail gives what is asked of an email for a fetch at that time. The
// email is named by a token that this server signed, so it may be any team's.
// Error: ErrNotFound when it was deleted.
func (r *Reader) TrackedEmail(emailID string, at time.Time) (TrackedEmail, error) {
	var t TrackedEmail
	var recipient sql.NullString
	var taken sql.NullInt64
	err := r.row(`SELECT e.team_id,
			(SELECT CASE WHEN count(*) = 1 THEN max(p.address) END FROM recipients AS p WHERE p.email_id = e.id),
			(SELECT max(v.created_at) FROM events AS v WHERE v.email_id = e.id AND v.type IN ('sent', 'in_doubt') AND v.created_at <= ?),
			(SELECT count(*) FROM events AS v WHERE v.email_id = e.id AND v.type IN ('opened', 'clicked', 'prefetched')),
			(SELECT count(*) FROM events AS v WHERE v.email_id = e.id AND v.type = 'prefetched')
		FROM emails AS e WHERE e.id = ?`, []any{milli(at), emailID}, &t.TeamID, &recipient, &taken, &t.Events, &t.Prefetched)
	t.Recipient, t.Taken = recipient.String, fromMilli(taken.Int64)
	return t, err
}
