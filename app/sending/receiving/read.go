package receiving

import (
	"context"
	"errors"
	"slices"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/inbound"
	"mailer/db"
)

// List returns a page of the team's received emails, newest first, without content, and whether there are more.
// Errors: CodeValidation for an unknown cursor.
func (s *Service) List(ctx context.Context, key *app.Key, page app.Page) (rows []app.Received, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]app.Received, bool, error) { return r.ListReceived(key.TeamID, page) })
	return rows, more, base.Cursor(page, err)
}

// Get returns a received email with its content. Error: CodeNotFound.
func (s *Service) Get(ctx context.Context, key *app.Key, id string) (m app.Received, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if m, err = r.Received(key.TeamID, id); err != nil {
			return err
		}
		return r.ReadReceivedContent(&m)
	})
	return m, base.Lookup("email", err)
}

// File returns an attachment of a received email. Error: CodeNotFound.
func (s *Service) File(ctx context.Context, key *app.Key, id, fileID string) (f app.ReceivedFile, err error) {
	m, err := db.Get(ctx, s.DB, func(r *db.Reader) (app.Received, error) { return r.Received(key.TeamID, id) })
	if err != nil {
		return f, base.Lookup("email", err)
	}
	i := slices.IndexFunc(m.Files, func(f app.ReceivedFile) bool { return f.ID == fileID })
	if i < 0 {
		return f, app.NotFound("attachment")
	}
	return m.Files[i], nil
}

// Raw returns a received email as it was transferred. Error: CodeNotFound.
func (s *Service) Raw(ctx context.Context, teamID, id string) (raw []byte, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		m, err := r.Received(teamID, id)
		if err != nil {
			return err
		}
		raw = make([]byte, 0, m.Size)
		for n := 0; ; n++ {
			piece, err := r.ReceivedPiece(id, n)
			if errors.Is(err, db.ErrNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			raw = append(raw, piece...)
		}
	})
	return raw, base.Lookup("email", err)
}

// FileContent returns the decoded content of an attachment of a received email, and the attachment. Error:
// CodeNotFound.
func (s *Service) FileContent(ctx context.Context, teamID, id, fileID string) (f app.ReceivedFile, content []byte, err error) {
	if f, err = s.File(ctx, &app.Key{TeamID: teamID}, id, fileID); err != nil {
		return f, nil, err
	}
	raw, err := s.Raw(ctx, teamID, id)
	if err != nil {
		return f, nil, err
	}
	content, ok := inbound.Part(raw, f.Part)
	if !ok {
		return f, nil, app.NotFound("attachment")
	}
	return f, content, nil
}
