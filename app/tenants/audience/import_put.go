package audience

import (
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/contactfile"
	"mailer/db"
)

// importPut is one Write of an import.
type importPut struct {
	tx       *db.Tx
	set      *set
	i        contactfile.Import // as it is stored afterwards
	segments map[string]string  // ids of names that were looked up; empty: of one too many
}

// first writes what rows say of those who opted out, before there is a contact of any
// other: nobody gets mail who is said further down not to want it.
func (p *importPut) first(batch importBatch) error {
	for _, row := range batch.rows {
		status, whole, err := p.optOut(row)
		switch {
		case err != nil:
			return err
		case !whole: // it is refused when it is counted
		case status == contactCreated:
			p.i.Plan.First.Created++
		case status == contactUpdated:
			p.i.Plan.First.Updated++
		}
	}
	p.i.Plan.First.Rows += batch.seen
	p.i.Plan.First.Due = !batch.over
	p.i.Status = contactfile.InProgress
	return nil
}

// optOut suppresses the address of a row, and has its contact be unsubscribed, whatever is
// done with contacts that exist already. A row that can't be taken whole opts out all the
// same.
func (p *importPut) optOut(row importRow) (status contactStatus, whole bool, err error) {
	if row.person.Origin != "" {
		status = p.set.suppress(row.person.Email, row.address, row.person.Origin)
	}
	if row.person.Contact == nil {
		return status, row.person.Flaw == "", nil
	}
	n, flaw, err := p.contact(row)
	if err != nil {
		return "", false, err
	}
	whole = row.person.Flaw == "" && flaw == ""
	if n.Contact.Unsubscribed {
		left, err := p.set.optOut(row.address)
		if err != nil || left && p.i.Plan.Conflict != app.ConflictUpsert {
			return contactUpdated, whole, err
		}
	}
	status, err = p.put(row, n)
	var refusal *app.Error
	if errors.As(err, &refusal) && refusal.Code == app.CodeValidation {
		bare := &app.NewContact{Key: n.Key, Contact: app.Contact{Email: n.Contact.Email, Unsubscribed: n.Contact.Unsubscribed}}
		status, err = p.put(row, bare)
		whole = false
	}
	if errors.As(err, &refusal) && refusal.Code == app.CodePlanLimitReached {
		return "", false, nil // there is no contact that gets mail
	}
	return status, whole, err
}

// put writes the contact of a row. Errors: *app.Error of CodeValidation and
// CodePlanLimitReached, *linkGone, those of the store.
func (p *importPut) put(row importRow, n *app.NewContact) (contactStatus, error) {
	var out Written
	err := p.set.put(n, row.address, p.i.Plan.Conflict, &out)
	var refusal *app.Error
	switch {
	case errors.As(err, &refusal) && (refusal.Code == app.CodeValidation || refusal.Code == app.CodePlanLimitReached):
		return "", err
	case errors.As(err, &refusal) && refusal.Code == app.CodeNotFound:
		return "", &linkGone{row.line, err}
	case err != nil:
		return "", fmt.Errorf("line %d: %w", row.line, err)
	case out.Created:
		return contactCreated, nil
	case p.i.Plan.Conflict == app.ConflictSkip:
		return contactSkipped, nil
	}
	return contactUpdated, nil
}

// rows writes the contacts of a batch and counts its rows.
func (p *importPut) rows(batch importBatch) error {
	for _, row := range batch.rows {
		flaw, err := p.row(row)
		if err != nil {
			return err
		}
		if flaw == "" {
			continue
		}
		if p.i.Failed < contactfile.MaxErrors {
			if err := p.tx.InsertImportError(p.i.ID, contactfile.RowError{ID: app.NewID(), Line: row.line, Message: row.sheet.Where() + flaw, Value: row.person.Value}); err != nil {
				return err
			}
		}
		p.i.Failed++
	}
	p.i.Status = contactfile.InProgress
	if batch.over {
		p.i.Status, p.i.Error, p.i.CompletedAt = contactfile.Completed, batch.fault, p.tx.Now
		if batch.fault != "" {
			p.i.Status = contactfile.Failed
		}
	}
	return nil
}

// row writes one contact and counts it, or says why it can't be taken.
func (p *importPut) row(row importRow) (flaw string, err error) {
	if row.person.Flaw != "" {
		return row.person.Flaw, nil
	}
	if row.person.Contact == nil {
		p.count(contactSkipped, true)
		return "", nil
	}
	contact, flaw, err := p.contact(row)
	if flaw != "" || err != nil {
		return flaw, err
	}
	status, err := p.put(row, contact)
	var refusal *app.Error
	switch {
	case errors.As(err, &refusal) && refusal.Code == app.CodePlanLimitReached:
		return refusal.Message, nil
	case errors.As(err, &refusal) && refusal.Code == app.CodeValidation:
		return row.sheet.Words(err), nil
	case err != nil:
		return "", err
	}
	p.count(status, row.person.OptsOut())
	return "", nil
}

// count counts a row. What became of one that opted out was told in the first pass.
func (p *importPut) count(status contactStatus, early bool) {
	first := &p.i.Plan.First
	switch {
	case early && first.Created > 0 && status != contactCreated:
		first.Created--
		status = contactCreated
	case early && first.Updated > 0 && status != contactCreated:
		first.Updated--
		status = contactUpdated
	}
	switch status {
	case contactCreated:
		p.i.Created++
	case contactUpdated:
		p.i.Updated++
	default:
		p.i.Skipped++
	}
}

// contact is the contact of a row with what it is to be joined to. flaw says why not all
// of its segments are there.
func (p *importPut) contact(row importRow) (n *app.NewContact, flaw string, err error) {
	n = new(*row.person.Contact)
	n.Segments, n.Topics = p.i.Plan.Segments, p.i.Plan.Topics
	for _, name := range row.person.Segments {
		id, why, err := p.segment(name)
		if err != nil {
			return nil, "", err
		}
		if id == "" {
			flaw = why
			continue
		}
		n.Segments = append(n.Segments[:len(n.Segments):len(n.Segments)], id)
	}
	return n, flaw, nil
}

// segment finds or makes the segment of a name; why says that there can be no more.
func (p *importPut) segment(name string) (id, why string, err error) {
	id, looked := p.segments[name]
	if id != "" {
		return id, "", nil
	}
	if !looked {
		id, err = p.tx.SegmentNamed(p.i.TeamID, name)
		if err != nil && !errors.Is(err, db.ErrNotFound) {
			return "", "", fmt.Errorf("look for a segment: %w", err)
		}
	}
	if id == "" {
		if why, err = p.roomForSegment(); why != "" || err != nil {
			p.segments[name] = ""
			return "", why, err
		}
		s := app.Segment{ID: app.NewID(), TeamID: p.i.TeamID, Name: name, CreatedAt: p.tx.Now}
		if err := p.tx.InsertSegment(&s); err != nil {
			return "", "", fmt.Errorf("make a segment: %w", err)
		}
		id = s.ID
		p.i.Plan.Made++
	}
	p.segments[name] = id
	return id, "", nil
}

// roomForSegment says why no more segments are made; empty: there is room.
func (p *importPut) roomForSegment() (why string, err error) {
	if p.i.Plan.Made >= contactfile.MaxNewSegments {
		return fmt.Sprintf("The row names a segment that is new, and a file can make %d", contactfile.MaxNewSegments), nil
	}
	err = base.CapSegments.Room(&p.tx.Reader, p.i.TeamID)
	var refusal *app.Error
	if errors.As(err, &refusal) {
		return refusal.Message, nil
	}
	return "", err
}
