package mail

import (
	"context"
	"errors"
	"maps"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/render"
	"mailer/db"
)

// Limits of rendered templates in memory: a request may render SmallRender bytes without a permit,
// and up to app.MaxRendered with one of largeRenders permits.
const (
	SmallRender  = 512 << 10
	largeRenders = 4
)

// renders holds the permits to render large mails. The HTTP layer bounds request bodies, but a
// small body with a template can become a large mail.
type renders chan struct{}

// renderer renders the sends of one request that use templates. It reads each template once, so
// that a batch uses one version.
type renderer struct {
	s             *Service
	key           *app.Key
	templates     map[string]*app.TemplateContent
	renderedBytes int  // bytes of all bodies so far, templates included
	permit        bool // it may render app.MaxRendered
}

// NewRenderer makes the renderer of one request. It must be closed.
func (s *Service) NewRenderer(key *app.Key) *renderer {
	return &renderer{s: s, key: key, templates: map[string]*app.TemplateContent{}}
}

// Close releases the permit.
func (r *renderer) Close() {
	if r.permit {
		<-r.s.renders
	}
}

// email makes the email of a send with a template, after the checks that come before that of the
// from-domain. Errors: CodeNotFound for the topic or the template, CodeValidation,
// CodePayloadTooLarge, CodeRestrictedAPIKey.
func (r *renderer) email(ctx context.Context, in *app.EmailInput) (*app.Email, error) {
	if err := r.topic(ctx, in.TopicID); err != nil {
		return nil, err
	}
	content, err := r.content(ctx, in.Template.ID)
	if err != nil {
		return nil, err
	}
	id := app.NewID()
	filled, err := r.fill(ctx, r.withViewURL(in, content, id), content)
	if err != nil {
		return nil, err
	}
	email, err := NewEmail(r.key, filled)
	if err != nil {
		return nil, err
	}
	email.ID, email.MessageID = id, app.EmailMessageID(id, email.From.Domain)
	email.TemplateID = content.ID
	return email, r.s.addPageLink(email)
}

// withViewURL returns the send with the URL of the page that shows the email with an id, if its
// template declares app.ViewKey and the send gives no value for it.
func (r *renderer) withViewURL(in *app.EmailInput, c *app.TemplateContent, id string) *app.EmailInput {
	if _, given := in.Template.Variables[app.ViewKey]; given || !c.DeclaresViewURL() || r.s.Settings.BaseURL == "" {
		return in
	}
	out, use := *in, *in.Template
	use.Variables = withViewURL(use.Variables, r.s.Sealer.ViewURL(r.s.Settings.BaseURL, r.key.TeamID, id))
	out.Template = &use
	return &out
}

func withViewURL(values map[string]app.PropertyValue, url string) map[string]app.PropertyValue {
	out := map[string]app.PropertyValue{app.ViewKey: {Type: app.StringProperty, Text: url}}
	maps.Copy(out, values)
	return out
}

func (r *renderer) topic(ctx context.Context, id string) error {
	id, ok := app.ParseID(id)
	if !ok {
		return nil // no topic: the input was validated
	}
	return base.Lookup("topic", r.s.DB.Read(ctx, func(rd *db.Reader) error { return rd.TopicExists(r.key.TeamID, id) }))
}

// content returns the published version of a template. It reads outside of Write, since a version
// never changes.
func (r *renderer) content(ctx context.Context, name string) (*app.TemplateContent, error) {
	if c := r.templates[name]; c != nil {
		return c, nil
	}
	c, err := r.read(ctx, name, false)
	if errors.Is(err, errNeedsPermit) {
		if err := r.TakePermit(ctx); err != nil {
			return nil, err
		}
		c, err = r.read(ctx, name, true)
	}
	if err != nil {
		return nil, base.Lookup("template", err)
	}
	r.renderedBytes += c.Size()
	r.templates[name] = c
	return c, nil
}

// errNeedsPermit: the template exceeds SmallRender.
var errNeedsPermit = errors.New("a large template needs a permit")

func (r *renderer) read(ctx context.Context, name string, permit bool) (c *app.TemplateContent, err error) {
	err = r.s.DB.Read(ctx, func(rd *db.Reader) error {
		t, err := rd.Template(r.key.TeamID, name)
		if err != nil {
			return err
		}
		if t.PublishedID == "" {
			return app.Invalid("template.id", "names a template that is not published; publish it first")
		}
		size, err := rd.TemplateSize(r.key.TeamID, t.PublishedID)
		if err != nil {
			return err
		}
		switch {
		case !permit && !r.permit && r.renderedBytes+size > SmallRender:
			return errNeedsPermit
		case r.renderedBytes+size > 2*app.MaxRendered: // the template and its rendered text
			return app.Errorf(app.CodePayloadTooLarge, "The templates of a request may hold %d bytes together", app.MaxRendered)
		}
		content, err := rd.TemplateContent(r.key.TeamID, t.PublishedID)
		if err != nil {
			return err
		}
		content.ID = t.ID
		c, err = withBlocks(rd, r.key.TeamID, content)
		return err
	})
	return c, err
}

// fill renders the template. A large result is rendered again with a permit.
func (r *renderer) fill(ctx context.Context, in *app.EmailInput, c *app.TemplateContent) (*app.EmailInput, error) {
	if !r.permit {
		filled, err := r.fillUpTo(in, c, SmallRender)
		if app.CodeOf(err) != app.CodePayloadTooLarge {
			return filled, err
		}
		if err := r.TakePermit(ctx); err != nil {
			return nil, err
		}
	}
	return r.fillUpTo(in, c, 2*app.MaxRendered)
}

// fillUpTo renders while the total of the request stays within limit bytes.
func (r *renderer) fillUpTo(in *app.EmailInput, c *app.TemplateContent, limit int) (*app.EmailInput, error) {
	filled, err := render.Fill(in, c, clock.Now(), min(limit-r.renderedBytes, app.MaxRendered))
	if err != nil {
		return nil, err
	}
	r.renderedBytes += len(filled.HTML)
	if filled.Text != nil {
		r.renderedBytes += len(*filled.Text)
	}
	return filled, nil
}

// TakePermit waits for a permit. A renderer holds at most one.
func (r *renderer) TakePermit(ctx context.Context) error {
	if r.permit || ctx.Err() != nil { // otherwise select could choose a free permit for a canceled ctx
		return ctx.Err()
	}
	select {
	case r.s.renders <- struct{}{}:
		r.permit = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
