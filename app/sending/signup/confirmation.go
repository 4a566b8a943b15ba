package signup

import (
	"context"
	"errors"
	"html"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/brand"
	"mailer/db"
)

// confirmation makes the mail that asks an address to confirm an opt-in. It holds nothing that a visitor
// typed but the address that it goes to. Errors: CodeConflict if no host serves its pages; those of
// mail.Prepare.
func (s *Service) confirmation(ctx context.Context, o *db.OptIn, form *app.Form) (*app.Email, error) {
	at, err := s.Hosts.BaseOf(ctx, o.TeamID)
	if err != nil {
		return nil, err
	}
	if at == "" {
		return nil, errNoHost()
	}
	token := s.linkToken(link{teamID: o.TeamID, id: o.ID, onBase: at == s.Settings.BaseURL})
	m := message{confirm: at + "/opt-in/" + token, refuse: at + "/opt-in/" + token + "/refuse", language: languageOf(o.Request.Language), at: at}
	err = s.DB.Read(ctx, func(r *db.Reader) error { return m.read(r, o) })
	if err != nil {
		return nil, base.Unavailable(err)
	}
	in := &app.EmailInput{To: []string{o.Email}}
	if form != nil {
		in.From = form.From
		if form.ReplyTo != "" {
			in.ReplyTo = []string{form.ReplyTo}
		}
	} else if in.From, err = s.senderOf(ctx, o.TeamID, m.brand.Team); err != nil {
		return nil, err
	}
	if form != nil && form.ConfirmationTemplate != "" {
		email, err := s.fromTemplate(ctx, o, form, in, &m)
		if err != nil || email != nil {
			return email, err
		}
	}
	in.Subject, in.HTML = m.subject(), m.html()
	text := m.text()
	in.Text = &text
	return s.mail.Prepare(ctx, o.TeamID, o.ID, in)
}

func errNoHost() error {
	return app.Errorf(app.CodeConflict, "No host serves pages of this team: set a pages host of the team, or ask the operator of the server, which has several teams, to set --pages-host")
}

// fromTemplate makes a confirmation from the template of a form; nil: the template does not fit any more,
// and the built-in mail is sent.
func (s *Service) fromTemplate(ctx context.Context, o *db.OptIn, form *app.Form, in *app.EmailInput, m *message) (*app.Email, error) {
	key := &app.Key{TeamID: o.TeamID}
	c, err := s.publishedTemplate(ctx, key, "confirmation_template", form.ConfirmationTemplate)
	if err == nil {
		err = c.CheckConfirmation("confirmation_template")
	}
	var email *app.Email
	if err == nil {
		filled := *in
		filled.Template = &app.TemplateUse{ID: form.ConfirmationTemplate, Language: m.language, Variables: confirmationValues(c, m.confirm, m.refuse, form.Name)}
		email, err = s.mail.Prepare(ctx, o.TeamID, o.ID, &filled)
	}
	refusal := (*app.Error)(nil)
	switch {
	case errors.As(err, &refusal) && (refusal.Code == app.CodeValidation || refusal.Code == app.CodeNotFound):
		s.Log.Warn("the template of confirmations of a form can't be used: the built-in mail is sent", "team", o.TeamID, "form", form.ID, "err", err)
		return nil, nil
	case err != nil:
		return nil, err
	case !strings.Contains(email.HTML, m.confirm) || !strings.Contains(email.HTML, m.refuse) || email.NeedsUnsubscribePage():
		return nil, nil
	}
	return email, nil
}

// senderOf returns the sender of a confirmation that was asked for by API. Error: CodeValidation if the
// team has no verified domain.
func (s *Service) senderOf(ctx context.Context, teamID, team string) (string, error) {
	name, err := db.Get(ctx, s.DB, func(r *db.Reader) (string, error) {
		name, err := r.VerifiedDomain(teamID)
		if errors.Is(err, db.ErrNotFound) && s.Settings.Capture {
			return "capture.invalid", nil
		}
		return name, err
	})
	if errors.Is(err, db.ErrNotFound) {
		return "", app.Errorf(app.CodeValidation, "This team has no verified domain to send the confirmation from; verify one, or name a `form`")
	}
	if err != nil {
		return "", base.Unavailable(err)
	}
	from := app.Address{Name: app.OneLine(team), Local: "no-reply", Domain: name}
	if _, err := app.ParseAddress(from.String()); err != nil {
		from.Name = ""
	}
	return from.String(), nil
}

// message is the built-in mail of a confirmation.
type message struct {
	confirm, refuse string
	language        string
	at              string // URL of the host of the pages
	brand           brand.Brand
	topics          []FormTopic // that were asked for
}

func (m *message) read(r *db.Reader, o *db.OptIn) (err error) {
	if m.brand, err = r.Brand(o.TeamID); err != nil {
		return err
	}
	for _, id := range o.Request.Topics {
		if m.topics, err = addTopic(r, o.TeamID, id, true, m.topics); err != nil {
			return err
		}
	}
	return nil
}

// say returns a text of the mail in its language, with the name of the team.
func (m *message) say(text func(*mailTexts) string) string {
	return strings.ReplaceAll(text(texts[m.language]), "{team}", m.brand.Team)
}

func (m *message) subject() string {
	return app.CutText(app.OneLine(m.say(func(t *mailTexts) string { return t.subject })), maxSubject)
}

// maxSubject bounds the subject of the built-in mail, in bytes.
const maxSubject = 200

// text returns the plain text of the mail.
func (m *message) text() string {
	var b strings.Builder
	b.WriteString(m.say(func(t *mailTexts) string { return t.ask }) + "\n")
	if len(m.topics) > 0 {
		b.WriteString("\n" + m.say(func(t *mailTexts) string { return t.topics }) + "\n")
		for _, t := range m.topics {
			b.WriteString("- " + app.OneLine(t.Name) + "\n")
		}
	}
	b.WriteString("\n" + m.say(func(t *mailTexts) string { return t.confirm }) + ":\n" + m.confirm + "\n\n")
	b.WriteString(m.say(func(t *mailTexts) string { return t.valid }) + "\n\n")
	b.WriteString(m.say(func(t *mailTexts) string { return t.ignore }) + "\n\n")
	b.WriteString(m.say(func(t *mailTexts) string { return t.refuse }) + ":\n" + m.refuse + "\n")
	if m.brand.Footer != "" {
		b.WriteString("\n-- \n" + m.brand.Footer + "\n")
	}
	return b.String()
}

// html returns the HTML of the mail, in the brand of the team.
func (m *message) html() string {
	color := m.brand.Color
	if color == "" {
		color = brand.Ink
	}
	say := func(text func(*mailTexts) string) string { return html.EscapeString(m.say(text)) }
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang="` + m.language + `"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>` +
		html.EscapeString(m.subject()) + `</title></head><body style="margin:0;background:` + brand.PageGround + `;color:` + brand.Ink + `;font-family:` + m.brand.Font.Stack() + `;font-size:16px;line-height:1.5">` +
		`<table role="presentation" width="100%" cellpadding="0" cellspacing="0"><tr><td align="center" style="padding:24px 12px"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:560px;background:#ffffff;border-radius:8px"><tr><td style="padding:32px">`)
	if logo := m.brand.Address(m.at); logo != "" {
		b.WriteString(`<p style="margin:0 0 24px"><img src="` + html.EscapeString(logo) + `" alt="` + html.EscapeString(m.brand.Team) + `" style="max-width:240px;max-height:80px;border:0"></p>`)
	}
	b.WriteString(`<p style="margin:0 0 16px">` + say(func(t *mailTexts) string { return t.ask }) + `</p>`)
	if len(m.topics) > 0 {
		b.WriteString(`<p style="margin:0">` + say(func(t *mailTexts) string { return t.topics }) + `</p><ul style="margin:0 0 16px;padding-left:24px">`)
		for _, t := range m.topics {
			b.WriteString(`<li>` + html.EscapeString(app.OneLine(t.Name)) + `</li>`)
		}
		b.WriteString(`</ul>`)
	}
	b.WriteString(`<p style="margin:24px 0"><a href="` + html.EscapeString(m.confirm) + `" style="display:inline-block;padding:12px 24px;border-radius:6px;background:` + color + `;color:` + brand.OnColor(color) +
		`;text-decoration:none;font-weight:bold">` + say(func(t *mailTexts) string { return t.confirm }) + `</a></p>`)
	b.WriteString(`<p style="margin:0 0 16px">` + say(func(t *mailTexts) string { return t.valid }) + `</p><p style="margin:0 0 16px">` + say(func(t *mailTexts) string { return t.ignore }) +
		`</p><p style="margin:0"><a href="` + html.EscapeString(m.refuse) + `" style="color:` + brand.Ink + `">` + say(func(t *mailTexts) string { return t.refuse }) + `</a></p>`)
	if m.brand.Footer != "" {
		b.WriteString(`<p style="margin:32px 0 0;padding-top:16px;border-top:1px solid #dddddd;font-size:13px">` + strings.ReplaceAll(html.EscapeString(m.brand.Footer), "\n", "<br>") + `</p>`)
	}
	b.WriteString(`</td></tr></table></td></tr></table></body></html>`)
	return b.String()
}
