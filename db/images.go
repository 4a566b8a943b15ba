package db

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/db/engine"
)

// ImagePiece is the largest number of bytes of an image that is read at a time. Each connection that
// gets an image holds one piece.
const ImagePiece = 64 << 10

const imageColumns = `i.id, i.team_id, i.name, i.type, coalesce(i.alt, ''), i.on_base, i.sizes, coalesce(i.used_at, 0), i.uploaded_at, i.created_at`

func scanImage(s scanner) (app.Image, error) {
	var i app.Image
	var sizes string
	var used, uploaded, created int64
	if err := s.Scan(&i.ID, &i.TeamID, &i.Name, &i.Type, &i.Alt, &i.OnBase, &sizes, &used, &uploaded, &created); err != nil {
		return i, err
	}
	i.UsedAt, i.UploadedAt, i.CreatedAt = fromMilli(used), fromMilli(uploaded), fromMilli(created)
	return i, fromJSON(sql.NullString{String: sizes, Valid: true}, &i.Sizes)
}

// InsertImage stores an image with the bytes of its sizes, and adds them to those of its team. Error:
// ErrConflict if an image has its name.
func (tx *Tx) InsertImage(i *app.Image, contents [][]byte) error {
	sizes, err := json.Marshal(i.Sizes)
	if err != nil {
		return fmt.Errorf("encode column: %w", err)
	}
	n, err := tx.Exec(`INSERT INTO images (id, team_id, name, type, alt, on_base, sizes, used_at, uploaded_at, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING`,
		i.ID, i.TeamID, i.Name, i.Type, nullText(i.Alt), i.OnBase, string(sizes), nullTime(i.UsedAt), milli(i.UploadedAt), milli(i.CreatedAt))
	if err := oneRow(n, err, ErrConflict); err != nil {
		return err
	}
	for size, left := range contents {
		for n := 0; len(left) > 0; n++ {
			piece := left[:min(len(left), ImagePiece)]
			if err := tx.Write(`INSERT INTO image_pieces (image_id, size, n, sum, content) VALUES (?, ?, ?, ?, ?)`, i.ID, size, n, bytesChecksum(piece), piece); err != nil {
				return fmt.Errorf("insert piece of an image: %w", err)
			}
			left = left[len(piece):]
		}
	}
	return tx.addImageBytes(i.TeamID, i.Bytes()+app.ImageOverhead)
}

// addImageBytes changes the bytes of the images of a team.
func (tx *Tx) addImageBytes(teamID string, bytes int64) error {
	return tx.Write(`UPDATE teams SET image_bytes = image_bytes + ? WHERE id = ?`, bytes, teamID)
}

// ImageBytes returns the bytes of the images of a team, with app.ImageOverhead for each. Error:
// ErrNotFound without the team.
func (r *Reader) ImageBytes(teamID string) (n int64, err error) {
	err = r.Row(`SELECT image_bytes FROM teams WHERE id = ?`, []any{teamID}, &n)
	return n, err
}

// AllImageBytes returns the bytes of the images of all teams.
func (r *Reader) AllImageBytes() (n int64, err error) {
	err = r.Row(`SELECT coalesce(sum(image_bytes), 0) FROM teams`, nil, &n)
	return n, err
}

// RenewImage notes that the file of an image was uploaded again. Error: ErrNotFound.
func (tx *Tx) RenewImage(teamID, id, alt string) error {
	return tx.WriteOne(`UPDATE images SET uploaded_at = ?, alt = ? WHERE team_id = ? AND id = ?`, milli(tx.Now), nullText(alt), teamID, id)
}

// SetImageAlt changes the alternative text of an image. Error: ErrNotFound.
func (tx *Tx) SetImageAlt(teamID, id, alt string) error {
	return tx.WriteOne(`UPDATE images SET alt = ? WHERE team_id = ? AND id = ?`, nullText(alt), teamID, id)
}

// DeleteImage deletes an image of a team. Error: ErrNotFound.
func (tx *Tx) DeleteImage(i *app.Image) error {
	if err := tx.WriteOne(`DELETE FROM images WHERE team_id = ? AND id = ?`, i.TeamID, i.ID); err != nil {
		return err
	}
	return tx.addImageBytes(i.TeamID, -(i.Bytes() + app.ImageOverhead))
}

// Image returns an image of a team. Error: ErrNotFound.
func (r *Reader) Image(teamID, id string) (app.Image, error) {
	return one(r, scanImage, `SELECT `+imageColumns+` FROM images AS i WHERE i.team_id = ? AND i.id = ?`, teamID, id)
}

// ImageNamed returns the image of a team with a name. Error: ErrNotFound.
func (r *Reader) ImageNamed(teamID, name string) (app.Image, error) {
	return one(r, scanImage, `SELECT `+imageColumns+` FROM images AS i WHERE i.team_id = ? AND i.name = ?`, teamID, name)
}

// ListImages returns a page of a team's images, newest first. Error: ErrNotFound for an unknown
// cursor.
func (r *Reader) ListImages(teamID string, page app.Page) ([]app.Image, bool, error) {
	return listPage(r, page, func(cursor string) error {
		return r.Exists(`SELECT 1 FROM images WHERE team_id = ? AND id = ?`, teamID, cursor)
	}, scanImage,
		`SELECT `+imageColumns+` FROM images AS i WHERE i.team_id = ? AND i.id < ? ORDER BY i.id DESC LIMIT ?`,
		`SELECT `+imageColumns+` FROM images AS i WHERE i.team_id = ? AND i.id > ? ORDER BY i.id LIMIT ?`, teamID)
}

// ServedImage returns the image with a name, of any team that is neither suspended nor deleted.
// Error: ErrNotFound.
func (r *Reader) ServedImage(name string) (app.Image, error) {
	return one(r, scanImage, `SELECT `+imageColumns+` FROM images AS i JOIN teams AS t ON t.id = i.team_id
		WHERE i.name = ? AND t.suspended_at IS NULL AND t.deleted_at IS NULL`, name)
}

// ImagePiece returns the nth piece of a size of an image, both from 0. Errors: ErrNotFound after the
// last piece; a Damage if the checksum does not match.
func (r *Reader) ImagePiece(imageID string, size, n int) (piece []byte, err error) {
	var sum int64
	err = r.Row(`SELECT content, sum FROM image_pieces WHERE image_id = ? AND size = ? AND n = ?`, []any{imageID, size, n}, &piece, &sum)
	if err == nil && sum != bytesChecksum(piece) {
		err = engine.DamagedRow("image_pieces", engine.ErrChecksum)
	}
	return piece, err
}

// useImages notes that content of a team refers to images with these names. Names of other teams,
// and unknown ones, change nothing.
func (tx *Tx) useImages(teamID string, texts ...string) error {
	for _, name := range app.ImageNames(texts...) {
		if err := tx.Write(`UPDATE images SET used_at = ? WHERE name = ? AND team_id = ? AND used_at IS NULL`, milli(tx.Now), name, teamID); err != nil {
			return fmt.Errorf("note the use of an image: %w", err)
		}
	}
	return nil
}

// useDocumentImages is useImages for all texts of a document.
func (tx *Tx) useDocumentImages(teamID string, parts []app.Part, design string, variants app.Variants) error {
	texts := []string{design}
	for _, part := range parts {
		texts = append(texts, part.Text)
	}
	for _, v := range variants {
		texts = append(texts, v.Design)
	}
	return tx.useImages(teamID, texts...)
}

// UnusedImages returns at most limit images of all teams that no content refers to and that were
// last uploaded before a time.
func (r *Reader) UnusedImages(before time.Time, limit int) ([]app.Image, error) {
	return list(r, scanImage, `SELECT `+imageColumns+` FROM images AS i WHERE i.used_at IS NULL AND i.uploaded_at < ? ORDER BY i.uploaded_at LIMIT ?`, milli(before), limit)
}
