package db

import (
	"cmp"
	"database/sql"
	"time"

	"mailer/app"
)

// QueuedUnit is an open unit as the operator's queue shows it.
type QueuedUnit struct {
	app.Unit
	State  string // of the row: later, due, begun, committed or held
	Held   app.HoldReason
	HeldAt time.Time
}

// QueueScope selects open units that match all fields that are set.
type QueueScope struct {
	TeamID   string
	Relay    string // region with the queues of all its relays, or relay that is fixed for a queue
	Domain   string // of the sender
	ToDomain string // of a waiting recipient
	From, To string // ids: from From on, below To
	Held     app.HoldReason
	// Broadcasts includes units of broadcasts.
	Broadcasts bool
	// Visible leaves out confirmations of opt-ins, which their team does not see.
	Visible bool
}

const queuedColumns = `u.email_id, u.team_id, u.broadcast_id, u.topic_id, u.relay, u.domain, u.state, u.held, u.held_at, u.attempts, u.next_at, u.since, u.owed, u.late, u.crashes, u.expires_in, u.stood`

func scanQueued(s scanner) (QueuedUnit, error) {
	var u QueuedUnit
	var broadcast, topic, held, clockStops sql.NullString
	var heldAt, since, expires sql.NullInt64
	var next int64
	err := s.Scan(&u.EmailID, &u.TeamID, &broadcast, &topic, &u.Relay, &u.Domain, &u.State, &held, &heldAt, &u.Attempts, &next, &since, &u.QuotaOwed, &u.QuotaDelayed, &u.Crashes, &expires, &clockStops)
	u.BroadcastID, u.TopicID, u.Held = broadcast.String, topic.String, app.HoldReason(held.String)
	u.HeldAt, u.NextAt, u.Since = fromMilli(heldAt.Int64), fromMilli(next), fromMilli(since.Int64)
	u.ExpiresIn, u.ClockStops = time.Duration(expires.Int64)*time.Millisecond, spansOf(clockStops.String)
	return u, err
}

// The condition of a scope, and the condition of a waiting recipient at a domain.
const (
	queuedScope = ` AND u.email_id >= ?2 AND u.email_id < ?3 AND (CAST(?4 AS text) IS NULL OR u.team_id = ?4) AND (CAST(?5 AS text) IS NULL OR u.relay = ?5 OR u.relay LIKE ?5 || '@%' OR u.relay LIKE ?5 || '>%' OR u.relay LIKE '%@' || ?5 OR u.relay LIKE '%>' || ?5)
		AND (CAST(?6 AS text) IS NULL OR u.domain = ?6) AND (CAST(?7 AS text) IS NULL OR u.held = ?7) AND (CAST(?8 AS bigint) = 1 OR u.broadcast_id IS NULL)
		AND (CAST(?10 AS bigint) = 0 OR u.broadcast_id IS NOT NULL OR EXISTS (SELECT 1 FROM emails AS e WHERE e.id = u.email_id AND e.for_opt_in IS NULL))`
	queuedTo = ` AND (EXISTS (SELECT 1 FROM recipients AS p WHERE p.email_id = u.email_id AND p.state = 'queued' AND lower(substr(p.address, -?11)) = ?12)
			OR EXISTS (SELECT 1 FROM broadcast_recipients AS b WHERE b.id = u.email_id AND lower(substr(b.email, -?11)) = ?12))`
)

// QueuedUnits returns at most limit open units after an id, in id order. It scans the rows
// in between, at most all open units.
func (r *Reader) QueuedUnits(in *QueueScope, after string, limit int) ([]QueuedUnit, error) {
	args := in.args(after, limit)
	if in.ToDomain == "" {
		return list(r, scanQueued, `SELECT `+queuedColumns+` FROM units AS u WHERE u.email_id > ?1`+queuedScope+` ORDER BY u.email_id LIMIT ?9`, args...)
	}
	return list(r, scanQueued, `SELECT `+queuedColumns+` FROM units AS u WHERE u.email_id > ?1`+queuedScope+queuedTo+` ORDER BY u.email_id LIMIT ?9`, args...)
}

// QueuedUnitsBefore returns at most limit open units before an id, nearest first.
func (r *Reader) QueuedUnitsBefore(in *QueueScope, before string, limit int) ([]QueuedUnit, error) {
	args := in.args(before, limit)
	if in.ToDomain == "" {
		return list(r, scanQueued, `SELECT `+queuedColumns+` FROM units AS u WHERE u.email_id < ?1`+queuedScope+` ORDER BY u.email_id DESC LIMIT ?9`, args...)
	}
	return list(r, scanQueued, `SELECT `+queuedColumns+` FROM units AS u WHERE u.email_id < ?1`+queuedScope+queuedTo+` ORDER BY u.email_id DESC LIMIT ?9`, args...)
}

// args returns the arguments of the statements that read a scope from an id on.
func (in *QueueScope) args(from string, limit int) []any {
	args := []any{from, in.From, cmp.Or(in.To, lastID), nullText(in.TeamID), nullText(in.Relay), nullText(in.Domain), nullText(string(in.Held)), in.Broadcasts, limit, in.Visible}
	if in.ToDomain != "" {
		args = append(args, len(in.ToDomain)+1, "@"+in.ToDomain)
	}
	return args
}

// QueuedUnit returns one open unit. Error: ErrNotFound.
func (r *Reader) QueuedUnit(emailID string) (QueuedUnit, error) {
	return one(r, scanQueued, `SELECT `+queuedColumns+` FROM units AS u WHERE u.email_id = ?`, emailID)
}

// QueuedGroup is the number of open units with the same properties. Unit has their relay,
// team, sender domain, state and attempts, and the first id.
type QueuedGroup struct {
	QueuedUnit
	Count int64
}

// QueuedGroups counts the open units of a team, or of all teams for "". Due units are
// counted in an index, the others in their rows.
func (r *Reader) QueuedGroups(teamID string, now time.Time) ([]QueuedGroup, error) {
	due, err := list(r, scanGroup, `SELECT min(email_id), team_id, relay, domain, 'due', NULL, 0, 0, 0, count(*) FROM units
		WHERE state = 'due' AND (CAST(?1 AS text) IS NULL OR team_id = ?1) GROUP BY relay, bulk, team_id, domain`, nullText(teamID))
	if err != nil {
		return nil, err
	}
	rest, err := list(r, scanGroup, `SELECT min(email_id), team_id, relay, domain, state, held, next_at > ?2,
		attempts > 0 OR crashes > 0 OR since IS NOT NULL, late = 1 AND owed > 0, count(*) FROM units
		WHERE state <> 'due' AND (CAST(?1 AS text) IS NULL OR team_id = ?1) GROUP BY team_id, relay, domain, state, held, 7, 8, 9`, nullText(teamID), milli(now))
	for i := range rest {
		g := &rest[i]
		if !g.NextAt.IsZero() {
			g.NextAt = now.Add(time.Minute)
		}
	}
	return append(due, rest...), err
}

func scanGroup(s scanner) (g QueuedGroup, err error) {
	var held sql.NullString
	var waits, tried, owes bool
	err = s.Scan(&g.EmailID, &g.TeamID, &g.Relay, &g.Domain, &g.State, &held, &waits, &tried, &owes, &g.Count)
	g.Held = app.HoldReason(held.String)
	if waits {
		g.NextAt = fromMilli(1) // QueuedGroups sets NextAt
	}
	if tried {
		g.Attempts = 1
	}
	if owes {
		g.QuotaDelayed, g.QuotaOwed = true, 1
	}
	return g, err
}

// QueuedDomain is the number of waiting recipients at a domain.
type QueuedDomain struct {
	Domain string
	Count  int64
}

// QueuedDomains counts the waiting recipients of a team, or of all teams for "", by
// lower-case domain. It reads at most of recipients and returns at most limit domains,
// most recipients first.
func (r *Reader) QueuedDomains(teamID string, limit, of int) ([]QueuedDomain, error) {
	scan := func(s scanner) (d QueuedDomain, err error) { return d, s.Scan(&d.Domain, &d.Count) }
	return list(r, scan, `SELECT lower(substr(address, length(rtrim(address, replace(address, '@', ''))) + 1)) AS domain, count(*) AS n FROM (
			SELECT p.address AS address FROM units AS u CROSS JOIN recipients AS p
				ON (CAST(?1 AS text) IS NULL OR u.team_id = ?1) AND p.email_id = u.email_id AND p.state = 'queued'
			UNION ALL SELECT b.email FROM units AS u CROSS JOIN broadcast_recipients AS b
				ON (CAST(?1 AS text) IS NULL OR u.team_id = ?1) AND u.broadcast_id IS NOT NULL AND b.id = u.email_id
			LIMIT ?3) AS waiting GROUP BY domain ORDER BY n DESC, domain LIMIT ?2`, nullText(teamID), limit, of)
}

// HoldWaiting holds a unit until ReleaseUnit, in any state. It invalidates a running
// attempt and does not count it. Error: ErrNotFound if the unit is gone, committed or
// held.
func (tx *Tx) HoldWaiting(emailID string, why app.HoldReason) error {
	return tx.WriteOne(`UPDATE units SET held = ?, held_at = ?, attempts = CASE WHEN state = 'begun' AND attempts > 0 THEN attempts - 1 ELSE attempts END, state = 'held'
		WHERE email_id = ? AND state NOT IN ('committed', 'held')`, string(why), milli(tx.Now), emailID)
}

// ReleaseUnit returns a held unit to its former state. The time it was held does not count
// toward its expiry. Error: ErrNotFound if it is not held.
func (tx *Tx) ReleaseUnit(emailID string) error {
	return tx.WriteOne(`UPDATE units SET state = CASE WHEN next_at > ?1 THEN 'later' ELSE 'due' END,
		stood = CASE WHEN held_at IS NULL OR held_at >= ?1 THEN stood ELSE coalesce(stood || ',', '') || CAST(held_at AS TEXT) || '-' || CAST(?1 AS TEXT) END,
		held = NULL, held_at = NULL WHERE email_id = ?2 AND state = 'held'`, milli(tx.Now), emailID)
}

// RetryUnit makes a deferred unit due now. Error: ErrNotFound in any other state, or if it
// is scheduled or waits for a quota.
func (tx *Tx) RetryUnit(emailID string) error {
	return tx.WriteOne(`UPDATE units SET state = 'due', next_at = ?1 WHERE email_id = ?2 AND state = 'later' AND next_at > ?1
		AND late = 0 AND (attempts > 0 OR since IS NOT NULL OR crashes > 0)`, milli(tx.Now), emailID)
}

// RerouteDoubt moves a unit in doubt to another queue of its region and makes it due. Error:
// ErrNotFound if the unit does not wait, or is in that queue already.
func (tx *Tx) RerouteDoubt(emailID, queue string) error {
	return tx.WriteOne(`UPDATE units SET relay = ?1, state = 'due', next_at = ?2 WHERE email_id = ?3 AND state IN ('due', 'later') AND relay <> ?1`, queue, milli(tx.Now), emailID)
}

// Reroute moves a waiting unit and its email, with all recipients, to another relay. clockStops are the pauses
// of the old relay (ClockStopsOf). Error: ErrNotFound if the unit is gone, has begun, or
// is at that relay already.
func (tx *Tx) Reroute(u *app.Unit, relay, clockStops string) error {
	n, err := tx.Exec(`UPDATE units SET relay = ?1, part = NULL, stood = CASE WHEN CAST(?2 AS text) IS NULL THEN stood ELSE coalesce(stood || ',', '') || ?2 END
		WHERE email_id = ?3 AND state NOT IN ('begun', 'committed') AND relay <> ?1`, relay, nullText(clockStops), u.EmailID)
	if err := oneRow(n, err, ErrNotFound); err != nil || u.BroadcastID != "" {
		return err
	}
	return tx.Write(`UPDATE emails SET relay = ? WHERE id = ?`, relay, u.EmailID)
}

// ReleaseBroadcast releases a held broadcast. Error: ErrNotFound if it is not held.
func (tx *Tx) ReleaseBroadcast(teamID, id string) error {
	tx.publishBroadcast(teamID, id)
	return tx.WriteOne(`UPDATE broadcasts SET held = NULL, held_at = NULL WHERE team_id = ? AND id = ? AND held IS NOT NULL`, teamID, id)
}

// RerouteBroadcast moves the recipients of a scheduled or queued broadcast that were not
// started to another relay. Error: ErrNotFound in any other status, or if it has that
// relay already.
func (tx *Tx) RerouteBroadcast(teamID, id, relay string) error {
	tx.publishBroadcast(teamID, id)
	return tx.WriteOne(`UPDATE broadcasts SET relay = ?1 WHERE team_id = ?2 AND id = ?3 AND status IN ('scheduled', 'queued') AND relay <> ?1`, relay, teamID, id)
}

// OpenTroubleRows returns the open troubles of all relays.
func (r *Reader) OpenTroubleRows() ([]app.RelayTrouble, error) {
	return list(r, scanTrouble, `SELECT `+troubleColumns+` FROM relay_troubles WHERE ended_at IS NULL ORDER BY relay, id`)
}

// OpenTroublesOf returns the open troubles of a relay that affect a team's domain.
func (r *Reader) OpenTroublesOf(relay, teamID, domain string) ([]app.RelayTrouble, error) {
	return list(r, scanTrouble, `SELECT `+troubleColumns+` FROM relay_troubles
		WHERE relay = ? AND ended_at IS NULL AND (team_id IS NULL OR team_id = ? AND (domain IS NULL OR domain = ?)) ORDER BY id`, relay, teamID, domain)
}

// TeamOfMail returns the team of an email or broadcast email. Error: ErrNotFound.
func (r *Reader) TeamOfMail(emailID string) (teamID string, err error) {
	err = r.Row(`SELECT team_id FROM emails WHERE id = ?1 UNION ALL SELECT team_id FROM broadcasts WHERE mails = ?2 LIMIT 1`,
		[]any{emailID, app.EmailIDPrefixOf(emailID)}, &teamID)
	return teamID, err
}

// TeamOfBroadcast returns the team of a broadcast. Error: ErrNotFound.
func (r *Reader) TeamOfBroadcast(id string) (teamID string, err error) {
	err = r.Row(`SELECT team_id FROM broadcasts WHERE id = ?`, []any{id}, &teamID)
	return teamID, err
}

// CountHeldUnits returns the number of held units of a broadcast.
func (r *Reader) CountHeldUnits(broadcastID string) (n int64, err error) {
	err = r.Row(`SELECT count(*) FROM units WHERE broadcast_id = ? AND state = 'held'`, []any{broadcastID}, &n)
	return n, err
}
