package db

import (
	"database/sql"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/rules/contactfile"
)

const importColumns = `i.id, i.team_id, i.status, i.options, i.created, i.updated, i.skipped, i.failed, coalesce(i.error, ''),
	i.created_at, coalesce(i.completed_at, 0)`

func scanImport(s scanner) (contactfile.Import, error) {
	var v contactfile.Import
	var options sql.NullString
	var created, completed int64
	err := s.Scan(&v.ID, &v.TeamID, &v.Status, &options, &v.Created, &v.Updated, &v.Skipped, &v.Failed, &v.Error, &created, &completed)
	if err != nil {
		return v, err
	}
	v.CreatedAt, v.CompletedAt = fromMilli(created), fromMilli(completed)
	return v, fromJSON(options, &v.Plan)
}

// InsertImport adds an import whose file is about to be uploaded.
func (tx *Tx) InsertImport(i *contactfile.Import) error {
	err := tx.Write(`INSERT INTO imports (id, team_id, status, options, stored, created, updated, skipped, failed, created_at)
		VALUES (?, ?, 'uploading', '{}', 1, 0, 0, 0, 0, ?)`, i.ID, i.TeamID, milli(i.CreatedAt))
	if err != nil {
		return fmt.Errorf("insert import: %w", err)
	}
	return nil
}

// AddPiece stores the n-th piece, from 0, of an import's file. Error: ErrNotFound if the
// import is not uploading.
func (tx *Tx) AddPiece(importID string, n int, content []byte) error {
	stored, err := tx.Exec(`INSERT INTO import_pieces (import_id, n, content) SELECT ?1, ?2, ?3
		WHERE EXISTS (SELECT 1 FROM imports AS i WHERE i.id = ?1 AND i.status = 'uploading')`, importID, n, content)
	if err := oneRow(stored, err, ErrNotFound); err != nil {
		return fmt.Errorf("insert piece: %w", err)
	}
	return nil
}

// Piece returns the n-th piece of an import's file. Error: ErrNotFound after the last
// piece.
func (r *Reader) Piece(importID string, n int) (content []byte, err error) {
	err = r.Row(`SELECT content FROM import_pieces WHERE import_id = ? AND n = ?`, []any{importID, n}, &content)
	return content, err
}

// QueueImport queues an import whose file is complete. Error: ErrNotFound if the import is
// not uploading.
func (tx *Tx) QueueImport(teamID, id string, plan *contactfile.Plan) error {
	tx.publishImport(&contactfile.Import{ID: id, TeamID: teamID, Status: contactfile.Queued})
	options, err := jsonText(plan)
	if err != nil {
		return err
	}
	return tx.WriteOne(`UPDATE imports SET status = 'queued', options = ? WHERE team_id = ? AND id = ? AND status = 'uploading'`,
		options, teamID, id)
}

// AdvanceImport adds the counts of processed rows, of which done were counted before, and
// sets the status; the last call also sets error and completion time. Error: ErrNotFound
// if the number of counted rows differs or the import is over.
func (tx *Tx) AdvanceImport(i *contactfile.Import, done int) error {
	tx.publishImport(i)
	return tx.WriteOne(`UPDATE imports SET status = ?, created = ?, updated = ?, skipped = ?, failed = ?, error = ?, completed_at = ?
		WHERE team_id = ? AND id = ? AND created + updated + skipped + failed = ? AND status IN ('queued', 'in_progress')`,
		string(i.Status), i.Created, i.Updated, i.Skipped, i.Failed, nullText(i.Error), nullTime(i.CompletedAt), i.TeamID, i.ID, done)
}

// SetImportPlan stores the plan of an import with its progress. Error: ErrNotFound if the
// import is over.
func (tx *Tx) SetImportPlan(i *contactfile.Import) error {
	options, err := jsonText(&i.Plan)
	if err != nil {
		return err
	}
	return tx.WriteOne(`UPDATE imports SET options = ? WHERE team_id = ? AND id = ? AND status IN ('queued', 'in_progress')`, options, i.TeamID, i.ID)
}

// SegmentNamed returns the oldest segment of a team with a name. Error: ErrNotFound.
func (r *Reader) SegmentNamed(teamID, name string) (id string, err error) {
	err = r.Row(`SELECT s.id FROM segments AS s WHERE s.team_id = ? AND s.name = ? ORDER BY s.id LIMIT 1`, []any{teamID, name}, &id)
	return id, err
}

// InsertImportError stores the error of a row.
func (tx *Tx) InsertImportError(importID string, e contactfile.RowError) error {
	err := tx.Write(`INSERT INTO import_errors (import_id, id, line, message, value) VALUES (?, ?, ?, ?, ?)`, importID, e.ID, e.Line, e.Message, nullText(e.Value))
	if err != nil {
		return fmt.Errorf("insert import error: %w", err)
	}
	return nil
}

// DeleteImport marks an import as deleted. Lists no longer show it, and PurgeImport
// deletes it in steps. Error: ErrNotFound.
func (tx *Tx) DeleteImport(teamID, id string) error {
	return tx.WriteOne(`UPDATE imports SET status = 'deleted', stored = 1 WHERE team_id = ? AND id = ? AND status <> 'deleted'`, teamID, id)
}

// DeleteOldImports marks at most limit imports of all teams as deleted that were over
// before a time, and returns their number.
func (tx *Tx) DeleteOldImports(before time.Time, limit int) (int64, error) {
	return tx.Exec(`UPDATE imports SET status = 'deleted', stored = 1 WHERE id IN
		(SELECT i.id FROM imports AS i WHERE i.status IN ('completed', 'failed') AND i.completed_at < ? LIMIT ?)`, milli(before), limit)
}

// PurgeImport deletes at most pieces pieces of an import's file, then, for a deleted
// import, rowErrors row errors, and reports whether there may be more. Afterwards a
// finished import counts as without file, and a deleted or never uploaded one is removed.
func (tx *Tx) PurgeImport(importID string, pieces, rowErrors int) (more bool, err error) {
	n, err := tx.Exec(`DELETE FROM import_pieces WHERE import_id = ?1 AND n IN
		(SELECT n FROM import_pieces WHERE import_id = ?1 ORDER BY n LIMIT ?2)`, importID, pieces)
	if err != nil || n > 0 {
		return n > 0, err
	}
	n, err = tx.Exec(`DELETE FROM import_errors WHERE import_id = ?1 AND id IN
		(SELECT e.id FROM import_errors AS e WHERE e.import_id = ?1 ORDER BY e.id LIMIT ?2)
		AND EXISTS (SELECT 1 FROM imports AS i WHERE i.id = ?1 AND i.status = 'deleted')`, importID, rowErrors)
	if err != nil || n > 0 {
		return n > 0, err
	}
	if err := tx.Write(`DELETE FROM imports WHERE id = ? AND status IN ('uploading', 'deleted')`, importID); err != nil {
		return false, err
	}
	err = tx.Write(`UPDATE imports SET stored = 0 WHERE id = ? AND status IN ('completed', 'failed')`, importID)
	return false, err
}

// NextImport returns an import to work on from the next team after a team id that has any:
// the running one, else the oldest. Error: ErrNotFound without one.
func (r *Reader) NextImport(afterTeam string) (contactfile.Import, error) {
	return one(r, scanImport, `SELECT `+importColumns+` FROM imports AS i
		WHERE i.status IN ('in_progress', 'queued', 'uploading') AND i.status <> 'uploading' AND i.team_id > ?
		ORDER BY i.team_id, i.status, i.id LIMIT 1`, afterTeam)
}

// WaitingImports returns the number of a team's imports that are not over, including those
// that are uploading.
func (r *Reader) WaitingImports(teamID string) (n int, err error) {
	err = r.Row(`SELECT count(*) FROM imports AS i WHERE i.team_id = ? AND i.status IN ('in_progress', 'queued', 'uploading')`,
		[]any{teamID}, &n)
	return n, err
}

// NextImportOver returns the id of an import of any team that is deleted, or over with a
// stored file. Error: ErrNotFound without one.
func (r *Reader) NextImportOver() (id string, err error) {
	err = r.Row(`SELECT i.id FROM imports AS i WHERE i.stored = 1 AND i.status IN ('completed', 'failed', 'deleted') LIMIT 1`, nil, &id)
	return id, err
}

// StoredImports returns the ids of imports of all teams in a status with a stored file
// that were created before a time, oldest first.
func (r *Reader) StoredImports(status contactfile.Status, before time.Time) ([]string, error) {
	return list(r, scanText, `SELECT i.id FROM imports AS i WHERE i.status = ? AND i.stored = 1 AND i.created_at <= ? ORDER BY i.id`, string(status), milli(before))
}

// Import returns one import of a team whose file is complete. Error: ErrNotFound.
func (r *Reader) Import(teamID, id string) (contactfile.Import, error) {
	return one(r, scanImport, `SELECT `+importColumns+` FROM imports AS i WHERE i.team_id = ? AND i.id = ? AND i.status NOT IN ('uploading', 'deleted')`, teamID, id)
}

// ListImports returns a page of a team's imports, newest first; an empty status selects
// all. Error: ErrNotFound for a cursor that is not in that list.
func (r *Reader) ListImports(teamID string, status contactfile.Status, page app.Page) ([]contactfile.Import, bool, error) {
	return listPage(r, page, func(cursor string) error {
		i, err := r.Import(teamID, cursor)
		if err == nil && status != "" && i.Status != status {
			return ErrNotFound
		}
		return err
	}, scanImport,
		`SELECT `+importColumns+` FROM imports AS i
			WHERE i.team_id = ?1 AND i.id < ?3 AND i.status NOT IN ('uploading', 'deleted') AND (?2 = '' OR i.status = ?2) ORDER BY i.id DESC LIMIT ?4`,
		`SELECT `+importColumns+` FROM imports AS i
			WHERE i.team_id = ?1 AND i.id > ?3 AND i.status NOT IN ('uploading', 'deleted') AND (?2 = '' OR i.status = ?2) ORDER BY i.id LIMIT ?4`, teamID, string(status))
}

func scanImportError(s scanner) (contactfile.RowError, error) {
	var v contactfile.RowError
	err := s.Scan(&v.ID, &v.Line, &v.Message, &v.Value)
	return v, err
}

// ListImportErrors returns a page of the row errors of an import in file order; After
// continues with later lines. The caller checks the team. Error: ErrNotFound for a cursor
// that is not in that list.
func (r *Reader) ListImportErrors(importID string, page app.Page) ([]contactfile.RowError, bool, error) {
	return keyset(r, page, func(cursor string) error {
		return r.Exists(`SELECT 1 FROM import_errors WHERE import_id = ? AND id = ?`, importID, cursor)
	}, func(limit int) ([]contactfile.RowError, error) {
		return walk(r, scanImportError, page, firstID, limit,
			`SELECT id, line, message, coalesce(value, '') FROM import_errors WHERE import_id = ? AND id > ? ORDER BY id LIMIT ?`,
			`SELECT id, line, message, coalesce(value, '') FROM import_errors WHERE import_id = ? AND id < ? ORDER BY id DESC LIMIT ?`, importID)
	})
}
