package broadcasts

import (
	"context"

	"mailer/app"
	"mailer/app/service"
	"mailer/db"
)

// draft is what a version keeps of a broadcast.
type draft struct {
	Name    string   `json:"name"`
	From    string   `json:"from"`
	ReplyTo []string `json:"reply_to,omitzero"`
	Subject string   `json:"subject"`
	Preview string   `json:"preview,omitzero"`
	HTML    string   `json:"html,omitzero"`
	Text    *string  `json:"text,omitzero"`
}

func draftOf(b *app.Broadcast) *draft {
	d := &draft{Name: b.Name, From: b.From.String(), Subject: b.Subject, Preview: b.Preview, HTML: b.HTML, Text: b.Text}
	for _, a := range b.ReplyTo {
		d.ReplyTo = append(d.ReplyTo, a.String())
	}
	return d
}

// patch changes a broadcast to what a version says. An address that was erased since
// does not come back.
func (d *draft) patch() app.BroadcastPatch {
	text := func(s string) app.Change[string] { return app.Change[string]{Set: true, Null: s == "", Value: s} }
	p := app.BroadcastPatch{Name: text(d.Name), Subject: d.Subject, Preview: text(d.Preview), HTML: text(d.HTML), Text: app.Change[string]{Set: true, Null: d.Text == nil}}
	if d.Text != nil {
		p.Text.Value = *d.Text
	}
	if _, err := app.ParseAddress(d.From); err == nil {
		p.From = d.From
	}
	for _, s := range d.ReplyTo {
		if _, err := app.ParseAddress(s); err == nil {
			p.ReplyTo.Value = append(p.ReplyTo.Value, s)
		}
	}
	p.ReplyTo.Set, p.ReplyTo.Null = true, len(p.ReplyTo.Value) == 0
	return p
}

// ListVersions returns a page of what a broadcast said before, newest first, and whether
// there are more. Errors: CodeNotFound, CodeValidation.
func (s *Reviews) ListVersions(ctx context.Context, key *app.Key, id string, page app.Page) ([]service.Version, bool, error) {
	rows, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]service.Version, error) {
		if _, err := r.BroadcastHead(key.TeamID, id); err != nil {
			return nil, err
		}
		return r.Versions(key.TeamID, id)
	})
	if err != nil {
		return nil, false, service.Lookup("broadcast", err)
	}
	return service.Cut(rows, page, func(v *service.Version) string { return v.ID })
}

// RestoreVersion has a draft say again what a version says, which is named by its number
// or its id. What the draft says now becomes a version. Errors: CodeNotFound,
// CodeInvalidParameter for what is no draft.
func (s *Reviews) RestoreVersion(ctx context.Context, key *app.Key, id, version string) (BroadcastView, error) {
	var was draft
	err := s.DB.Read(ctx, func(r *db.Reader) error {
		b, err := r.BroadcastHead(key.TeamID, id)
		if err != nil {
			return err
		}
		if err := onlyDraft(&b, "edited"); err != nil {
			return err
		}
		return service.FindVersion(r, key.TeamID, id, version, &was)
	})
	if err != nil {
		return BroadcastView{}, service.Lookup("broadcast", err)
	}
	return s.editDraft(ctx, key, id, was.patch(), true)
}
