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
	"mailer/app/base"
	"mailer/app/rules/contactfile"
	"mailer/db"
)

const (
	importRows     = 200  // of one Write
	importLinks    = 3000 // contacts, memberships and choices of one Write, about
	importScanRows = 5000 // rows of one turn that are looked at for those who opted out
	// importYield is how long the import stands back between two Writes while
	// callers wait.
	importYield = 10 * time.Millisecond
)

// importRun is an import at work, whose file is open.
type importRun struct {
	s        *Imports
	imp      contactfile.Import // as it is stored
	rows     *contactfile.Walk  // nil: not open yet
	batch    *importBatch       // read and not stored; nil: none
	erasures uint64             // erasures of the team that began before the file was read
}

// errErasing: rows that were read may hold addresses that are erased since. The
// file is read anew once they are masked in it.
var errErasing = errors.New("audience: addresses are being erased")

// errGone: the import was deleted meanwhile, and is no trouble.
var errGone = errors.New("audience: the import is gone")

// goneIfNotFound returns errGone for an import that is not there, or not to be worked on, any more.
// Other errors pass.
func goneIfNotFound(err error) error {
	if errors.Is(err, db.ErrNotFound) {
		return errGone
	}
	return err
}

// importBatch is what one Write takes of a file.
type importBatch struct {
	rows    []importRow
	scanned int    // rows that were looked at in a first pass
	last    bool   // nothing comes after them
	failure string // why; empty: the file ends
}

type importRow struct {
	line    int
	sheet   *contactfile.Sheet
	person  contactfile.Contact
	address app.AddressHash // of somebody who is written
}

// addresses are those of a batch.
func (b *importBatch) addresses() (all []app.AddressHash) {
	for i := range b.rows {
		if p := &b.rows[i].person; p.Contact != nil || p.Origin != "" {
			all = append(all, b.rows[i].address)
		}
	}
	return all
}

// step works off a batch. A fault of the program fails the import, since it would come
// again; any other error is the store's, and leaves the rest of the import to be done.
// Errors: errErasing, errGone, those of the store.
func (run *importRun) step(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			run.s.Log.Error("panic in an import", "import", run.imp.ID, "panic", p, "stack", string(debug.Stack()))
			err = run.fail(ctx, "The server met a fault of its own; its log has the details")
		}
	}()
	if run.rows == nil {
		err := run.open(ctx)
		if errors.Is(err, io.EOF) {
			return run.fail(ctx, "The file is not stored any more")
		}
		if err != nil {
			return fmt.Errorf("open file: %w", err)
		}
	}
	if run.batch == nil {
		batch, err := run.read()
		if err != nil {
			return fmt.Errorf("read file: %w", err)
		}
		run.batch = &batch
	}
	return run.write(ctx)
}

// open begins to read the file, and reads over the rows that are done.
func (run *importRun) open(ctx context.Context) error {
	book, err := run.s.openBook(ctx, &run.imp)
	if err != nil {
		return err
	}
	rows, done := book.Walk(&run.imp.Plan), run.imp.Total()
	if run.imp.Plan.OptOutPass.Pending {
		done = run.imp.Plan.OptOutPass.Rows
	}
	for range done {
		if _, err := nextRow(rows); err != nil {
			return err
		}
	}
	run.rows = rows
	return nil
}

// nextRow returns the next row of a file; where one table of an archive can't be read
// further, that counts as one.
func nextRow(rows *contactfile.Walk) (importRow, error) {
	row, sheet, err := rows.Next()
	var fileErr *contactfile.FileError
	if errors.As(err, &fileErr) && sheet.File != "" {
		return importRow{line: fileErr.Line, sheet: sheet, person: contactfile.Contact{Problem: "Nothing is read from here on: " + fileErr.Message}}, nil
	}
	if err != nil {
		return importRow{}, err
	}
	return importRow{line: row.Line, sheet: sheet, person: sheet.Contact(row)}, nil
}

// read takes the next rows of the file; in a first pass those who opted out.
func (run *importRun) read() (batch importBatch, err error) {
	plan, links := &run.imp.Plan, 0
	for len(batch.rows) < importRows && links < importLinks && batch.scanned < importScanRows {
		row, err := nextRow(run.rows)
		var fileErr *contactfile.FileError
		switch {
		case errors.Is(err, io.EOF):
			batch.last = true
			return batch, nil
		case errors.As(err, &fileErr):
			batch.last, batch.failure = true, fileErr.Error()
			return batch, nil
		case err != nil:
			return batch, err
		}
		if plan.OptOutPass.Pending {
			batch.scanned++
		}
		if plan.OptOutPass.Pending && !row.person.OptsOut() {
			continue
		}
		if row.address, err = run.address(&row.person); err != nil {
			return batch, err
		}
		batch.rows = append(batch.rows, row)
		links += 1 + len(plan.Segments) + len(plan.Topics) + len(row.person.Segments)
	}
	return batch, nil
}

// address is by what somebody is found whom a row describes.
func (run *importRun) address(p *contactfile.Contact) (app.AddressHash, error) {
	switch {
	case p.Contact != nil:
		return run.s.Sealer.AddressHash(run.imp.TeamID, p.Contact.Key), nil
	case p.Origin == "":
		return app.AddressHash{}, nil
	}
	_, key, err := app.ParseBareAddress(p.Email)
	if err != nil {
		return app.AddressHash{}, fmt.Errorf("read an address that was read before: %w", err)
	}
	return run.s.Sealer.AddressHash(run.imp.TeamID, key), nil
}

// write stores the batch. Afterwards it stands back a little if callers wait.
func (run *importRun) write(ctx context.Context) error {
	var stored contactfile.Import
	err := run.s.DB.WriteBatched(ctx, func(tx *db.Tx) (err error) {
		stored, err = run.storeBatch(tx, *run.batch)
		return err
	})
	var link *missingLink
	if errors.As(err, &link) {
		return run.fail(ctx, link.Error())
	}
	if err != nil {
		return fmt.Errorf("store rows: %w", err)
	}
	if run.imp.Plan.OptOutPass.Pending && !stored.Plan.OptOutPass.Pending {
		run.rows = nil // the file is read from its beginning
	}
	run.imp, run.batch = stored, nil
	if run.s.Load.Busy() {
		base.Sleep(ctx, importYield, nil)
	}
	return ctx.Err()
}

// missingLink says that a segment or topic of an import was deleted meanwhile.
type missingLink struct {
	line  int
	cause error
}

// Error implements error.
func (g *missingLink) Error() string {
	kind := "segment or topic"
	var refusal *app.Error
	if errors.As(g.cause, &refusal) {
		kind = refusal.Message
	}
	return fmt.Sprintf("Line %d: %s; it was deleted while the import ran", g.line, kind)
}

// storeBatch writes what a batch says, and counts it in the same Write. It
// returns the import as it is stored then. Errors: *missingLink, errErasing, errGone.
func (run *importRun) storeBatch(tx *db.Tx, batch importBatch) (contactfile.Import, error) {
	erasing, err := tx.HasErasures(run.imp.TeamID)
	if err != nil || erasing || run.erasures != run.s.erasuresBegun.get(run.imp.TeamID) {
		return run.imp, cmp.Or(err, errErasing)
	}
	w, err := run.s.NewContactWriter(tx, run.imp.TeamID)
	if err != nil {
		return run.imp, err
	}
	set, err := w.newSet(nil, run.imp.Plan.Topics, batch.addresses())
	if err != nil {
		return run.imp, err
	}
	p := importWrite{tx: tx, set: set, imp: run.imp, segments: map[string]string{}}
	if p.imp.Plan.OptOutPass.Pending {
		err = p.writeOptOuts(batch)
	} else {
		err = p.writeRows(batch)
	}
	if err == nil {
		err = set.flush()
	}
	if err == nil {
		err = w.Finish()
	}
	if err == nil && (run.imp.Plan.OptOutPass != p.imp.Plan.OptOutPass || run.imp.Plan.NewSegments != p.imp.Plan.NewSegments) {
		err = goneIfNotFound(tx.SetImportPlan(&p.imp))
	}
	if err != nil {
		return run.imp, err
	}
	return p.imp, goneIfNotFound(tx.AdvanceImport(&p.imp, run.imp.Total()))
}

// fail ends an import where it stands; what it did stays. Error: errGone.
func (run *importRun) fail(ctx context.Context, reason string) error {
	imp := run.imp
	err := run.s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		imp.Status, imp.Error, imp.CompletedAt = contactfile.Failed, reason, tx.Now
		return goneIfNotFound(tx.AdvanceImport(&imp, run.imp.Total()))
	})
	if err != nil {
		return fmt.Errorf("note failure: %w", err)
	}
	run.imp = imp
	return nil
}
