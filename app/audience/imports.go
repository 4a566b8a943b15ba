package audience

import (
	"context"
	"errors"
	"fmt"
	"io"

	"mailer/app"
	"mailer/app/importing"
	"mailer/app/service"
	"mailer/db"
)

const (
	importPiece = 256 << 10 // bytes of a file that are stored at once
)

// CreateImport stores a file of contacts while receive writes it, and queues its
// import with what receive says about it in the end. What was stored of a file
// that does not arrive whole, or is refused, is deleted at once. Nothing is received
// where importing.MaxWaiting of the team's wait already. Errors: those of receive,
// CodeConflict for too many, CodeValidation, CodeNotFound for an unknown segment or
// topic and for an import that was deleted while it arrived, and
// CodeServiceUnavailable.
func (s *Imports) CreateImport(ctx context.Context, key *app.Key, receive func(file io.Writer) (importing.Input, error)) (string, error) {
	if err := s.Ready(); err != nil {
		return "", err
	}
	if err := s.DB.Read(ctx, func(r *db.Reader) error { return roomForImport(r, key.TeamID) }); err != nil {
		return "", service.Unavailable(err)
	}
	u := &importUpload{s: s, ctx: ctx, id: app.NewID(), teamID: key.TeamID}
	in, err := receive(u)
	if err == nil {
		err = u.flush()
	}
	if err == nil {
		err = u.queue(in)
	}
	if err != nil {
		u.discard()
		return "", service.Lookup("import", err)
	}
	return u.id, nil
}

// roomForImport refuses a file of a team of which as many wait as may. Error:
// CodeConflict.
func roomForImport(r *db.Reader, teamID string) error {
	n, err := r.WaitingImports(teamID)
	if err != nil {
		return fmt.Errorf("count imports: %w", err)
	}
	if n >= importing.MaxWaiting {
		return app.Errorf(app.CodeConflict, "A team can have at most %d imports that are not over; wait until one of them is, or delete one", importing.MaxWaiting)
	}
	return nil
}

// importUpload cuts a file into pieces.
type importUpload struct {
	s          *Imports
	ctx        context.Context
	id, teamID string
	buffer     []byte
	pieces     int // stored
}

// Write implements io.Writer.
func (u *importUpload) Write(p []byte) (int, error) {
	written := len(p)
	for len(p) > 0 {
		if u.buffer == nil {
			u.buffer = make([]byte, 0, importPiece)
		}
		n := min(len(p), importPiece-len(u.buffer))
		u.buffer, p = append(u.buffer, p[:n]...), p[n:]
		if len(u.buffer) == importPiece {
			if err := u.flush(); err != nil {
				return 0, err
			}
		}
	}
	return written, nil
}

// flush stores what is there of a piece.
func (u *importUpload) flush() error {
	if len(u.buffer) == 0 {
		return nil
	}
	err := u.s.DB.WritePatient(u.ctx, func(tx *db.Tx) error {
		if u.pieces == 0 {
			if err := roomForImport(&tx.Reader, u.teamID); err != nil {
				return err
			}
			if err := tx.InsertImport(&importing.Import{ID: u.id, TeamID: u.teamID, CreatedAt: tx.Now}); err != nil {
				return err
			}
		}
		return tx.AddPiece(u.id, u.pieces, u.buffer)
	})
	if err != nil {
		return err
	}
	u.pieces, u.buffer = u.pieces+1, u.buffer[:0]
	return nil
}

// queue checks what the caller said against the headings of the file, declares
// the properties that are new, and has the import wait for its turn.
func (u *importUpload) queue(in importing.Input) error {
	_, headings, err := importing.Read(u.s.importFile(u.ctx, u.id))
	var fault *importing.FileError
	switch {
	case errors.Is(err, io.EOF):
		return app.Invalid("file", "must not be empty")
	case errors.As(err, &fault):
		return app.Invalid("file", "has no first row that can be read: %s", fault)
	case err != nil:
		return fmt.Errorf("read headings: %w", err)
	}
	return u.s.DB.Write(u.ctx, func(tx *db.Tx) error {
		declared, err := tx.PropertyTypes(u.teamID)
		if err != nil {
			return fmt.Errorf("read properties: %w", err)
		}
		plan, declare, err := in.Plan(headings, declared)
		if err != nil {
			return err
		}
		if err := checkLinks(tx, u.teamID, plan); err != nil {
			return err
		}
		for _, p := range declare {
			if err := tx.InsertProperty(&app.Property{ID: app.NewID(), TeamID: u.teamID, Key: p.Key, Type: p.Type, CreatedAt: tx.Now}); err != nil {
				return fmt.Errorf("declare property: %w", err)
			}
		}
		tx.AfterCommit(u.s.imports.bell.Ring)
		return tx.QueueImport(u.teamID, u.id, plan)
	})
}

// checkLinks proves that the segments and topics of a plan are the team's.
func checkLinks(tx *db.Tx, teamID string, plan *importing.Plan) error {
	for _, id := range plan.Segments {
		if _, err := tx.Segment(teamID, id); err != nil {
			return service.Lookup("segment", err)
		}
	}
	for _, choice := range plan.Topics {
		if _, err := tx.Topic(teamID, choice.ID); err != nil {
			return service.Lookup("topic", err)
		}
	}
	return nil
}

// discard deletes what is stored of a file, also after the caller went away and
// on a full disk. What it can't delete goes when the server starts again.
func (u *importUpload) discard() {
	if u.pieces == 0 {
		return
	}
	if err := u.s.purgeImport(context.WithoutCancel(u.ctx), u.id); err != nil {
		u.s.Log.Warn("file of a refused import not deleted", "import", u.id, "err", err)
	}
}

// importFile reads the file of an import, piece by piece. Its errors are those
// of the store.
func (s *Imports) importFile(ctx context.Context, id string) io.Reader {
	return &importReader{s: s, ctx: ctx, id: id}
}

type importReader struct {
	s    *Imports
	ctx  context.Context
	id   string
	n    int
	rest []byte
}

// Read implements io.Reader.
func (r *importReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		rest, err := db.Get(r.ctx, r.s.DB, func(reader *db.Reader) ([]byte, error) { return reader.Piece(r.id, r.n) })
		if errors.Is(err, db.ErrNotFound) {
			return 0, io.EOF
		}
		if err != nil {
			return 0, fmt.Errorf("read piece: %w", err)
		}
		r.rest, r.n = rest, r.n+1
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// ListImports returns a page of the team's imports, newest first, and whether
// there are more. An empty status stands for all.
func (s *Imports) ListImports(ctx context.Context, key *app.Key, status importing.Status, page app.Page) (rows []importing.Import, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]importing.Import, bool, error) { return r.ListImports(key.TeamID, status, page) })
	return rows, more, service.Cursor(page, err)
}

// GetImport returns one import and its first row errors, at most 100.
func (s *Imports) GetImport(ctx context.Context, key *app.Key, id string) (i importing.Import, flaws []importing.RowError, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		if i, err = r.Import(key.TeamID, id); err != nil {
			return err
		}
		flaws, _, err = r.ListImportErrors(id, app.Page{Limit: importing.MaxErrorsShown})
		return err
	})
	return i, flaws, service.Lookup("import", err)
}

// DeleteImport removes an import with its row errors. One that is not over stops after
// the batch that is being stored; the contacts that it made stay. Error: CodeNotFound.
func (s *Imports) DeleteImport(ctx context.Context, key *app.Key, id string) error {
	err := s.DB.WriteVital(ctx, func(tx *db.Tx) error {
		tx.AfterCommit(s.imports.bell.Ring)
		return tx.DeleteImport(key.TeamID, id)
	})
	return service.Lookup("import", err)
}

// ListImportErrors returns a page of an import's row errors, in the order of the
// file, and whether there are more: the first importing.MaxErrors of them are
// kept. Errors: CodeNotFound, CodeValidation for a cursor that is not in the
// list.
func (s *Imports) ListImportErrors(ctx context.Context, key *app.Key, id string, page app.Page) (rows []importing.RowError, more bool, err error) {
	if _, _, err := s.GetImport(ctx, key, id); err != nil {
		return nil, false, err
	}
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]importing.RowError, bool, error) { return r.ListImportErrors(id, page) })
	return rows, more, service.Cursor(page, err)
}
