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
	importRows  = 200  // of one Write
	importLinks = 3000 // contacts, memberships and choices of one Write, about
	importLooks = 5000 // rows of one turn that are looked at for those who opted out
	// importYield is how long the import stands back between two Writes while
	// callers wait.
	importYield = 10 * time.Millisecond
)

// importRun is an import at work, whose file is open.
type importRun struct {
	s      *Imports
	i      contactfile.Import // as it is stored
	rows   *contactfile.Walk  // nil: not open yet
	batch  *importBatch       // read and not stored; nil: none
	erased uint64             // erasures of the team that began before the file was read
}

// errErasing: rows that were read may hold addresses that are erased since. The
// file is read anew once they are masked in it.
var errErasing = errors.New("audience: addresses are being erased")

// errGone: the import was deleted meanwhile, and is no trouble.
var errGone = errors.New("audience: the import is gone")

// gone returns errGone for an import that is not there, or not to be worked on, any more.
// Other errors pass.
func gone(err error) error {
	if errors.Is(err, db.ErrNotFound) {
		return errGone
	}
	return err
}

// importBatch is what one Write takes of a file.
type importBatch struct {
	rows  []importRow
	seen  int    // rows that were looked at in a first pass
	over  bool   // nothing comes after them
	fault string // why; empty: the file ends
}

type importRow struct {
	line    int
	sheet   *contactfile.Sheet
	person  contactfile.Person
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
			run.s.Log.Error("panic in an import", "import", run.i.ID, "panic", p, "stack", string(debug.Stack()))
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
	book, err := run.s.importBook(ctx, &run.i)
	if err != nil {
		return err
	}
	rows, done := book.Walk(&run.i.Plan), run.i.Total()
	if run.i.Plan.First.Due {
		done = run.i.Plan.First.Rows
	}
	for range done {
		if _, err := next(rows); err != nil {
			return err
		}
	}
	run.rows = rows
	return nil
}

// next returns the next row of a file; where one table of an archive can't be read
// further, that counts as one.
func next(rows *contactfile.Walk) (importRow, error) {
	row, sheet, err := rows.Next()
	var fault *contactfile.FileError
	if errors.As(err, &fault) && sheet.File != "" {
		return importRow{line: fault.Line, sheet: sheet, person: contactfile.Person{Flaw: "Nothing is read from here on: " + fault.Words}}, nil
	}
	if err != nil {
		return importRow{}, err
	}
	return importRow{line: row.Line, sheet: sheet, person: sheet.Person(row)}, nil
}

// read takes the next rows of the file; in a first pass those who opted out.
func (run *importRun) read() (batch importBatch, err error) {
	plan, links := &run.i.Plan, 0
	for len(batch.rows) < importRows && links < importLinks && batch.seen < importLooks {
		row, err := next(run.rows)
		var fault *contactfile.FileError
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
		if plan.First.Due {
			batch.seen++
		}
		if plan.First.Due && !row.person.OptsOut() {
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
func (run *importRun) address(p *contactfile.Person) (app.AddressHash, error) {
	switch {
	case p.Contact != nil:
		return run.s.Sealer.AddressHash(run.i.TeamID, p.Contact.Key), nil
	case p.Origin == "":
		return app.AddressHash{}, nil
	}
	_, key, err := app.ParseBareAddress(p.Email)
	if err != nil {
		return app.AddressHash{}, fmt.Errorf("read an address that was read before: %w", err)
	}
	return run.s.Sealer.AddressHash(run.i.TeamID, key), nil
}

// write stores the batch. Afterwards it stands back a little if callers wait.
func (run *importRun) write(ctx context.Context) error {
	var next contactfile.Import
	err := run.s.DB.WritePatient(ctx, func(tx *db.Tx) (err error) {
		next, err = run.put(tx, *run.batch)
		return err
	})
	var link *linkGone
	if errors.As(err, &link) {
		return run.fail(ctx, link.Error())
	}
	if err != nil {
		return fmt.Errorf("store rows: %w", err)
	}
	if run.i.Plan.First.Due && !next.Plan.First.Due {
		run.rows = nil // the file is read from its beginning
	}
	run.i, run.batch = next, nil
	if run.s.Load.Busy() {
		base.Pause(ctx, importYield, nil)
	}
	return ctx.Err()
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

// put writes what a batch says, and counts it in the same Write. It
// returns the import as it is stored then. Errors: *linkGone, errErasing, errGone.
func (run *importRun) put(tx *db.Tx, batch importBatch) (contactfile.Import, error) {
	erasing, err := tx.HasErasures(run.i.TeamID)
	if err != nil || erasing || run.erased != run.s.erasuresBegun.of(run.i.TeamID) {
		return run.i, cmp.Or(err, errErasing)
	}
	w, err := run.s.NewContactWriter(tx, run.i.TeamID)
	if err != nil {
		return run.i, err
	}
	set, err := w.newSet(nil, run.i.Plan.Topics, batch.addresses())
	if err != nil {
		return run.i, err
	}
	p := importPut{tx: tx, set: set, i: run.i, segments: map[string]string{}}
	if p.i.Plan.First.Due {
		err = p.first(batch)
	} else {
		err = p.rows(batch)
	}
	if err == nil {
		err = set.flush()
	}
	if err == nil {
		err = w.Finish()
	}
	if err == nil && (run.i.Plan.First != p.i.Plan.First || run.i.Plan.Made != p.i.Plan.Made) {
		err = gone(tx.SetImportPlan(&p.i))
	}
	if err != nil {
		return run.i, err
	}
	return p.i, gone(tx.AdvanceImport(&p.i, run.i.Total()))
}

// fail ends an import where it stands; what it did stays. Error: errGone.
func (run *importRun) fail(ctx context.Context, why string) error {
	i := run.i
	err := run.s.DB.WriteVital(ctx, func(tx *db.Tx) error {
		i.Status, i.Error, i.CompletedAt = contactfile.Failed, why, tx.Now
		return gone(tx.AdvanceImport(&i, run.i.Total()))
	})
	if err != nil {
		return fmt.Errorf("note failure: %w", err)
	}
	run.i = i
	return nil
}
