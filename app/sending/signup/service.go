// Package signup implements sign-up forms and confirmed opt-in: what visitors ask for, the mail by
// which they confirm it, its limits, and the records of consent.
//
// Failure policy: a request that was answered is stored, and its confirmation is sent once within the
// limits, or the request expires. A confirmation that was answered is never lost. No answer to a
// visitor tells anything about an address.
package signup

import (
	"context"
	"net/netip"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/brand"
	"mailer/app/sending/mail"
	"mailer/app/tenants/audience"
	"mailer/app/tenants/teams"
	"mailer/app/tenants/webhooks"
)

// Service implements forms and opt-ins.
type Service struct {
	*base.Base
	events   *webhooks.Service
	teams    *teams.Service
	audience *audience.Service
	mail     *mail.Service
}

// New makes the service.
func New(b *base.Base, events *webhooks.Service, teams *teams.Service, audience *audience.Service, mail *mail.Service) *Service {
	return &Service{Base: b, events: events, teams: teams, audience: audience, mail: mail}
}

// FormView is what a page shows of a form.
type FormView struct {
	Form   app.Form
	Team   string
	Brand  brand.Brand
	Topics []FormTopic
	Fields []FormField
	Closed bool // the team is suspended: the page looks the same, and nothing is sent
}

// FormTopic is a topic that a visitor can choose.
type FormTopic struct {
	ID, Name, Description string
	Preselected           bool
}

// FormField is a field that a visitor fills in.
type FormField struct {
	Name     string // of the input: a property, first_name or last_name
	Label    string
	Number   bool
	Required bool
}

// Challenge is a task that a browser solves before it submits a form: find a nonce, a decimal number,
// so that SHA-256 of Token + "." + nonce begins with Bits zero bits. Proof is Token + "." + nonce.
type Challenge struct {
	Token   string
	Bits    int
	Expires time.Time
}

// Submission is what a visitor submitted.
type Submission struct {
	FormID    string
	Email     string
	Values    map[string]string // by name of the field
	Topics    []string          // ids; others than those of the form are ignored
	AnyTopics bool              // the form showed topics: none chosen means none. false: the preselected ones
	Proof     string            // solution of a challenge; empty: none
	Button    string            // token of the page with the button; empty: none
	Trap      string            // a field that people do not see
	Language  string            // of app.Languages, of the page that was shown
	Text      string            // that was shown
	Client    netip.Addr
	UserAgent string
}

// Submitted is what a visitor sees next: the page that says to look for a mail or, if Button is not
// empty, a page with a button that submits the same again with the token.
type Submitted struct {
	View   *FormView
	Button string
	Single bool // the form does not ask for a confirmation
}

// OptInView is what the pages of a confirmation show.
type OptInView struct {
	Team         string
	Brand        brand.Brand
	Email        string
	Status       app.OptInStatus // expired also if the link is too old
	Topics       []FormTopic     // Preselected: asked for
	Fields       []FilledField
	Unsubscribed bool   // the contact is unsubscribed from everything
	Again        bool   // it was subscribed again just now
	Suppressed   bool   // mail to the address is blocked for another reason: nothing changes that
	RedirectURL  string // link on the last page; empty: none
	Language     string // of app.Languages
}

// FilledField is a field with the value that was typed.
type FilledField struct {
	FormField
	Value string
}

// Decision is what a person decided on the page of a confirmation.
type Decision struct {
	Values    map[string]string // as on the page; fields that are missing are empty
	Topics    []string
	Again     bool // receive mail again after an unsubscribe
	Text      string
	Client    netip.Addr
	UserAgent string
}

// The methods below are those of the public pages. host is the Host header of the request.

// FormPage returns what the page of a form shows. Error: CodeNotFound if there is no such form at the
// host.
func (s *Service) FormPage(ctx context.Context, host, formID string) (*FormView, error) {
	return nil, app.NotFound("form")
}

// NewChallenge returns a challenge for a form. Error: CodeNotFound.
func (s *Service) NewChallenge(ctx context.Context, host, formID string) (Challenge, error) {
	return Challenge{}, app.NotFound("form")
}

// Submit stores a submission of a form. Errors: CodeNotFound; CodeValidation for an address or values
// that nobody can have; CodeServiceUnavailable.
func (s *Service) Submit(ctx context.Context, host string, in *Submission) (*Submitted, error) {
	return nil, app.NotFound("form")
}

// OptInPage returns what the page of a link in a confirmation shows, and changes nothing. Error:
// CodeNotFound.
func (s *Service) OptInPage(ctx context.Context, host, token string) (*OptInView, error) {
	return nil, app.NotFound("page")
}

// Confirm confirms an opt-in. A second call changes nothing but Again. Errors: CodeNotFound,
// CodeValidation.
func (s *Service) Confirm(ctx context.Context, host, token string, d *Decision) (*OptInView, error) {
	return nil, app.NotFound("page")
}

// Refuse refuses an opt-in. Error: CodeNotFound.
func (s *Service) Refuse(ctx context.Context, host, token string, by app.Visitor) (*OptInView, error) {
	return nil, app.NotFound("page")
}

// The methods below are those of the API.

// CreateForm creates a form. Errors: CodeValidation; CodeForbidden if the key may not create it;
// CodePlanLimitReached.
func (s *Service) CreateForm(ctx context.Context, key *app.Key, in app.FormInput) (form app.Form, err error) {
	return form, app.NotFound("form")
}

// GetForm returns a form of the key's team. Error: CodeNotFound.
func (s *Service) GetForm(ctx context.Context, key *app.Key, id string) (form app.Form, err error) {
	return form, app.NotFound("form")
}

// ListForms returns a page of forms, newest first, and whether there are more.
func (s *Service) ListForms(ctx context.Context, key *app.Key, page app.Page) (rows []app.Form, more bool, err error) {
	return nil, false, nil
}

// UpdateForm changes a form. Errors: CodeNotFound, and those of CreateForm.
func (s *Service) UpdateForm(ctx context.Context, key *app.Key, id string, patch app.FormPatch) (form app.Form, err error) {
	return form, app.NotFound("form")
}

// DeleteForm deletes a form. Its opt-ins stay. Error: CodeNotFound.
func (s *Service) DeleteForm(ctx context.Context, key *app.Key, id string) error {
	return app.NotFound("form")
}

// FormURL returns the address of the page of a form; empty if no host serves it.
func (s *Service) FormURL(ctx context.Context, form *app.Form) (string, error) { return "", nil }

// StartOptIn starts a confirmed opt-in by API. Errors: CodeValidation; CodeNotFound for topics,
// segments and the form; CodeConflict for an address that is unsubscribed or refused within a year.
func (s *Service) StartOptIn(ctx context.Context, key *app.Key, in app.SignUpInput) (out app.SignUp, err error) {
	return out, app.NotFound("form")
}

// ListOptIns returns a page of opt-ins of a state, newest first; empty: of all states.
func (s *Service) ListOptIns(ctx context.Context, key *app.Key, status app.OptInStatus, page app.Page) (rows []app.SignUp, more bool, err error) {
	return nil, false, nil
}

// GetOptIn returns an opt-in of the key's team, and its consent record once it is confirmed. Error:
// CodeNotFound.
func (s *Service) GetOptIn(ctx context.Context, key *app.Key, id string) (out app.SignUp, consent *app.Consent, err error) {
	return out, nil, app.NotFound("opt-in")
}

// ListConsents returns a page of the consents of a contact, newest first. Error: CodeNotFound.
func (s *Service) ListConsents(ctx context.Context, key *app.Key, contact string, page app.Page) (rows []app.Consent, more bool, err error) {
	return nil, false, app.NotFound("contact")
}
