package signup

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

// linkPurpose is the purpose that the tokens of links in confirmations are bound to.
const linkPurpose = "opt-in page v1"

const (
	linkVersion   = 1
	linkOnBase    = 1 // flag: the link leads to the host of the base URL
	linkTokenSize = 2 + 2*16
)

// link names an opt-in in the token of a confirmation.
type link struct {
	teamID, id string
	onBase     bool // the link leads to the host of the base URL, which serves it from then on
}

// linkToken returns the token of the pages that confirm and refuse an opt-in.
func (s *Service) linkToken(l link) string {
	b := []byte{linkVersion, 0}
	if l.onBase {
		b[1] = linkOnBase
	}
	for _, id := range []string{l.teamID, l.id} {
		raw := uuid.MustParse(id)
		b = append(b, raw[:]...)
	}
	return s.Sealer.SealToken(linkPurpose, b)
}

func (s *Service) readLink(token string) (l link, ok bool) {
	b, ok := s.Sealer.OpenToken(linkPurpose, token, linkTokenSize, linkTokenSize)
	if !ok || b[0] != linkVersion {
		return l, false
	}
	return link{teamID: uuid.UUID(b[2:18]).String(), id: uuid.UUID(b[18:]).String(), onBase: b[1] == linkOnBase}, true
}

// linkOf returns the link of a token that a host serves. Error: CodeNotFound.
func (s *Service) linkOf(ctx context.Context, host, token string) (link, error) {
	l, ok := s.readLink(token)
	if !ok {
		return l, app.NotFound("page")
	}
	if l.onBase && hostName(host) == baseHost(s.Settings.BaseURL) {
		return l, nil
	}
	serves, err := s.Hosts.Serves(ctx, host, l.teamID)
	if err == nil && !serves {
		err = app.NotFound("page")
	}
	return l, base.Unavailable(err)
}

// opened is what a page of an opt-in was read from.
type opened struct {
	optIn   db.OptIn
	form    *app.Form // nil: none, or deleted
	contact *app.Contact
	view    *OptInView
}

// open reads the page of an opt-in. Error: db.ErrNotFound, also for a team that is being deleted.
func (s *Service) open(r *db.Reader, l link) (*opened, error) {
	p := &opened{}
	var err error
	if p.optIn, err = r.PublicOptIn(l.teamID, l.id); err != nil {
		return nil, err
	}
	o := &p.optIn
	v := &OptInView{Email: o.Email, Status: o.Status, Language: languageOf(o.Request.Language)}
	p.view = v
	if v.Status == app.OptInPending && !clock.Now().Before(linkEnds(o)) {
		v.Status = app.OptInExpired
	}
	if v.Brand, err = r.Brand(l.teamID); err != nil {
		return nil, err
	}
	v.Team = v.Brand.Team
	if o.FormID != "" {
		f, err := r.Form(l.teamID, o.FormID)
		if err == nil {
			p.form, v.RedirectURL = &f, f.RedirectURL
		} else if !errors.Is(err, db.ErrNotFound) {
			return nil, err
		}
	}
	if err := p.readTopics(r); err != nil {
		return nil, err
	}
	if err := p.readFields(r); err != nil {
		return nil, err
	}
	return p, p.readContact(r)
}

// readTopics reads the topics of the page: those of the form, and others that were asked for.
func (p *opened) readTopics(r *db.Reader) (err error) {
	asked := map[string]bool{}
	for _, id := range p.optIn.Request.Topics {
		asked[id] = true
	}
	ids := p.optIn.Request.Topics
	if p.form != nil {
		ids = nil
		for _, t := range p.form.Topics {
			ids = append(ids, t.ID)
		}
		for _, id := range p.optIn.Request.Topics {
			if !p.form.Offers(id) {
				ids = append(ids, id)
			}
		}
	}
	for _, id := range ids {
		if p.view.Topics, err = addTopic(r, p.optIn.TeamID, id, asked[id], p.view.Topics); err != nil {
			return err
		}
	}
	return nil
}

// readFields reads the fields of the page: those of the form, and others with a value.
func (p *opened) readFields(r *db.Reader) error {
	o := &p.optIn
	if p.form != nil {
		fields, err := formFields(r, p.form)
		if err != nil {
			return err
		}
		for _, f := range fields {
			f.Required = false // a person may empty what a stranger typed
			p.view.Fields = append(p.view.Fields, FilledField{FormField: f, Value: o.Request.Value(f.Name)})
		}
	}
	for _, name := range o.Request.Names() {
		if p.hasField(name) {
			continue
		}
		v, isProperty := o.Request.Properties[name]
		p.view.Fields = append(p.view.Fields, FilledField{FormField: FormField{Name: name, Label: name, Number: isProperty && v.Type == app.NumberProperty}, Value: o.Request.Value(name)})
	}
	return nil
}

func (p *opened) hasField(name string) bool {
	for _, f := range p.view.Fields {
		if f.Name == name {
			return true
		}
	}
	return false
}

// readContact reads what is known of the address: a page that only its owner can open shows that.
func (p *opened) readContact(r *db.Reader) error {
	o := &p.optIn
	c, err := r.ContactByAddress(o.TeamID, o.Hash)
	if err == nil {
		p.contact, p.view.Unsubscribed = &c, c.Unsubscribed
	} else if !errors.Is(err, db.ErrNotFound) {
		return err
	}
	suppression, err := r.SuppressionByAddress(o.TeamID, o.Hash)
	switch {
	case errors.Is(err, db.ErrNotFound):
		return nil
	case err != nil:
		return err
	case suppression.Origin == app.OriginUnsubscribe:
		p.view.Unsubscribed = true
	default:
		p.view.Suppressed = true
	}
	return nil
}
