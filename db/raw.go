package db

import (
	"database/sql"
	"fmt"

	"mailer/app"
	"mailer/db/engine"
)

// insertRaw stores a raw message in pieces, like attachments.
func (tx *Tx) insertRaw(e *app.Email) error {
	for n, left := 0, e.Raw; len(left) > 0; n++ {
		piece := left[:min(len(left), AttachmentPiece)]
		if err := tx.Write(`INSERT INTO raw_pieces (email_id, n, sum, content) VALUES (?, ?, ?, ?)`, e.ID, n, bytesChecksum(piece), piece); err != nil {
			return fmt.Errorf("insert piece of a message: %w", err)
		}
		left = left[len(piece):]
	}
	return nil
}

// rawSize returns the value of contents.raw: the size of the raw message.
func rawSize(e *app.Email) any {
	if e.Raw == nil {
		return nil
	}
	return len(e.Raw)
}

// RawSize returns the size of the raw message of a team's email; 0 if it is composed from
// the content. Error: ErrNotFound.
func (r *Reader) RawSize(teamID, emailID string) (bytes int64, err error) {
	err = r.Row(`SELECT coalesce(c.raw, 0) FROM emails AS e LEFT JOIN contents AS c ON c.email_id = e.id WHERE e.team_id = ? AND e.id = ?`, []any{teamID, emailID}, &bytes)
	return bytes, err
}

// raw returns the raw message of the given size, with spare capacity. It returns an error
// if a checksum does not match.
func (r *Reader) raw(emailID string, size int64) ([]byte, error) {
	content := make([]byte, 0, size)
	_, err := list(r, func(s scanner) (none struct{}, err error) {
		var piece sql.RawBytes // valid until the next row
		var sum int64
		err = s.Scan(&piece, &sum)
		if err == nil && sum != bytesChecksum(piece) {
			err = engine.ErrChecksum
		}
		content = append(content, piece...)
		return none, err
	}, `SELECT content, sum FROM raw_pieces WHERE email_id = ? ORDER BY n`, emailID)
	if err == nil && int64(len(content)) != size {
		return nil, fmt.Errorf("%d of %d bytes are stored", len(content), size)
	}
	return content, err
}

// dropRaw deletes the raw message of an email, which is then composed from its content.
func (tx *Tx) dropRaw(emailID string) error {
	n, err := tx.Exec(`UPDATE contents SET raw = NULL WHERE email_id = ? AND raw IS NOT NULL`, emailID)
	if err != nil || n == 0 {
		return err
	}
	err = tx.Write(`DELETE FROM raw_pieces WHERE email_id = ?`, emailID)
	return err
}

// deleteRawPieces deletes at most maxRows pieces of an email's raw message and returns their
// number.
func (tx *Tx) deleteRawPieces(emailID string, maxRows int) (int64, error) {
	return tx.Exec(`DELETE FROM raw_pieces WHERE email_id = ?1 AND n IN (SELECT n FROM raw_pieces WHERE email_id = ?1 LIMIT ?2)`, emailID, maxRows)
}
