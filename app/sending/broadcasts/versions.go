package broadcasts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// Draft is the stored content of a version of a broadcast. Attachments have no versions.
type Draft struct {
	Name    string   `json:"name"`
	From    string   `json:"from"`
	ReplyTo []string `json:"reply_to,omitzero"`
	Subject string   `json:"subject"`
	Preview string   `json:"preview,omitzero"`
	HTML    string   `json:"html,omitzero"`
	Text    *string  `json:"text,omitzero"`
	Design  string   `json:"design,omitzero"`
	Syntax  string   `json:"syntax,omitzero"` // empty: plain

	Variants app.Variants `json:"variants,omitzero"`
}

func draftOf(b *app.Broadcast) *Draft {
	d := &Draft{Name: b.Name, From: b.From.String(), Subject: b.Subject, Preview: b.Preview, HTML: b.HTML, Text: b.Text, Design: b.Design, Syntax: string(b.Syntax), Variants: b.Variants}
	for _, a := range b.ReplyTo {
		d.ReplyTo = append(d.ReplyTo, a.String())
	}
	return d
}

// Revision returns a hash of the editable state of a broadcast. It shows concurrent editors of a
// draft that the draft has changed.
func Revision(b *app.Broadcast) (string, error) {
	state := []any{draftOf(b), b.SegmentID, b.TopicID}
	if b.Archive != nil {
		state = append(state, *b.Archive)
	}
	for i := range b.Attachments {
		state = append(state, b.Attachments[i].ID)
	}
	text, err := json.Marshal(state, json.Deterministic(true)) // the variants are a map
	if err != nil {
		return "", fmt.Errorf("encode what broadcast %s says: %w", b.ID, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12]), nil
}

// checkRevision refuses a change that is based on another revision; an empty revision matches any.
func checkRevision(b *app.Broadcast, expected string) error {
	if expected == "" {
		return nil
	}
	current, err := Revision(b)
	if err == nil && current != expected {
		return app.Errorf(app.CodeConflict, "The draft was changed since it was read; read it again")
	}
	return err
}

// patch returns the change that restores a version. Erased addresses are not restored.
func (d *Draft) patch() app.BroadcastPatch {
	text := func(s string) app.Change[string] { return app.Change[string]{Set: true, Null: s == "", Value: s} }
	p := app.BroadcastPatch{Name: text(d.Name), Subject: d.Subject, Preview: text(d.Preview), HTML: text(d.HTML), Design: text(d.Design), Text: app.Change[string]{Set: true, Null: d.Text == nil},
		Syntax: app.Syntax(d.Syntax).String(), Variants: app.ReplaceVariants(d.Variants)}
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

// ListVersions returns a page of the earlier versions of a broadcast, newest first, and whether
// there are more. Errors: CodeNotFound, CodeValidation.
func (s *Reviews) ListVersions(ctx context.Context, key *app.Key, id string, page app.Page) ([]base.Version, bool, error) {
	rows, err := db.Get(ctx, s.service.DB, func(r *db.Reader) ([]base.Version, error) {
		if _, err := r.BroadcastHead(key.TeamID, id); err != nil {
			return nil, err
		}
		return r.Versions(key.TeamID, id)
	})
	if err != nil {
		return nil, false, base.Lookup("broadcast", err)
	}
	return base.Paginate(rows, page, func(v *base.Version) string { return v.ID })
}

// ReadVersion returns an earlier version of a broadcast, by number or id. Errors: CodeNotFound.
func (s *Reviews) ReadVersion(ctx context.Context, key *app.Key, id, version string) (v base.Version, draft Draft, err error) {
	findOwner := func(r *db.Reader) (string, error) {
		b, err := r.BroadcastHead(key.TeamID, id)
		return b.ID, err
	}
	v, err = base.ReadVersion(ctx, s.service.DB, key.TeamID, version, findOwner, &draft)
	return v, draft, base.Lookup("broadcast", err)
}

// RestoreVersion restores a version, named by number or id, to a draft. The previous content of the
// draft becomes a version. Errors: CodeNotFound, CodeInvalidParameter if it is no draft.
func (s *Reviews) RestoreVersion(ctx context.Context, key *app.Key, id, version string) (BroadcastView, error) {
	findDraft := func(r *db.Reader) (string, error) {
		b, err := r.BroadcastHead(key.TeamID, id)
		if err == nil {
			err = checkDraft(&b, "edited")
		}
		return b.ID, err
	}
	var draft Draft
	_, err := base.ReadVersion(ctx, s.service.DB, key.TeamID, version, findDraft, &draft)
	if err != nil {
		return BroadcastView{}, base.Lookup("broadcast", err)
	}
	return s.service.editDraft(ctx, key, id, draft.patch(), true)
}
