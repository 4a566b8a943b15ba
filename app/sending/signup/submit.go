package signup

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// Limits of what is kept of a request, in bytes.
const (
	maxText      = 8000
	maxUserAgent = 500
)

// errUsed: a proof or button was used before.
var errUsed = errors.New("the proof was used before")

// Submit stores a submission of a form. The answer is the same whether the address is new, known,
// unsubscribed or suppressed. Errors: CodeNotFound; CodeValidation for an address or values that nobody
// can have; CodeServiceUnavailable.
func (s *Service) Submit(ctx context.Context, host string, in *Submission) (*Submitted, error) {
	defer s.Load.Enter()()
	if err := s.Ready(); err != nil {
		return nil, err
	}
	view, err := s.FormPage(ctx, host, in.FormID)
	if err != nil {
		return nil, err
	}
	o, key, err := s.requestOf(view, in)
	if err != nil {
		return nil, err
	}
	out := &Submitted{View: view, Single: view.Form.Confirm == app.SingleOptIn}
	p, ok := s.admit(&view.Form, in)
	if ok && !view.Closed {
		store := s.store
		if out.Single {
			store = s.subscribe
		}
		err := store(ctx, view, o, key, p)
		if err != nil && !errors.Is(err, errUsed) {
			return nil, base.Unavailable(err)
		}
		ok = err == nil
	}
	if !ok {
		out.Button = s.buttonToken(view.Form.ID)
	}
	return out, nil
}

// requestOf returns the opt-in that a submission asks for. Errors: CodeValidation.
func (s *Service) requestOf(view *FormView, in *Submission) (*db.OptIn, app.AddressKey, error) {
	if in.Email == "" {
		return nil, app.AddressKey{}, app.Invalid("email", "is required")
	}
	email, key, err := app.ParseBareAddress(in.Email)
	if err != nil {
		return nil, key, app.Invalid("email", "%s", err)
	}
	values, err := readValues(view.Fields, in.Values)
	if err != nil {
		return nil, key, err
	}
	f := &view.Form
	o := &db.OptIn{SignUp: app.SignUp{ID: app.NewID(), TeamID: f.TeamID, FormID: f.ID, FormVersion: f.Version, Hash: s.Sealer.AddressHash(f.TeamID, key), Email: email, Status: app.OptInPending},
		Range: clientRange(in.Client)}
	o.Request = app.SignUpRequest{Topics: chosenTopics(view, in), Segments: f.Segments, FirstName: values.firstName, LastName: values.lastName, Properties: values.properties,
		Language: languageOf(in.Language, f.Language), Text: cleanText(in.Text, maxText), FormName: f.Name, Visitor: visitorOf(in.Client.Unmap().String(), in.UserAgent)}
	if !in.Client.IsValid() {
		o.Request.Visitor.IP = ""
	}
	return o, key, nil
}

func visitorOf(ip, userAgent string) app.Visitor {
	return app.Visitor{IP: ip, UserAgent: cleanText(userAgent, maxUserAgent)}
}

// cleanText returns a text as it is kept: valid UTF-8 without NUL, of at most limit bytes.
func cleanText(text string, limit int) string {
	return app.CutText(strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", ""), limit)
}

// languageOf returns the first of some texts that is one of app.Languages, or the default.
func languageOf(wanted ...string) string {
	for _, w := range wanted {
		if slices.Contains(app.Languages, w) {
			return w
		}
	}
	return app.Languages[0]
}

// chosenTopics returns the ids of the topics of a form that a submission asks for.
func chosenTopics(view *FormView, in *Submission) (ids []string) {
	for _, t := range view.Topics {
		if in.AnyTopics && slices.Contains(in.Topics, t.ID) || !in.AnyTopics && t.Preselected {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// store stores an opt-in of a form. Every address is treated alike: what differs is only whether its
// confirmation is due, which no answer tells. Error: errUsed.
func (s *Service) store(ctx context.Context, view *FormView, o *db.OptIn, key app.AddressKey, p pass) error {
	due, err := s.dueOf(ctx, o.TeamID, o.FormID)
	if err != nil {
		return err
	}
	person := s.personOf(key)
	return s.DB.Write(ctx, func(tx *db.Tx) error {
		first, err := tx.UseProof(p.id, p.until)
		if err != nil {
			return err
		}
		if !first {
			return errUsed
		}
		full, err := s.isCrowded(&tx.Reader, o, p.proof, due)
		if err != nil {
			return err
		}
		stored, err := s.insert(tx, o, person, full)
		if err != nil {
			return err
		}
		if !stored {
			return s.countStopped(tx, &view.Form)
		}
		return tx.CountForm(o.TeamID, o.FormID, db.FormCounts{Requested: 1})
	})
}

// countStopped counts a submission that goes no further.
func (s *Service) countStopped(tx *db.Tx, f *app.Form) error {
	tx.AfterCommit(func() { s.Metrics.OptIns("stopped", 1) })
	return tx.CountForm(f.TeamID, f.ID, db.FormCounts{Stopped: 1})
}

// insert stores an opt-in, with its confirmation due unless a limit of its address or team forbids that,
// and announces it. It stores nothing if full is set, or the address has many pending opt-ins, and
// reports whether it did.
func (s *Service) insert(tx *db.Tx, o *db.OptIn, person []byte, full bool) (bool, error) {
	state, err := readAddress(&tx.Reader, o.TeamID, o.Hash, person, tx.Now)
	if err != nil {
		return false, err
	}
	if full || len(state.pending) >= maxPendingSame {
		return false, nil
	}
	o.Mail, o.RequestedAt = db.OptInDue, tx.Now
	if before := state.waiting(o.FormID); before != "" || !state.allowed || state.blocked {
		o.Mail, o.LinkID = db.OptInNotSent, cmp.Or(before, state.earlier("", tx.Now))
	}
	if err := tx.InsertOptIn(o); err != nil {
		return false, err
	}
	tx.AfterCommit(func() {
		s.Metrics.OptIns("requested", 1)
		s.wake.Notify()
	})
	return true, s.announce(tx, webhook.ContactOptInRequested, &o.SignUp)
}

// announce announces an event of an opt-in.
func (s *Service) announce(tx *db.Tx, name webhook.EventName, o *app.SignUp) error {
	return s.events.Announce(tx, o.TeamID, name, func() (any, error) { return webhook.OptInDataOf(o), nil })
}

// subscribe creates the contact of a form without confirmation, unless one exists or the address is
// suppressed: nothing changes then, and the answer is the same. Error: errUsed.
func (s *Service) subscribe(ctx context.Context, view *FormView, o *db.OptIn, key app.AddressKey, p pass) error {
	f := &view.Form
	stopped := s.singles.Add(f.ID, s.now()) > f.PerDay()
	n := &app.NewContact{Key: key, Contact: app.Contact{Email: o.Email, FirstName: o.Request.FirstName, LastName: o.Request.LastName}, Segments: f.Segments, Topics: optIns(o.Request.Topics)}
	values := typed{properties: o.Request.Properties}
	n.Changes = values.changes()
	return s.DB.Write(ctx, func(tx *db.Tx) error {
		first, err := tx.UseProof(p.id, p.until)
		if err != nil {
			return err
		}
		if !first {
			return errUsed
		}
		if stopped {
			return s.countStopped(tx, f)
		}
		id, created, err := s.audience.PutNew(tx, f.TeamID, n)
		if app.CodeOf(err) == app.CodePlanLimitReached || app.CodeOf(err) == app.CodeValidation {
			return s.countStopped(tx, f) // the same answer as for a contact that exists
		}
		if err != nil {
			return err
		}
		if created {
			o.RequestedAt = tx.Now
			if err := s.insertConsent(tx, o, consentOf(o, view.Topics, o.Request.Topics), id); err != nil {
				return err
			}
		}
		return tx.CountForm(f.TeamID, f.ID, db.FormCounts{Requested: 1, Confirmed: 1})
	})
}

// optIns returns the choices of topics that a person asked for.
func optIns(topics []string) (choices []app.TopicChoice) {
	for _, id := range topics {
		choices = append(choices, app.TopicChoice{ID: id, Subscription: app.OptIn})
	}
	return choices
}
