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
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) (rows []app.Received, more bool, err error) {
		if rows, more, err = r.ListReceived(key.TeamID, page); err == nil {
			err = nameDestinations(r, key.TeamID, rows)
		}
		return rows, more, err
	})
	return rows, more, base.Cursor(page, err)
}

// Get returns a received email with its content. Error: CodeNotFound.
func (s *Service) Get(ctx context.Context, key *app.Key, id string) (m app.Received, err error) {
	m, err = base.GetWithinBudget(ctx, s.DB,
		func(r *db.Reader) (int64, error) { return r.ReceivedContentSize(key.TeamID, id) },
		func(r *db.Reader) (app.Received, error) {
			m, err := r.Received(key.TeamID, id)
			if err != nil {
				return m, err
			}
			if err := r.ReadReceivedContent(&m); err != nil {
				return m, err
			}
			rows := []app.Received{m}
			err = nameDestinations(r, key.TeamID, rows)
			return rows[0], err
		})
	return m, base.Lookup("email", err)
}

// nameDestinations sets the addresses to which routes forward received emails of a team.
func nameDestinations(r *db.Reader, teamID string, rows []app.Received) error {
	var names map[string]string
	for i := range rows {
		for n := range rows[i].Effects {
			e := &rows[i].Effects[n]
			if e.DestinationID == "" {
				continue
			}
			if names == nil {
				list, err := r.ForwardAddresses(teamID, app.MaxForwardAddresses)
				if err != nil {
					return err
				}
				names = make(map[string]string, len(list))
				for _, d := range list {
					names[d.ID] = d.Address
				}
			}
			e.To = names[e.DestinationID]
		}
	}
	return nil
}

// Files returns a page of the attachments of a received email, in the order of the message, and whether there are
// more. Errors: CodeNotFound, CodeValidation for an unknown cursor.
func (s *Service) Files(ctx context.Context, key *app.Key, id string, page app.Page) (files []app.ReceivedFile, more bool, err error) {
	m, err := db.Get(ctx, s.DB, func(r *db.Reader) (app.Received, error) { return r.Received(key.TeamID, id) })
	if err != nil {
		return nil, false, base.Lookup("email", err)
	}
	return base.Paginate(m.Files, page, func(f *app.ReceivedFile) string { return f.ID })
}

// File returns an attachment of a received email. Error: CodeNotFound.
func (s *Service) File(ctx context.Context, key *app.Key, id, fileID string) (f app.ReceivedFile, err error) {
	m, err := db.Get(ctx, s.DB, func(r *db.Reader) (app.Received, error) { return r.Received(key.TeamID, id) })
	if err != nil {
		return f, base.Lookup("email", err)
	}
	found := fileOf(&m, fileID)
	if found == nil {
		return f, app.NotFound("attachment")
	}
	return *found, nil
}

// fileOf returns an attachment of a received email; nil: there is none with the id.
func fileOf(m *app.Received, id string) *app.ReceivedFile {
	if i := slices.IndexFunc(m.Files, func(f app.ReceivedFile) bool { return f.ID == id }); i >= 0 {
		return &m.Files[i]
	}
	return nil
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
