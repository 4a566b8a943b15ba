package db

import (
	"fmt"
	"time"

	"mailer/app"
	"mailer/db/engine"
)

// OpenWork counts the open units of a team or domain.
type OpenWork struct {
	Waiting   int64 // not committed: they can be withdrawn
	Committed int64 // after the final dot: the relay may have the message
}

// OpenOf counts the open units of a team, or of one of its domains if domain is not empty.
// It scans all open units, as CommittedUnits does.
func (r *Reader) OpenOf(teamID, domain string) (o OpenWork, err error) {
	err = r.Row(`SELECT count(*) FILTER (WHERE state <> 'committed'), count(*) FILTER (WHERE state = 'committed') FROM units
		WHERE team_id = ?1 AND (CAST(?2 AS text) IS NULL OR domain = ?2)`, []any{teamID, nullText(domain)}, &o.Waiting, &o.Committed)
	return o, err
}

// TeamSize is the number of objects of a team.
type TeamSize struct {
	Emails, Contacts, Recipients int64 // Recipients: of broadcasts
	Unbegun                      int64 // of Recipients, those of unfinished broadcasts that were not started
}

// TeamSize counts the objects of a team.
func (r *Reader) TeamSize(teamID string) (n TeamSize, err error) {
	err = r.Row(`SELECT (SELECT count(*) FROM emails WHERE team_id = ?1), (SELECT count(*) FROM contacts WHERE team_id = ?1),
		coalesce((SELECT sum(written) FROM broadcasts WHERE team_id = ?1), 0),
		coalesce((SELECT sum(CASE WHEN expanded = 1 THEN written ELSE audience END - begun) FROM broadcasts WHERE team_id = ?1 AND status IN ('scheduled', 'queued')), 0)`,
		[]any{teamID}, &n.Emails, &n.Contacts, &n.Recipients, &n.Unbegun)
	return n, err
}

// BeginTeamDeletion marks a team as deleted: it is not listed, its name is free, its keys
// and webhooks are deleted, and its broadcasts and imports stop. PurgeTeam deletes the
// rest. Error: ErrNotFound.
func (tx *Tx) BeginTeamDeletion(teamID string) error {
	tx.Changed(engine.Control)
	n, err := tx.Exec(`UPDATE teams SET deleted_at = ?1, name = id, suspended_at = coalesce(suspended_at, ?1), suspended = 'The team is being deleted'
		WHERE id = ?2 AND deleted_at IS NULL`, milli(tx.Now), teamID)
	if err := oneRow(n, err, ErrNotFound); err != nil {
		return err
	}
	if err := tx.Write(`DELETE FROM keys WHERE team_id = ?`, teamID); err != nil {
		return fmt.Errorf("delete keys: %w", err)
	}
	for _, recipient := range []string{`DELETE FROM memberships WHERE team_id = ?`, `DELETE FROM invitations WHERE team_id = ?`,
		`DELETE FROM invitation_mails WHERE team_id = ?`} {
		if err := tx.Write(recipient, teamID); err != nil {
			return fmt.Errorf("end memberships: %w", err)
		}
	}
	if _, err := tx.purgeWithLeftovers(teamID, purgedWebhooks, maxAtOnce); err != nil {
		return err
	}
	err = tx.Write(`UPDATE broadcasts SET status = 'canceled', canceled_at = ?, paused_at = NULL WHERE team_id = ? AND status IN ('scheduled', 'queued')`, milli(tx.Now), teamID)
	if err != nil {
		return fmt.Errorf("cancel broadcasts: %w", err)
	}
	err = tx.Write(`UPDATE imports SET status = 'deleted', stored = 1 WHERE team_id = ? AND status <> 'deleted'`, teamID)
	if err != nil {
		return fmt.Errorf("end imports: %w", err)
	}
	err = tx.Write(`UPDATE automations SET deleted_at = ?, status = 'disabled', next_at = NULL WHERE team_id = ? AND deleted_at IS NULL`, milli(tx.Now), teamID)
	if err != nil {
		return fmt.Errorf("end automations: %w", err)
	}
	return nil
}

// maxAtOnce is more than the webhooks of a team.
const maxAtOnce = 10_000

// DeletedTeams returns the ids of deleted teams with rows left.
func (r *Reader) DeletedTeams() ([]string, error) {
	return list(r, scanText, `SELECT id FROM teams WHERE deleted_at IS NOT NULL ORDER BY id`)
}

// TeamIsLeft reports whether a team has a row, deleted or not.
func (r *Reader) TeamIsLeft(id string) (left bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM teams WHERE id = ?)`, []any{id}, &left)
	return left, err
}

// OpenUnitsOf returns up to limit emails and broadcast emails of a team that wait, after
// an id. It scans the units of other teams too.
func (r *Reader) OpenUnitsOf(teamID, after string, limit int) ([]string, error) {
	return list(r, scanText, `SELECT email_id FROM units WHERE team_id = ? AND email_id > ? AND state <> 'committed' ORDER BY email_id LIMIT ?`, teamID, after, limit)
}

// DropUnit withdraws a unit that is not committed. A running attempt ends before its final
// dot.
func (tx *Tx) DropUnit(emailID string) error {
	err := tx.Write(`DELETE FROM units WHERE email_id = ? AND state <> 'committed'`, emailID)
	return err
}

// teamPurge deletes at most limit rows of a team from a table and reports whether there
// may be more.
type teamPurge struct {
	table string
	purge func(tx *Tx, teamID string, limit int) (more bool, err error)
}

// teamPurges are the tables with rows of a team in deletion order: a table comes before
// the tables that it is joined with. Dependent rows are deleted with their parents.
var teamPurges = []teamPurge{
	{"emails", (*Tx).purgeEmailsOf},
	{"broadcasts", (*Tx).purgeBroadcastsOf},
	{"received_emails", (*Tx).purgeReceivedOf},
	{"received_days", rows(`DELETE FROM received_days WHERE team_id = ?1 AND day IN (SELECT day FROM received_days WHERE team_id = ?1 LIMIT ?2)`)},
	{"mail_routes", rows(`DELETE FROM mail_routes WHERE team_id = ?1 AND id IN (SELECT id FROM mail_routes WHERE team_id = ?1 LIMIT ?2)`)},
	{"forward_addresses", rows(`DELETE FROM forward_addresses WHERE team_id = ?1 AND id IN (SELECT id FROM forward_addresses WHERE team_id = ?1 LIMIT ?2)`)},
	{"route_effects", rows(`DELETE FROM route_effects WHERE team_id = ?1 AND effect IN (SELECT effect FROM route_effects WHERE team_id = ?1 LIMIT ?2)`)},
	{"mail_reports", rows(`DELETE FROM mail_reports WHERE team_id = ?1 AND id IN (SELECT id FROM mail_reports WHERE team_id = ?1 LIMIT ?2)`)},
	{"mail_report_days", rows(`DELETE FROM mail_report_days WHERE team_id = ?1 AND (domain_id, kind, day, reporter, policy) IN
		(SELECT domain_id, kind, day, reporter, policy FROM mail_report_days WHERE team_id = ?1 LIMIT ?2)`)},
	{"mail_report_sources", rows(`DELETE FROM mail_report_sources WHERE team_id = ?1 AND (domain_id, kind, day, source, policy) IN
		(SELECT domain_id, kind, day, source, policy FROM mail_report_sources WHERE team_id = ?1 LIMIT ?2)`)},
	{"mail_report_warnings", rows(`DELETE FROM mail_report_warnings WHERE team_id = ?1 AND (domain_id, warning) IN
		(SELECT domain_id, warning FROM mail_report_warnings WHERE team_id = ?1 LIMIT ?2)`)},
	{"imports", (*Tx).purgeImportsOf},
	{"webhooks", purgeKind(purgedWebhooks)},
	{"automation_listeners", rows(`DELETE FROM automation_listeners WHERE team_id = ?1 AND (name, automation_id, version, starts) IN
		(SELECT name, automation_id, version, starts FROM automation_listeners WHERE team_id = ?1 LIMIT ?2)`)},
	{"automation_signals", rows(`DELETE FROM automation_signals WHERE team_id = ?1 AND id IN (SELECT id FROM automation_signals WHERE team_id = ?1 LIMIT ?2)`)},
	{"automations", (*Tx).purgeAutomationsOf},
	{"automation_teams", rows(`DELETE FROM automation_teams WHERE team_id = ?1 AND CAST(?2 AS bigint) > 0`)},
	{"custom_events", rows(`DELETE FROM custom_events WHERE team_id = ?1 AND id IN (SELECT id FROM custom_events WHERE team_id = ?1 LIMIT ?2)`)},
	{"issues", rows(`DELETE FROM issues WHERE team_id = ?1 AND id IN (SELECT id FROM issues WHERE team_id = ?1 LIMIT ?2)`)},
	{"feeds", rows(`DELETE FROM feeds WHERE team_id = ?1 AND id IN (SELECT id FROM feeds WHERE team_id = ?1 LIMIT ?2)`)},
	{"pages_hosts", rows(`DELETE FROM pages_hosts WHERE team_id = ?1 AND CAST(?2 AS bigint) > 0`)},
	{"topics", purgeKind(purgedTopics)},
	{"segments", purgeKind(purgedSegments)},
	{"leftovers", (*Tx).purgeLeftoversOf},
	{"forms", rows(`DELETE FROM forms WHERE team_id = ?1 AND id IN (SELECT id FROM forms WHERE team_id = ?1 LIMIT ?2)`)},
	{"opt_ins", rows(`DELETE FROM opt_ins WHERE team_id = ?1 AND id IN (SELECT id FROM opt_ins WHERE team_id = ?1 LIMIT ?2)`)},
	{"refusals", rows(`DELETE FROM refusals WHERE team_id = ?1 AND address IN (SELECT address FROM refusals WHERE team_id = ?1 LIMIT ?2)`)},
	// The counts of addresses over all teams outlive the team.
	{"confirmations", rows(`UPDATE confirmations SET team_id = '', form_id = '' WHERE (person, sent_at, opt_in_id) IN
		(SELECT person, sent_at, opt_in_id FROM confirmations WHERE team_id = ?1 LIMIT ?2)`)},
	{"consents", rows(`DELETE FROM consents WHERE team_id = ?1 AND id IN (SELECT id FROM consents WHERE team_id = ?1 LIMIT ?2)`)},
	{"contacts", (*Tx).purgeContactsOf},
	{"former_addresses", rows(`DELETE FROM former_addresses WHERE team_id = ?1 AND (contact_id, address) IN
		(SELECT contact_id, address FROM former_addresses WHERE team_id = ?1 LIMIT ?2)`)},
	{"former_envelopes", rows(`DELETE FROM former_envelopes WHERE team_id = ?1 AND (email_id, address) IN
		(SELECT email_id, address FROM former_envelopes WHERE team_id = ?1 LIMIT ?2)`)},
	{"aged", rows(`DELETE FROM aged WHERE team_id = ?1 AND CAST(?2 AS bigint) > 0`)},
	{"too_young", rows(`DELETE FROM too_young WHERE team_id = ?1 AND (kind, at, email_id) IN
		(SELECT kind, at, email_id FROM too_young WHERE team_id = ?1 LIMIT ?2)`)},
	{"choice_news", rows(`DELETE FROM choice_news WHERE team_id = ?1 AND address IN (SELECT address FROM choice_news WHERE team_id = ?1 LIMIT ?2)`)},
	{"properties", rows(`DELETE FROM properties WHERE team_id = ?1 AND id IN (SELECT id FROM properties WHERE team_id = ?1 LIMIT ?2)`)},
	{"suppressions", rows(`DELETE FROM suppressions WHERE team_id = ?1 AND address IN (SELECT address FROM suppressions WHERE team_id = ?1 LIMIT ?2)`)},
	{"template_versions", (*Tx).purgeTemplatesOf},
	{"blocks", rows(`DELETE FROM blocks WHERE team_id = ?1 AND id IN (SELECT id FROM blocks WHERE team_id = ?1 LIMIT ?2)`)},
	{"versions", rows(`DELETE FROM versions WHERE team_id = ?1 AND id IN (SELECT id FROM versions WHERE team_id = ?1 LIMIT ?2)`)},
	{"webhook_events", rows(`DELETE FROM webhook_events WHERE team_id = ?1 AND id IN (SELECT id FROM webhook_events WHERE team_id = ?1 ORDER BY id LIMIT ?2)`)},
	{"webhook_attempts", rows(`DELETE FROM webhook_attempts WHERE team_id = ?1 AND (webhook_id, event_id, id) IN
		(SELECT webhook_id, event_id, id FROM webhook_attempts WHERE team_id = ?1 ORDER BY id LIMIT ?2)`)},
	{"webhook_event_counts", rows(`DELETE FROM webhook_event_counts WHERE team_id = ?1 AND CAST(?2 AS bigint) > 0`)},
	{"idempotency", rows(`DELETE FROM idempotency WHERE team_id = ?1 AND (scope, route, key) IN
		(SELECT scope, route, key FROM idempotency WHERE team_id = ?1 LIMIT ?2)`)},
	{"mail_counts", rows(`DELETE FROM mail_counts WHERE team_id = ?1 AND (hour, domain, broadcast_id, region) IN
		(SELECT hour, domain, broadcast_id, region FROM mail_counts WHERE team_id = ?1 LIMIT ?2)`)},
	{"request_logs", rows(`DELETE FROM request_logs WHERE team_id = ?1 AND id IN (SELECT id FROM request_logs WHERE team_id = ?1 ORDER BY id LIMIT ?2)`)},
	{"images", (*Tx).purgeImagesOf},
	{"logos", rows(`DELETE FROM logos WHERE team_id = ?1 AND id IN (SELECT id FROM logos WHERE team_id = ?1 LIMIT ?2)`)},
	{"team_days", rows(`DELETE FROM team_days WHERE team_id = ?1 AND day IN (SELECT day FROM team_days WHERE team_id = ?1 LIMIT ?2)`)},
	{"team_plans", rows(`DELETE FROM team_plans WHERE team_id = ?1 AND CAST(?2 AS bigint) > 0`)},
	{"team_backlogs", rows(`DELETE FROM team_backlogs WHERE team_id = ?1 AND CAST(?2 AS bigint) > 0`)},
	{"memberships", rows(`DELETE FROM memberships WHERE team_id = ?1 AND user_id IN (SELECT user_id FROM memberships WHERE team_id = ?1 LIMIT ?2)`)},
	{"invitations", rows(`DELETE FROM invitations WHERE team_id = ?1 AND id IN (SELECT id FROM invitations WHERE team_id = ?1 LIMIT ?2)`)},
	{"invitation_mails", rows(`DELETE FROM invitation_mails WHERE team_id = ?1 AND hash IN (SELECT hash FROM invitation_mails WHERE team_id = ?1 LIMIT ?2)`)},
	{"keys", rows(`DELETE FROM keys WHERE team_id = ?1 AND id IN (SELECT id FROM keys WHERE team_id = ?1 LIMIT ?2)`)},
	{"domains", rows(`DELETE FROM domains WHERE team_id = ?1 AND id IN (SELECT id FROM domains WHERE team_id = ?1 LIMIT ?2)`)},
	{"relay_troubles", rows(`DELETE FROM relay_troubles WHERE id IN (SELECT id FROM relay_troubles WHERE team_id = ?1 LIMIT ?2)`)},
	{"doubts", rows(`DELETE FROM doubts WHERE id IN (SELECT id FROM doubts WHERE team_id = ?1 LIMIT ?2)`)},
	{"erasures", rows(`DELETE FROM erasures WHERE id IN (SELECT id FROM erasures WHERE team_id = ?1 LIMIT ?2)`)},
}

// rows returns a purge step that runs a statement with team and limit.
func rows(statement string) func(tx *Tx, teamID string, limit int) (bool, error) {
	return func(tx *Tx, teamID string, limit int) (bool, error) {
		n, err := tx.Exec(statement, teamID, limit)
		return n > 0, err
	}
}

// TeamTables returns the number of steps of PurgeTeam.
func TeamTables() int { return len(teamPurges) }

// PurgeTeam deletes at most limit rows of a deleted team in the given step, from 0, and
// reports whether there may be more in it. Committed units stay until they are settled.
func (tx *Tx) PurgeTeam(teamID string, step, limit int) (more bool, err error) {
	tx.Changed(engine.Suppressions, engine.Control, engine.Webhooks, engine.Erasures)
	p := teamPurges[step]
	if more, err = p.purge(tx, teamID, limit); err != nil {
		return false, fmt.Errorf("delete from %s: %w", p.table, err)
	}
	return more, nil
}

// EndTeamDeletion deletes the row of a team that was deleted before a time and has no
// other rows, and reports whether it did.
func (tx *Tx) EndTeamDeletion(teamID string, before time.Time) (deleted bool, err error) {
	tx.Changed(engine.Control)
	err = tx.Row(`SELECT NOT EXISTS (SELECT 1 FROM emails WHERE team_id = ?1) AND NOT EXISTS (SELECT 1 FROM broadcasts WHERE team_id = ?1)
		AND NOT EXISTS (SELECT 1 FROM imports WHERE team_id = ?1) AND NOT EXISTS (SELECT 1 FROM leftovers WHERE team_id = ?1)`, []any{teamID}, &deleted)
	if err != nil || !deleted {
		return false, err
	}
	for step := range teamPurges { // rows written since the steps ran
		if more, err := tx.PurgeTeam(teamID, step, 1); err != nil || more {
			return false, err
		}
	}
	n, err := tx.Exec(`DELETE FROM teams WHERE id = ? AND deleted_at <= ?`, teamID, milli(before))
	return n > 0, err
}

// mailDependents delete the rows of an email or broadcast recipient that foreign keys do
// not delete.
var mailDependents = []string{
	`DELETE FROM units WHERE email_id = ?`,
	`DELETE FROM events WHERE email_id = ?`,
	`DELETE FROM attempts WHERE email_id = ?`,
	`DELETE FROM captures WHERE email_id = ?`,
	`DELETE FROM provider_ids WHERE email_id = ?`,
	`DELETE FROM doubts WHERE email_id = ?`,
}

func (tx *Tx) deleteMail(id string, row string) error {
	for _, statement := range append(mailDependents[:len(mailDependents):len(mailDependents)], row) {
		if err := tx.Write(statement, id); err != nil {
			return err
		}
	}
	return nil
}

// maxPieces is the number of attachment pieces that one Write deletes. Pieces are large.
const maxPieces = 4

func (tx *Tx) purgeEmailsOf(teamID string, limit int) (more bool, err error) {
	ids, err := list(&tx.Reader, scanText, `SELECT e.id FROM emails AS e WHERE e.team_id = ?
		AND NOT EXISTS (SELECT 1 FROM units AS u WHERE u.email_id = e.id AND u.state = 'committed') ORDER BY e.id LIMIT ?`, teamID, limit)
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		n, err := tx.Exec(`DELETE FROM attachment_pieces WHERE (attachment_id, n) IN (SELECT p.attachment_id, p.n
			FROM attachments AS a CROSS JOIN attachment_pieces AS p ON p.attachment_id = a.id WHERE a.email_id = ? LIMIT ?)`, id, maxPieces)
		if err == nil && n < maxPieces {
			n, err = tx.deleteRawPieces(id, maxPieces)
		}
		if err != nil || n == maxPieces {
			return true, err
		}
		if err := tx.deleteMail(id, `DELETE FROM emails WHERE id = ?`); err != nil {
			return false, err
		}
	}
	return len(ids) > 0, nil
}

// purgeBroadcastsOf deletes recipients of a team's first broadcast, and then the
// broadcast.
func (tx *Tx) purgeBroadcastsOf(teamID string, limit int) (more bool, err error) {
	heads, err := list(&tx.Reader, scanTextRow, `SELECT id, coalesce(mails, '') FROM broadcasts AS b WHERE team_id = ?
		AND NOT EXISTS (SELECT 1 FROM units AS u WHERE u.broadcast_id = b.id AND u.state = 'committed') ORDER BY id LIMIT 1`, teamID)
	if err != nil || len(heads) == 0 {
		return false, err
	}
	b := heads[0]
	if b.Text != "" {
		ids, err := list(&tx.Reader, scanText, `SELECT id FROM broadcast_recipients WHERE id >= ? AND id <= ? ORDER BY id LIMIT ?`,
			app.BroadcastEmailID(b.Text, 0), b.Text+lastMail, limit)
		if err != nil {
			return false, err
		}
		for _, id := range ids {
			if err := tx.deleteMail(id, `DELETE FROM broadcast_recipients WHERE id = ?`); err != nil {
				return false, err
			}
		}
		if len(ids) > 0 {
			return true, nil
		}
	}
	n, err := tx.Exec(`DELETE FROM attachment_pieces WHERE (attachment_id, n) IN (SELECT p.attachment_id, p.n
		FROM attachments AS a CROSS JOIN attachment_pieces AS p ON p.attachment_id = a.id WHERE a.broadcast_id = ? LIMIT ?)`, b.ID, maxPieces)
	if err != nil || n == maxPieces {
		return true, err
	}
	err = tx.Write(`DELETE FROM broadcasts WHERE id = ?`, b.ID)
	return true, err
}

// lastMail sorts after all numbers of a broadcast's email ids.
const lastMail = "ffffffff"

// purgeAutomationsOf deletes rows of a team's first automation, and then the automation.
func (tx *Tx) purgeAutomationsOf(teamID string, limit int) (more bool, err error) {
	if err := tx.Write(`UPDATE automations SET deleted_at = ?, status = 'disabled', next_at = NULL WHERE team_id = ? AND deleted_at IS NULL`, milli(tx.Now), teamID); err != nil {
		return false, err
	}
	ids, err := list(&tx.Reader, scanText, `SELECT id FROM automations WHERE team_id = ? ORDER BY id LIMIT 1`, teamID)
	if err != nil || len(ids) == 0 {
		return false, err
	}
	_, err = tx.DropAutomation(ids[0], limit)
	return true, err
}

func (tx *Tx) purgeImportsOf(teamID string, limit int) (more bool, err error) {
	if err := tx.Write(`UPDATE imports SET status = 'deleted', stored = 1 WHERE team_id = ? AND status <> 'deleted'`, teamID); err != nil {
		return false, err
	}
	ids, err := list(&tx.Reader, scanText, `SELECT id FROM imports WHERE team_id = ? ORDER BY id LIMIT 1`, teamID)
	if err != nil || len(ids) == 0 {
		return false, err
	}
	_, err = tx.PurgeImport(ids[0], maxPieces, limit)
	return true, err
}

// leftoverKind is a kind of object with rows for PurgeLeftovers.
type leftoverKind struct{ list, remove string }

var (
	purgedWebhooks = leftoverKind{`SELECT id FROM webhooks WHERE team_id = ? ORDER BY id LIMIT ?`, `DELETE FROM webhooks WHERE id = ?`}
	purgedTopics   = leftoverKind{`SELECT id FROM topics WHERE team_id = ? ORDER BY id LIMIT ?`, `DELETE FROM topics WHERE id = ?`}
	purgedSegments = leftoverKind{`SELECT id FROM segments WHERE team_id = ? ORDER BY id LIMIT ?`, `DELETE FROM segments WHERE id = ?`}
)

func purgeKind(what leftoverKind) func(tx *Tx, teamID string, limit int) (bool, error) {
	return func(tx *Tx, teamID string, limit int) (bool, error) {
		return tx.purgeWithLeftovers(teamID, what, limit)
	}
}

// purgeWithLeftovers deletes objects of a team and records their leftovers.
func (tx *Tx) purgeWithLeftovers(teamID string, what leftoverKind, limit int) (more bool, err error) {
	tx.Changed(engine.Suppressions, engine.Webhooks)
	ids, err := list(&tx.Reader, scanText, what.list, teamID, limit)
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		if err := tx.Write(what.remove, id); err != nil {
			return false, err
		}
		if err := tx.addLeftover(teamID, id, ""); err != nil {
			return false, err
		}
	}
	return len(ids) > 0, nil
}

// purgeLeftoversOf deletes the leftovers of a team's topics, segments and webhooks.
// Property values are deleted with the contacts.
func (tx *Tx) purgeLeftoversOf(teamID string, limit int) (more bool, err error) {
	if err := tx.Write(`DELETE FROM leftovers WHERE team_id = ? AND property IS NOT NULL`, teamID); err != nil {
		return false, err
	}
	ids, err := list(&tx.Reader, scanText, `SELECT id FROM leftovers WHERE team_id = ? LIMIT 1`, teamID)
	if err != nil || len(ids) == 0 {
		return false, err
	}
	if more, err = tx.purgeRows(&leftover{id: ids[0], team: teamID}, limit); err != nil || more {
		return more, err
	}
	err = tx.Write(`DELETE FROM leftovers WHERE id = ?`, ids[0])
	return true, err
}

func (tx *Tx) purgeContactsOf(teamID string, limit int) (more bool, err error) {
	tx.Changed(engine.Suppressions)
	tx.ChangedCounts(teamID)
	n, err := tx.Exec(`DELETE FROM contacts WHERE team_id = ?1 AND id IN (SELECT id FROM contacts WHERE team_id = ?1 ORDER BY id LIMIT ?2)`, teamID, limit)
	return n > 0, err
}

// purgeImagesOf deletes an image with its pieces, which are large.
func (tx *Tx) purgeImagesOf(teamID string, limit int) (more bool, err error) {
	n, err := tx.Exec(`DELETE FROM images WHERE team_id = ?1 AND id IN (SELECT id FROM images WHERE team_id = ?1 ORDER BY id LIMIT ?2)`,
		teamID, max(1, limit/50))
	return n > 0, err
}

// purgeTemplatesOf deletes a template with its versions, which are large.
func (tx *Tx) purgeTemplatesOf(teamID string, limit int) (more bool, err error) {
	n, err := tx.Exec(`DELETE FROM templates WHERE team_id = ?1 AND id IN (SELECT id FROM templates WHERE team_id = ?1 ORDER BY id LIMIT ?2)`,
		teamID, max(1, limit/50))
	return n > 0, err
}
