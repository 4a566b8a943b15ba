package transfer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"mailer/app"
	"mailer/app/rules/archive"
	"mailer/app/tenants/audience"
	"mailer/db"
)

// contactSet is a batch of contacts.
type contactSet struct {
	items     []*app.NewContact
	positions []archive.Position
	ids       []string // in the archive
	former    [][]string
	again     []bool     // read before
	left      [][]string // segments that they left at the source
}

// optedOut imports unsubscribed contacts before all others, whose positions it records.
func (m *importer) optedOut(ctx context.Context) error {
	var c archive.Contact
	return m.sets(ctx, func(set *contactSet, flush func() error) error {
		return m.r.Each(archive.Contacts, &c, func(line int) error {
			if c.Unsubscribed {
				m.collect(set, &c, line)
			} else if err := m.position(&c); err != nil {
				return err
			}
			return flush()
		})
	})
}

// manyContacts is the number from which contacts are imported in the order of their hashes.
// Otherwise each of a batch would change another page of a large index, and every changed page is
// written twice.
const manyContacts = 10_000

// A position is the beginning of an address's hash and an offset in the file.
const (
	offsetBits = 40
	maxOffset  = 1<<offsetBits - 1
)

// position records the position of a contact, unless ids and times determine the order of
// contacts.
func (m *importer) position(c *archive.Contact) error {
	if !m.Apply || m.r.Team.FromMailer() {
		return nil
	}
	hash := uint64(0)
	if _, key, err := app.ParseBareAddress(c.Email); err == nil { // invalid ones are refused in file order
		address := m.s.Sealer.AddressHash(m.team.ID, key)
		hash = binary.BigEndian.Uint64(address[:])
	}
	if m.r.Offset() > maxOffset {
		return fmt.Errorf("%s.json has more than %d bytes", archive.Contacts, maxOffset)
	}
	m.positions = append(m.positions, hash&^maxOffset|uint64(m.r.Offset()))
	return nil
}

// contacts imports all other contacts.
func (m *importer) contacts(ctx context.Context) error {
	if len(m.positions) > manyContacts {
		return m.contactsByHash(ctx)
	}
	var c archive.Contact
	return m.sets(ctx, func(set *contactSet, flush func() error) error {
		return m.r.Each(archive.Contacts, &c, func(line int) error {
			if !c.Unsubscribed {
				m.collect(set, &c, line)
			}
			return flush()
		})
	})
}

// contactsByHash imports contacts in the order of their hashes. Contacts with the same address
// stay in file order.
func (m *importer) contactsByHash(ctx context.Context) error {
	p, err := m.r.Pick(archive.Contacts)
	if err != nil {
		return err
	}
	defer p.Close()
	slices.Sort(m.positions)
	var c archive.Contact
	return m.sets(ctx, func(set *contactSet, flush func() error) error {
		for _, spot := range m.positions {
			if err := p.Read(int64(spot&maxOffset), &c); err != nil {
				return err
			}
			m.collect(set, &c, 0)
			if err := flush(); err != nil {
				return err
			}
		}
		return nil
	})
}

// sets calls collect with a batch, and writes it when flush finds it full.
func (m *importer) sets(ctx context.Context, collect func(set *contactSet, flush func() error) error) error {
	var set contactSet
	done := 0
	err := collect(&set, func() error {
		done++
		if len(set.items) < batchSize {
			return ctx.Err()
		}
		if err := m.putContacts(ctx, &set); err != nil {
			return err
		}
		return m.progress(archive.Contacts, done)
	})
	if err == nil {
		err = m.putContacts(ctx, &set)
	}
	if err == nil {
		err = m.progress(archive.Contacts, done)
	}
	return err
}

// collect validates a contact and adds it to the batch, or refuses it.
func (m *importer) collect(set *contactSet, c *archive.Contact, line int) {
	at := positionOf(c.From, archive.Contacts, line)
	changes, words := m.changes(c.Properties)
	in := app.ContactInput{Email: c.Email, FirstName: c.FirstName, LastName: c.LastName, Unsubscribed: c.Unsubscribed, Properties: changes}
	n, err := in.Validate()
	if err != nil && words == "" {
		words, _ = refusalWords(err)
	}
	if words != "" {
		m.report.Contacts.Refused++
		m.refuse(at, words)
		return
	}
	if id, ok := app.ParseID(c.ID); ok && m.r.Team.FromMailer() {
		n.Contact.ID = id
	}
	n.Contact.CreatedAt, n.Contact.UpdatedAt = c.CreatedAt, c.UpdatedAt
	n.Contact.Activity = app.Activity{LastSentAt: c.LastSentAt, LastOpenedAt: c.LastOpenedAt, LastClickedAt: c.LastClickedAt, LastRepliedAt: c.LastRepliedAt}
	for _, id := range c.Segments {
		if ours := m.segments[id]; ours != "" {
			n.Segments = append(n.Segments, ours)
		}
	}
	set.items, set.positions, set.ids, set.former = append(set.items, n), append(set.positions, at), append(set.ids, c.ID), append(set.former, c.Former)
	var left []string
	for _, id := range c.Left {
		if ours := m.segments[id]; ours != "" {
			left = append(left, ours)
		}
	}
	set.left = append(set.left, left)
	set.again = append(set.again, c.Again)
}

// changes converts the values of a contact to the types of the team's properties: a numeric string
// to a number where one is declared, and the reverse.
func (m *importer) changes(values map[string]any) (out app.PropertyChanges, flaw string) {
	for key, value := range values {
		v := valueOf(value)
		if v == nil {
			return nil, fmt.Sprintf("`properties.%s` must be a string or a number", key)
		}
		switch want := m.types[key]; {
		case want == app.StringProperty && v.Type == app.NumberProperty:
			v = &app.PropertyValue{Type: app.StringProperty, Text: v.String()}
		case want == app.NumberProperty && v.Type == app.StringProperty:
			n, err := strconv.ParseFloat(v.Text, 64)
			if err != nil {
				return nil, fmt.Sprintf("`properties.%s` must be a number", key)
			}
			v = &app.PropertyValue{Type: app.NumberProperty, Number: n}
		}
		if out == nil {
			out = make(app.PropertyChanges, len(values))
		}
		out[key] = v
	}
	return out, ""
}

// valueOf reads the value of a property; nil: invalid.
func valueOf(v any) *app.PropertyValue {
	switch v := v.(type) {
	case string:
		return &app.PropertyValue{Type: app.StringProperty, Text: v}
	case float64:
		return &app.PropertyValue{Type: app.NumberProperty, Number: v}
	}
	return nil
}

// keepFormer stores former addresses of contacts, to which old links belong.
func (m *importer) keepFormer(tx *db.Tx, set *contactSet, written []audience.SetResult) error {
	for i, w := range written {
		for _, email := range set.former[i] {
			_, key, err := app.ParseBareAddress(email)
			if err != nil || w.ID == "" || key == set.items[i].Key {
				continue
			}
			f := db.FormerAddress{Hash: m.s.Sealer.AddressHash(m.team.ID, key), Email: email}
			if err := tx.KeepFormerAddress(m.team.ID, w.ID, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// endMemberships removes contacts from segments that they left at the source.
func (m *importer) endMemberships(tx *db.Tx, set *contactSet, written []audience.SetResult) (ended int, err error) {
	for i, w := range written {
		for _, segment := range set.left[i] {
			if w.ID == "" {
				continue
			}
			removed, err := tx.RemoveMember(segment, w.ID)
			if err == nil && removed {
				ended++
				err = tx.CountMembers(segment, -1)
			}
			if err != nil {
				return 0, fmt.Errorf("take a contact out of a segment: %w", err)
			}
		}
	}
	return ended, nil
}

// endingMemberships counts what endMemberships would remove.
func (m *importer) endingMemberships(r *db.Reader, set *contactSet) (ending int, err error) {
	for i, segments := range set.left {
		if len(segments) == 0 {
			continue
		}
		c, err := r.ContactByAddress(m.team.ID, m.s.Sealer.AddressHash(m.team.ID, set.items[i].Key))
		if errors.Is(err, db.ErrNotFound) {
			continue
		}
		if err != nil {
			return 0, err
		}
		of, err := r.SegmentsOf(m.team.ID, c.ID)
		if err != nil {
			return 0, err
		}
		for _, segment := range segments {
			if slices.Contains(of, segment) {
				ending++
			}
		}
	}
	return ending, nil
}

// putContacts writes a batch, or only counts its effect in a dry run, and empties it.
func (m *importer) putContacts(ctx context.Context, set *contactSet) (err error) {
	if len(set.items) == 0 {
		return nil
	}
	var written []audience.SetResult
	ended := 0
	if m.Apply {
		err = m.write(ctx, func(tx *db.Tx) error {
			w, err := m.s.audience.NewContactWriter(tx, m.team.ID)
			if err != nil {
				return err
			}
			w.Exact = m.r.Team.FromMailer()
			w.Silent = !m.TriggerAutomations
			if written, err = w.PutSet(set.items, audience.ConflictFill); err != nil {
				return err
			}
			if err := m.keepFormer(tx, set, written); err != nil {
				return err
			}
			if err := w.Finish(); err != nil {
				return err
			}
			ended, err = m.endMemberships(tx, set, written)
			return err
		})
	} else {
		err = m.s.DB.Read(ctx, func(r *db.Reader) (err error) {
			if written, err = m.dryRun.Set(r, set.items); err == nil {
				ended, err = m.endingMemberships(r, set)
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("store contacts: %w", err)
	}
	m.report.MembershipsEnded += ended
	for i, w := range written {
		if err := m.count(&w, set.positions[i], set.ids[i], set.again[i]); err != nil {
			return err
		}
	}
	*set = contactSet{items: set.items[:0], positions: set.positions[:0], ids: set.ids[:0], former: set.former[:0], again: set.again[:0], left: set.left[:0]}
	return nil
}

// count adds the result for a contact to the report.
func (m *importer) count(w *audience.SetResult, at archive.Position, id string, again bool) error {
	switch {
	case w.Refusal != nil:
		words, _ := refusalWords(w.Refusal)
		m.report.Contacts.Refused++
		m.refuse(at, words)
		return nil
	case w.Created:
		m.report.Contacts.New++
	case !again:
		m.report.Contacts.Existing++
	}
	if w.OptedOut {
		m.report.OptedOut++
	}
	if again && !w.Created {
		return nil
	}
	return m.moved(archive.Contacts, id, w.ID)
}
