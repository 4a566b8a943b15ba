package db

import (
	"database/sql"
	"fmt"

	"mailer/app"
	"mailer/db/engine"
)

// AttachmentPiece is how many bytes of an attachment are read at once, at most: a row
// of so many costs 0.3 ms, and 400 downloads at once 100 MB.
const AttachmentPiece = 256 << 10

func (tx *Tx) insertAttachment(emailID string, a *app.Attachment) error {
	err := tx.Write(`INSERT INTO attachments (id, email_id, filename, content_type, content_id, size) VALUES (?, ?, ?, ?, ?, ?)`,
		a.ID, emailID, a.Filename, a.ContentType, nullText(a.ContentID), a.Size)
	if err != nil {
		return fmt.Errorf("insert attachment: %w", err)
	}
	return tx.insertPieces(a)
}

func (tx *Tx) insertPieces(a *app.Attachment) error {
	for n, left := 0, a.Content; len(left) > 0; n++ {
		piece := left[:min(len(left), AttachmentPiece)]
		if err := tx.Write(`INSERT INTO attachment_pieces (attachment_id, n, sum, content) VALUES (?, ?, ?, ?)`, a.ID, n, bytesChecksum(piece), piece); err != nil {
			return fmt.Errorf("insert piece of an attachment: %w", err)
		}
		left = left[len(piece):]
	}
	return nil
}

// rewriteAttachment puts another file into the place of an attachment. Who reads it
// in pieces meanwhile gets no more. What is gone stays so.
func (tx *Tx) rewriteAttachment(emailID string, a *app.Attachment) error {
	n, err := tx.Exec(`UPDATE attachments SET filename = ?, content_type = ?, content_id = ?, size = ?, edition = edition + 1 WHERE email_id = ? AND id = ?`,
		a.Filename, a.ContentType, nullText(a.ContentID), a.Size, emailID, a.ID)
	if err != nil || n == 0 {
		return err
	}
	if err := tx.Write(`DELETE FROM attachment_pieces WHERE attachment_id = ?`, a.ID); err != nil {
		return err
	}
	return tx.insertPieces(a)
}

func (r *Reader) attachments(emailID string) ([]app.Attachment, error) {
	return list(r, scanAttachment, `SELECT id, filename, content_type, content_id, size FROM attachments
		WHERE email_id = ? ORDER BY id`, emailID)
}

func scanAttachment(s scanner) (app.Attachment, error) {
	var a app.Attachment
	var contentID sql.NullString
	err := s.Scan(&a.ID, &a.Filename, &a.ContentType, &contentID, &a.Size)
	a.ContentID = contentID.String
	return a, err
}

// ListAttachments returns a page of the metadata of an email's attachments,
// newest first. Error: ErrNotFound for a foreign email or cursor.
func (r *Reader) ListAttachments(teamID, emailID string, page app.Page) ([]app.Attachment, bool, error) {
	if err := r.OwnsEmail(teamID, emailID); err != nil {
		return nil, false, err
	}
	return listPage(r, page, func(cursor string) error {
		return r.Exists(`SELECT 1 FROM attachments WHERE email_id = ? AND id = ?`, emailID, cursor)
	}, scanAttachment,
		`SELECT id, filename, content_type, content_id, size FROM attachments WHERE email_id = ? AND id < ? ORDER BY id DESC LIMIT ?`,
		`SELECT id, filename, content_type, content_id, size FROM attachments WHERE email_id = ? AND id > ? ORDER BY id LIMIT ?`, emailID)
}

// AttachmentFile is an attachment to be read in pieces: its metadata, and which of
// its editions.
type AttachmentFile struct {
	app.Attachment
	Edition int64
	owner   owner
}

// Owner is the email that an attachment is of.
type owner struct{ teamID, emailID string }

// Attachment returns one attachment of a team's email without its content.
func (r *Reader) Attachment(teamID, emailID, id string) (AttachmentFile, error) {
	var f AttachmentFile
	var contentID sql.NullString
	err := r.Row(`SELECT a.id, a.filename, a.content_type, a.content_id, a.size, a.edition
		FROM attachments AS a JOIN emails AS e ON e.id = a.email_id WHERE e.team_id = ? AND e.id = ? AND a.id = ?`,
		[]any{teamID, emailID, id}, &f.ID, &f.Filename, &f.ContentType, &contentID, &f.Size, &f.Edition)
	f.ContentID, f.owner = contentID.String, owner{teamID, emailID}
	return f, engine.DamagedEmail(err, teamID, emailID)
}

// InlineFiles returns the attachments that the HTML of a team's email may show, without
// their content.
func (r *Reader) InlineFiles(teamID, emailID string) ([]AttachmentFile, error) {
	return list(r, func(s scanner) (AttachmentFile, error) {
		f := AttachmentFile{owner: owner{teamID, emailID}}
		err := s.Scan(&f.ID, &f.ContentType, &f.ContentID, &f.Size, &f.Edition)
		return f, err
	}, `SELECT a.id, a.content_type, a.content_id, a.size, a.edition FROM emails AS e JOIN attachments AS a ON a.email_id = e.id
		WHERE e.team_id = ? AND e.id = ? AND a.content_id IS NOT NULL ORDER BY a.id`, teamID, emailID)
}

// AttachmentPiece returns the nth piece of a file, from 0. Error: ErrNotFound behind
// its end, and where the file was deleted or rewritten; a Damage where it is not what
// was accepted.
func (r *Reader) AttachmentPiece(f *AttachmentFile, n int) (piece []byte, err error) {
	var sum int64
	err = r.Row(`SELECT p.content, p.sum FROM attachments AS a JOIN attachment_pieces AS p ON p.attachment_id = a.id
		WHERE a.id = ? AND a.edition = ? AND p.n = ?`, []any{f.ID, f.Edition, n}, &piece, &sum)
	if err == nil && sum != bytesChecksum(piece) {
		err = engine.DamagedRow("attachment_pieces", engine.ErrChecksum)
	}
	return piece, engine.DamagedEmail(err, f.owner.teamID, f.owner.emailID)
}

// attachmentContent returns all bytes of an attachment. Error: also one for bytes that
// are not those that were written.
func (r *Reader) attachmentContent(a *app.Attachment) ([]byte, error) {
	content := make([]byte, 0, a.Size)
	_, err := list(r, func(s scanner) (none struct{}, err error) {
		var piece sql.RawBytes // as long as the row stands
		var sum int64
		err = s.Scan(&piece, &sum)
		if err == nil && sum != bytesChecksum(piece) {
			err = engine.ErrChecksum
		}
		content = append(content, piece...)
		return none, err
	}, `SELECT content, sum FROM attachment_pieces WHERE attachment_id = ? ORDER BY n`, a.ID)
	if err == nil && int64(len(content)) != a.Size {
		return nil, fmt.Errorf("%d of %d bytes are there", len(content), a.Size)
	}
	return content, err
}
