package transfer

import (
	"context"
	"fmt"
	"slices"

	"mailer/app"
	"mailer/app/rules/archive"
	"mailer/db"
)

// optInsOut writes opt-ins that are pending or were refused.
func (x *export) optInsOut() error {
	return x.walk(func(after string) (string, error) {
		var all []db.OptIn
		return x.rows(func(r *db.Reader) (n int, err error) {
			all, err = r.OptInsAfter(x.team.ID, after, batchRows)
			return len(all), err
		}, func(i int) string { return all[i].ID }, func(i int) error {
			o := &all[i]
			if o.Status != app.OptInPending && o.Status != app.OptInRefused {
				return nil
			}
			out := &archive.OptIn{ID: o.ID, Email: o.Email, Status: o.Status, Form: o.FormID, FormName: o.Request.FormName, FormVersion: o.FormVersion,
				Topics: o.Request.Topics, Segments: o.Request.Segments, FirstName: o.Request.FirstName, LastName: o.Request.LastName,
				Language: o.Request.Language, Text: o.Request.Text, RequestedBy: o.Request.Visitor, RequestedAt: o.RequestedAt, DecidedAt: o.DecidedAt}
			for key, v := range o.Request.Properties {
				if out.Properties == nil {
					out.Properties = map[string]any{}
				}
				out.Properties[key] = v.Plain()
			}
			return x.put(archive.OptIns, out)
		})
	})
}

// consents writes the records of what contacts agreed to.
func (x *export) consents() error {
	last := app.Consent{}
	for {
		if err := x.ctx.Err(); err != nil {
			return err
		}
		all, err := db.Get(x.ctx, x.DB, func(r *db.Reader) ([]app.Consent, error) {
			return r.ConsentsAfter(x.team.ID, last.ContactID, last.ID, batchRows)
		})
		if err != nil {
			return err
		}
		for i := range all {
			c, r := &all[i], &all[i].Record
			err := x.put(archive.Records, &archive.Record{ID: c.ID, ContactID: c.ContactID, OptInID: c.OptInID, FormID: c.FormID, Email: r.Email, Form: r.Form, FormVersion: r.FormVersion,
				Topics: r.Topics, Text: r.Text, ConfirmText: r.ConfirmText, Language: r.Language, RequestedAt: r.RequestedAt.UTC(), RequestedBy: r.RequestedBy,
				ConfirmedAt: r.ConfirmedAt.UTC(), ConfirmedBy: r.ConfirmedBy, Resubscribed: r.Resubscribed, CreatedAt: c.CreatedAt})
			if err != nil {
				return err
			}
		}
		if len(all) < batchRows {
			return nil
		}
		last = all[len(all)-1]
	}
}

// eachBatch calls put with batches of the items of a kind that pick accepts.
func eachBatch[In, Out any](ctx context.Context, m *importer, kind archive.Kind, pick func(in *In, line int) (Out, bool), put func([]Out) error) error {
	var in In
	var batch []Out
	done := 0
	flush := func() error {
		if err := put(batch); err != nil {
			return fmt.Errorf("store %s: %w", kind, err)
		}
		batch = batch[:0]
		return m.progress(kind, done)
	}
	err := m.r.Each(kind, &in, func(line int) error {
		done++
		if out, ok := pick(&in, line); ok {
			batch = append(batch, out)
		}
		if len(batch) < batchSize {
			return ctx.Err()
		}
		return flush()
	})
	if err != nil || len(batch) == 0 {
		return err
	}
	return flush()
}

// optInsIn creates missing opt-ins. No mail is sent for them: the person may ask again. An address that
// refused gets no confirmation for the rest of the year.
func (m *importer) optInsIn(ctx context.Context) error {
	return eachBatch(ctx, m, archive.OptIns, m.optIn, func(set []db.OptIn) error {
		count := ItemCounts{}
		put := func(r *db.Reader, tx *db.Tx) error {
			for i := range set {
				created, err := m.putOptIn(r, tx, &set[i])
				if err != nil {
					return err
				}
				count.add(created)
			}
			return nil
		}
		err := m.readOrWrite(ctx, func() { count = ItemCounts{} }, put)
		m.report.OptIns.New += count.New
		m.report.OptIns.Existing += count.Existing
		return err
	})
}

// readOrWrite runs put in a write, or in a dry run in a read without a Tx. reset is called before each
// run.
func (m *importer) readOrWrite(ctx context.Context, reset func(), put func(r *db.Reader, tx *db.Tx) error) error {
	if !m.Apply {
		return m.s.DB.Read(ctx, func(r *db.Reader) error { reset(); return put(r, nil) })
	}
	return m.write(ctx, func(tx *db.Tx) error { reset(); return put(&tx.Reader, tx) })
}

// optIn validates an archived opt-in, or refuses it.
func (m *importer) optIn(in *archive.OptIn, line int) (o db.OptIn, ok bool) {
	at := positionOf(archive.Position{}, archive.OptIns, line)
	email, key, err := app.ParseBareAddress(in.Email)
	changes, words := m.changes(in.Properties)
	switch {
	case err != nil:
		words = "`email` is not a valid email address"
	case in.Status != app.OptInPending && in.Status != app.OptInRefused:
		words = "`status` must be pending or refused"
	}
	if words == "" { // the rules for the values of a contact
		values := app.ContactInput{Email: in.Email, FirstName: in.FirstName, LastName: in.LastName, Properties: changes}
		if _, err := values.Validate(); err != nil {
			words, _ = refusalWords(err)
		}
	}
	if words != "" {
		m.refuse(at, words)
		return o, false
	}
	o.SignUp = app.SignUp{ID: m.id(in.ID), TeamID: m.team.ID, FormID: m.formIDs[in.Form], FormVersion: max(0, in.FormVersion), Hash: m.s.Sealer.AddressHash(m.team.ID, key), Email: email,
		Status: in.Status, RequestedAt: in.RequestedAt, DecidedAt: in.DecidedAt,
		Request: app.SignUpRequest{Topics: known(m.topics, in.Topics), Segments: known(m.segments, in.Segments), FirstName: in.FirstName, LastName: in.LastName,
			Language: in.Language, Text: in.Text, FormName: in.FormName, Visitor: in.RequestedBy}}
	if !slices.Contains(app.Languages, o.Request.Language) {
		o.Request.Language = ""
	}
	for key, v := range changes {
		if o.Request.Properties == nil {
			o.Request.Properties = app.Properties{}
		}
		o.Request.Properties[key] = *v
	}
	o.Mail = db.OptInNotSent
	return o, true
}

// known returns the ids here of archived ids, without those that were not imported.
func known(ids map[string]string, archived []string) (out []string) {
	for _, id := range archived {
		if ours := ids[id]; ours != "" {
			out = append(out, ours)
		}
	}
	return out
}

// putOptIn inserts an opt-in, unless the address has one of the same time. tx is nil in a dry run.
func (m *importer) putOptIn(r *db.Reader, tx *db.Tx, o *db.OptIn) (created bool, err error) {
	there, err := r.HasOptIn(m.team.ID, o.Hash, o.RequestedAt)
	if err != nil || there || tx == nil {
		return !there, err
	}
	if o.ID, err = freeID(tx.OptInIDTaken, o.ID); err != nil {
		return false, err
	}
	o.RequestedAt = orDefault(o.RequestedAt, tx.Now)
	if o.Status == app.OptInPending {
		return true, tx.InsertOptIn(o)
	}
	o.DecidedAt = orDefault(o.DecidedAt, tx.Now)
	if until := o.DecidedAt.Add(app.RefusedFor); until.After(tx.Now) {
		if err := tx.InsertRefusal(m.team.ID, o.Hash, until); err != nil {
			return false, err
		}
	}
	return true, tx.InsertOptIn(o)
}

// consentsIn adds missing consent records to their contacts.
func (m *importer) consentsIn(ctx context.Context) error {
	type item struct {
		app.Consent
		at   archive.Position
		hash app.AddressHash
	}
	return eachBatch(ctx, m, archive.Records, func(in *archive.Record, line int) (c item, ok bool) {
		c.at = positionOf(archive.Position{}, archive.Records, line)
		_, key, err := app.ParseBareAddress(in.Email)
		if err != nil {
			m.refuse(c.at, "`email` is not a valid email address")
			return c, false
		}
		c.hash, c.Consent = m.s.Sealer.AddressHash(m.team.ID, key), m.consent(in)
		return c, true
	}, func(set []item) error {
		count, lost := ItemCounts{}, []archive.Position{}
		err := m.readOrWrite(ctx, func() { count, lost = ItemCounts{}, nil }, func(r *db.Reader, tx *db.Tx) error {
			for i := range set {
				c := &set[i]
				found, created, err := m.putConsent(r, tx, &c.Consent, c.hash)
				if err != nil {
					return err
				}
				if !found {
					lost = append(lost, c.at)
					continue
				}
				count.add(created)
			}
			return nil
		})
		m.report.Consents.New += count.New
		m.report.Consents.Existing += count.Existing
		for _, at := range lost {
			m.refuse(at, "the contact of this record does not exist")
		}
		return err
	})
}

// consent converts an archived record.
func (m *importer) consent(in *archive.Record) app.Consent {
	c := app.Consent{ID: m.id(in.ID), TeamID: m.team.ID, ContactID: in.ContactID, OptInID: in.OptInID, FormID: in.FormID, CreatedAt: in.CreatedAt,
		Record: app.ConsentRecord{Email: in.Email, Form: in.Form, FormVersion: in.FormVersion, Topics: in.Topics, Text: in.Text, ConfirmText: in.ConfirmText, Language: in.Language,
			RequestedAt: in.RequestedAt, RequestedBy: in.RequestedBy, ConfirmedAt: in.ConfirmedAt, ConfirmedBy: in.ConfirmedBy, Resubscribed: in.Resubscribed}}
	if id := m.formIDs[in.FormID]; id != "" {
		c.FormID = id
	}
	for i, t := range c.Record.Topics {
		if id := m.topics[t.ID]; id != "" {
			c.Record.Topics[i].ID = id
		}
	}
	return c
}

// putConsent inserts a consent, unless the contact has one of the same time. found: the contact exists,
// or may exist after a dry run. tx is nil in a dry run.
func (m *importer) putConsent(r *db.Reader, tx *db.Tx, c *app.Consent, hash app.AddressHash) (found, created bool, err error) {
	contact, err := r.Contact(m.team.ID, c.ContactID)
	if notFound(err) {
		contact, err = r.ContactByAddress(m.team.ID, hash)
	}
	if notFound(err) {
		return tx == nil, tx == nil, nil
	}
	if err != nil {
		return false, false, err
	}
	c.ContactID = contact.ID
	there, err := r.ConsentsOf(m.team.ID, contact.ID, batchSize)
	if err != nil {
		return false, false, err
	}
	if slices.ContainsFunc(there, func(o app.Consent) bool {
		return o.CreatedAt.UnixMilli() == c.CreatedAt.UnixMilli() && o.Record.RequestedAt.UnixMilli() == c.Record.RequestedAt.UnixMilli()
	}) {
		return true, false, nil
	}
	if tx == nil {
		return true, true, nil
	}
	if c.ID, err = freeID(tx.ConsentIDTaken, c.ID); err != nil {
		return false, false, err
	}
	c.CreatedAt = orDefault(c.CreatedAt, tx.Now)
	return true, true, tx.InsertConsent(c)
}
