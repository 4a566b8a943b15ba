package mail

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/tenants/audience"
	"mailer/db"
)

// ListAttachments returns a page of the metadata of an email's attachments. Errors: CodeNotFound,
// CodeValidation for an unknown cursor.
func (s *Service) ListAttachments(ctx context.Context, key *app.Key, emailID string, page app.Page) (rows []app.Attachment, more bool, err error) {
	var unknown error // an unknown email, as opposed to an unknown cursor
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		if unknown = r.OwnsEmail(key.TeamID, emailID); errors.Is(unknown, db.ErrNotFound) {
			b, _, notFound := audience.RecipientOf(r, key.TeamID, emailID)
			if unknown = notFound; unknown == nil {
				if rows, err = r.BroadcastAttachments(b.ID); err != nil {
					return err
				}
				slices.Reverse(rows)
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

// GetAttachment returns the metadata of one attachment. Errors: CodeNotFound.
func (s *Service) GetAttachment(ctx context.Context, key *app.Key, emailID, id string) (*app.Attachment, error) {
	f, err := s.attachment(ctx, key.TeamID, emailID, id)
	return &f.Attachment, err
}

func (s *Service) attachment(ctx context.Context, teamID, emailID, id string) (db.AttachmentFile, error) {
	f, err := db.Get(ctx, s.DB, func(r *db.Reader) (db.AttachmentFile, error) { return r.Attachment(teamID, emailID, id) })
	return f, s.lookupContent(ctx, teamID, emailID, "attachment", err)
}

// downloadTTL is how long a download URL works.
const downloadTTL = time.Hour

const downloadPurpose = "attachment v1"

// AttachmentToken returns the signed part of a download URL, and when it expires. It contains ids,
// the time and a MAC.
func (s *Service) AttachmentToken(key *app.Key, emailID, id string) (token string, expires time.Time) {
	expires = clock.Now().Add(downloadTTL).Truncate(time.Second)
	message := binary.BigEndian.AppendUint64(nil, uint64(expires.Unix()))
	message = append(message, key.TeamID+emailID+id...)
	return base64.RawURLEncoding.EncodeToString(append(message, s.Sealer.MAC(downloadPurpose, message)...)), expires
}

// Download is an attachment whose content is read in pieces, each in a short Read, so that a slow
// client does not hold a database connection.
type Download struct {
	app.Attachment // without its content
	// Next returns the next piece, of AttachmentPiece bytes at most; nil after the last. Errors:
	// CodeNotFound if the attachment was deleted or rewritten meanwhile.
	Next func(context.Context) ([]byte, error)
}

// AttachmentPiece is the largest part of a download in memory, in bytes.
const AttachmentPiece = db.AttachmentPiece

// OpenAttachment returns the attachment of a download token. Errors: CodeNotFound for an invalid or
// expired token.
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

// pieces returns a function that reads a file in pieces, of which one is in memory at a time. The
// caller reserves memory for it.
func (s *Service) pieces(f db.AttachmentFile) func(context.Context) ([]byte, error) {
	n, remaining := 0, f.Size
	return func(ctx context.Context) ([]byte, error) {
		if remaining <= 0 {
			return nil, nil
		}
		piece, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]byte, error) { return r.AttachmentPiece(&f, n) })
		if err != nil {
			return nil, base.Lookup("attachment", fmt.Errorf("read piece %d of attachment %s: %w", n, f.ID, err))
		}
		n, remaining = n+1, remaining-int64(len(piece))
		return piece, nil
	}
}
