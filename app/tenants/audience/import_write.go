package audience

import (
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/contactfile"
	"mailer/db"
)

// importWrite is one Write of an import.
type importWrite struct {
	tx       *db.Tx
	set      *contactSet
	imp      contactfile.Import // as it will be stored
	segments map[string]string  // id by name, of names that were looked up; empty: over the limit
}

// writeOptOuts stores the opt-outs and suppressions of the first pass, before any other contact is
// made: no contact gets mail if a later row of the file opts it out.
func (p *importWrite) writeOptOuts(batch importBatch) error {
	for _, row := range batch.rows {
		status, complete, err := p.optOut(row)
		switch {
		case err != nil:
			return err
		case !complete: // writeRows reports the error
		case status == contactCreated:
			p.imp.Plan.OptOutPass.Created++
		case status == contactUpdated:
			p.imp.Plan.OptOutPass.Updated++
		}
	}
	p.imp.Plan.OptOutPass.Rows += batch.scanned
	p.imp.Plan.OptOutPass.Pending = !batch.last
	p.imp.Status = contactfile.InProgress
	return nil
}

// optOut suppresses the address of a row, and unsubscribes its contact, whatever the plan does with
// existing contacts. A row with other errors opts out too; complete is false then.
func (p *importWrite) optOut(row importRow) (status contactStatus, complete bool, err error) {
	if row.person.Origin != "" {
		status = p.set.suppress(row.person.Email, row.address, row.person.Origin)
	}
	if row.person.Contact == nil {
		return status, row.person.Problem == "", nil
	}
	n, problem, err := p.contact(row)
	if err != nil {
		return "", false, err
	}
	complete = row.person.Problem == "" && problem == ""
	if n.Contact.Unsubscribed {
		done, err := p.set.optOut(row.address)
		if err != nil || done && p.imp.Plan.Conflict != app.ConflictUpsert {
			return contactUpdated, complete, err
		}
	}
	status, err = p.put(row, n)
	var refusal *app.Error
	if errors.As(err, &refusal) && refusal.Code == app.CodeValidation {
		bare := &app.NewContact{Key: n.Key, Contact: app.Contact{Email: n.Contact.Email, Unsubscribed: n.Contact.Unsubscribed}}
		status, err = p.put(row, bare)
		complete = false
	}
	if errors.As(err, &refusal) && refusal.Code == app.CodePlanLimitReached {
		return "", false, nil // no contact was created, so none gets mail
	}
	return status, complete, err
}

// put writes the contact of a row. Errors: *app.Error of CodeValidation and CodePlanLimitReached,
// *missingLink, those of the store.
func (p *importWrite) put(row importRow, n *app.NewContact) (contactStatus, error) {
	var out SetResult
	err := p.set.put(n, row.address, p.imp.Plan.Conflict, &out)
	var refusal *app.Error
	switch {
	case errors.As(err, &refusal) && (refusal.Code == app.CodeValidation || refusal.Code == app.CodePlanLimitReached):
		return "", err
	case errors.As(err, &refusal) && refusal.Code == app.CodeNotFound:
		return "", &missingLink{row.line, err}
	case err != nil:
		return "", fmt.Errorf("line %d: %w", row.line, err)
	case out.Created:
		return contactCreated, nil
	case p.imp.Plan.Conflict == app.ConflictSkip:
		return contactSkipped, nil
	}
	return contactUpdated, nil
}

// writeRows writes the contacts of a batch and counts its rows.
func (p *importWrite) writeRows(batch importBatch) error {
	for _, row := range batch.rows {
		problem, err := p.writeRow(row)
		if err != nil {
			return err
		}
		if problem == "" {
			continue
		}
		if p.imp.Failed < contactfile.MaxErrors {
			if err := p.tx.InsertImportError(p.imp.ID, contactfile.RowError{ID: app.NewID(), Line: row.line, Message: row.sheet.Prefix() + problem, Value: row.person.Value}); err != nil {
				return err
			}
		}
		p.imp.Failed++
	}
	p.imp.Status = contactfile.InProgress
	if batch.last {
		p.imp.Status, p.imp.Error, p.imp.CompletedAt = contactfile.Completed, batch.failure, p.tx.Now
		if batch.failure != "" {
			p.imp.Status = contactfile.Failed
		}
	}
	return nil
}

// writeRow writes one contact and counts its row, or returns the problem of the row.
func (p *importWrite) writeRow(writeRow importRow) (problem string, err error) {
	if writeRow.person.Problem != "" {
		return writeRow.person.Problem, nil
	}
	if writeRow.person.Contact == nil {
		p.count(contactSkipped, true)
		return "", nil
	}
	contact, problem, err := p.contact(writeRow)
	if problem != "" || err != nil {
		return problem, err
	}
	status, err := p.put(writeRow, contact)
	var refusal *app.Error
	switch {
	case errors.As(err, &refusal) && refusal.Code == app.CodePlanLimitReached:
		return refusal.Message, nil
	case errors.As(err, &refusal) && refusal.Code == app.CodeValidation:
		return writeRow.sheet.Describe(err), nil
	case err != nil:
		return "", err
	}
	p.count(status, writeRow.person.OptsOut())
	return "", nil
}

// count counts a row. The first pass counted the outcome of rows that opt out.
func (p *importWrite) count(status contactStatus, optedOut bool) {
	first := &p.imp.Plan.OptOutPass
	switch {
	case optedOut && first.Created > 0 && status != contactCreated:
		first.Created--
		status = contactCreated
	case optedOut && first.Updated > 0 && status != contactCreated:
		first.Updated--
		status = contactUpdated
	}
	switch status {
	case contactCreated:
		p.imp.Created++
	case contactUpdated:
		p.imp.Updated++
	default:
		p.imp.Skipped++
	}
}

// contact returns the contact of a row with its segments and topics. problem says why a segment is
// missing.
func (p *importWrite) contact(row importRow) (n *app.NewContact, problem string, err error) {
	n = new(*row.person.Contact)
	n.Segments, n.Topics = p.imp.Plan.Segments, p.imp.Plan.Topics
	for _, name := range row.person.Segments {
		id, reason, err := p.segment(name)
		if err != nil {
			return nil, "", err
		}
		if id == "" {
			problem = reason
			continue
		}
		n.Segments = append(n.Segments[:len(n.Segments):len(n.Segments)], id)
	}
	return n, problem, nil
}

// segment returns the id of the segment with a name, and makes the segment if it does not exist;
// reason says why it can't be made.
func (p *importWrite) segment(name string) (id, reason string, err error) {
	id, cached := p.segments[name]
	if id != "" {
		return id, "", nil
	}
	if !cached {
		id, err = p.tx.SegmentNamed(p.imp.TeamID, name)
		if err != nil && !errors.Is(err, db.ErrNotFound) {
			return "", "", fmt.Errorf("look for a segment: %w", err)
		}
	}
	if id == "" {
		if reason, err = p.checkSegmentLimit(); reason != "" || err != nil {
			p.segments[name] = ""
			return "", reason, err
		}
		s := app.Segment{ID: app.NewID(), TeamID: p.imp.TeamID, Name: name, CreatedAt: p.tx.Now}
		if err := p.tx.InsertSegment(&s); err != nil {
			return "", "", fmt.Errorf("make a segment: %w", err)
		}
		id = s.ID
		p.imp.Plan.NewSegments++
	}
	p.segments[name] = id
	return id, "", nil
}

// checkSegmentLimit returns why no more segments can be made; empty: they can.
func (p *importWrite) checkSegmentLimit() (reason string, err error) {
	if p.imp.Plan.NewSegments >= contactfile.MaxNewSegments {
		return fmt.Sprintf("The row names a segment that is new, and a file can make %d", contactfile.MaxNewSegments), nil
	}
	err = base.CapSegments.Check(&p.tx.Reader, p.imp.TeamID)
	var refusal *app.Error
	if errors.As(err, &refusal) {
		return refusal.Message, nil
	}
	return "", err
}
