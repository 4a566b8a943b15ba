package db

import (
	"errors"
	"fmt"

	"mailer/app/rules/erase"
	"mailer/db/engine"
)

// TextKind is a column outside of emails and broadcasts with addresses, or with what was recorded of
// requests and responses.
type TextKind int

// The columns.
const (
	WebhookEventPayloads TextKind = iota
	WebhookResponses
	WebhookEndpoints
	TroubleDetails
	SegmentFilters
	TemplateSenders
	TemplateReplyTo
	VersionAddresses
	AuditTargets
	AuditBefore
	AuditAfter
	ImportErrorValues
	SignalPayloads
	TextKinds // number of kinds
)

// textColumn has the statements that read and write a column.
type textColumn struct {
	json     bool     // the column is JSON
	members  []string // of the JSON object that hold addresses; nil: all
	ofServer bool     // shared by all teams: the statements have no team parameter
	counted  bool     // counts of segments depend on it
	read     string   // selects id and text. Parameters: team, after id, up to id, limit
	write    string   // parameters: text, team, id
}

// textColumns has a row for each TextKind.
var textColumns = [TextKinds]textColumn{
	WebhookEventPayloads: {json: true,
		read:  `SELECT id, payload FROM webhook_events WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE webhook_events SET payload = ? WHERE team_id = ? AND id = ?`},
	WebhookResponses: {
		read:  `SELECT id, response FROM webhook_attempts WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE webhook_attempts SET response = ? WHERE team_id = ? AND id = ?`},
	WebhookEndpoints: {
		read:  `SELECT id, endpoint FROM webhooks WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE webhooks SET endpoint = ? WHERE team_id = ? AND id = ?`},
	TroubleDetails: {json: true, ofServer: true,
		read:  `SELECT id, detail FROM relay_troubles WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE relay_troubles SET detail = ? WHERE id = ?`},
	SegmentFilters: {json: true, counted: true,
		read:  `SELECT id, coalesce(filter, 'null') FROM segments WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE segments SET filter = ? WHERE team_id = ? AND id = ?`},
	TemplateSenders: {
		read:  `SELECT id, coalesce(sender, '') FROM template_versions WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE template_versions SET sender = ? WHERE team_id = ? AND id = ?`},
	TemplateReplyTo: {json: true,
		read:  `SELECT id, coalesce(reply_to, 'null') FROM template_versions WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE template_versions SET reply_to = ? WHERE team_id = ? AND id = ?`},
	VersionAddresses: {json: true, members: []string{"from", "reply_to", "From", "ReplyTo"}, // of a broadcast and of a template
		read:  `SELECT id, content FROM versions WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE versions SET content = ? WHERE team_id = ? AND id = ?`},
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
			ON i.team_id = ?1 AND i.id = e.import_id AND e.id > ?2 AND e.id <= ?3 AND e.value IS NOT NULL ORDER BY e.id LIMIT ?4`,
		write: `UPDATE import_errors SET value = ? WHERE import_id IN (SELECT i.id FROM imports AS i WHERE i.team_id = ?) AND id = ?`},
	SignalPayloads: {json: true,
		read:  `SELECT id, coalesce(payload, 'null') FROM automation_signals WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		write: `UPDATE automation_signals SET payload = ? WHERE team_id = ? AND id = ?`},
}

func (k TextKind) column() (*textColumn, error) {
	if k < 0 || k >= TextKinds {
		return nil, fmt.Errorf("no such column of texts: %d", int(k))
	}
	return &textColumns[k], nil
}

func (c *textColumn) scrub(text string, e *erase.Set) string {
	if c.json {
		return e.ScrubJSON(text, c.members...)
	}
	return e.Scrub(text)
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
		if clean := column.scrub(row.Text, e); clean != row.Text {
			hit = append(hit, TextRow{row.ID, clean})
		}
		return struct{}{}, nil
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

// PurgeAnswersWithTraces deletes a team's stored responses that contain an address of e, or whose
// idempotency keys do.
func (tx *Tx) PurgeAnswersWithTraces(teamID string, e *erase.Set) error {
	var hit []IdempotencyKey
	_, err := list(&tx.Reader, func(s scanner) (none struct{}, err error) {
		a := IdempotencyKey{TeamID: teamID}
		var response string
		err = s.Scan(&a.Scope, &a.Route, &a.Key, &response)
		if e.In(a.Key) || e.In(response) {
			hit = append(hit, a)
		}
		return none, err
	}, `SELECT scope, route, key, response FROM idempotency WHERE team_id = ?
		AND (instr(key, '@') > 0 OR instr(key, '%40') > 0 OR instr(response, '@') > 0)`, teamID)
	if err != nil {
		return err
	}
	for _, a := range hit {
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
