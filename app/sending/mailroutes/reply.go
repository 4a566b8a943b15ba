package mailroutes

import (
	"context"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// reply answers a received email with a template. Nothing of the email is quoted. Errors: those of mail.Accept.
func (s *Service) reply(ctx context.Context, w *db.RouteWork, e *app.Received, effect app.RouteEffect) error {
	use := &app.TemplateUse{ID: w.TemplateID, Variables: map[string]app.PropertyValue{}}
	err := s.DB.Read(ctx, func(r *db.Reader) error {
		t, err := r.Template(w.TeamID, w.TemplateID)
		if err != nil {
			return err
		}
		content, err := r.TemplateContent(w.TeamID, t.PublishedID)
		if err != nil {
			return err
		}
		if e.ContactID != "" && app.KeyOf(e.MailFrom) == app.KeyOf(e.FromEmail) { // the data of a contact goes to nobody else
			c, err := r.Contact(w.TeamID, e.ContactID)
			if err == nil {
				use.Contact, use.Language = &c, c.Properties["language"].Text
			} else if base.IgnoreNotFound(err) != nil {
				return err
			}
		}
		fillVariables(use, content.Variables)
		return nil
	})
	if err != nil {
		return base.Lookup("template", err)
	}
	if _, ok := app.WantedLanguage(use.Language); !ok {
		use.Language = ""
	}
	from, err := app.ParseAddress(e.Recipients[w.Recipient])
	if err != nil {
		return app.Errorf(app.CodeValidation, "The address that received it can't be a sender")
	}
	headers := map[string]string{}
	addReferences(headers, nil, e.MessageID)
	if id := headers["References"]; id != "" {
		headers["In-Reply-To"] = id
	}
	email, err := s.mail.Prepare(ctx, w.TeamID, "", &app.EmailInput{From: from.Mailbox(), To: []string{e.MailFrom}, Template: use, Headers: headers})
	if err != nil {
		return err
	}
	addHeader(email, "Auto-Submitted", "auto-replied")
	return s.accept(ctx, w, effect, email, func(*db.Reader) (string, error) { return "", nil })
}

// fillVariables sets variables of a template to the properties of the contact, and those without a value and a
// fallback an empty one.
func fillVariables(use *app.TemplateUse, declared []app.TemplateVariable) {
	for _, v := range declared {
		if use.Contact != nil {
			if p, ok := use.Contact.Properties[v.Key]; ok && p.Type == v.Type {
				use.Variables[v.Key] = p
				continue
			}
		}
		if v.Fallback == nil && v.Key != app.ViewKey && (v.Type == app.StringProperty || v.Type == app.NumberProperty) {
			use.Variables[v.Key] = app.PropertyValue{Type: v.Type}
		}
	}
}
