package transfer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/rules/archive"
	"mailer/app/sending/mail"
	"mailer/db"
)

// emailCounts counts emails that are not exported.
type emailCounts struct {
	waiting, complete, captured, damaged int
}

// batchEmails is how many emails are listed at a time. Each is read in its own snapshot.
const batchEmails = 200

func (x *export) emails() error {
	if !x.opts.Emails {
		return nil
	}
	var m emailCounts
	err := x.walk(func(after string) (last string, err error) {
		var ids []string
		err = x.DB.Read(x.ctx, func(r *db.Reader) (err error) {
			ids, err = r.EmailIDsAfter(x.team.ID, after, batchEmails)
			return err
		})
		for i := 0; i < len(ids) && err == nil; i++ {
			last = ids[i]
			x.progress(1)
			err = x.email(last, &m)
		}
		return last, err
	})
	if err != nil {
		return err
	}
	for _, left := range []struct {
		n         int
		what, why string
	}{
		{m.waiting, "%d emails were still on their way", "they stay with the old server, which sends them"},
		{m.complete, "%d messages that came by SMTP, as they were handed in", "what they say is exported, not their bytes"},
		{m.captured, "%d captured messages", "what the emails say is exported, not the messages that were made of them"},
		{m.damaged, "%d emails that can't be read", "the database is damaged there: mailer check names them"},
	} {
		if left.n > 0 {
			x.unmovable(fmt.Sprintf(left.what, left.n), left.why)
		}
	}
	if x.w.Count(archive.Emails) > 0 {
		x.unmovable("links in mail that was sent", "those to unsubscribe and those that are tracked lead to the address of the old server and hold with its master key alone: keep it running for a while")
	}
	return nil
}

// history is an email with its related data.
type history struct {
	email      *app.Email
	recipients []db.RecipientState
	events     []app.Event
	over       bool
	raw        int64
	captured   bool
}

func (x *export) history(id string) (h history, err error) {
	err = x.DB.Read(x.ctx, func(r *db.Reader) error {
		if h.over, err = r.IsOver(id); err != nil || !h.over {
			return err
		}
		if h.email, err = r.Email(x.team.ID, id); err != nil {
			return err
		}
		if h.recipients, err = r.RecipientStates(id); err != nil {
			return err
		}
		if h.raw, err = r.RawSize(x.team.ID, id); err != nil {
			return err
		}
		if h.captured, err = r.HasCapture(id); err != nil {
			return err
		}
		h.events, err = mail.TimelineOf(r, h.email)
		return err
	})
	return h, err
}

// email writes a finished email with its events and files.
func (x *export) email(id string, m *emailCounts) error {
	var h history
	err := db.ErrNotFound
	for try := 0; try < 3 && errors.Is(err, db.ErrNotFound); try++ { // its content may be deleted or erased meanwhile
		if h, err = x.history(id); err != nil && errors.Is(err, db.ErrNotFound) {
			return nil
		}
		if err == nil && h.over {
			err = x.files(db.FilesOf(x.team.ID, id, h.email.Attachments))
		}
	}
	switch {
	case errors.Is(err, db.ErrDamaged), errors.Is(err, db.ErrNotFound):
		m.damaged++
		return nil
	case err != nil:
		return err
	case !h.over:
		m.waiting++
		return nil
	}
	if h.raw > 0 {
		m.complete++
	}
	if h.captured {
		m.captured++
	}
	if err := x.put(archive.Emails, emailOf(&h)); err != nil {
		return err
	}
	return x.timeline(&h)
}

func (x *export) timeline(h *history) error {
	slices.SortStableFunc(h.events, func(a, b app.Event) int { return strings.Compare(a.ID, b.ID) })
	for i := range h.events {
		ev := &h.events[i]
		err := x.put(archive.Events, &archive.Event{EmailID: h.email.ID, ID: ev.ID, Type: ev.Type, Recipient: ev.Recipient, CreatedAt: ev.CreatedAt, Detail: ev.Detail})
		if err != nil {
			return err
		}
	}
	return nil
}

func emailOf(h *history) *archive.Email {
	e := h.email
	out := &archive.Email{ID: e.ID, MessageID: e.MessageID, From: e.From.String(), To: addresses(e.To), Cc: addresses(e.Cc), Bcc: addresses(e.Bcc), ReplyTo: addresses(e.ReplyTo),
		Subject: e.Subject, HTML: e.HTML, Text: e.Text, Headers: e.Headers, Tags: e.Tags, TopicID: e.TopicID, TemplateID: e.TemplateID, KeyID: e.KeyID,
		Source: e.Source, Relay: e.Relay, CreatedAt: e.CreatedAt, ScheduledAt: e.ScheduledAt, LastEvent: e.LastEvent, ContentDeletedAt: e.ContentDeletedAt, Insights: e.Insights}
	for _, r := range h.recipients {
		out.Recipients = append(out.Recipients, archive.Recipient{Email: r.Address, State: r.State})
	}
	out.Attachments = attachmentsOf(e.Attachments)
	return out
}

func attachmentsOf(files []app.Attachment) (out []archive.Attachment) {
	for i := range files {
		a := &files[i]
		out = append(out, archive.Attachment{ID: a.ID, Filename: a.Filename, ContentType: a.ContentType, ContentID: a.ContentID, Size: a.Size})
	}
	return out
}

// files writes attachments in pieces. Errors: also db.ErrNotFound if one was deleted meanwhile.
func (x *export) files(files []db.AttachmentFile) error {
	for i := range files {
		if err := x.file(&files[i]); err != nil {
			return err
		}
	}
	return nil
}

func (x *export) file(a *db.AttachmentFile) error {
	dir := filepath.Join(x.w.Dir(), archive.FilesDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of attachments: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, a.ID), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("make the file of an attachment: %w", err)
	}
	return errors.Join(x.write(f, a.Size, func(r *db.Reader, n int) ([]byte, error) { return r.AttachmentPiece(a, n) }), f.Close())
}

// write writes a file of size bytes in the pieces that read returns.
func (x *export) write(f *os.File, size int64, read func(r *db.Reader, n int) ([]byte, error)) (err error) {
	for n := 0; err == nil && size > 0; n++ {
		var piece []byte
		err = x.DB.Read(x.ctx, func(r *db.Reader) (err error) {
			piece, err = read(r, n)
			return err
		})
		if err != nil {
			break
		}
		size -= int64(len(piece))
		if _, err := f.Write(piece); err != nil {
			return fmt.Errorf("write a file: %w", err)
		}
	}
	return err
}
