package mail

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/kit/membudget"
	"mailer/app/tenants/audience"
	"mailer/db"
)

// ListAttachments returns a page of the metadata of an email's attachments.
func (s *Service) ListAttachments(ctx context.Context, key *app.Key, emailID string, page app.Page) (rows []app.Attachment, more bool, err error) {
	var unknown error // of the email, which is not the cursor
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		if unknown = r.OwnsEmail(key.TeamID, emailID); errors.Is(unknown, db.ErrNotFound) {
			if _, _, unknown = audience.RecipientOf(r, key.TeamID, emailID); unknown == nil { // a broadcast has none
				rows, more, err = base.Paginate(rows, page, func(a *app.Attachment) string { return a.ID })
				return err
			}
		}
		if unknown != nil {
			return nil
		}
		rows, more, err = r.ListAttachments(key.TeamID, emailID, page)
		return err
	})
	if unknown != nil {
		return nil, false, base.Lookup("email", unknown)
	}
	return rows, more, base.Cursor(page, err)
}

// GetAttachment returns the metadata of one attachment.
func (s *Service) GetAttachment(ctx context.Context, key *app.Key, emailID, id string) (*app.Attachment, error) {
	f, err := s.attachment(ctx, key.TeamID, emailID, id)
	return &f.Attachment, err
}

func (s *Service) attachment(ctx context.Context, teamID, emailID, id string) (db.AttachmentFile, error) {
	f, err := db.Get(ctx, s.DB, func(r *db.Reader) (db.AttachmentFile, error) { return r.Attachment(teamID, emailID, id) })
	return f, s.lookupContent(ctx, teamID, emailID, "attachment", err)
}

// downloadTTL is how long a download address works.
const downloadTTL = time.Hour

const downloadPurpose = "attachment v1"

// AttachmentToken makes the signed part of a download address and says when it
// ends. It holds ids and a time, and its MAC.
func (s *Service) AttachmentToken(key *app.Key, emailID, id string) (token string, expires time.Time) {
	expires = clock.Now().Add(downloadTTL).Truncate(time.Second)
	message := binary.BigEndian.AppendUint64(nil, uint64(expires.Unix()))
	message = append(message, key.TeamID+emailID+id...)
	return base64.RawURLEncoding.EncodeToString(append(message, s.Sealer.MAC(downloadPurpose, message)...)), expires
}

// Download is an attachment whose content is read piece by piece, each in a short
// Read, so that a slow client holds no connection to the database.
type Download struct {
	app.Attachment // without its content
	// Next returns the next piece, of AttachmentPiece bytes at most; nil behind the last.
	// Errors: CodeNotFound where the attachment was deleted or rewritten meanwhile.
	Next func(context.Context) ([]byte, error)
}

// AttachmentPiece is how many bytes of a download are in memory at once, at most.
const AttachmentPiece = db.AttachmentPiece

// OpenAttachment returns the attachment that a download token names. Errors:
// CodeNotFound for a forged or ended token.
func (s *Service) OpenAttachment(ctx context.Context, token string) (*Download, error) {
	const idLen, macLen = 36, 16
	raw, err := app.DecodeToken(token)
	if err != nil || len(raw) != 8+3*idLen+macLen {
		return nil, app.NotFound("attachment")
	}
	message, mac := raw[:len(raw)-macLen], raw[len(raw)-macLen:]
	if !s.Sealer.VerifyMAC(downloadPurpose, message, mac) || clock.Now().Unix() > int64(binary.BigEndian.Uint64(message)) {
		return nil, app.NotFound("attachment")
	}
	ids := string(message[8:])
	f, err := s.attachment(ctx, ids[:idLen], ids[idLen:2*idLen], ids[2*idLen:])
	if err != nil {
		return nil, err
	}
	return &Download{Attachment: f.Attachment, Next: s.pieces(f)}, nil
}

// pieces returns what reads a file piece by piece. They are in memory one at a time,
// so that they don't add up in an answer's room.
func (s *Service) pieces(f db.AttachmentFile) func(context.Context) ([]byte, error) {
	n, remaining := 0, f.Size
	return func(ctx context.Context) ([]byte, error) {
		if remaining <= 0 {
			return nil, nil
		}
		piece, err := db.Get(membudget.With(ctx, nil), s.DB, func(r *db.Reader) ([]byte, error) { return r.AttachmentPiece(&f, n) })
		if err != nil {
			return nil, base.Lookup("attachment", fmt.Errorf("read piece %d of attachment %s: %w", n, f.ID, err))
		}
		n, remaining = n+1, remaining-int64(len(piece))
		return piece, nil
	}
}
