package audience

import (
	"context"
	"errors"
	"fmt"
	"io"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/contactfile"
	"mailer/db"
)

const (
	importPiece = 256 << 10 // bytes of one stored piece of a file
)

// CreateImport stores a file of contacts while receive writes it, and queues its import with the
// input that receive returns. An incomplete or refused file is deleted immediately. Nothing is
// received if contactfile.MaxWaiting imports of the team wait already. Errors: those of receive,
// CodeConflict for too many imports, CodeValidation, CodeNotFound for an unknown segment or topic
// and for an import that was deleted during the upload, and CodeServiceUnavailable.
func (s *Imports) CreateImport(ctx context.Context, key *app.Key, receive func(file io.Writer) (contactfile.Input, error)) (string, error) {
	if err := s.Ready(); err != nil {
		return "", err
	}
	if err := s.DB.Read(ctx, func(r *db.Reader) error { return checkImportLimit(r, key.TeamID) }); err != nil {
		return "", base.Unavailable(err)
	}
	u := &importUpload{s: s, ctx: ctx, id: app.NewID(), teamID: key.TeamID}
	in, err := receive(u)
	if err == nil {
		err = u.flush()
	}
	if err == nil {
		u, err = u.readable()
	}
	if err == nil {
		err = u.queue(in)
	}
	if err != nil {
		u.discard()
		return "", base.Lookup("import", err)
	}
	return u.id, nil
}

// checkImportLimit refuses a file if the team has contactfile.MaxWaiting unfinished imports. Error:
// CodeConflict.
func checkImportLimit(r *db.Reader, teamID string) error {
	n, err := r.WaitingImports(teamID)
	if err != nil {
		return fmt.Errorf("count imports: %w", err)
	}
	if n >= contactfile.MaxUnfinished {
		return app.Errorf(app.CodeConflict, "A team can have at most %d imports that are not over; wait until one of them is, or delete one", contactfile.MaxUnfinished)
	}
	return nil
}

// importUpload stores a file in pieces.
type importUpload struct {
	s          *Imports
	ctx        context.Context
	id, teamID string
	buffer     []byte
	pieces     int   // stored pieces
	size       int64 // bytes of the stored pieces
	replaces   bool  // the unpacked file of another upload, which counts already
	book       *contactfile.Archive
	parts      []contactfile.Part // of an unpacked file
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

// flush stores the buffered piece.
func (u *importUpload) flush() error {
	if len(u.buffer) == 0 {
		return nil
	}
	err := u.s.DB.WriteBatched(u.ctx, func(tx *db.Tx) error {
		if u.pieces == 0 {
			if err := checkImportLimit(&tx.Reader, u.teamID); err != nil && !u.replaces {
				return err
			}
			if err := tx.InsertImport(&contactfile.Import{ID: u.id, TeamID: u.teamID, CreatedAt: tx.Now}); err != nil {
				return err
			}
		}
		return tx.AddPiece(u.id, u.pieces, u.buffer)
	})
	if err != nil {
		return err
	}
	u.pieces, u.size, u.buffer = u.pieces+1, u.size+int64(len(u.buffer)), u.buffer[:0]
	return nil
}

// readable returns the upload of a file with plain text, in which addresses can be masked by an
// erasure: u, or another upload with the unpacked file. Errors: CodeValidation, and those of the
// store.
func (u *importUpload) readable() (*importUpload, error) {
	book, err := contactfile.Open(u.file(), u.size)
	if err != nil {
		return u, wrapFileError(err)
	}
	u.book = book
	if !book.Encoded {
		return u, nil
	}
	v := &importUpload{s: u.s, ctx: u.ctx, id: app.NewID(), teamID: u.teamID, replaces: true}
	v.parts, err = book.Unpack(v)
	if err == nil {
		err = v.flush()
	}
	if err != nil {
		v.discard()
		return u, wrapFileError(err)
	}
	u.discard()
	v.book = contactfile.Unpacked(v.file(), v.parts)
	return v, nil
}

// wrapFileError turns the error of a file into an *app.Error. It returns other errors as they are.
func wrapFileError(err error) error {
	var fileErr *contactfile.FileError
	var bookErr *contactfile.ArchiveError
	switch {
	case errors.Is(err, io.EOF):
		return app.Invalid("file", "must not be empty")
	case errors.As(err, &fileErr):
		return app.Invalid("file", "has no first row that can be read: %s", fileErr)
	case errors.As(err, &bookErr):
		return app.Invalid("file", "can't be read: %s", bookErr)
	case errors.Is(err, contactfile.ErrGzip):
		return app.Invalid("file", "can't be read: %s", contactfile.ErrGzip)
	}
	return err
}

// queue checks the input against the header of the file, declares new properties, and queues the
// import.
func (u *importUpload) queue(in contactfile.Input) error {
	return u.s.DB.Write(u.ctx, func(tx *db.Tx) error {
		types, err := tx.PropertyTypes(u.teamID)
		if err != nil {
			return fmt.Errorf("read properties: %w", err)
		}
		plan, newProperties, _, err := in.PlanArchive(u.book, types)
		if err != nil {
			return wrapFileError(err)
		}
		plan.Parts, plan.OptOutPass.Pending = u.parts, plan.MayOptOut()
		if err := checkLinks(tx, u.teamID, plan); err != nil {
			return err
		}
		for _, p := range newProperties {
			if err := tx.InsertProperty(&app.Property{ID: app.NewID(), TeamID: u.teamID, Key: p.Key, Type: p.Type, CreatedAt: tx.Now}); err != nil {
				return fmt.Errorf("declare property: %w", err)
			}
		}
		tx.AfterCommit(u.s.imports.signal.Notify)
		if err := tx.QueueImport(u.teamID, u.id, plan); err != nil {
			return err
		}
		created := map[string]any{"bytes": u.size}
		if plan.Name != "" {
			created["file_name"] = plan.Name
		}
		return base.Audit(u.ctx, tx, u.teamID, "import.create", u.id, nil, created)
	})
}

// checkLinks returns nil if the segments and topics of a plan belong to the team.
func checkLinks(tx *db.Tx, teamID string, plan *contactfile.Plan) error {
	for _, id := range plan.Segments {
		if _, err := tx.Segment(teamID, id); err != nil {
			return base.Lookup("segment", err)
		}
	}
	for _, choice := range plan.Topics {
		if _, err := tx.Topic(teamID, choice.ID); err != nil {
			return base.Lookup("topic", err)
		}
	}
	return nil
}

// discard deletes the stored part of a file, also after the caller canceled and on a full disk.
// What it can't delete is deleted at the next start.
func (u *importUpload) discard() {
	if u.pieces == 0 {
		return
	}
	if err := u.s.purgeImport(context.WithoutCancel(u.ctx), u.id); err != nil {
		u.s.Log.Warn("file of a refused import not deleted", "import", u.id, "err", err)
	}
}

// file returns a reader of the stored file.
func (u *importUpload) file() io.ReaderAt { return &importFile{s: u.s, ctx: u.ctx, id: u.id} }

// importFile reads the file of an import and holds one piece. Its errors are those of the store,
// and io.EOF. It is not safe for concurrent use.
type importFile struct {
	s     *Imports
	ctx   context.Context
	id    string
	index int // of piece
	piece []byte
}

// unknownSize is larger than any file.
const unknownSize = 1 << 62

// ReadAt implements io.ReaderAt.
func (f *importFile) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		data, err := f.pieceFrom(at + int64(n))
		if err != nil {
			return n, err
		}
		n += copy(p[n:], data)
	}
	return n, nil
}

// pieceFrom returns the rest of the piece at an offset. Error: io.EOF.
func (f *importFile) pieceFrom(at int64) ([]byte, error) {
	if index := int(at / importPiece); f.piece == nil || index != f.index {
		piece, err := db.Get(f.ctx, f.s.DB, func(r *db.Reader) ([]byte, error) { return r.Piece(f.id, index) })
		if errors.Is(err, db.ErrNotFound) {
			return nil, io.EOF
		}
		if err != nil {
			return nil, fmt.Errorf("read piece: %w", err)
		}
		f.index, f.piece = index, piece
	}
	if at %= importPiece; at < int64(len(f.piece)) {
		return f.piece[at:], nil
	}
	return nil, io.EOF
}

// openBook opens the file of a planned import. Error: io.EOF if the file is no longer stored.
func (s *Imports) openBook(ctx context.Context, i *contactfile.Import) (*contactfile.Archive, error) {
	file := &importFile{s: s, ctx: ctx, id: i.ID}
	if _, err := file.pieceFrom(0); err != nil {
		return nil, err
	}
	if len(i.Plan.Parts) > 0 {
		return contactfile.Unpacked(file, i.Plan.Parts), nil
	}
	return contactfile.Open(file, unknownSize)
}

// ListImports returns a page of the team's imports, newest first, and whether there are more. An
// empty status selects all.
func (s *Imports) ListImports(ctx context.Context, key *app.Key, status contactfile.Status, page app.Page) (rows []contactfile.Import, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]contactfile.Import, bool, error) { return r.ListImports(key.TeamID, status, page) })
	return rows, more, base.Cursor(page, err)
}

// GetImport returns one import and its first row errors, at most contactfile.MaxErrorsShown.
func (s *Imports) GetImport(ctx context.Context, key *app.Key, id string) (i contactfile.Import, rowErrors []contactfile.RowError, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		if i, err = r.Import(key.TeamID, id); err != nil {
			return err
		}
		rowErrors, _, err = r.ListImportErrors(id, app.Page{Limit: contactfile.MaxErrorsShown})
		return err
	})
	return i, rowErrors, base.Lookup("import", err)
}

// DeleteImport deletes an import with its row errors. A running import stops after the current
// batch; contacts that it made stay. Error: CodeNotFound.
func (s *Imports) DeleteImport(ctx context.Context, key *app.Key, id string) error {
	err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		tx.AfterCommit(s.imports.signal.Notify)
		return tx.DeleteImport(key.TeamID, id)
	})
	return base.Lookup("import", err)
}

// ListImportErrors returns a page of an import's row errors, in the order of the file, and whether
// there are more. The first contactfile.MaxErrors are stored. Errors: CodeNotFound, CodeValidation
// for an unknown cursor.
func (s *Imports) ListImportErrors(ctx context.Context, key *app.Key, id string, page app.Page) (rows []contactfile.RowError, more bool, err error) {
	if _, _, err := s.GetImport(ctx, key, id); err != nil {
		return nil, false, err
	}
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]contactfile.RowError, bool, error) { return r.ListImportErrors(id, page) })
	return rows, more, base.Cursor(page, err)
}
