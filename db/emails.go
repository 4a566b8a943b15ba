package db

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"

	"mailer/app"
	"mailer/db/engine"
)

// InsertEmail stores an accepted email: its row, content, attachments and envelope. An
// envelope of 50 recipients costs 50 small rows.
func (tx *Tx) InsertEmail(e *app.Email, recipients []string) error {
	if err := tx.insertEmailRow(e); err != nil {
		return err
	}
	if err := tx.insertContent(e); err != nil {
		return err
	}
	if e.ForOptIn == "" {
		tx.publishEvent(e.TeamID, e.ID, "", string(e.LastEvent))
	}
	for n, address := range recipients {
		if err := tx.Write(`INSERT INTO recipients (email_id, n, address, state) VALUES (?, ?, ?, 'queued')`, e.ID, n, address); err != nil {
			return fmt.Errorf("insert recipient: %w", err)
		}
	}
	return nil
}

func (tx *Tx) insertEmailRow(e *app.Email) error {
	var columns [5]any
	var err error
	for i, list := range [][]app.Address{{e.From}, e.To, e.Cc, e.Bcc, e.ReplyTo} {
		if columns[i], err = asJSON(list); err != nil {
			return err
		}
	}
	if columns[1] == nil { // a complete message may have no To field
		columns[1] = "[]"
	}
	tags, err := asJSON(e.Tags)
	if err != nil {
		return err
	}
	err = tx.Write(`INSERT INTO emails (id, team_id, key_id, relay, message_id, sender, to_list, cc_list, bcc_list, reply_to,
		subject, tags, attachments, topic_id, template_id, source, created_at, scheduled_at, last_event, routed, for_opt_in, automation_run, automation_step, forward_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.ID, e.TeamID, nullText(e.KeyID), e.Relay, e.MessageID, columns[0], columns[1], columns[2], columns[3], columns[4],
		e.Subject, tags, len(e.Attachments), nullText(e.TopicID), nullText(e.TemplateID), cmp.Or(e.Source, "api"), milli(e.CreatedAt), nullTime(e.ScheduledAt), string(e.LastEvent), nullText(e.Routed), nullText(e.ForOptIn),
		nullText(e.AutomationRun), nullText(e.AutomationStep), nullText(e.ForwardID))
	if err != nil {
		return fmt.Errorf("insert email: %w", err)
	}
	return nil
}

func (tx *Tx) insertContent(e *app.Email) error {
	headers, err := asJSON(e.Headers)
	if err != nil {
		return err
	}
	tracking, err := pointerColumn(e.Tracking)
	if err != nil {
		return err
	}
	insights, err := pointerColumn(e.Insights)
	if err != nil {
		return err
	}
	err = tx.Write(`INSERT INTO contents (email_id, html, plain, headers, unsubscribe, tracking, insights, raw, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.ID, nullText(e.HTML), nullText(e.Text), headers, nullText(e.Unsubscribe), tracking, insights, rawSize(e), contentChecksum(e.HTML, e.Text, columnText(headers), e.Unsubscribe))
	if err != nil {
		return fmt.Errorf("insert content: %w", err)
	}
	for i := range e.Attachments {
		if err := tx.insertAttachment(e.ID, "", &e.Attachments[i]); err != nil {
			return err
		}
	}
	if err := tx.useImages(e.TeamID, e.HTML, e.Text); err != nil {
		return err
	}
	return tx.insertRaw(e)
}

// SetLastEvent moves the last_event of an email up by rank. A lower event, or an email
// that was deleted, changes nothing.
func (tx *Tx) SetLastEvent(emailID string, event app.LastEvent) error {
	return tx.Write(`UPDATE emails SET last_event = ? WHERE id = ? AND instr(?, ' ' || last_event || ' ') > 0`, string(event), emailID, replaceableBy[event])
}

// replaceableBy has the values of last_event that each event may replace, with spaces
// around each.
var replaceableBy = func() map[app.LastEvent]string {
	all := map[app.LastEvent]string{}
	for _, event := range app.LastEvents() {
		for _, current := range app.LastEvents() {
			if current != event && app.NextLastEvent(current, event) == event {
				all[event] += " " + string(current) + " "
			}
		}
	}
	return all
}()

const emailColumns = `e.id, e.team_id, e.key_id, e.relay, e.message_id, e.sender, e.to_list, e.cc_list, e.bcc_list, e.reply_to,
	e.subject, e.tags, e.attachments, e.topic_id, e.template_id, e.source, e.created_at, e.scheduled_at, e.last_event, e.content_deleted_at, e.unsent, e.routed, coalesce(e.for_opt_in, ''), e.automation_run, e.automation_step, e.forward_id, ` + emailSituation

// emailSituation selects the app.Situation of an email e.
const emailSituation = `coalesce((SELECT ` + unitSituation + ` FROM units AS u WHERE u.email_id = e.id), CASE e.relay WHEN 'capture' THEN 'captured' ELSE 'over' END)`

// unitSituation selects the app.Situation of an open unit u.
const unitSituation = `CASE WHEN u.state = 'held' THEN 'held' WHEN u.deferred_at IS NOT NULL THEN 'retry'
	WHEN u.state = 'later' AND u.since IS NULL AND u.late = 0 THEN 'time' ELSE 'turn' END`

// emailRow scans a row of emailColumns into an app.Email.
type emailRow struct {
	email                             app.Email
	key, sender, to, cc, bcc, replyTo sql.NullString
	tags, topic, template, routed     sql.NullString
	run, step, forward                sql.NullString
	attachments                       int
	created                           int64
	scheduled, contentDeleted         sql.NullInt64
}

func (r *emailRow) dest() []any {
	e := &r.email
	return []any{&e.ID, &e.TeamID, &r.key, &e.Relay, &e.MessageID, &r.sender, &r.to, &r.cc, &r.bcc, &r.replyTo,
		&e.Subject, &r.tags, &r.attachments, &r.topic, &r.template, &e.Source, &r.created, &r.scheduled, &e.LastEvent, &r.contentDeleted, &e.Unsent, &r.routed, &e.ForOptIn, &r.run, &r.step, &r.forward, &e.Situation}
}

func (r *emailRow) finish() (app.Email, error) {
	e := &r.email
	e.KeyID, e.TopicID, e.TemplateID, e.Routed = r.key.String, r.topic.String, r.template.String, r.routed.String
	e.AutomationRun, e.AutomationStep, e.ForwardID = r.run.String, r.step.String, r.forward.String
	e.CreatedAt, e.ScheduledAt, e.ContentDeletedAt = fromMilli(r.created), fromMilli(r.scheduled.Int64), fromMilli(r.contentDeleted.Int64)
	var from []app.Address
	err := errors.Join(fromJSON(r.sender, &from), fromJSON(r.to, &e.To), fromJSON(r.cc, &e.Cc), fromJSON(r.bcc, &e.Bcc),
		fromJSON(r.replyTo, &e.ReplyTo), fromJSON(r.tags, &e.Tags))
	if err != nil {
		return *e, fmt.Errorf("email %s: %w", e.ID, err)
	}
	if len(from) == 1 {
		e.From = from[0]
	}
	return *e, nil
}

func scanEmail(s scanner) (app.Email, error) {
	var r emailRow
	if err := s.Scan(r.dest()...); err != nil {
		return app.Email{}, err
	}
	return r.finish()
}

// ListEmails returns a page of a team's emails, newest first, and whether there are more
// in the direction of the page. Error: ErrNotFound for an unknown cursor.
func (r *Reader) ListEmails(teamID string, page app.Page) ([]app.Email, bool, error) {
	return listPage(r, page, func(cursor string) error {
		return r.Exists(`SELECT 1 FROM emails WHERE team_id = ? AND id = ?`, teamID, cursor)
	}, scanEmail,
		`SELECT `+emailColumns+` FROM emails AS e WHERE e.team_id = ? AND e.id < ? AND e.unsent = 0 AND e.for_opt_in IS NULL ORDER BY e.id DESC LIMIT ?`,
		`SELECT `+emailColumns+` FROM emails AS e WHERE e.team_id = ? AND e.id > ? AND e.unsent = 0 AND e.for_opt_in IS NULL ORDER BY e.id LIMIT ?`, teamID)
}

// EmailRow returns one email of a team as lists show it: without bodies and attachments. Confirmations of
// opt-ins, which the team does not see, are not found.
func (r *Reader) EmailRow(teamID, id string) (*app.Email, error) {
	e, err := r.anyEmailRow(teamID, id)
	if err == nil && e.ForOptIn != "" {
		err = ErrNotFound
	}
	return e, err
}

func (r *Reader) anyEmailRow(teamID, id string) (*app.Email, error) {
	e, err := one(r, scanEmail, `SELECT `+emailColumns+` FROM emails AS e WHERE e.team_id = ? AND e.id = ?`, teamID, id)
	return &e, engine.DamagedEmail(err, teamID, id)
}

// Email returns one email of a team with its bodies and the metadata of its attachments,
// if its content was not deleted. Confirmations of opt-ins are not found. Errors: ErrNotFound; a Damage if the checksum does not
// match.
func (r *Reader) Email(teamID, id string) (*app.Email, error) {
	e, _, err := r.emailAndRaw(teamID, id)
	if err == nil && e.ForOptIn != "" {
		return nil, ErrNotFound
	}
	return e, err
}

// emailAndRaw returns Email and the size of its raw message; 0 if it is composed from the
// content.
func (r *Reader) emailAndRaw(teamID, id string) (*app.Email, int64, error) {
	e, raw, err := r.email(teamID, id)
	if err == nil {
		return e, raw, nil
	}
	if _, rowErr := r.anyEmailRow(teamID, id); rowErr != nil { // not found, or the row itself is damaged
		return nil, 0, rowErr
	}
	return nil, 0, engine.DamagedEmail(engine.DamagedRow("contents", err), teamID, id)
}

func (r *Reader) email(teamID, id string) (_ *app.Email, rawSize int64, err error) {
	var row emailRow
	var html, plain, headers, unsubscribe, tracking, insights sql.NullString
	var sum, raw sql.NullInt64 // sum NULL: no content; raw NULL: no raw message
	err = r.Row(`SELECT `+emailColumns+`, c.html, c.plain, c.headers, c.unsubscribe, c.tracking, c.insights, c.raw, c.sum
		FROM emails AS e LEFT JOIN contents AS c ON c.email_id = e.id WHERE e.team_id = ? AND e.id = ?`, []any{teamID, id},
		append(row.dest(), &html, &plain, &headers, &unsubscribe, &tracking, &insights, &raw, &sum)...)
	if err != nil {
		return nil, 0, err
	}
	e, err := row.finish()
	switch {
	case err != nil:
		return nil, 0, err
	case !e.ContentDeletedAt.IsZero():
		return &e, 0, nil
	case !sum.Valid:
		return nil, 0, ErrNotFound
	case sum.Int64 != contentChecksum(html.String, plain.String, headers.String, unsubscribe.String):
		return nil, 0, engine.ErrChecksum
	}
	e.HTML, e.Text, e.Unsubscribe = html.String, plain.String, unsubscribe.String
	if err := errors.Join(fromJSON(headers, &e.Headers), fromJSON(tracking, &e.Tracking), fromJSON(insights, &e.Insights)); err != nil {
		return nil, 0, err
	}
	if row.attachments > 0 {
		e.Attachments, err = r.attachments(id)
	}
	return &e, raw.Int64, err
}

// EmailSize returns the approximate number of bytes that Email reads, without reading
// them.
func (r *Reader) EmailSize(teamID, id string) (bytes int64, err error) {
	err = r.Row(`SELECT coalesce(octet_length(c.html), 0) + coalesce(octet_length(c.plain), 0) + coalesce(octet_length(c.headers), 0)
		FROM emails AS e LEFT JOIN contents AS c ON c.email_id = e.id WHERE e.team_id = ? AND e.id = ?`, []any{teamID, id}, &bytes)
	return bytes, err
}

// OutgoingSize returns the approximate number of bytes that Outgoing reads, without
// reading them.
func (r *Reader) OutgoingSize(teamID, id string) (bytes int64, err error) {
	var files int64
	err = r.Row(`SELECT coalesce(sum(a.size), 0) FROM emails AS e JOIN attachments AS a ON a.email_id = e.id WHERE e.team_id = ? AND e.id = ?`, []any{teamID, id}, &files)
	if err != nil {
		return 0, err
	}
	bytes, err = r.EmailSize(teamID, id)
	if err != nil {
		return 0, err
	}
	raw, err := r.RawSize(teamID, id)
	return bytes + files + raw, err
}

// EmailHead returns an email without addresses, subject and content: key, relay,
// Message-ID, schedule and last event.
func (r *Reader) EmailHead(teamID, id string) (app.Email, error) {
	e := app.Email{ID: id, TeamID: teamID}
	var key *string
	var scheduled *int64
	err := r.Row(`SELECT key_id, relay, message_id, scheduled_at, last_event FROM emails WHERE team_id = ? AND id = ?`,
		[]any{teamID, id}, &key, &e.Relay, &e.MessageID, &scheduled, &e.LastEvent)
	if key != nil {
		e.KeyID = *key
	}
	if scheduled != nil {
		e.ScheduledAt = fromMilli(*scheduled)
	}
	return e, err
}

// DeleteEmail deletes an email and its dependent rows. Errors: ErrNotFound; a Damage if
// its content cannot be read, because a write would fail too.
func (tx *Tx) DeleteEmail(teamID, id string) error {
	if _, _, err := tx.CompleteEmail(teamID, id); engine.IsUnreadable(err) {
		return err
	}
	n, err := tx.Exec(`DELETE FROM emails WHERE team_id = ? AND id = ?`, teamID, id)
	if err := oneRow(n, err, ErrNotFound); err != nil {
		return err
	}
	if err := tx.Write(`DELETE FROM units WHERE email_id = ?`, id); err != nil {
		return err
	}
	if err := tx.Write(`DELETE FROM events WHERE email_id = ?`, id); err != nil {
		return err
	}
	if err := tx.deleteAttempts(id); err != nil {
		return err
	}
	if err := tx.Write(`DELETE FROM captures WHERE email_id = ?`, id); err != nil {
		return err
	}
	if err := tx.Write(`DELETE FROM provider_ids WHERE email_id = ?`, id); err != nil {
		return err
	}
	err = tx.Write(`DELETE FROM doubts WHERE email_id = ?`, id)
	return err
}

// OwnsEmail returns nil if the email belongs to the team, else ErrNotFound.
func (r *Reader) OwnsEmail(teamID, id string) error {
	return r.Exists(`SELECT 1 FROM emails WHERE team_id = ? AND id = ? AND for_opt_in IS NULL`, teamID, id)
}

// RecipientNumber returns the position of an address in the envelope of an email. Error:
// ErrNotFound.
func (r *Reader) RecipientNumber(emailID, address string) (n int, err error) {
	err = r.Row(`SELECT n FROM recipients WHERE email_id = ? AND address = ?`, []any{emailID, address}, &n)
	return n, err
}

// Envelope returns all recipients of a team's email in envelope order, with any outcome.
// It is empty if the email was deleted.
func (r *Reader) Envelope(teamID, emailID string) ([]string, error) {
	return list(r, scanText, `SELECT r.address FROM emails AS e JOIN recipients AS r ON r.email_id = e.id WHERE e.team_id = ? AND e.id = ? ORDER BY r.n`, teamID, emailID)
}

// InsertCapture stores a message of the capture transport, of an email or a broadcast
// recipient, and replaces an earlier one. Error: ErrNotFound if the email was deleted.
func (tx *Tx) InsertCapture(emailID string, message []byte) error {
	return tx.WriteOne(`INSERT INTO captures (email_id, message, created_at) SELECT ?1, ?2, ?3
		WHERE EXISTS (SELECT 1 FROM emails WHERE id = ?1) OR EXISTS (SELECT 1 FROM broadcast_recipients WHERE id = ?1)
		ON CONFLICT (email_id) DO UPDATE SET message = excluded.message, created_at = excluded.created_at`,
		emailID, message, milli(tx.Now))
}

// Capture returns the captured message of a team's email.
func (r *Reader) Capture(teamID, emailID string) (message []byte, err error) {
	err = r.Row(`SELECT c.message FROM captures AS c JOIN emails AS e ON e.id = c.email_id WHERE e.team_id = ? AND e.id = ?`,
		[]any{teamID, emailID}, &message)
	return message, engine.DamagedEmail(err, teamID, emailID)
}

// BroadcastCapture returns the captured message to a recipient of a team's broadcast.
func (r *Reader) BroadcastCapture(teamID, emailID string) (message []byte, err error) {
	err = r.Row(`SELECT c.message FROM captures AS c JOIN broadcasts AS b ON b.mails = ? WHERE b.team_id = ? AND c.email_id = ?`,
		[]any{app.EmailIDPrefixOf(emailID), teamID, emailID}, &message)
	return message, err
}

// CaptureSize returns the bytes that Capture or BroadcastCapture reads, without reading
// them.
func (r *Reader) CaptureSize(teamID, emailID string) (bytes int64, err error) {
	err = r.Row(`SELECT octet_length(c.message) FROM captures AS c WHERE c.email_id = ?2 AND (
		EXISTS (SELECT 1 FROM emails AS e WHERE e.team_id = ?1 AND e.id = ?2) OR EXISTS (SELECT 1 FROM broadcasts AS b WHERE b.team_id = ?1 AND b.mails = ?3))`,
		[]any{teamID, emailID, app.EmailIDPrefixOf(emailID)}, &bytes)
	return bytes, err
}
