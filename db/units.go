package db

import (
	"database/sql"
	"fmt"
	"slices"
	"time"

	"mailer/app"
	"mailer/db/engine"
)

// InsertUnit adds the unit of an accepted email, due now or later. The unit of a broadcast
// recipient is inserted with its first attempt begun.
func (tx *Tx) InsertUnit(u app.Unit) error {
	state, owner := "due", any(nil)
	switch {
	case u.Attempts > 0:
		state, u.Since, owner = "begun", u.ClockStart(), tx.Owner()
	case u.NextAt.After(tx.Now):
		state = "later"
	}
	err := tx.Write(`INSERT INTO units (email_id, team_id, broadcast_id, topic_id, relay, domain, bulk, state, attempts, next_at, since, size, dated, owed, late, expires_in, owner, part, automated)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, CASE WHEN CAST(?3 AS text) IS NULL THEN 0 ELSE 1 END, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)`,
		u.EmailID, u.TeamID, nullText(u.BroadcastID), nullText(u.TopicID), u.Relay, u.Domain, state, u.Attempts, milli(u.NextAt), nullTime(u.Since), u.Size, nullTime(u.MessageDate), u.QuotaOwed, u.QuotaDelayed,
		sql.NullInt64{Int64: u.ExpiresIn.Milliseconds(), Valid: u.ExpiresIn > 0}, owner, nullText(u.Part), automatedColumn(u.Automated))
	return err
}

// DueTeams returns at most limit teams after a team id that have due units at a relay, of
// broadcasts (bulk) or of emails. Each team costs one index look-up, whatever the length
// of the queue. Suspended teams are left out.
func (r *Reader) DueTeams(relay string, bulk bool, after string, limit int) ([]string, error) {
	return list(r, scanText, `WITH RECURSIVE teams_open (team_id) AS (
			SELECT (SELECT team_id FROM units WHERE relay = ?1 AND bulk = ?2 AND state = 'due' AND team_id > ?3 ORDER BY team_id LIMIT 1)
			UNION ALL
			SELECT (SELECT u.team_id FROM units AS u WHERE u.relay = ?1 AND u.bulk = ?2 AND u.state = 'due' AND u.team_id > o.team_id ORDER BY u.team_id LIMIT 1)
			FROM teams_open AS o WHERE o.team_id IS NOT NULL)
		SELECT team_id FROM teams_open WHERE team_id IS NOT NULL
			AND NOT EXISTS (SELECT 1 FROM teams AS t WHERE t.id = teams_open.team_id AND t.suspended_at IS NOT NULL) LIMIT ?4`, relay, bulk, after, limit)
}

// maxDueSenders is the most domains of a team that one claim considers.
const maxDueSenders = 1000

// DueSenders returns the sender domains of a team's due units at a relay.
func (r *Reader) DueSenders(relay string, bulk bool, teamID string) ([]string, error) {
	return list(r, scanText, `WITH RECURSIVE domains_open (domain) AS (
			SELECT (SELECT domain FROM units WHERE relay = ?1 AND bulk = ?2 AND state = 'due' AND team_id = ?3 ORDER BY domain LIMIT 1)
			UNION ALL
			SELECT (SELECT u.domain FROM units AS u WHERE u.relay = ?1 AND u.bulk = ?2 AND u.state = 'due' AND u.team_id = ?3 AND u.domain > o.domain ORDER BY u.domain LIMIT 1)
			FROM domains_open AS o WHERE o.domain IS NOT NULL)
		SELECT domain FROM domains_open WHERE domain IS NOT NULL LIMIT ?4`, relay, bulk, teamID, maxDueSenders)
}

const unitColumns = `email_id, team_id, broadcast_id, topic_id, relay, domain, attempts, next_at, since, size, dated, signature, owed, late, crashes, expires_in, stood, owner, deferred_at, part, automated`

// DueUnits returns units of a team's domain that are due at a relay, of broadcasts (bulk)
// or of emails, earliest first. Units that were in progress at more than crashes
// consecutive crashes are left out.
func (r *Reader) DueUnits(relay string, bulk bool, teamID, domain string, crashes, limit int) ([]app.Unit, error) {
	return list(r, scanUnit, `SELECT `+unitColumns+` FROM units
		WHERE relay = ? AND bulk = ? AND state = 'due' AND team_id = ? AND domain = ? AND crashes <= ? ORDER BY next_at, email_id LIMIT ?`,
		relay, bulk, teamID, domain, crashes, limit)
}

// NextLater returns when the next scheduled unit of a relay is due, of broadcasts (bulk)
// or of emails. Error: ErrNotFound without one.
func (r *Reader) NextLater(relay string, bulk bool) (time.Time, error) {
	var next int64
	err := r.Row(`SELECT next_at FROM units WHERE relay = ? AND bulk = ? AND state = 'later' ORDER BY next_at LIMIT 1`, []any{relay, bulk}, &next)
	return fromMilli(next), err
}

// SetDue marks up to limit units whose time has come as due, earliest first, and returns
// their number.
func (tx *Tx) SetDue(relay string, bulk bool, limit int) (int64, error) {
	return tx.Exec(`UPDATE units SET state = 'due' WHERE email_id IN (SELECT email_id FROM units
		WHERE relay = ? AND bulk = ? AND state = 'later' AND next_at <= ? ORDER BY next_at LIMIT ?)`, relay, bulk, milli(tx.Now), limit)
}

// CountWaiting returns the number of due and deferred units of a relay, a team or its
// domain, at most limit. Units in progress, or scheduled and not yet tried, are left out.
func (r *Reader) CountWaiting(relay, teamID, domain string, limit int) (n int64, err error) {
	err = r.Row(`SELECT count(*) FROM (
			SELECT 1 FROM units WHERE relay = ?1 AND bulk IN (0, 1) AND state = 'due' AND (CAST(?2 AS text) IS NULL OR team_id = ?2) AND (CAST(?3 AS text) IS NULL OR domain = ?3)
			UNION ALL
			SELECT 1 FROM units WHERE relay = ?1 AND bulk IN (0, 1) AND state = 'later' AND since IS NOT NULL AND (CAST(?2 AS text) IS NULL OR team_id = ?2) AND (CAST(?3 AS text) IS NULL OR domain = ?3)
			LIMIT ?4) AS waiting`, []any{relay, nullText(teamID), nullText(domain), limit}, &n)
	return n, err
}

// CountOpen is CountWaiting for all teams, including scheduled units.
func (r *Reader) CountOpen(relay string, limit int) (n int64, err error) {
	err = r.Row(`SELECT count(*) FROM (
			SELECT 1 FROM units WHERE relay = ?1 AND bulk IN (0, 1) AND state = 'due'
			UNION ALL
			SELECT 1 FROM units WHERE relay = ?1 AND bulk IN (0, 1) AND state = 'later'
			LIMIT ?2) AS open_units`, []any{relay, limit}, &n)
	return n, err
}

// CountInWork returns the number of the emails whose units have an attempt in progress.
func (r *Reader) CountInWork(emailIDs []string) (n int64, err error) {
	for _, id := range emailIDs {
		var one int64
		if err := r.Row(`SELECT count(*) FROM units WHERE email_id = ? AND state IN ('begun', 'committed')`, []any{id}, &one); err != nil {
			return 0, err
		}
		n += one
	}
	return n, nil
}

// BegunUnits returns units with an attempt that began, did not end and is not committed.
// While servers run, these are transactions in progress. It scans all open units, as
// CommittedUnits does.
func (r *Reader) BegunUnits() ([]app.Unit, error) {
	return list(r, scanUnit, `SELECT `+unitColumns+` FROM units WHERE state = 'begun' ORDER BY email_id`)
}

// ResumeUnit reschedules a unit that was in progress when the process crashed to next. It
// does not count the attempt, and stores the number of consecutive crashes. Error:
// ErrNotFound if the unit is gone or committed.
func (tx *Tx) ResumeUnit(u app.Unit, crashes int, next time.Time) error {
	return tx.WriteOne(`UPDATE units SET state = CASE WHEN CAST(?1 AS bigint) > ?2 THEN 'later' ELSE 'due' END, attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END,
		next_at = ?1, crashes = ?3, owner = NULL WHERE email_id = ?4 AND state = 'begun'`, milli(next), milli(tx.Now), crashes, u.EmailID)
}

// ClearCrashes resets the crash count of units that are not in progress. It scans all open
// units.
func (tx *Tx) ClearCrashes() error {
	err := tx.Write(`UPDATE units SET crashes = 0 WHERE crashes > 0 AND state <> 'begun'`)
	return err
}

// CommittedUnits returns units whose final dot may have been sent and whose reply is not
// stored. While a server runs, these are transactions in progress. It scans all open
// units: it is called at start and by the operator, and an index would slow down every
// message.
func (r *Reader) CommittedUnits() ([]app.Unit, error) {
	return list(r, scanUnit, `SELECT `+unitColumns+` FROM units WHERE state = 'committed' ORDER BY email_id`)
}

func scanUnit(s scanner) (app.Unit, error) {
	var u app.Unit
	var next int64
	var since, dated, expires, deferred, automated sql.NullInt64
	var broadcast, topic, signature, clockStops, owner, part sql.NullString
	err := s.Scan(&u.EmailID, &u.TeamID, &broadcast, &topic, &u.Relay, &u.Domain, &u.Attempts, &next, &since, &u.Size, &dated, &signature, &u.QuotaOwed, &u.QuotaDelayed, &u.Crashes, &expires, &clockStops, &owner, &deferred, &part, &automated)
	u.BroadcastID, u.TopicID, u.NextAt, u.Since, u.Signature = broadcast.String, topic.String, fromMilli(next), fromMilli(since.Int64), signature.String
	u.Owner, u.DeferredAt, u.Part = owner.String, fromMilli(deferred.Int64), part.String
	u.Automated = automatedOf(automated)
	u.MessageDate, u.ExpiresIn, u.ClockStops = fromMilli(dated.Int64), time.Duration(expires.Int64)*time.Millisecond, spansOf(clockStops.String)
	return u, err
}

// automatedColumn returns the column of Automated: whether the recipient's consent is needed; NULL for other
// mail.
func automatedColumn(a app.Automated) any {
	switch a {
	case app.AutomatedMarketing:
		return 1
	case app.AutomatedTransactional:
		return 0
	}
	return nil
}

func automatedOf(column sql.NullInt64) app.Automated {
	switch {
	case !column.Valid:
		return app.NotAutomated
	case column.Int64 == 1:
		return app.AutomatedMarketing
	}
	return app.AutomatedTransactional
}

// BeginAttempts records that this server begins the next attempts of units. It reports for
// each whether the attempt began: not if the unit changed since it was read, for example
// because another server was first, or if its broadcast is canceled or paused.
func (tx *Tx) BeginAttempts(units []app.Unit) ([]bool, error) {
	args := make([][]any, len(units))
	for i, u := range units {
		args[i] = []any{u.Attempts + 1, milli(tx.Now), tx.Owner(), u.EmailID, u.Attempts, milli(u.NextAt)}
	}
	touched, err := tx.ExecAll(`UPDATE units SET state = 'begun', attempts = ?, next_at = ?, since = coalesce(since, next_at), owner = ? WHERE email_id = ? AND state = 'due' AND attempts = ? AND next_at = ?
		AND (broadcast_id IS NULL OR EXISTS (SELECT 1 FROM broadcasts AS b WHERE b.id = units.broadcast_id AND b.status = 'queued' AND b.paused_at IS NULL))`, args)
	begun := make([]bool, len(units))
	for i, n := range touched {
		begun[i] = n > 0
	}
	return begun, err
}

// BeginAttempt is BeginAttempts for one unit. Error: ErrNotFound if the attempt did not
// begin.
func (tx *Tx) BeginAttempt(u app.Unit) error {
	begun, err := tx.BeginAttempts([]app.Unit{u})
	if err == nil && !begun[0] {
		return ErrNotFound
	}
	return err
}

// MarkCommitted records that the final dot of a unit's attempt is about to be sent, and
// its DKIM signature. Error: ErrNotFound if the unit was withdrawn, moved to another time
// or claimed by another server since the attempt began, if its broadcast is canceled or
// paused, or if its team is suspended.
func (tx *Tx) MarkCommitted(u app.Unit, queue, signature string) error {
	if u.BroadcastID != "" {
		return tx.WriteOne(`UPDATE units SET state = 'committed', signature = ?, relay = ? WHERE email_id = ? AND state = 'begun' AND attempts = ? AND owner IS NOT DISTINCT FROM ?
			AND NOT EXISTS (SELECT 1 FROM teams AS t WHERE t.id = units.team_id AND t.suspended_at IS NOT NULL)
			AND EXISTS (SELECT 1 FROM broadcasts AS b WHERE b.id = units.broadcast_id AND b.status = 'queued' AND b.paused_at IS NULL)`,
			nullText(signature), queue, u.EmailID, u.Attempts, tx.Owner())
	}
	return tx.WriteOne(`UPDATE units SET state = 'committed', signature = ?, relay = ? WHERE email_id = ? AND state = 'begun' AND attempts = ? AND owner IS NOT DISTINCT FROM ?
		AND NOT EXISTS (SELECT 1 FROM teams AS t WHERE t.id = units.team_id AND t.suspended_at IS NOT NULL)`,
		nullText(signature), queue, u.EmailID, u.Attempts, tx.Owner())
}

// notOwnedByOther is the condition that no other server than the argument has a unit in
// progress. The unit may have been withdrawn from this server and begun by another as the
// same attempt.
const notOwnedByOther = `(state NOT IN ('begun', 'committed') OR owner IS NOT DISTINCT FROM ?)`

// HoldUnit holds a unit until ReleaseUnit, in any state, and does not count a begun
// attempt. Error: ErrNotFound if the unit is gone or was moved to another time since the
// attempt began.
func (tx *Tx) HoldUnit(u app.Unit, why app.HoldReason) error {
	return tx.WriteOne(`UPDATE units SET held = ?, held_at = ?, attempts = CASE WHEN state = 'begun' AND attempts > 0 THEN attempts - 1 ELSE attempts END, state = 'held', owner = NULL
		WHERE email_id = ? AND attempts = ? AND `+notOwnedByOther, string(why), milli(tx.Now), u.EmailID, u.Attempts, nullText(u.Owner))
}

// UnitSituations returns the situations of emails with open units and ids from first to
// last, by id.
func (r *Reader) UnitSituations(first, last string) (map[string]app.Situation, error) {
	type row struct {
		id  string
		now app.Situation
	}
	rows, err := list(r, func(s scanner) (v row, err error) {
		err = s.Scan(&v.id, &v.now)
		return v, err
	}, `SELECT u.email_id, `+unitSituation+` FROM units AS u WHERE u.email_id >= ? AND u.email_id <= ?`, first, last)
	out := make(map[string]app.Situation, len(rows))
	for _, v := range rows {
		out[v.id] = v.now
	}
	return out, err
}

// MarkDeferred records the first time that the relay deferred a unit. It ignores a unit
// that is gone.
func (tx *Tx) MarkDeferred(emailID string) error {
	return tx.Write(`UPDATE units SET deferred_at = ? WHERE email_id = ? AND deferred_at IS NULL`, milli(tx.Now), emailID)
}

// RequeueUnit ends an attempt and reschedules the unit to next, with the given number of
// attempts. Error: ErrNotFound if the unit is gone, held, or was moved to another time
// since the attempt began.
func (tx *Tx) RequeueUnit(u app.Unit, attempts int, next time.Time) error {
	return tx.WriteOne(`UPDATE units SET state = CASE WHEN CAST(?1 AS bigint) > ?2 THEN 'later' ELSE 'due' END, attempts = ?3, next_at = ?1, owner = NULL, relay = ?7
		WHERE email_id = ?4 AND attempts = ?5 AND state <> 'held' AND (state NOT IN ('begun', 'committed') OR owner IS NOT DISTINCT FROM ?6)`, milli(next), milli(tx.Now), attempts, u.EmailID, u.Attempts, nullText(u.Owner), u.Relay)
}

// DeleteUnit deletes a unit that is done. Error: ErrNotFound if it is gone.
func (tx *Tx) DeleteUnit(u app.Unit) error {
	if err := tx.WriteOne(`DELETE FROM units WHERE email_id = ?`, u.EmailID); err != nil || u.BroadcastID == "" {
		return err
	}
	tx.endBroadcastUnit(u.BroadcastID)
	return nil
}

// HasUnit reports whether an email has an open unit.
func (r *Reader) HasUnit(emailID string) (bool, error) {
	var n int
	err := r.Row(`SELECT count(*) FROM units WHERE email_id = ?`, []any{emailID}, &n)
	return n > 0, err
}

// OpenRecipients returns the waiting recipients of a unit in envelope order.
func (r *Reader) OpenRecipients(u app.Unit) ([]string, error) {
	if u.BroadcastID != "" {
		return list(r, scanText, `SELECT email FROM broadcast_recipients WHERE id = ? AND seen & ? = 0`, u.EmailID, int64(app.SeenEnded))
	}
	return list(r, scanText, `SELECT address FROM recipients WHERE email_id = ? AND state = 'queued' ORDER BY n`, u.EmailID)
}

// SettleRecipient records the outcome of a waiting recipient. Error: ErrNotFound if the
// recipient does not wait.
func (tx *Tx) SettleRecipient(u app.Unit, address string, state app.LastEvent) error {
	if u.BroadcastID != "" {
		return tx.settleBroadcastRecipient(u, app.SeenOf(state))
	}
	return tx.WriteOne(`UPDATE recipients SET state = ? WHERE email_id = ? AND address = ? AND state = 'queued'`, string(state), u.EmailID, address)
}

// Outgoing returns an email as it is sent: bodies and attachments with content, or its raw
// message, and the waiting recipients. If the content was deleted, only the row is set.
func (r *Reader) Outgoing(teamID, emailID string) (*app.Email, []string, error) {
	return r.outgoing(teamID, emailID, false)
}

// CompleteEmail is Outgoing, with the content of attachments even if there is a raw
// message.
func (r *Reader) CompleteEmail(teamID, emailID string) (*app.Email, []string, error) {
	return r.outgoing(teamID, emailID, true)
}

func (r *Reader) outgoing(teamID, emailID string, withAttachments bool) (*app.Email, []string, error) {
	e, raw, err := r.emailAndRaw(teamID, emailID)
	if err != nil {
		return nil, nil, err
	}
	if raw > 0 {
		if e.Raw, err = r.raw(emailID, raw); err != nil {
			return nil, nil, engine.DamagedEmail(engine.DamagedRow("raw_pieces", err), teamID, emailID)
		}
	}
	if raw > 0 && !withAttachments {
		e.Attachments = nil
	}
	for i := range e.Attachments {
		a := &e.Attachments[i]
		if a.Content, err = r.attachmentContent(a); err != nil {
			return nil, nil, engine.DamagedEmail(fmt.Errorf("attachment %s: %w", a.ID, engine.DamagedRow("attachment_pieces", err)), teamID, emailID)
		}
	}
	open, err := r.OpenRecipients(app.Unit{EmailID: emailID})
	return e, open, engine.DamagedEmail(err, teamID, emailID)
}

// UnitRelays returns the names of the relays that units wait for.
func (r *Reader) UnitRelays() ([]string, error) {
	due, err := list(r, scanText, `WITH RECURSIVE relays_open (relay) AS (
			SELECT (SELECT relay FROM units WHERE state = 'due' ORDER BY relay LIMIT 1)
			UNION ALL
			SELECT (SELECT u.relay FROM units AS u WHERE u.state = 'due' AND u.relay > o.relay ORDER BY u.relay LIMIT 1)
			FROM relays_open AS o WHERE o.relay IS NOT NULL)
		SELECT relay FROM relays_open WHERE relay IS NOT NULL`)
	if err != nil {
		return nil, err
	}
	later, err := list(r, scanText, `WITH RECURSIVE relays_open (relay) AS (
			SELECT (SELECT relay FROM units WHERE state = 'later' ORDER BY relay LIMIT 1)
			UNION ALL
			SELECT (SELECT u.relay FROM units AS u WHERE u.state = 'later' AND u.relay > o.relay ORDER BY u.relay LIMIT 1)
			FROM relays_open AS o WHERE o.relay IS NOT NULL)
		SELECT relay FROM relays_open WHERE relay IS NOT NULL`)
	relays := append(due, later...)
	slices.Sort(relays)
	return slices.Compact(relays), err
}
