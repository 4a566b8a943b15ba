package mail_test

import (
	"bytes"
	"testing"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// A file is read in pieces. Reading ends with an error if the attachment was deleted
// meanwhile; that of another email continues.
func TestDownloadEndsWithAttachment(t *testing.T) {
	testserver.BothEngines(t)
	content := make([]byte, 2*mail.AttachmentPiece+1)
	for i := range content {
		content[i] = byte(i / mail.AttachmentPiece)
	}
	for name, change := range map[string]func(tx *db.Tx, teamID string, e *app.Email) error{
		"deleted": func(tx *db.Tx, teamID string, e *app.Email) error { return tx.DeleteEmail(teamID, e.ID) },
		"content deleted": func(tx *db.Tx, _ string, e *app.Email) error {
			err := tx.MarkContentDeleted(e.ID)
			for more := true; more && err == nil; {
				more, err = tx.DeleteContentPiece(e.ID)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := testserver.New(t, testserver.NewRelay(nil))
			open := func() (*app.Email, *mail.Download) {
				in := testserver.Message("bob@example.net")
				in.Attachments = []app.Attachment{{Filename: "a.bin", Content: content}}
				id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
				testserver.Must(t, err)
				e := w.Email(id)
				token, _ := w.Services.Mail.AttachmentToken(w.Key, id, e.Attachments[0].ID)
				d, err := w.Services.Mail.OpenAttachment(t.Context(), token)
				testserver.Must(t, err)
				return e, d
			}
			next := func(d *mail.Download) []byte {
				t.Helper()
				piece, err := d.Next(t.Context())
				testserver.Must(t, err)
				if len(piece) > mail.AttachmentPiece {
					t.Errorf("a piece of %d bytes", len(piece))
				}
				return piece
			}
			e, d := open()
			_, other := open()
			if !bytes.Equal(next(d), content[:mail.AttachmentPiece]) {
				t.Error("the first piece is another")
			}
			testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return change(tx, w.Key.TeamID, e) }))
			_, err := d.Next(t.Context())
			testserver.WantCode(t, err, app.CodeNotFound)
			var whole []byte
			for piece := next(other); piece != nil; piece = next(other) {
				whole = append(whole, piece...)
			}
			if !bytes.Equal(whole, content) {
				t.Errorf("the other file came as %d bytes that differ", len(whole))
			}
		})
	}
}
