package db

import (
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/rules/erase"
	"mailer/db/engine"
)

// TextKind is a column outside of emails with text of callers or relays, which may contain
// an address.
type TextKind int

// The columns.
const (
	WebhookEventPayloads TextKind = iota
	TroubleDetails
	SegmentFilters
	PropertyFallbacks
	TemplateReplyTo
	TemplateVariables
	TemplateDesigns
	SegmentNames
	TopicNames
	TopicDescriptions
	KeyNames
	TemplateNames
	TemplateSenders
	TemplateSubjects
	TemplateHTML
	TemplateTexts
	VersionContents
	WebhookResponses
	WebhookEndpoints
	AuditTargets
	AuditBefore
	AuditAfter
	ImportErrorValues
	TextKinds // number of kinds
)

// textColumn has the statements that read and write a column.
type textColumn struct {
	json     bool   // the column is JSON
	ofServer bool   // shared by all teams: the statements have no team parameter
	counted  bool   // counts of segments depend on it
	read     string // selects id and text. Parameters: team, after id, up to id, limit
	write    string // parameters: text, team, id
}

// textColumns has a row for each TextKind.
var textColumns = [TextKinds]textColumn{
	WebhookEventPayloads: {json: true,
		read:  `SELECT id, payload FROM webhook_events WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE webhook_events SET payload = ? WHERE team_id = ? AND id = ?`},
	TroubleDetails: {json: true, ofServer: true,
		read:  `SELECT id, detail FROM relay_troubles WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE relay_troubles SET detail = ? WHERE id = ?`},
	SegmentFilters: {json: true, counted: true,
		read:  `SELECT id, coalesce(filter, 'null') FROM segments WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE segments SET filter = ? WHERE team_id = ? AND id = ?`},
	PropertyFallbacks: {json: true,
		read:  `SELECT id, coalesce(fallback, 'null') FROM properties WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE properties SET fallback = ? WHERE team_id = ? AND id = ?`},
	TemplateReplyTo: {json: true,
		read:  `SELECT id, coalesce(reply_to, 'null') FROM template_versions WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE template_versions SET reply_to = ? WHERE team_id = ? AND id = ?`},
	TemplateVariables: {json: true,
		read:  `SELECT id, coalesce(variables, 'null') FROM template_versions WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE template_versions SET variables = ? WHERE team_id = ? AND id = ?`},
	TemplateDesigns: {json: true,
		read:  `SELECT id, coalesce(design, 'null') FROM template_versions WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE template_versions SET design = ? WHERE team_id = ? AND id = ?`},
	SegmentNames: {
		read:  `SELECT id, name FROM segments WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE segments SET name = ? WHERE team_id = ? AND id = ?`},
	TopicNames: { // erased names must stay distinct
		read: `SELECT id, name FROM topics WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE topics SET name = ?1 || CASE WHEN EXISTS (SELECT 1 FROM topics AS o WHERE o.team_id = ?2 AND o.name = ?1) THEN ' ' || ?3 ELSE '' END
			WHERE team_id = ?2 AND id = ?3`},
	TopicDescriptions: {
		read:  `SELECT id, coalesce(description, '') FROM topics WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE topics SET description = ? WHERE team_id = ? AND id = ?`},
	KeyNames: {
		read:  `SELECT id, name FROM keys WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE keys SET name = ? WHERE team_id = ? AND id = ?`},
	TemplateNames: {
		read:  `SELECT id, name FROM templates WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE templates SET name = ? WHERE team_id = ? AND id = ?`},
	TemplateSenders: {
		read:  `SELECT id, coalesce(sender, '') FROM template_versions WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE template_versions SET sender = ? WHERE team_id = ? AND id = ?`},
	TemplateSubjects: {
		read:  `SELECT id, coalesce(subject, '') FROM template_versions WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE template_versions SET subject = ? WHERE team_id = ? AND id = ?`},
	TemplateHTML: {
		read:  `SELECT id, html FROM template_versions WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE template_versions SET html = ? WHERE team_id = ? AND id = ?`},
	TemplateTexts: {
		read:  `SELECT id, coalesce(plain, '') FROM template_versions WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE template_versions SET plain = ? WHERE team_id = ? AND id = ?`},
	VersionContents: {json: true,
		read:  `SELECT id, content FROM versions WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE versions SET content = ? WHERE team_id = ? AND id = ?`},
	WebhookResponses: {
		read:  `SELECT id, response FROM webhook_attempts WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE webhook_attempts SET response = ? WHERE team_id = ? AND id = ?`},
	WebhookEndpoints: {
		read:  `SELECT id, endpoint FROM webhooks WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE webhooks SET endpoint = ? WHERE team_id = ? AND id = ?`},
	AuditTargets: {
		read:  `SELECT id, coalesce(target, '') FROM audit_logs WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE audit_logs SET target = ? WHERE team_id = ? AND id = ?`},
	AuditBefore: {json: true,
		read:  `SELECT id, coalesce(before, 'null') FROM audit_logs WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE audit_logs SET before = ? WHERE team_id = ? AND id = ?`},
	AuditAfter: {json: true,
		read:  `SELECT id, coalesce(after, 'null') FROM audit_logs WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE audit_logs SET after = ? WHERE team_id = ? AND id = ?`},
	ImportErrorValues: {
		read: `SELECT e.id, e.value FROM import_errors AS e CROSS JOIN imports AS i
			WHERE i.team_id = ?1 AND i.id = e.import_id AND e.id > ?2 AND e.id <= ?3 AND e.value IS NOT NULL ORDER BY e.id LIMIT ?4`,
		write: `UPDATE import_errors SET value = ? WHERE import_id IN (SELECT i.id FROM imports AS i WHERE i.team_id = ?) AND id = ?`},
}

func (k TextKind) column() (*textColumn, error) {
	if k < 0 || k >= TextKinds {
		return nil, fmt.Errorf("no such column of texts: %d", int(k))
	}
	return &textColumns[k], nil
}

func (c *textColumn) scrub(text string, e *erase.Set) (string, error) {
	if c.json {
		return e.ScrubJSON(text)
	}
	return e.Scrub(text), nil
}

// Texts examines the next limit rows of a column in a span. It returns those with an
// address of e and the last id examined; empty at the end.
func (r *Reader) Texts(kind TextKind, teamID string, span Span, limit int, e *erase.Set) (hit []TextRow, next string, err error) {
	column, err := kind.column()
	if err != nil {
		return nil, "", err
	}
	args := []any{teamID, span.After, span.Until, limit}
	if column.ofServer {
		args = args[1:]
	}
	n := 0
	_, err = list(r, func(s scanner) (struct{}, error) { // keep matching texts only, because texts are long
		row, err := scanTextRow(s)
		if err != nil {
			return struct{}{}, err
		}
		n, next = n+1, row.ID
		clean, err := column.scrub(row.Text, e)
		if clean != row.Text {
			hit = append(hit, TextRow{row.ID, clean})
		}
		return struct{}{}, err
	}, column.read, args...)
	if n < limit {
		next = ""
	}
	return hit, next, err
}

// ScrubText reads a row again and stores it without the addresses of e.
func (tx *Tx) ScrubText(kind TextKind, teamID, id string, e *erase.Set) error {
	column, err := kind.column()
	if err != nil {
		return err
	}
	before, err := previousID(id)
	if err != nil {
		return err
	}
	rows, _, err := tx.Texts(kind, teamID, Span{before, id}, 1, e)
	if err != nil || len(rows) == 0 {
		return err
	}
	tx.Changed(engine.Suppressions, engine.Control, engine.Webhooks) // texts of topics, keys, webhooks
	if column.counted {
		tx.ChangedCounts(teamID)
	}
	args := []any{rows[0].Text, teamID, id}
	if column.ofServer {
		args = []any{rows[0].Text, id}
	}
	if err := tx.Write(column.write, args...); err != nil {
		return fmt.Errorf("scrub text: %w", err)
	}
	return nil
}

// previousID returns a text that sorts before an id and after all smaller ids.
func previousID(id string) (string, error) {
	if id == "" {
		return "", errors.New("an empty id")
	}
	return id[:len(id)-1], nil
}

// ContactsWithTraces examines the next limit contacts in a span. It returns those with an
// @ in names or properties and the last id examined; empty at the end.
func (r *Reader) ContactsWithTraces(teamID string, span Span, limit int) (rows []app.Contact, next string, err error) {
	rows, err = list(r, scanContact, `SELECT `+contactColumns+` FROM contacts AS c WHERE c.team_id = ? AND c.id > ? AND c.id <= ?
		AND (instr(CAST(c.properties AS TEXT), '@') > 0 OR instr(c.first_name, '@') > 0 OR instr(c.last_name, '@') > 0) ORDER BY c.id LIMIT ?`,
		teamID, span.After, span.Until, limit)
	if err == nil && len(rows) == limit {
		next = rows[limit-1].ID
	}
	return rows, next, err
}

// PurgeAnswersWithTraces deletes a team's stored responses whose idempotency keys contain
// an address of e.
func (tx *Tx) PurgeAnswersWithTraces(teamID string, e *erase.Set) error {
	rows, err := list(&tx.Reader, func(s scanner) (IdempotencyKey, error) {
		a := IdempotencyKey{TeamID: teamID}
		err := s.Scan(&a.Scope, &a.Route, &a.Key)
		return a, err
	}, `SELECT scope, route, key FROM idempotency WHERE team_id = ? AND (instr(key, '@') > 0 OR instr(key, '%40') > 0)`, teamID)
	if err != nil {
		return err
	}
	for _, a := range rows {
		if !e.In(a.Key) {
			continue
		}
		if err := tx.Write(`DELETE FROM idempotency WHERE team_id = ? AND scope = ? AND route = ? AND key = ?`, a.TeamID, a.Scope, a.Route, a.Key); err != nil {
			return fmt.Errorf("delete answer: %w", err)
		}
	}
	return nil
}

// ImportsWithPieces returns the imports of a team, up to an id, whose files are still
// stored.
func (r *Reader) ImportsWithPieces(teamID, until string) ([]string, error) {
	return list(r, scanText, `SELECT id FROM imports AS i WHERE i.team_id = ? AND i.id <= ?
		AND EXISTS (SELECT 1 FROM import_pieces AS p WHERE p.import_id = i.id) ORDER BY i.id`, teamID, until)
}

// maxPieceOverlap is more bytes than an address can have in one of two adjacent pieces.
const maxPieceOverlap = 1100

// MaskPiece overwrites the addresses of e with x in the piece after piece n of an import's
// file, including an address that begins in piece n. Lengths and lines do not change.
// Error: ErrNotFound after the last piece.
func (tx *Tx) MaskPiece(importID string, n int, e *erase.Set) (next int, err error) {
	var piece, before []byte
	err = tx.Row(`SELECT n, content FROM import_pieces WHERE import_id = ? AND n > ? ORDER BY n LIMIT 1`, []any{importID, n}, &next, &piece)
	if err != nil {
		return 0, err
	}
	err = tx.Row(`SELECT content FROM import_pieces WHERE import_id = ? AND n = ?`, []any{importID, n}, &before)
	if err := ignoreNotFound(err); err != nil {
		return 0, err
	}
	tail := max(0, len(before)-maxPieceOverlap)
	text := append(append([]byte(nil), before[tail:]...), piece...)
	if !e.Mask(text) {
		return next, nil
	}
	if len(before) > 0 {
		copy(before[tail:], text)
		if err := tx.setPiece(importID, n, before); err != nil {
			return 0, err
		}
	}
	return next, tx.setPiece(importID, next, text[len(before)-tail:])
}

func (tx *Tx) setPiece(importID string, n int, content []byte) error {
	err := tx.Write(`UPDATE import_pieces SET content = ? WHERE import_id = ? AND n = ?`, content, importID, n)
	if err != nil {
		return fmt.Errorf("mask piece: %w", err)
	}
	return nil
}
