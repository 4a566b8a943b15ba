package audience

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"mailer/app"
	"mailer/app/importing"
	"mailer/app/service"
	"mailer/db"
)

const (
	// erasingPause is between two tries of an import that waits for an erasure.
	erasingPause  = 200 * time.Millisecond
	importRows    = 200  // of one Write
	importLinks   = 2000 // memberships and choices of one Write, about
	importPieces  = 4    // deleted by one Write
	importStrikes = 10   // tries of an import that fails
	importSweep   = service.SweepAnyway * time.Minute
	// importYield is how long the import stands back between two Writes while
	// callers wait.
	importYield = 10 * time.Millisecond
)

// importer works off imports, one at a time, oldest first.
type importer struct {
	bell service.Bell
	// What the last try met and how often in a row; the worker's alone.
	struck  string // id of the import
	strikes int
}

// startImports deletes what a crash left of files that were arriving, and sets
// the importer to work.
func (s *Imports) startImports(ctx context.Context) error {
	partial, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]string, error) { return r.StoredImports(importing.Uploading) })
	if err != nil {
		return fmt.Errorf("look for partial imports: %w", err)
	}
	s.Workers.Go(func() {
		for _, id := range partial {
			if err := s.deletePieces(s.Taking, id); err != nil && s.Taking.Err() == nil {
				s.Log.Warn("file of a partial import not deleted", "import", id, "err", err)
			}
		}
		s.runImports(s.Taking)
	})
	return nil
}

// runImports works until ctx ends. What fails is tried again a little later.
func (s *Imports) runImports(ctx context.Context) {
	for {
		next := importSweep
		worked, err := s.nextImport(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.Log.Error("import contacts", "err", err)
			next = service.SweepEvery
		case worked:
			continue
		}
		if !service.Pause(ctx, next, s.imports.bell) {
			return
		}
	}
}

// nextImport works off one import, and deletes the files of those that are over.
func (s *Imports) nextImport(ctx context.Context) (worked bool, err error) {
	var i importing.Import
	var over []string
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		for _, status := range []importing.Status{importing.Completed, importing.Failed} {
			ids, err := r.StoredImports(status)
			if err != nil {
				return err
			}
			over = append(over, ids...)
		}
		i, err = r.NextImport()
		return err
	})
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return false, fmt.Errorf("look for imports: %w", err)
	}
	found := err == nil
	for _, id := range over {
		if err := s.deletePieces(ctx, id); err != nil {
			return false, fmt.Errorf("delete file of import %s: %w", id, err)
		}
	}
	if !found {
		return false, nil
	}
	if err := s.runImport(ctx, i); errors.Is(err, errErasing) {
		return service.Pause(ctx, erasingPause, nil), nil
	} else if err != nil {
		return false, s.strike(ctx, i.ID, err)
	}
	return true, nil
}

// strike counts failures of an import in a row. One that fails again and again
// while the store works is ended: the others wait behind it.
func (s *Imports) strike(ctx context.Context, id string, err error) error {
	if im := &s.imports; im.struck == id {
		im.strikes++
	} else {
		im.struck, im.strikes = id, 1
	}
	err = fmt.Errorf("import %s: %w", id, err)
	if ctx.Err() != nil || s.DB.Err() != nil || s.imports.strikes < importStrikes {
		return err
	}
	next, rerr := db.Get(ctx, s.DB, (*db.Reader).NextImport)
	run := &importRun{s: s, i: next}
	if rerr != nil || run.i.ID != id {
		return errors.Join(err, rerr)
	}
	return errors.Join(err, run.fail(ctx, "The rows could not be stored; the server's log has the details"))
}

// deletePieces deletes a file in small Writes, vital ones: it makes room.
func (s *Imports) deletePieces(ctx context.Context, id string) error {
	for more := true; more; {
		err := s.DB.WriteVital(ctx, func(tx *db.Tx) (err error) {
			more, err = tx.DeletePieces(id, importPieces)
			return err
		})
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// importRun is an import at work.
type importRun struct {
	s      *Imports
	i      importing.Import // as it is stored
	rows   *importing.Rows
	erased uint64 // erasures begun before the file was read
}

// errErasing: rows that were read may hold addresses that are erased since. The
// file is read anew once they are masked in it.
var errErasing = errors.New("audience: addresses are being erased")

// importBatch is what one Write takes of a file.
type importBatch struct {
	rows  []importRow
	over  bool   // nothing comes after them
	fault string // why; empty: the file ends
}

type importRow struct {
	line    int
	contact *app.NewContact
	flaw    string // why there is no contact
}

// runImport works an import off. A fault of the program fails it, since it would
// come again; any other error is the store's, and leaves the rest of the import
// to be done.
func (s *Imports) runImport(ctx context.Context, i importing.Import) (err error) {
	run := &importRun{s: s, i: i, erased: s.erasuresBegun.Load()}
	defer func() {
		if p := recover(); p != nil {
			s.Log.Error("panic in an import", "import", i.ID, "panic", p, "stack", string(debug.Stack()))
			err = run.fail(ctx, "The server met a fault of its own; its log has the details")
		}
	}()
	run.rows, _, err = importing.Read(s.importFile(ctx, i.ID))
	if err == nil {
		err = run.skip(i.Total())
	}
	if errors.Is(err, io.EOF) {
		return run.fail(ctx, "The file is not stored any more")
	}
	if err != nil {
		return fmt.Errorf("read file: %w", err)
	}
	for run.i.CompletedAt.IsZero() {
		batch, err := run.read()
		if err != nil {
			return fmt.Errorf("read file: %w", err)
		}
		if err := run.write(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// skip reads over rows that an earlier process did.
func (run *importRun) skip(n int) error {
	for range n {
		if _, err := run.rows.Next(); err != nil {
			return err
		}
	}
	return nil
}

// read takes the next rows of the file.
func (run *importRun) read() (batch importBatch, err error) {
	plan := &run.i.Plan
	limit := max(1, min(importRows, importLinks/(1+len(plan.Segments)+len(plan.Topics))))
	for len(batch.rows) < limit {
		row, err := run.rows.Next()
		var fault *importing.FileError
		switch {
		case errors.Is(err, io.EOF):
			batch.over = true
			return batch, nil
		case errors.As(err, &fault):
			batch.over, batch.fault = true, fault.Error()
			return batch, nil
		case err != nil:
			return batch, err
		}
		contact, flaw := plan.Contact(row)
		batch.rows = append(batch.rows, importRow{line: row.Line, contact: contact, flaw: flaw})
	}
	return batch, nil
}

// write stores a batch, and waits while the disk is full. Afterwards it stands
// back a little if callers wait.
func (run *importRun) write(ctx context.Context, batch importBatch) error {
	var next importing.Import
	for {
		err := run.s.DB.WritePatient(ctx, func(tx *db.Tx) (err error) {
			next, err = run.put(tx, batch)
			return err
		})
		var gone *linkGone
		switch {
		case errors.Is(err, errErasing):
			return err
		case errors.As(err, &gone):
			return run.fail(ctx, gone.Error())
		case errors.Is(err, db.ErrFull):
			if !service.Pause(ctx, service.SweepEvery, nil) {
				return ctx.Err()
			}
			continue
		case err != nil:
			return fmt.Errorf("store rows: %w", err)
		}
		run.i = next
		if run.s.Load.Busy() {
			service.Pause(ctx, importYield, nil)
		}
		return ctx.Err()
	}
}

// linkGone says that a segment or topic of an import was deleted meanwhile.
type linkGone struct {
	line  int
	cause error
}

// Error implements error.
func (g *linkGone) Error() string {
	kind := "segment or topic"
	var refusal *app.Error
	if errors.As(g.cause, &refusal) {
		kind = refusal.Message
	}
	return fmt.Sprintf("Line %d: %s; it was deleted while the import ran", g.line, kind)
}

// put writes the contacts of a batch, and counts them in the same Write. It
// returns the import as it is stored then. Error: *linkGone.
func (run *importRun) put(tx *db.Tx, batch importBatch) (importing.Import, error) {
	i := run.i
	erasing, err := tx.HasErasures(i.TeamID)
	if err != nil || erasing || run.erased != run.s.erasuresBegun.Load() {
		return i, cmp.Or(err, errErasing)
	}
	w, err := run.s.NewContactWriter(tx, i.TeamID, true)
	if err != nil {
		return i, err
	}
	for _, row := range batch.rows {
		flaw := row.flaw
		if row.contact != nil {
			if flaw, err = putRow(w, &i, row); err != nil {
				return i, err
			}
		}
		if flaw == "" {
			continue
		}
		if i.Failed < importing.MaxErrors {
			if err := tx.InsertImportError(i.ID, importing.RowError{ID: app.NewID(), Line: row.line, Message: flaw}); err != nil {
				return i, err
			}
		}
		i.Failed++
	}
	if err := w.Finish(); err != nil {
		return i, err
	}
	i.Status = importing.InProgress
	if batch.over {
		i.Status, i.Error, i.CompletedAt = importing.Completed, batch.fault, tx.Now
		if batch.fault != "" {
			i.Status = importing.Failed
		}
	}
	return i, tx.AdvanceImport(&i, run.i.Total())
}

// putRow writes one contact and counts it in i, or says why it can't be taken.
func putRow(w *ContactWriter, i *importing.Import, row importRow) (flaw string, err error) {
	contact, err := keepOptOuts(w, row.contact)
	if err != nil {
		return "", fmt.Errorf("line %d: %w", row.line, err)
	}
	_, status, err := w.Put(contact, i.Plan.Conflict)
	var refusal *app.Error
	switch {
	case errors.As(err, &refusal) && refusal.Code == app.CodePlanLimitReached:
		return refusal.Message, nil
	case errors.As(err, &refusal) && refusal.Code == app.CodeValidation:
		return i.Plan.Words(err), nil
	case errors.As(err, &refusal) && refusal.Code == app.CodeNotFound:
		return "", &linkGone{row.line, err}
	case err != nil:
		return "", fmt.Errorf("line %d: %w", row.line, err)
	}
	switch status {
	case contactCreated:
		i.Created++
	case contactUpdated:
		i.Updated++
	default:
		i.Skipped++
	}
	return "", nil
}

// keepOptOuts leaves out of a contact's topics those to opt in to that its
// address opted out of: an import, of an old list maybe, re-subscribes nobody.
func keepOptOuts(w *ContactWriter, n *app.NewContact) (*app.NewContact, error) {
	if len(n.Topics) == 0 {
		return n, nil
	}
	out := *n
	out.Topics = nil
	hash := w.s.Sealer.AddressHash(w.teamID, n.Folded)
	for _, choice := range n.Topics {
		stands, err := w.tx.TopicFor(w.teamID, choice.ID, hash)
		if err != nil && !errors.Is(err, db.ErrNotFound) { // put finds that it is gone
			return nil, fmt.Errorf("look up choice: %w", err)
		}
		if choice.Subscription == app.OptIn && stands.Explicit && stands.Subscription == app.OptOut {
			continue
		}
		out.Topics = append(out.Topics, choice)
	}
	return &out, nil
}

// fail ends an import where it stands; what it did stays.
func (run *importRun) fail(ctx context.Context, why string) error {
	i := run.i
	err := run.s.DB.WriteVital(ctx, func(tx *db.Tx) error {
		i.Status, i.Error, i.CompletedAt = importing.Failed, why, tx.Now
		return tx.AdvanceImport(&i, run.i.Total())
	})
	if err != nil {
		return fmt.Errorf("note failure: %w", err)
	}
	run.i = i
	return nil
}
