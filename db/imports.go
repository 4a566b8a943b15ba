package db

import (
	"database/sql"
	"fmt"

	"mailer/app"
	"mailer/app/importing"
)

const importColumns = `i.id, i.team_id, i.status, i.options, i.created, i.updated, i.skipped, i.failed, coalesce(i.error, ''),
	i.created_at, coalesce(i.completed_at, 0)`

func scanImport(s scanner) (importing.Import, error) {
	var v importing.Import
	var options sql.NullString
	var created, completed int64
	err := s.Scan(&v.ID, &v.TeamID, &v.Status, &options, &v.Created, &v.Updated, &v.Skipped, &v.Failed, &v.Error, &created, &completed)
	if err != nil {
		return v, err
	}
	v.CreatedAt, v.CompletedAt = fromMilli(created), fromMilli(completed)
	return v, fromJSON(options, &v.Plan)
}

// InsertImport adds an import whose file begins to arrive.
func (tx *Tx) InsertImport(i *importing.Import) error {
	_, err := tx.exec(`INSERT INTO imports (id, team_id, status, options, stored, created, updated, skipped, failed, created_at)
		VALUES (?, ?, 'uploading', '{}', 1, 0, 0, 0, 0, ?)`, i.ID, i.TeamID, milli(i.CreatedAt))
	if err != nil {
		return fmt.Errorf("insert import: %w", err)
	}
	return nil
}

// AddPiece stores the n-th piece, from 0, of an import's file.
func (tx *Tx) AddPiece(importID string, n int, content []byte) error {
	if _, err := tx.exec(`INSERT INTO import_pieces (import_id, n, content) VALUES (?, ?, ?)`, importID, n, content); err != nil {
		return fmt.Errorf("insert piece: %w", err)
	}
	return nil
}

// Piece returns the n-th piece of an import's file. Error: ErrNotFound after the
// last one.
func (r *Reader) Piece(importID string, n int) (content []byte, err error) {
	err = r.row(`SELECT content FROM import_pieces WHERE import_id = ? AND n = ?`, []any{importID, n}, &content)
	return content, err
}

// QueueImport has an import whose file is complete wait for its turn. Error:
// ErrNotFound for one that is not arriving.
func (tx *Tx) QueueImport(teamID, id string, plan *importing.Plan) error {
	options, err := jsonText(plan)
	if err != nil {
		return err
	}
	n, err := tx.exec(`UPDATE imports SET status = 'queued', options = ? WHERE team_id = ? AND id = ? AND status = 'uploading'`,
		options, teamID, id)
	return oneRow(n, err, ErrNotFound)
}

// AdvanceImport counts rows of an import of which done were counted before, and
// sets its status; an error and the time of its end go with a last one. Error:
// ErrNotFound where another number of rows is counted or the import is over.
func (tx *Tx) AdvanceImport(i *importing.Import, done int) error {
	n, err := tx.exec(`UPDATE imports SET status = ?, created = ?, updated = ?, skipped = ?, failed = ?, error = ?, completed_at = ?
		WHERE team_id = ? AND id = ? AND created + updated + skipped + failed = ? AND status IN ('queued', 'in_progress')`,
		string(i.Status), i.Created, i.Updated, i.Skipped, i.Failed, nullText(i.Error), nullTime(i.CompletedAt), i.TeamID, i.ID, done)
	return oneRow(n, err, ErrNotFound)
}

// InsertImportError keeps what is wrong with a row.
func (tx *Tx) InsertImportError(importID string, e importing.RowError) error {
	_, err := tx.exec(`INSERT INTO import_errors (import_id, id, line, message) VALUES (?, ?, ?, ?)`, importID, e.ID, e.Line, e.Message)
	if err != nil {
		return fmt.Errorf("insert import error: %w", err)
	}
	return nil
}

// DeletePieces removes at most limit pieces of an import's file and tells
// whether there may be more. An import that is over counts as without a file
// afterwards; one that never arrived goes with its last piece.
func (tx *Tx) DeletePieces(importID string, limit int) (more bool, err error) {
	n, err := tx.exec(`DELETE FROM import_pieces WHERE import_id = ?1 AND n IN
		(SELECT n FROM import_pieces WHERE import_id = ?1 ORDER BY n LIMIT ?2)`, importID, limit)
	if err != nil || n > 0 {
		return n > 0, err
	}
	if _, err := tx.exec(`DELETE FROM imports WHERE id = ? AND status = 'uploading'`, importID); err != nil {
		return false, err
	}
	_, err = tx.exec(`UPDATE imports SET stored = 0 WHERE id = ? AND status IN ('completed', 'failed')`, importID)
	return false, err
}

// NextImport returns the import of all teams that is at work, else the oldest that
// waits. Error: ErrNotFound for none.
func (r *Reader) NextImport() (importing.Import, error) {
	for _, status := range []importing.Status{importing.InProgress, importing.Queued} {
		found, err := list(&r.session, scanImport, `SELECT `+importColumns+` FROM imports AS i
			WHERE i.status = ? AND i.stored = 1 ORDER BY i.id LIMIT 1`, string(status))
		if err != nil || len(found) > 0 {
			return append(found, importing.Import{})[0], err
		}
	}
	return importing.Import{}, ErrNotFound
}

// StoredImports returns the ids of imports of all teams in a status whose files
// are stored, oldest first.
func (r *Reader) StoredImports(status importing.Status) ([]string, error) {
	return list(&r.session, scanText, `SELECT i.id FROM imports AS i WHERE i.status = ? AND i.stored = 1 ORDER BY i.id`, string(status))
}

// Import returns one import of a team whose file has arrived.
func (r *Reader) Import(teamID, id string) (importing.Import, error) {
	return one(&r.session, scanImport, `SELECT `+importColumns+` FROM imports AS i WHERE i.team_id = ? AND i.id = ? AND i.status <> 'uploading'`, teamID, id)
}

// ListImports returns a page of a team's imports, newest first, all or those of
// one status. Error: ErrNotFound for a cursor that is not in that list.
func (r *Reader) ListImports(teamID string, status importing.Status, page app.Page) ([]importing.Import, bool, error) {
	return listPage(r, page, func(cursor string) error {
		i, err := r.Import(teamID, cursor)
		if err == nil && status != "" && i.Status != status {
			return ErrNotFound
		}
		return err
	}, scanImport,
		`SELECT `+importColumns+` FROM imports AS i
			WHERE i.team_id = ?1 AND i.id < ?3 AND i.status <> 'uploading' AND (?2 = '' OR i.status = ?2) ORDER BY i.id DESC LIMIT ?4`,
		`SELECT `+importColumns+` FROM imports AS i
			WHERE i.team_id = ?1 AND i.id > ?3 AND i.status <> 'uploading' AND (?2 = '' OR i.status = ?2) ORDER BY i.id LIMIT ?4`, teamID, string(status))
}

func scanImportError(s scanner) (importing.RowError, error) {
	var v importing.RowError
	err := s.Scan(&v.ID, &v.Line, &v.Message)
	return v, err
}

// ListImportErrors returns a page of the row errors of an import, in the order of
// the file: after walks on to later lines. The import must be the team's. Error:
// ErrNotFound for a cursor that is not in that list.
func (r *Reader) ListImportErrors(importID string, page app.Page) ([]importing.RowError, bool, error) {
	return keyset(r, page, func(cursor string) error {
		return r.exists(`SELECT 1 FROM import_errors WHERE import_id = ? AND id = ?`, importID, cursor)
	}, func(limit int) ([]importing.RowError, error) {
		return walk(r, scanImportError, page, firstID, limit,
			`SELECT id, line, message FROM import_errors WHERE import_id = ? AND id > ? ORDER BY id LIMIT ?`,
			`SELECT id, line, message FROM import_errors WHERE import_id = ? AND id < ? ORDER BY id DESC LIMIT ?`, importID)
	})
}
