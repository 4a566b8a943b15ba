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
	"sync"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/cache"
	"mailer/app/kit/window"
	"mailer/app/rules/brand"
	"mailer/app/sending/mail"
	"mailer/app/tenants/audience"
	"mailer/app/tenants/teams"
	"mailer/app/tenants/webhooks"
	"mailer/db"
)

// Service implements forms and opt-ins.
type Service struct {
	*base.Base
	events   *webhooks.Service
	teams    *teams.Service
	audience *audience.Service
	mail     *mail.Service

	// Hosts are the hosts of public pages. New sets those of the server.
	Hosts Hosts
	// Resolver looks up whether the domain of an address can receive mail; nil: every domain can. Set
	// before use.
	Resolver app.DNSLookup
	// Disposable are the domains of addresses that forms with RejectDisposable send nothing to. Set before
	// use.
	Disposable map[string]bool

	wake        base.Signal // there may be due confirmations
	domains     *cache.Cache[string, bool]
	submissions *window.Keyed // of a minute, by form
	ranges      *window.Keyed // of an hour, by form and range
	singles     *window.Keyed // of a day, by form
	due         *cache.Cache[string, int]

	mu      sync.Mutex
	resting map[db.DueForm]time.Time // forms that send nothing until then
}

// Hosts are the hosts that serve what teams publish.
type Hosts interface {
	// Serves reports whether a host, as in the Host header of a request, serves the pages of a team.
	Serves(ctx context.Context, host, teamID string) (bool, error)
	// BaseOf returns the URL of the host, without a final slash, at which the pages of a team are; empty: none.
	BaseOf(ctx context.Context, teamID string) (string, error)
}

// Limits of caches, and how long what they hold is used.
const (
	maxDomains = 20_000
	domainTTL  = time.Hour
	maxDueForm = 1000
	dueTTL     = 10 * time.Second
)

// New makes the service.
func New(b *base.Base, events *webhooks.Service, teams *teams.Service, audience *audience.Service, mail *mail.Service) *Service {
	return &Service{Base: b, events: events, teams: teams, audience: audience, mail: mail, Hosts: serverHosts{b}, wake: base.NewSignal(),
		domains: cache.New[string, bool](maxDomains, domainTTL), due: cache.New[string, int](maxDueForm, dueTTL),
		submissions: window.NewKeyed(time.Minute), ranges: window.NewKeyed(time.Hour), singles: window.NewKeyed(24 * time.Hour), resting: map[db.DueForm]time.Time{}}
}

// Start starts the dispatcher, which sends confirmations. Only the server that leads calls it.
func (s *Service) Start() { s.Workers.Go(s.dispatch) }

// FormView is what a page shows of a form.
type FormView struct {
	Form   app.Form
	Team   string
	Brand  brand.Brand
	Topics []FormTopic
	Fields []FormField
	Closed bool   // the team is suspended: the page looks the same, and nothing is sent
	Opened string // signed time of the page; Submission repeats it
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
	Opened    string            // of the FormView that the page was made of; empty: the form is on another page
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
