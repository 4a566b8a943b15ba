package transfer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/kit/mailbox"
	"mailer/app/rules/archive"
	"mailer/app/sending/mail"
	"mailer/db"
)

// emailHistory imports the emails and events of an archive into a team.
type emailHistory struct {
	*importer
	ctx   context.Context
	batch []pastEmail
	size  int64 // approximate bytes of the batch

	timelines [][]app.Event // not written yet, one for each email
	lines     int           // their number of events
}

// pastEmail is an email with the states of its recipients.
type pastEmail struct {
	archived   string // its id in the archive
	email      app.Email
	recipients []db.RecipientState
}

// Limits of one write.
const (
	historyBatch = 200
	historyBytes = 8 << 20
)

// emails imports emails and events of another Mailer as history: nothing is sent, counted in a
// quota or reported to webhooks. Ids are kept if they are free. If an email's id belongs to
// another team, it gets an id derived from it, so that a second run finds the email. Existing
// emails are not changed.
func (m *importer) emails(ctx context.Context) error {
	if !m.Emails || !m.r.Team.FromMailer() {
		return nil
	}
	h := &emailHistory{importer: m, ctx: ctx}
	if err := h.readEmails(); err != nil {
		return err
	}
	return h.events()
}

func (h *emailHistory) readEvents(kind archive.Kind, done *int) error {
	if *done++; *done%historyBatch != 0 {
		return nil
	}
	if err := h.ctx.Err(); err != nil {
		return err
	}
	return h.progress(kind, *done)
}

func (h *emailHistory) readEmails() error {
	var in archive.Email
	done := 0
	err := h.r.Each(archive.Emails, &in, func(line int) error {
		if err := h.readEvents(archive.Emails, &done); err != nil {
			return err
		}
		at := archive.Position{File: string(archive.Emails) + ".json", Line: line}
		p, reason := h.pastEmail(&in)
		if reason != "" {
			h.refuse(at, reason)
			return nil
		}
		there, err := h.position(&p)
		if err != nil {
			return err
		}
		if err := h.moved(archive.Emails, p.archived, p.email.ID); err != nil {
			return err
		}
		if there {
			h.report.Emails.Existing++
			return nil
		}
		if reason, err = h.readFiles(p.email.Attachments); err != nil {
			return err
		}
		if reason != "" {
			h.refuse(at, reason)
			return nil
		}
		h.report.Emails.New++
		h.batch, h.size = append(h.batch, p), h.size+p.email.Size()
		if len(h.batch) < historyBatch && h.size < historyBytes {
			return nil
		}
		return h.writeBatch()
	})
	if err != nil {
		return err
	}
	if err := h.writeBatch(); err != nil {
		return err
	}
	return h.progress(archive.Emails, done)
}

// writeBatch writes the batch. Another process may have written a part of it.
func (h *emailHistory) writeBatch() error {
	batch := h.batch
	h.batch, h.size = nil, 0
	if len(batch) == 0 || !h.Apply {
		return nil
	}
	err := h.write(h.ctx, func(tx *db.Tx) error {
		for i := range batch {
			err := tx.EmailIDIsFree(batch[i].email.ID)
			if errors.Is(err, db.ErrConflict) {
				continue
			}
			if err != nil {
				return err
			}
			if err := h.insert(tx, &batch[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write emails: %w", err)
	}
	return nil
}

func (h *emailHistory) insert(tx *db.Tx, p *pastEmail) (err error) {
	e := p.email
	if e.Attachments, err = h.withFreeIDs(tx, e.ID, e.Attachments); err != nil {
		return err
	}
	return tx.InsertHistory(&e, p.recipients)
}

// withFreeIDs returns the files of an email or broadcast with ids that are free here.
func (m *importer) withFreeIDs(tx *db.Tx, owner string, files []app.Attachment) ([]app.Attachment, error) {
	out := slices.Clone(files) // the closure may run again
	for i := range out {
		a := &out[i]
		err := tx.AttachmentIDIsFree(a.ID)
		if errors.Is(err, db.ErrConflict) {
			a.ID = movedID(m.team.ID+" "+owner, a.ID)
			err = tx.AttachmentIDIsFree(a.ID)
		}
		if err != nil {
			return nil, fmt.Errorf("find an id for an attachment: %w", err)
		}
	}
	return out, nil
}

// position finds the id that an email has or will have here, and reports whether it exists.
func (h *emailHistory) position(p *pastEmail) (there bool, err error) {
	err = h.s.DB.Read(h.ctx, func(r *db.Reader) error {
		for _, id := range h.ids(p.archived) {
			p.email.ID = id
			if there = r.OwnsEmail(h.team.ID, id) == nil; there {
				return nil
			}
			if err := r.EmailIDIsFree(id); !errors.Is(err, db.ErrConflict) {
				return err
			}
		}
		return fmt.Errorf("no id is free for the email %s", p.archived)
	})
	return there, err
}

// ids returns the possible ids of an archived email.
func (h *emailHistory) ids(id string) []string { return []string{id, movedID(h.team.ID, id)} }

// movedID returns the derived id for an id in a team: deterministic, with the same time.
func movedID(teamID, id string) string {
	sum := sha256.Sum256([]byte(teamID + " " + id))
	text := hex.EncodeToString(sum[:])
	return id[:14] + "7" + text[:3] + "-8" + text[3:6] + "-" + text[6:18]
}

// pastEmail returns an archived email in stored form, or the reason why it is invalid.
func (h *emailHistory) pastEmail(in *archive.Email) (p pastEmail, reason string) {
	id, ok := app.ParseID(in.ID)
	switch {
	case !ok:
		return p, "its id is not a UUID"
	case id > app.FirstID(clock.Now().AddDate(0, 0, 1)): // it would sort before all future mail
		return p, "its id is of a time to come"
	case in.CreatedAt.IsZero() || in.CreatedAt.After(clock.Now().AddDate(0, 0, 1)):
		return p, "created_at is no time that is over"
	case !over(in.LastEvent):
		return p, "last_event says that it is not over"
	case len(in.Recipients) == 0:
		return p, "it has no recipients"
	case in.MessageID == "" || app.HasControl(in.MessageID):
		return p, "message_id is missing or has a control character"
	}
	p.archived = id
	e := &p.email
	*e = app.Email{ID: id, TeamID: h.team.ID, KeyID: in.KeyID, TemplateID: in.TemplateID, Source: in.Source,
		Relay: in.Relay, MessageID: in.MessageID, CreatedAt: in.CreatedAt, ScheduledAt: in.ScheduledAt, LastEvent: in.LastEvent, ContentDeletedAt: in.ContentDeletedAt, Insights: in.Insights,
		Mail: app.Mail{Subject: in.Subject, HTML: in.HTML, Text: in.Text, Headers: in.Headers, Tags: in.Tags, TopicID: cmp.Or(h.topics[in.TopicID], in.TopicID)}}
	if !slices.Contains(mail.Sources, e.Source) {
		e.Source = mail.SourceAPI
	}
	var from []app.Address
	for _, list := range []struct {
		to    *[]app.Address
		texts []string
	}{{&from, []string{in.From}}, {&e.To, in.To}, {&e.Cc, in.Cc}, {&e.Bcc, in.Bcc}, {&e.ReplyTo, in.ReplyTo}} {
		if *list.to, ok = readAddresses(list.texts); !ok {
			return p, "an address can't be read"
		}
	}
	e.From = from[0]
	for _, r := range in.Recipients {
		if !over(r.State) || r.Email == "" || len(r.Email) > mailbox.MaxLength || app.HasControl(r.Email) {
			return p, "a recipient has no address that can be one, or what became of it is not over"
		}
		p.recipients = append(p.recipients, db.RecipientState{Address: r.Email, State: r.State})
	}
	if e.Attachments, ok = readAttachments(in.Attachments); !ok {
		return p, "an attachment has no id"
	}
	return p, ""
}

// over reports whether a last event is final.
func over(e app.LastEvent) bool {
	switch e {
	case app.Sent, app.DeliveryDelayed, app.Delivered, app.Opened, app.Clicked, app.Bounced, app.Complained, app.Suppressed, app.Failed, app.Canceled:
		return true
	}
	return false
}

func readAddresses(texts []string) (all []app.Address, ok bool) {
	for _, text := range texts {
		a := app.Address{Local: app.Erased}
		if text != app.Erased {
			var err error
			if a, err = app.ParseAddress(text); err != nil {
				return nil, false
			}
		}
		all = append(all, a)
	}
	return all, true
}

// readFiles reads the contents of attachments, whose ids name their files; a dry run only looks at
// the files.
func (m *importer) readFiles(files []app.Attachment) (reason string, err error) {
	for i := range files {
		a := &files[i]
		file := filepath.Join(m.r.Dir(), archive.FilesDir, a.ID)
		info, err := os.Lstat(file)
		if err != nil || !info.Mode().IsRegular() || info.Size() != a.Size {
			return "the file of an attachment is not there, or not whole", nil
		}
		if !m.Apply {
			continue
		}
		if a.Content, err = os.ReadFile(file); err != nil {
			return "", fmt.Errorf("read an attachment: %w", err)
		}
	}
	return "", nil
}

// readAttachments returns archived attachments without contents; ok is false if one is invalid.
func readAttachments(archived []archive.Attachment) (out []app.Attachment, ok bool) {
	for i := range archived {
		a := &archived[i]
		id, ok := app.ParseID(a.ID)
		if !ok || a.Size < 0 {
			return nil, false
		}
		out = append(out, app.Attachment{ID: id, Filename: a.Filename, ContentType: a.ContentType, ContentID: a.ContentID, Size: a.Size})
	}
	return out, true
}
