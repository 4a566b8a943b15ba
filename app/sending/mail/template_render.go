package mail

import (
	"context"
	"errors"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/kit/htmltext"
	"mailer/app/rules/render"
	"mailer/db"
)

// PreviewPage is the path of the unsubscribe page in previews. It unsubscribes nobody.
const PreviewPage = "/unsubscribe/preview"

// PreviewView is the path of the page of VIEW_URL in previews. It shows no mail.
const PreviewView = "/view/preview"

// RenderTemplate renders a template with values as a send does: the edited version or the published
// one. Errors: CodeNotFound, CodeValidation, also for the published version of a draft.
func (s *Templates) RenderTemplate(ctx context.Context, key *app.Key, use app.TemplateUse, published bool) (*render.Rendered, error) {
	content, err := s.versionOf(ctx, key, use.ID, published)
	if err != nil {
		return nil, err
	}
	if err := use.Validate(); err != nil {
		return nil, wrapVariablesError(err)
	}
	permits := s.service.NewRenderer(key)
	defer permits.Close()
	if err := permits.TakePermit(ctx); err != nil {
		return nil, err
	}
	content, err = db.Get(ctx, s.service.DB, func(r *db.Reader) (*app.TemplateContent, error) { return withBlocks(r, key.TeamID, *content) })
	if err != nil {
		return nil, base.Unavailable(err)
	}
	values := use.Variables
	if content.DeclaresViewURL() {
		values = withViewURL(values, s.service.Settings.BaseURL+PreviewView)
	}
	language := render.Language(content.Variants, use.Language)
	out, err := render.Template(content.In(language), values, nil, true, clock.Now(), app.MaxRendered)
	if err != nil {
		return nil, wrapVariablesError(err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err // the caller has canceled
	}
	page := s.service.Settings.BaseURL + PreviewPage
	out.HTML = render.ReplaceUnsubscribe(out.HTML, page)
	text := htmltext.PlainText(out.HTML)
	if out.Text != nil {
		text = render.ReplaceUnsubscribe(*out.Text, page)
	}
	out.Text, out.Language = &text, language
	return out, nil
}

// versionOf reads the content of a template.
func (s *Templates) versionOf(ctx context.Context, key *app.Key, name string, published bool) (*app.TemplateContent, error) {
	if !published {
		t, err := s.GetTemplate(ctx, key, name)
		return &t.TemplateContent, err
	}
	var content app.TemplateContent
	err := s.service.DB.Read(ctx, func(r *db.Reader) error {
		t, err := r.Template(key.TeamID, name)
		if err != nil {
			return err
		}
		if t.PublishedID == "" {
			return app.Invalid("version", "is published, and this template is a draft")
		}
		content, err = r.TemplateContent(key.TeamID, t.PublishedID)
		return err
	})
	return &content, base.Lookup("template", err)
}

// wrapVariablesError renames the field of an error that is not about a send.
func wrapVariablesError(err error) error {
	var refusal *app.Error
	if !errors.As(err, &refusal) {
		return err
	}
	text := *refusal
	text.Message = strings.Replace(text.Message, "`template.", "`", 1)
	return &text
}

// RenderForBroadcast renders the published version of a template as the content of a broadcast in plain
// syntax. Links to pages of a recipient stay placeholders. from is the sender of the template; empty:
// none. Errors: those of RenderTemplate.
func (s *Templates) RenderForBroadcast(ctx context.Context, key *app.Key, id string, values map[string]app.PropertyValue) (out *render.Rendered, from string, err error) {
	content, err := s.versionOf(ctx, key, id, true)
	if err != nil {
		return nil, "", err
	}
	permits := s.service.NewRenderer(key)
	defer permits.Close()
	if err := permits.TakePermit(ctx); err != nil {
		return nil, "", err
	}
	content, err = db.Get(ctx, s.service.DB, func(r *db.Reader) (*app.TemplateContent, error) { return withBlocks(r, key.TeamID, *content) })
	if err != nil {
		return nil, "", base.Unavailable(err)
	}
	if content.DeclaresViewURL() {
		values = withViewURL(values, "{{{"+app.ViewKey+"}}}")
	}
	out, err = render.Template(content.In(""), values, nil, true, clock.Now(), app.MaxRendered)
	return out, content.From, wrapVariablesError(err)
}
