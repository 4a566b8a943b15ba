package db

import (
	"database/sql"
	"errors"
	"fmt"

	"mailer/app"
	"mailer/db/engine"
)

const broadcastColumns = `b.id, b.team_id, b.name, b.segment_id, b.topic_id, b.sender, b.reply_to, b.subject, b.status, b.relay, b.mails,
	b.audience, b.bound, b.written, b.expanded, b.begun, b.open, b.held, b.sent, b.delivery_delayed, b.delivered, b.opened, b.clicked, b.bounced,
	b.complained, b.suppressed, b.failed, b.canceled, b.unsubscribed, b.created_at, b.scheduled_at, b.queued_at, b.sent_at, b.canceled_at, b.paused_at, b.in_archive`

// broadcastRow scans a row of broadcastColumns into an app.Broadcast.
type broadcastRow struct {
	b                                         app.Broadcast
	segment, topic, sender, replyTo           sql.NullString
	relay, mails, bound, held                 sql.NullString
	created                                   int64
	scheduledAt, queuedAt, sentAt, canceledAt sql.NullInt64
	pausedAt, archive                         sql.NullInt64
}

func (r *broadcastRow) dest() []any {
	b, c := &r.b, &r.b.Counts
	return []any{&b.ID, &b.TeamID, &b.Name, &r.segment, &r.topic, &r.sender, &r.replyTo, &b.Subject, &b.Status, &r.relay, &r.mails,
		&b.Audience, &r.bound, &b.Stored, &b.Expanded, &b.Started, &b.Open, &r.held, &c.Sent, &c.DeliveryDelayed, &c.Delivered, &c.Opened, &c.Clicked, &c.Bounced,
		&c.Complained, &c.Suppressed, &c.Failed, &c.Canceled, &c.Unsubscribed, &r.created, &r.scheduledAt, &r.queuedAt, &r.sentAt, &r.canceledAt, &r.pausedAt, &r.archive}
}

func (r *broadcastRow) finish() (app.Broadcast, error) {
	b := &r.b
	b.SegmentID, b.TopicID, b.Relay, b.EmailIDPrefix, b.MaxContactID = r.segment.String, r.topic.String, r.relay.String, r.mails.String, r.bound.String
	b.Held = app.HoldReason(r.held.String)
	b.CreatedAt, b.ScheduledAt, b.QueuedAt = fromMilli(r.created), fromMilli(r.scheduledAt.Int64), fromMilli(r.queuedAt.Int64)
	b.SentAt, b.CanceledAt, b.PausedAt = fromMilli(r.sentAt.Int64), fromMilli(r.canceledAt.Int64), fromMilli(r.pausedAt.Int64)
	if r.archive.Valid {
		in := r.archive.Int64 == 1
		b.Archive = &in
	}
	var from []app.Address
	if err := errors.Join(fromJSON(r.sender, &from), fromJSON(r.replyTo, &b.ReplyTo)); err != nil {
		return *b, fmt.Errorf("broadcast %s: %w", b.ID, err)
	}
	if len(from) == 1 {
		b.From = from[0]
	}
	return *b, nil
}

func scanBroadcast(s scanner) (app.Broadcast, error) {
	var r broadcastRow
	if err := s.Scan(r.dest()...); err != nil {
		return app.Broadcast{}, err
	}
	return r.finish()
}

// InsertBroadcast adds a draft with its attachments.
func (tx *Tx) InsertBroadcast(b *app.Broadcast) error {
	tx.publishBroadcast(b.TeamID, b.ID)
	sender, replyTo, err := broadcastAddresses(b)
	if err != nil {
		return err
	}
	err = tx.Write(`INSERT INTO broadcasts (id, team_id, name, segment_id, topic_id, sender, reply_to, subject, status, audience, written, expanded, begun, open, created_at, in_archive)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'draft', 0, 0, 0, 0, 0, ?, ?)`,
		b.ID, b.TeamID, b.Name, nullText(b.SegmentID), nullText(b.TopicID), sender, replyTo, b.Subject, milli(b.CreatedAt), nullBool(b.Archive))
	if err != nil {
		return fmt.Errorf("insert broadcast: %w", err)
	}
	variants, err := variantsColumn(b.Variants)
	if err != nil {
		return err
	}
	err = tx.Write(`INSERT INTO broadcast_contents (broadcast_id, preview, html, plain, design, content_syntax, content_variants, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		b.ID, nullText(b.Preview), nullText(b.HTML), b.Text, nullText(b.Design), nullText(string(b.Syntax)), nullText(variants), broadcastChecksum(&b.BroadcastContent, variants))
	if err != nil {
		return fmt.Errorf("insert content of a broadcast: %w", err)
	}
	if err := tx.useDocumentImages(b.TeamID, b.Parts(), b.Design, b.Variants); err != nil {
		return err
	}
	return errors.Join(tx.setBroadcastBlocks(b), tx.setBroadcastAttachments(b))
}

// UpdateBroadcast stores the editable fields of a draft. Error: ErrNotFound if it is not a
// draft of the team.
func (tx *Tx) UpdateBroadcast(b *app.Broadcast) error {
	tx.publishBroadcast(b.TeamID, b.ID)
	sender, replyTo, err := broadcastAddresses(b)
	if err != nil {
		return err
	}
	n, err := tx.Exec(`UPDATE broadcasts SET name = ?, segment_id = ?, topic_id = ?, sender = ?, reply_to = ?, subject = ?, in_archive = ?
		WHERE team_id = ? AND id = ? AND status = 'draft'`,
		b.Name, nullText(b.SegmentID), nullText(b.TopicID), sender, replyTo, b.Subject, nullBool(b.Archive), b.TeamID, b.ID)
	if err := oneRow(n, err, ErrNotFound); err != nil {
		return err
	}
	variants, err := variantsColumn(b.Variants)
	if err != nil {
		return err
	}
	err = tx.Write(`UPDATE broadcast_contents SET preview = ?, html = ?, plain = ?, design = ?, content_syntax = ?, content_variants = ?, sum = ? WHERE broadcast_id = ?`,
		nullText(b.Preview), nullText(b.HTML), b.Text, nullText(b.Design), nullText(string(b.Syntax)), nullText(variants), broadcastChecksum(&b.BroadcastContent, variants), b.ID)
	if err != nil {
		return fmt.Errorf("update content of a broadcast: %w", err)
	}
	if err := tx.useDocumentImages(b.TeamID, b.Parts(), b.Design, b.Variants); err != nil {
		return err
	}
	return errors.Join(tx.setBroadcastBlocks(b), tx.setBroadcastAttachments(b))
}

// nullBool returns the column of an optional boolean.
func nullBool(b *bool) any {
	switch {
	case b == nil:
		return nil
	case *b:
		return 1
	}
	return 0
}

func broadcastAddresses(b *app.Broadcast) (sender, replyTo any, err error) {
	if sender, err = asJSON([]app.Address{b.From}); err != nil {
		return nil, nil, err
	}
	replyTo, err = asJSON(b.ReplyTo)
	return sender, replyTo, err
}

// DeleteBroadcast deletes a draft. Error: ErrNotFound if it is not a draft of the team.
func (tx *Tx) DeleteBroadcast(teamID, id string) error {
	tx.publishBroadcast(teamID, id)
	n, err := tx.Exec(`DELETE FROM broadcasts WHERE team_id = ? AND id = ? AND status = 'draft'`, teamID, id)
	if err := oneRow(n, err, ErrNotFound); err != nil {
		return err
	}
	return tx.deleteVersions(id)
}

// Broadcast returns one broadcast of a team with its content, and the metadata of its
// attachments.
func (r *Reader) Broadcast(teamID, id string) (*app.Broadcast, error) {
	b, err := r.BroadcastHead(teamID, id)
	if err != nil {
		return nil, err
	}
	if b.BroadcastContent, err = r.broadcastContent(id); err != nil {
		return nil, engine.DamagedBroadcast(engine.DamagedRow("broadcast_contents", err), teamID, id)
	}
	return &b, nil
}

// BroadcastHead returns one broadcast of a team without its content.
func (r *Reader) BroadcastHead(teamID, id string) (app.Broadcast, error) {
	return one(r, scanBroadcast, `SELECT `+broadcastColumns+` FROM broadcasts AS b WHERE b.team_id = ? AND b.id = ?`, teamID, id)
}

// BroadcastOfMail returns the broadcast of an email id, without content. Error:
// ErrNotFound.
func (r *Reader) BroadcastOfMail(teamID, emailID string) (app.Broadcast, error) {
	return one(r, scanBroadcast, `SELECT `+broadcastColumns+` FROM broadcasts AS b WHERE b.mails = ? AND b.team_id = ?`, app.EmailIDPrefixOf(emailID), teamID)
}

func (r *Reader) broadcastContent(id string) (c app.BroadcastContent, err error) {
	var preview, html, design, frozen, syntax, variants sql.NullString
	var sum int64
	err = r.Row(`SELECT preview, html, plain, design, frozen, content_syntax, content_variants, sum FROM broadcast_contents WHERE broadcast_id = ?`, []any{id},
		&preview, &html, &c.Text, &design, &frozen, &syntax, &variants, &sum)
	if err != nil {
		return c, err
	}
	c.Preview, c.HTML, c.Design, c.Syntax = preview.String, html.String, design.String, app.Syntax(syntax.String)
	if sum != broadcastChecksum(&c, variants.String) {
		return c, engine.ErrChecksum
	}
	if err = errors.Join(fromJSON(frozen, &c.Snapshot), fromJSON(variants, &c.Variants)); err == nil {
		c.Attachments, err = r.BroadcastAttachments(id)
	}
	return c, err
}

// variantsColumn returns the column with the variants of a document; empty: none.
func variantsColumn(variants app.Variants) (string, error) {
	if len(variants) == 0 {
		return "", nil
	}
	return jsonText(variants)
}

// BroadcastSize returns the approximate content size of a team's broadcast in bytes
// without reading the content.
func (r *Reader) BroadcastSize(teamID, id string) (bytes int64, err error) {
	err = r.Row(`SELECT coalesce(octet_length(c.html), 0) + coalesce(octet_length(c.plain), 0) + coalesce(octet_length(c.design), 0) + coalesce(octet_length(c.frozen), 0)
		+ coalesce(octet_length(c.content_variants), 0)
		FROM broadcasts AS b JOIN broadcast_contents AS c ON c.broadcast_id = b.id WHERE b.team_id = ? AND b.id = ?`, []any{teamID, id}, &bytes)
	return bytes, err
}

// ListBroadcasts returns a page of a team's broadcasts without contents, newest first.
// Error: ErrNotFound for an unknown cursor.
func (r *Reader) ListBroadcasts(teamID string, page app.Page) ([]app.Broadcast, bool, error) {
	return listPage(r, page, func(cursor string) error { return errorOf(r.BroadcastHead(teamID, cursor)) }, scanBroadcast,
		`SELECT `+broadcastColumns+` FROM broadcasts AS b WHERE b.team_id = ? AND b.id < ? ORDER BY b.id DESC LIMIT ?`,
		`SELECT `+broadcastColumns+` FROM broadcasts AS b WHERE b.team_id = ? AND b.id > ? ORDER BY b.id LIMIT ?`, teamID)
}

// SendBroadcast makes a draft scheduled or queued, or a scheduled broadcast queued. It
// stores status, relay, audience, schedule, upper bound and frozen data of b. Error:
// ErrNotFound in any other status.
func (tx *Tx) SendBroadcast(b *app.Broadcast) error {
	tx.publishBroadcast(b.TeamID, b.ID)
	frozen, err := jsonText(b.Snapshot)
	if err != nil {
		return err
	}
	n, err := tx.Exec(`UPDATE broadcasts SET status = ?1, relay = ?2, audience = ?3, scheduled_at = ?4, queued_at = ?5, bound = ?6, mails = ?7
		WHERE team_id = ?8 AND id = ?9 AND (status = 'draft' OR status = 'scheduled' AND ?1 = 'queued')`,
		string(b.Status), b.Relay, b.Audience, nullTime(b.ScheduledAt), nullTime(b.QueuedAt), nullText(b.MaxContactID), nullText(b.EmailIDPrefix), b.TeamID, b.ID)
	if err := oneRow(n, err, ErrNotFound); err != nil {
		return err
	}
	err = tx.Write(`UPDATE broadcast_contents SET frozen = ? WHERE broadcast_id = ?`, frozen, b.ID)
	return err
}

// ReturnToDraft makes a scheduled broadcast a draft. Error: ErrNotFound if it is not
// scheduled.
func (tx *Tx) ReturnToDraft(teamID, id string) error {
	tx.publishBroadcast(teamID, id)
	return tx.WriteOne(`UPDATE broadcasts SET status = 'draft', relay = NULL, audience = 0, scheduled_at = NULL WHERE team_id = ? AND id = ? AND status = 'scheduled'`, teamID, id)
}

// OpenBroadcasts returns all scheduled or all queued broadcasts of all teams, in id order,
// without contents.
func (r *Reader) OpenBroadcasts(status app.BroadcastStatus) ([]app.Broadcast, error) {
	if status == app.ScheduledBroadcast {
		return list(r, scanBroadcast, `SELECT `+broadcastColumns+` FROM broadcasts AS b WHERE b.status = 'scheduled' ORDER BY b.id`)
	}
	return list(r, scanBroadcast, `SELECT `+broadcastColumns+` FROM broadcasts AS b WHERE b.status = 'queued' ORDER BY b.id`)
}

// BroadcastRelays returns the relays of the scheduled and queued broadcasts.
func (r *Reader) BroadcastRelays() ([]string, error) {
	return list(r, scanText, `SELECT relay FROM broadcasts WHERE status IN ('scheduled', 'queued') AND relay IS NOT NULL`)
}

// CanceledBroadcasts returns the canceled broadcasts that still have units.
func (r *Reader) CanceledBroadcasts() ([]app.Broadcast, error) {
	return list(r, scanBroadcast, `SELECT `+broadcastColumns+` FROM broadcasts AS b WHERE b.status = 'canceled' AND b.open > 0 ORDER BY b.id`)
}

// CancelBroadcast cancels a scheduled or queued broadcast. Its waiting units can no longer
// be committed. Error: ErrNotFound in any other status.
func (tx *Tx) CancelBroadcast(teamID, id string) error {
	tx.publishBroadcast(teamID, id)
	return tx.WriteOne(`UPDATE broadcasts SET status = 'canceled', canceled_at = ?, paused_at = NULL WHERE team_id = ? AND id = ? AND status IN ('scheduled', 'queued')`,
		milli(tx.Now), teamID, id)
}

// InOpenBroadcasts reports whether a draft, scheduled or queued broadcast uses a
// segment or a topic.
func (r *Reader) InOpenBroadcasts(segmentOrTopic string) (used bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM broadcasts WHERE segment_id = ?1 AND status IN ('draft', 'scheduled', 'queued'))
		OR EXISTS (SELECT 1 FROM broadcasts WHERE topic_id = ?1 AND status IN ('draft', 'scheduled', 'queued'))`, []any{segmentOrTopic}, &used)
	return used, err
}

// HoldBroadcast stops a scheduled or queued broadcast until ReleaseBroadcast. Error:
// ErrNotFound in any other status or if it is already held.
func (tx *Tx) HoldBroadcast(teamID, id string, why app.HoldReason) error {
	tx.publishBroadcast(teamID, id)
	return tx.WriteOne(`UPDATE broadcasts SET held = ?, held_at = ? WHERE team_id = ? AND id = ? AND status IN ('scheduled', 'queued') AND held IS NULL`, string(why), milli(tx.Now), teamID, id)
}

// finishBroadcast marks a queued broadcast as sent once all recipients are expanded and
// started and no unit is open.
func (tx *Tx) finishBroadcast(id string) error {
	err := tx.Write(`UPDATE broadcasts SET status = 'sent', sent_at = ?, paused_at = NULL
		WHERE id = ? AND status = 'queued' AND expanded = 1 AND begun = written AND open = 0`, milli(tx.Now), id)
	return err
}

// EndBroadcast marks a draft, inserted in the same transaction, as sent or canceled by
// another server, with the counts it had there. It has no recipients and is never sent.
// Error: ErrNotFound if it is not a draft.
func (tx *Tx) EndBroadcast(b *app.Broadcast) error {
	c := &b.Counts
	n, err := tx.Exec(`UPDATE broadcasts SET status = ?, relay = '', audience = ?, written = ?, expanded = 1, aged = 1, scheduled_at = ?, queued_at = ?, sent_at = ?, canceled_at = ?,
		sent = ?, delivery_delayed = ?, delivered = ?, opened = ?, clicked = ?, bounced = ?, complained = ?, suppressed = ?, failed = ?, canceled = ?, unsubscribed = ?
		WHERE team_id = ? AND id = ? AND status = 'draft'`,
		string(b.Status), b.Audience, b.Stored, nullTime(b.ScheduledAt), nullTime(b.QueuedAt), nullTime(b.SentAt), nullTime(b.CanceledAt),
		c.Sent, c.DeliveryDelayed, c.Delivered, c.Opened, c.Clicked, c.Bounced, c.Complained, c.Suppressed, c.Failed, c.Canceled, c.Unsubscribed, b.TeamID, b.ID)
	if err := oneRow(n, err, ErrNotFound); err != nil {
		return fmt.Errorf("end broadcast: %w", err)
	}
	return nil
}

// PauseBroadcast stops a queued broadcast until ResumeBroadcast. While it is paused, no
// unit can begin or be committed. Error: ErrNotFound if it is not queued or already
// paused.
func (tx *Tx) PauseBroadcast(teamID, id string) error {
	tx.publishBroadcast(teamID, id)
	return tx.WriteOne(`UPDATE broadcasts SET paused_at = ? WHERE team_id = ? AND id = ? AND status = 'queued' AND paused_at IS NULL`, milli(tx.Now), teamID, id)
}

// ResumeBroadcast ends the pause of a broadcast. ReleasePaused then releases its units.
// Error: ErrNotFound if it is not paused.
func (tx *Tx) ResumeBroadcast(teamID, id string) error {
	tx.publishBroadcast(teamID, id)
	return tx.WriteOne(`UPDATE broadcasts SET paused_at = NULL WHERE team_id = ? AND id = ? AND status = 'queued' AND paused_at IS NOT NULL`, teamID, id)
}

// PauseUnit holds a unit until its broadcast is resumed, and does not count a begun
// attempt. It returns false and changes nothing if the broadcast is not paused or the unit
// changed since it was read.
func (tx *Tx) PauseUnit(u app.Unit) (paused bool, err error) {
	n, err := tx.Exec(`UPDATE units SET held = 'paused', held_at = ?, attempts = CASE WHEN state = 'begun' AND attempts > 0 THEN attempts - 1 ELSE attempts END, state = 'held', owner = NULL
		WHERE email_id = ? AND attempts = ? AND (state = 'due' OR state = 'begun' AND owner IS NOT DISTINCT FROM ?)
		AND EXISTS (SELECT 1 FROM broadcasts AS b WHERE b.id = units.broadcast_id AND b.status = 'queued' AND b.paused_at IS NOT NULL)`,
		milli(tx.Now), u.EmailID, u.Attempts, nullText(u.Owner))
	return n > 0, err
}

// HasPausedUnits reports whether a broadcast has units held by a pause.
func (r *Reader) HasPausedUnits(broadcastID string) (has bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM units WHERE broadcast_id = ? AND held = 'paused')`, []any{broadcastID}, &has)
	return has, err
}

// ReleasePaused releases up to limit paused units of a resumed broadcast, and returns
// their number. The time they were held does not count toward their expiry.
func (tx *Tx) ReleasePaused(broadcastID string, limit int) (int64, error) {
	return tx.Exec(`UPDATE units SET state = CASE WHEN next_at > ?1 THEN 'later' ELSE 'due' END,
		stood = CASE WHEN held_at IS NULL OR held_at >= ?1 THEN stood ELSE coalesce(stood || ',', '') || CAST(held_at AS TEXT) || '-' || CAST(?1 AS TEXT) END,
		held = NULL, held_at = NULL
		WHERE email_id IN (SELECT email_id FROM units WHERE broadcast_id = ?2 AND held = 'paused' LIMIT ?3)
		AND EXISTS (SELECT 1 FROM broadcasts AS b WHERE b.id = ?2 AND b.status = 'queued' AND b.paused_at IS NULL)`, milli(tx.Now), broadcastID, limit)
}
