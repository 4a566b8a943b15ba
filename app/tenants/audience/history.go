package audience

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

const (
	// historyEvents is how many events of an email a history shows, the newest first.
	historyEvents = 20
	// historyBroadcasts is how many broadcasts one page of a history searches.
	historyBroadcasts = 200
	// historyRows is about how many emails one page of a history scans if no index finds them.
	historyRows = 20_000
)

// ContactMail is an email to a contact, mail of a broadcast to it, or a received email of it.
type ContactMail struct {
	ID          string
	BroadcastID string // empty: an email
	Received    bool   // LastEvent and State are "received"
	Answers     string // of a received one: the email that it answers, or claims to; empty: none
	Subject     string
	LastEvent   app.LastEvent
	State       app.State
	CreatedAt   time.Time
	Events      []app.Event // newest first
}

// ContactHistory is a page of the mail to a contact, newest first.
type ContactHistory struct {
	Mail       []ContactMail
	More       bool
	SearchedTo string // the last mail that was searched; empty: the end was reached
}

// ContactHistory returns a page of all mail to a contact, named by id or address, with its events:
// emails to its address, and broadcasts; and of the mail that was received from it. It searches a bounded number of each. Errors:
// CodeNotFound, CodeValidation.
func (s *Previews) ContactHistory(ctx context.Context, key *app.Key, contact string, page app.Page) (out ContactHistory, err error) {
	var c app.Contact
	err = s.service.DB.Read(ctx, func(r *db.Reader) (err error) {
		c, err = s.service.findContact(r, key.TeamID, contact)
		return err
	})
	if err != nil {
		return out, base.Lookup("contact", err)
	}
	err = s.service.DB.Read(ctx, func(r *db.Reader) (err error) {
		out, err = historyOf(r, &c, page)
		return err
	})
	return out, base.Cursor(page, err)
}

// historyOf is ContactHistory for a contact that was found. Error: db.ErrNotFound for a cursor that
// is no mail of the team.
func historyOf(r *db.Reader, c *app.Contact, page app.Page) (out ContactHistory, err error) {
	if cursor := cmp.Or(page.After, page.Before); cursor != "" {
		if err := r.OwnsMail(c.TeamID, cursor); err != nil {
			return out, err
		}
	}
	emails, err := r.SearchEmails(c.TeamID, &db.EmailFilter{To: db.AddressPattern{Exact: app.KeyOf(c.Email).String()}}, page,
		db.SearchBound{Rows: historyRows, Time: previewTimeout})
	if err != nil {
		return out, fmt.Errorf("search emails: %w", err)
	}
	broadcasts, broadcastsEnd, err := broadcastsTo(r, c, page)
	if err != nil {
		return out, err
	}
	received, receivedEnd, err := receivedFrom(r, c, page)
	if err != nil {
		return out, err
	}
	out.merge(&emails, append(broadcasts, received...), page, broadcastsEnd, receivedEnd)
	return out, timelines(r, c, out.Mail)
}

// broadcastsTo returns the mail of broadcasts to a contact from page's cursor on, the nearest
// first, at most one more than a page, and the id up to which it searched; empty: the end was
// reached.
func broadcastsTo(r *db.Reader, c *app.Contact, page app.Page) (out []ContactMail, searchedTo string, err error) {
	read, from, edge := r.BroadcastsBefore, page.After, int64(0)
	if page.Before != "" {
		read, from, edge = r.BroadcastsFrom, page.Before, math.MaxUint32
	}
	heads, err := read(c.TeamID, app.EmailIDPrefixOf(from), historyBroadcasts)
	if err != nil {
		return nil, "", fmt.Errorf("read broadcasts: %w", err)
	}
	for i := range heads {
		b := &heads[i]
		searchedTo = app.BroadcastEmailID(b.EmailIDPrefix, edge)
		rec, err := r.RecipientByContact(b, c.ID)
		if errors.Is(err, db.ErrNotFound) || err == nil && (page.After != "" && rec.ID >= page.After || rec.ID <= page.Before) {
			continue
		}
		if err != nil {
			return nil, "", fmt.Errorf("look for a recipient: %w", err)
		}
		situations, err := Situations(r, b, rec)
		if err != nil {
			return nil, "", err
		}
		last := b.SeenOf(&rec).LastEvent()
		out = append(out, ContactMail{ID: rec.ID, BroadcastID: b.ID, Subject: b.Subject, LastEvent: last, State: app.StateOf(last, situations[0]), CreatedAt: b.QueuedAt})
		if len(out) > page.Limit {
			return out, searchedTo, nil
		}
	}
	if len(heads) < historyBroadcasts {
		searchedTo = ""
	}
	return out, searchedTo, nil
}

// merge merges emails and other mail in order. It cuts the result where the first search ended; ends are the ids up to
// which the others were searched.
func (h *ContactHistory) merge(emails *db.FoundEmails, others []ContactMail, page app.Page, ends ...string) {
	for i := range emails.Emails {
		e := &emails.Emails[i]
		h.Mail = append(h.Mail, ContactMail{ID: e.ID, Subject: e.Subject, LastEvent: e.LastEvent, State: e.State(), CreatedAt: e.CreatedAt})
	}
	h.Mail = append(h.Mail, others...)
	// further orders ids by their distance from the start of the page.
	newer, further := page.Before != "", func(a, b string) int { return cmp.Compare(b, a) }
	if newer {
		further = func(a, b string) int { return cmp.Compare(a, b) }
	}
	slices.SortStableFunc(h.Mail, func(a, b ContactMail) int { return further(a.ID, b.ID) })
	if emails.More {
		ends = append(ends, emails.SearchedTo)
	}
	edge := ""
	for _, end := range ends {
		if end != "" && (edge == "" || further(end, edge) < 0) {
			edge = end
		}
	}
	if h.More, h.SearchedTo = edge != "", edge; h.More {
		h.Mail = slices.DeleteFunc(h.Mail, func(m ContactMail) bool { return further(m.ID, edge) > 0 })
	}
	if len(h.Mail) > page.Limit {
		h.Mail, h.More = h.Mail[:page.Limit], true
		h.SearchedTo = h.Mail[page.Limit-1].ID
	}
	if newer {
		slices.Reverse(h.Mail)
	}
}

// timelines reads the newest events of each mail, except those about other recipients of an email.
func timelines(r *db.Reader, c *app.Contact, mail []ContactMail) (err error) {
	for i := range mail {
		m, address := &mail[i], ""
		if m.Received {
			continue
		}
		if m.BroadcastID == "" {
			address = app.KeyOf(c.Email).String()
		}
		if m.Events, err = r.EventsAbout(m.ID, address, historyEvents); err != nil {
			return fmt.Errorf("read a timeline: %w", err)
		}
	}
	return nil
}
