package signup

import (
	"context"
	"errors"
	"slices"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// OptInPage returns what the page of a link in a confirmation shows, and changes nothing. Error:
// CodeNotFound.
func (s *Service) OptInPage(ctx context.Context, host, token string) (*OptInView, error) {
	p, err := s.openPage(ctx, host, token)
	if err != nil {
		return nil, err
	}
	return p.view, nil
}

func (s *Service) openPage(ctx context.Context, host, token string) (*opened, error) {
	l, err := s.linkOf(ctx, host, token)
	if err != nil {
		return nil, err
	}
	p, err := db.Get(ctx, s.DB, func(r *db.Reader) (*opened, error) { return s.open(r, l) })
	return p, base.Lookup("page", err)
}

// Confirm confirms an opt-in: it creates or completes the contact with what is on the page, stores the
// consent, and accepts the welcome mail, in one Write. A second call changes nothing but Again. An opt-in
// that was refused, or whose link is too old, is returned unchanged. Errors: CodeNotFound; CodeValidation
// for a value; CodeServiceUnavailable, also if the plan of the team holds no more contacts.
func (s *Service) Confirm(ctx context.Context, host, token string, d *Decision) (*OptInView, error) {
	defer s.Load.Enter()()
	if err := s.Ready(); err != nil {
		return nil, err
	}
	p, err := s.openPage(ctx, host, token)
	if err != nil {
		return nil, err
	}
	again := d.Again && p.view.Unsubscribed
	switch {
	case p.view.Status == app.OptInConfirmed && again:
		return s.again(ctx, p, d)
	case p.view.Status != app.OptInPending:
		return p.view, nil
	}
	values, err := readValues(p.plainFields(), d.Values)
	if err != nil {
		return nil, err
	}
	welcome, err := s.welcomeMail(ctx, p, &values)
	if err != nil {
		return nil, err
	}
	l := link{teamID: p.optIn.TeamID, id: p.optIn.ID}
	var view *OptInView
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		now, err := s.open(&tx.Reader, l)
		if err != nil {
			return err
		}
		if view = now.view; view.Status != app.OptInPending {
			return nil // another request decided meanwhile
		}
		again := d.Again && view.Unsubscribed
		if err := s.confirm(tx, now, d, &values, again); err != nil {
			return err
		}
		after, err := s.open(&tx.Reader, l)
		if err != nil {
			return err
		}
		view = after.view
		view.Again = again && !view.Unsubscribed
		return s.acceptWelcome(tx, welcome)
	})
	if app.CodeOf(err) == app.CodePlanLimitReached {
		return nil, &app.Error{Code: app.CodeServiceUnavailable, Message: "This can't be confirmed now; try again later", Err: err}
	}
	return view, base.Lookup("page", err)
}

// plainFields returns the fields of the page without their values.
func (p *opened) plainFields() (fields []FormField) {
	for _, f := range p.view.Fields {
		fields = append(fields, f.FormField)
	}
	return fields
}

// confirm stores a confirmed opt-in. Errors: those of audience.PutConfirmed.
func (s *Service) confirm(tx *db.Tx, p *opened, d *Decision, values *typed, again bool) error {
	o := &p.optIn
	chosen := p.chosen(d.Topics)
	_, key, err := app.ParseBareAddress(o.Email)
	if err != nil {
		return db.ErrNotFound // erased
	}
	n := &app.NewContact{Key: key, Contact: app.Contact{Email: o.Email, FirstName: values.firstName, LastName: values.lastName},
		Changes: values.changes(), Segments: o.Request.Segments, Topics: optIns(chosen)}
	c, err := s.audience.PutConfirmed(tx, o.TeamID, n, again)
	if err != nil {
		return err
	}
	if err := tx.DecideOptIn(o.TeamID, o.ID, app.OptInConfirmed, c.ID); err != nil {
		return err
	}
	if err := s.settle(tx, o, key); err != nil {
		return err
	}
	if err := tx.DeleteRefusal(o.TeamID, o.Hash); err != nil {
		return err
	}
	if err := s.insertConsent(tx, o, p.confirmedConsent(tx, d, chosen, again), c.ID); err != nil {
		return err
	}
	tx.AfterCommit(func() { s.Metrics.OptIns("confirmed", 1) })
	if err := tx.CountForm(o.TeamID, o.FormID, db.FormCounts{Confirmed: 1}); err != nil {
		return err
	}
	done := o.SignUp
	done.Status, done.ContactID, done.DecidedAt, done.Request.Topics = app.OptInConfirmed, c.ID, tx.Now, chosen
	return s.announce(tx, webhook.ContactOptInConfirmed, &done)
}

// chosen returns the topics of the page among some ids.
func (p *opened) chosen(ids []string) (chosen []string) {
	for _, t := range p.view.Topics {
		if slices.Contains(ids, t.ID) {
			chosen = append(chosen, t.ID)
		}
	}
	return chosen
}

func (p *opened) confirmedConsent(tx *db.Tx, d *Decision, chosen []string, again bool) app.ConsentRecord {
	r := consentOf(&p.optIn, p.view.Topics, chosen)
	r.ConfirmText, r.ConfirmedAt, r.Resubscribed = cleanText(d.Text, maxText), tx.Now, again
	if d.Client.IsValid() {
		r.ConfirmedBy.IP = d.Client.Unmap().String()
	}
	r.ConfirmedBy.UserAgent = cleanText(d.UserAgent, maxUserAgent)
	return r
}

// settle takes the confirmations of the team to an address off its count, after a decision of the person.
func (s *Service) settle(tx *db.Tx, o *db.OptIn, key app.AddressKey) error {
	return tx.SettleConfirmations(s.personOf(key), o.TeamID)
}

// again subscribes the contact of a confirmed opt-in again, and records that.
func (s *Service) again(ctx context.Context, p *opened, d *Decision) (*OptInView, error) {
	l := link{teamID: p.optIn.TeamID, id: p.optIn.ID}
	var view *OptInView
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		now, err := s.open(&tx.Reader, l)
		if err != nil {
			return err
		}
		view = now.view
		if now.contact == nil || !view.Unsubscribed || view.Status != app.OptInConfirmed {
			return nil
		}
		if _, err := s.audience.SubscribeAgain(tx, *now.contact); err != nil {
			return err
		}
		if err := s.insertConsent(tx, &now.optIn, now.confirmedConsent(tx, d, nil, true), now.contact.ID); err != nil {
			return err
		}
		after, err := s.open(&tx.Reader, l)
		if err != nil {
			return err
		}
		view = after.view
		view.Again = !view.Unsubscribed
		return nil
	})
	return view, base.Lookup("page", err)
}

// Refuse refuses an opt-in: the team sends the address no confirmation for a year. An opt-in that was
// decided is returned unchanged. Error: CodeNotFound.
func (s *Service) Refuse(ctx context.Context, host, token string, _ app.Visitor) (*OptInView, error) {
	defer s.Load.Enter()()
	p, err := s.openPage(ctx, host, token)
	if err != nil {
		return nil, err
	}
	if p.optIn.Status != app.OptInPending && p.optIn.Status != app.OptInExpired {
		return p.view, nil
	}
	l := link{teamID: p.optIn.TeamID, id: p.optIn.ID}
	_, key, err := app.ParseBareAddress(p.optIn.Email)
	if err != nil {
		return p.view, nil // erased
	}
	var view *OptInView
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error { // like an opt-out, also on a full disk
		now, err := s.open(&tx.Reader, l)
		if err != nil {
			return err
		}
		view = now.view
		o := &now.optIn
		if o.Status != app.OptInPending && o.Status != app.OptInExpired {
			return nil
		}
		if err := tx.RefuseOptIn(o.TeamID, o.ID); err != nil {
			return err
		}
		if err := tx.InsertRefusal(o.TeamID, o.Hash, tx.Now.Add(app.RefusedFor)); err != nil {
			return err
		}
		if err := s.settle(tx, o, key); err != nil {
			return err
		}
		view.Status = app.OptInRefused
		tx.AfterCommit(func() { s.Metrics.OptIns("refused", 1) })
		return tx.CountForm(o.TeamID, o.FormID, db.FormCounts{Refused: 1})
	})
	return view, base.Lookup("page", err)
}

// welcomeMail makes the welcome mail of a form; nil: none. A template that can't be rendered is logged: it
// must not keep a person from confirming.
func (s *Service) welcomeMail(ctx context.Context, p *opened, values *typed) (*app.Email, error) {
	f := p.form
	if f == nil || f.WelcomeTemplate == "" {
		return nil, nil
	}
	declared, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]app.TemplateVariable, error) {
		t, err := r.Template(f.TeamID, f.WelcomeTemplate)
		if err != nil {
			return nil, err
		}
		c, err := r.TemplateContent(f.TeamID, t.PublishedID)
		return c.Variables, err
	})
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil // deleted
	}
	if err != nil {
		return nil, base.Unavailable(err)
	}
	use := &app.TemplateUse{ID: f.WelcomeTemplate, Language: p.view.Language, Variables: map[string]app.PropertyValue{}}
	for _, v := range declared {
		if text := values.text(v.Key); text != "" && v.Type == app.StringProperty {
			use.Variables[v.Key] = app.PropertyValue{Type: app.StringProperty, Text: text}
		} else if n, ok := values.properties[v.Key]; ok && n.Type == v.Type {
			use.Variables[v.Key] = n
		} else if v.Fallback == nil && v.Key != app.ViewKey {
			use.Variables[v.Key] = app.PropertyValue{Type: v.Type} // emptied by the person
		}
	}
	in := &app.EmailInput{From: f.From, To: []string{p.optIn.Email}, Template: use}
	if f.ReplyTo != "" {
		in.ReplyTo = []string{f.ReplyTo}
	}
	email, err := s.mail.Prepare(ctx, f.TeamID, "", in)
	if refusal := (*app.Error)(nil); errors.As(err, &refusal) && refusal.Code != app.CodeServiceUnavailable {
		s.Log.Warn("a welcome mail can't be made", "team", f.TeamID, "form", f.ID, "err", err)
		return nil, nil
	}
	return email, base.Unavailable(err)
}

// text returns a value as text; empty: none.
func (t *typed) text(key string) string {
	switch key {
	case app.FirstNameField:
		return t.firstName
	case app.LastNameField:
		return t.lastName
	}
	if v, ok := t.properties[key]; ok && v.Type == app.StringProperty {
		return v.Text
	}
	return ""
}

// acceptWelcome accepts a welcome mail. One that the team may not send is logged and left out.
func (s *Service) acceptWelcome(tx *db.Tx, email *app.Email) error {
	if email == nil {
		return nil
	}
	err := s.mail.Accept(tx, email)
	if refusal := (*app.Error)(nil); errors.As(err, &refusal) { // nothing was written
		tx.AfterCommit(func() { s.Log.Warn("a welcome mail was not accepted", "team", email.TeamID, "err", refusal) })
		return nil
	}
	return err
}
