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
	importRows     = 200  // rows of one Write
	importLinks    = 3000 // about how many contacts, memberships and choices of one Write
	importScanRows = 5000 // rows of one batch that a first pass scans for opt-outs
	// importYield is the pause between two Writes while callers wait.
	importYield = 10 * time.Millisecond
)

// importRun is an import in progress, with its open file.
type importRun struct {
	s        *Imports
	imp      contactfile.Import // as it is stored
	rows     *contactfile.Walk  // nil: not open yet
	batch    *importBatch       // read and not stored; nil: none
	erasures uint64             // count of the team's erasures before the file was read
}

// errErasing: rows that were read may contain addresses that are being erased. The file is read
// again once they are masked.
var errErasing = errors.New("audience: addresses are being erased")

// errGone: the import was deleted meanwhile. It is not a failure.
var errGone = errors.New("audience: the import is gone")

// goneIfNotFound returns errGone for db.ErrNotFound: the import was deleted or is over. It returns
// other errors as they are.
func goneIfNotFound(err error) error {
	if errors.Is(err, db.ErrNotFound) {
		return errGone
	}
	return err
}

// importBatch is the part of a file that one Write stores.
type importBatch struct {
	rows    []importRow
	scanned int    // rows that a first pass scanned
	last    bool   // no rows follow
	failure string // why reading ended; empty: at the end of the file
}

type importRow struct {
	line    int
	sheet   *contactfile.Sheet
	person  contactfile.Contact
	address app.AddressHash // of a row with a contact or a suppression
}

// addresses returns the addresses of a batch.
func (b *importBatch) addresses() (all []app.AddressHash) {
	for i := range b.rows {
		if p := &b.rows[i].person; p.Contact != nil || p.Origin != "" {
			all = append(all, b.rows[i].address)
		}
	}
	return all
}

// step processes one batch. A panic fails the import, since it would recur. Any other error comes
// from the store, and the import continues later. Errors: errErasing, errGone, those of the store.
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

// open opens the file and skips the rows that are done.
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

// nextRow returns the next row of a file. An unreadable table of an archive is returned as one row
// with a problem.
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

// read reads the next rows of the file; in a first pass only those that opt out.
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

// address returns the address hash of a row.
func (run *importRun) address(p *contactfile.Contact) (app.AddressHash, error) {
	switch {
	case p.Contact != nil:
		return run.s.Sealer.AddressHash(run.imp.TeamID, p.Contact.Key), nil
	case p.Origin == "":
		return app.AddressHash{}, nil
	}
	_, key, err := app.ParseBareAddress(p.Email)
	if err != nil {
		return app.AddressHash{}, fmt.Errorf("parse an address again: %w", err)
	}
	return run.s.Sealer.AddressHash(run.imp.TeamID, key), nil
}

// write stores the batch. Then it pauses briefly if callers wait.
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
		run.rows = nil // the second pass starts at the beginning of the file
	}
	run.imp, run.batch = stored, nil
	if run.s.Load.Busy() {
		base.Sleep(ctx, importYield, nil)
	}
	return ctx.Err()
}

// missingLink is the error of a segment or topic that was deleted during the import.
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

// storeBatch stores a batch and its counts in the same Write, and returns the stored import.
// Errors: *missingLink, errErasing, errGone.
func (run *importRun) storeBatch(tx *db.Tx, batch importBatch) (contactfile.Import, error) {
	erasing, err := tx.HasErasures(run.imp.TeamID)
	if err != nil || erasing || run.erasures != run.s.erasuresBegun.get(run.imp.TeamID) {
		return run.imp, cmp.Or(err, errErasing)
	}
	w, err := run.s.NewContactWriter(tx, run.imp.TeamID)
	if err != nil {
		return run.imp, err
	}
	w.Silent = !run.imp.Plan.Triggers
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

// fail ends an import; stored rows stay. Error: errGone.
func (run *importRun) fail(ctx context.Context, reason string) error {
	imp := run.imp
	err := run.s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		imp.Status, imp.Error, imp.CompletedAt = contactfile.Failed, reason, tx.Now
		return goneIfNotFound(tx.AdvanceImport(&imp, run.imp.Total()))
	})
	if err != nil {
		return fmt.Errorf("store the failure: %w", err)
	}
	run.imp = imp
	return nil
}
