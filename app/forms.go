package app

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mailer/app/kit/mailbox"
)

// Confirmation says whether an address that signs up through a form must confirm it.
type Confirmation string

// The values of Confirmation. The default is double.
const (
	DoubleOptIn Confirmation = "double" // the address confirms by a link in a mail
	SingleOptIn Confirmation = "single" // the contact is created immediately
)

// Languages are the languages of hosted pages and of the built-in mails to people who sign up (BCP 47).
// The first is the default.
var Languages = []string{"en", "de", "fr", "es", "pt", "it", "nl", "pl", "ja", "zh"}

// Form is a sign-up form of a team.
type Form struct {
	ID      string
	TeamID  string
	Name    string
	Version int64 // counts the changes, from 1
	FormDefinition
	// Numbers of opt-ins that were asked for, confirmed and refused by the person, and of submissions
	// that went no further.
	Requested, Confirmed, Refused, Stopped int64
	AlertedAt                              time.Time // when the owner was last told that confirmations are above the limits; zero: never
	CreatedAt                              time.Time
	UpdatedAt                              time.Time
}

// FormDefinition is what the team decides about a form.
type FormDefinition struct {
	Confirm              Confirmation `json:"-"`
	From                 string       `json:"from"`                 // mailbox on a verified domain of the team
	ReplyTo              string       `json:"reply_to,omitzero"`    // empty: none
	Topics               []FormTopic  `json:"topics,omitzero"`      // that the visitor can choose
	Segments             []string     `json:"segments,omitzero"`    // ids; the contact joins them
	Fields               []FormField  `json:"fields,omitzero"`      // besides the address
	ConfirmationTemplate string       `json:"confirm,omitzero"`     // id; empty: the built-in mail
	WelcomeTemplate      string       `json:"welcome,omitzero"`     // id; empty: none
	Language             string       `json:"language,omitzero"`    // of Languages, of the page; empty: that of the visitor
	RedirectURL          string       `json:"redirect,omitzero"`    // a link on the last page; empty: none
	AllowedOrigins       []string     `json:"origins,omitzero"`     // other sites whose scripts may submit the form
	RejectDisposable     bool         `json:"disposable,omitzero"`  // addresses of the operator's list of disposable domains get no mail
	MaxPerDay            int          `json:"max_per_day,omitzero"` // confirmations; 0: DefaultConfirmationsPerDay
}

// FormTopic is a topic that a form offers.
type FormTopic struct {
	ID          string `json:"id"`
	Preselected bool   `json:"preselected,omitzero"`
}

// FormField is a contact property, or first_name or last_name, that a form asks for.
type FormField struct {
	Property string `json:"property"`
	Label    string `json:"label"`
	Required bool   `json:"required,omitzero"`
}

// FormInput is a form to create.
type FormInput struct {
	Name string
	FormDefinition
}

// FormPatch changes a form. Nil and unset members are unchanged.
type FormPatch struct {
	Name                 *string
	Confirm              *Confirmation
	From                 *string
	ReplyTo              Change[string] // null clears, as for the other Changes
	Topics               *[]FormTopic
	Segments             *[]string
	Fields               *[]FormField
	ConfirmationTemplate Change[string]
	WelcomeTemplate      Change[string]
	Language             Change[string]
	RedirectURL          Change[string]
	AllowedOrigins       *[]string
	RejectDisposable     *bool
	MaxPerDay            Change[int]
}

// Validate checks the input without the database and returns the form without id, team and times.
// Errors: CodeValidation.
func (in *FormInput) Validate() (Form, error) {
	f := Form{Name: strings.TrimSpace(in.Name), Version: 1, FormDefinition: in.FormDefinition}
	if f.Confirm == "" {
		f.Confirm = DoubleOptIn
	}
	return f, f.check()
}

// Apply returns the form with the patch applied. Its version grows. Errors: CodeValidation.
func (p *FormPatch) Apply(f Form) (Form, error) {
	if p.Name != nil {
		f.Name = strings.TrimSpace(*p.Name)
	}
	set(&f.Confirm, p.Confirm)
	set(&f.From, p.From)
	set(&f.Topics, p.Topics)
	set(&f.Segments, p.Segments)
	set(&f.Fields, p.Fields)
	set(&f.AllowedOrigins, p.AllowedOrigins)
	set(&f.RejectDisposable, p.RejectDisposable)
	p.ReplyTo.apply(&f.ReplyTo)
	p.ConfirmationTemplate.apply(&f.ConfirmationTemplate)
	p.WelcomeTemplate.apply(&f.WelcomeTemplate)
	p.Language.apply(&f.Language)
	p.RedirectURL.apply(&f.RedirectURL)
	p.MaxPerDay.apply(&f.MaxPerDay)
	f.Version++
	return f, f.check()
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func (c Change[T]) apply(to *T) {
	if c.Set {
		*to = c.Value // the zero value for null
	}
}

// check checks a form, and changes ids and origins to their canonical spelling.
func (f *Form) check() error {
	if err := checkLine("name", f.Name, MaxFormName); err != nil {
		return err
	}
	if f.Confirm != DoubleOptIn && f.Confirm != SingleOptIn {
		return Invalid("confirm", "must be double or single")
	}
	if f.From == "" {
		return Invalid("from", "is required")
	}
	if _, err := ParseAddress(f.From); err != nil {
		return Invalid("from", "%s", err)
	}
	if f.ReplyTo != "" {
		if _, err := ParseAddress(f.ReplyTo); err != nil {
			return Invalid("reply_to", "%s", err)
		}
	}
	if f.Language != "" && !slices.Contains(Languages, f.Language) {
		return Invalid("language", "must be one of %s", strings.Join(Languages, ", "))
	}
	if f.MaxPerDay < 0 || f.MaxPerDay > MaxConfirmationsPerDay {
		return Invalid("max_confirmations_per_day", "must be 1 to %d", MaxConfirmationsPerDay)
	}
	for _, id := range []struct {
		field string
		id    *string
	}{{"confirmation_template", &f.ConfirmationTemplate}, {"welcome_template", &f.WelcomeTemplate}} {
		if err := canonicalID(id.field, "a template", id.id); err != nil {
			return err
		}
	}
	for _, check := range []func() error{f.checkTopics, f.checkSegments, f.checkFields, f.checkAddresses} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// canonicalID writes an id in lower case; an empty one stays.
func canonicalID(field, kind string, id *string) error {
	if *id == "" {
		return nil
	}
	canonical, ok := ParseID(*id)
	if !ok {
		return Invalid(field, "must be the id of %s", kind)
	}
	*id = canonical
	return nil
}

// checkLine checks a required text of one line.
func checkLine(field, text string, longest int) error {
	switch {
	case text == "":
		return Invalid(field, "is required")
	case utf8.RuneCountInString(text) > longest:
		return Invalid(field, "can have at most %d characters", longest)
	case !utf8.ValidString(text) || HasHidden(text):
		return Invalid(field, "must not contain line breaks, other control characters or invisible formatting")
	}
	return nil
}

func (f *Form) checkTopics() error {
	if len(f.Topics) > MaxFormTopics {
		return Invalid("topics", "can hold at most %d items", MaxFormTopics)
	}
	f.Topics = slices.Clone(f.Topics)
	for i := range f.Topics {
		field := fmt.Sprintf("topics[%d].id", i)
		if f.Topics[i].ID == "" {
			return Invalid(field, "is required")
		}
		if err := canonicalID(field, "a topic", &f.Topics[i].ID); err != nil {
			return err
		}
		if slices.ContainsFunc(f.Topics[:i], func(t FormTopic) bool { return t.ID == f.Topics[i].ID }) {
			return Invalid(field, "is there twice")
		}
	}
	return nil
}

func (f *Form) checkSegments() error {
	if len(f.Segments) > MaxFormTopics {
		return Invalid("segments", "can hold at most %d items", MaxFormTopics)
	}
	f.Segments = slices.Clone(f.Segments)
	for i := range f.Segments {
		field := fmt.Sprintf("segments[%d]", i)
		if f.Segments[i] == "" {
			return Invalid(field, "must be the id of a segment")
		}
		if err := canonicalID(field, "a segment", &f.Segments[i]); err != nil {
			return err
		}
	}
	slices.Sort(f.Segments)
	f.Segments = slices.Compact(f.Segments)
	return nil
}

func (f *Form) checkFields() error {
	if len(f.Fields) > MaxFormFields {
		return Invalid("fields", "can hold at most %d items", MaxFormFields)
	}
	f.Fields = slices.Clone(f.Fields)
	for i, field := range f.Fields {
		if field.Property == "" {
			return Invalid(fmt.Sprintf("fields[%d].property", i), "is required")
		}
		if IsFormInput(field.Property) {
			return Invalid(fmt.Sprintf("fields[%d].property", i), "must not be %s: every form has an input of this name", field.Property)
		}
		label := strings.TrimSpace(field.Label)
		if label == "" {
			label = field.Property
		}
		if err := checkLine(fmt.Sprintf("fields[%d].label", i), label, MaxFormLabel); err != nil {
			return err
		}
		f.Fields[i].Label = label
		if slices.ContainsFunc(f.Fields[:i], func(o FormField) bool { return o.Property == field.Property }) {
			return Invalid(fmt.Sprintf("fields[%d].property", i), "is there twice")
		}
	}
	return nil
}

// checkAddresses checks the origins and the link. Whether the host of the link belongs to the team is
// checked with the database.
func (f *Form) checkAddresses() error {
	if len(f.AllowedOrigins) > MaxFormOrigins {
		return Invalid("allowed_origins", "can hold at most %d items", MaxFormOrigins)
	}
	f.AllowedOrigins = slices.Clone(f.AllowedOrigins)
	for i, text := range f.AllowedOrigins {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !isLoopbackName(u.Hostname())) || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
			return Invalid(fmt.Sprintf("allowed_origins[%d]", i), "must be an origin like https://www.example.com, without a path")
		}
		host, ok := OriginHost(u)
		if !ok {
			return Invalid(fmt.Sprintf("allowed_origins[%d]", i), "has a host that is not valid")
		}
		f.AllowedOrigins[i] = u.Scheme + "://" + host
	}
	if f.RedirectURL == "" {
		return nil
	}
	u, err := url.Parse(f.RedirectURL)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(f.RedirectURL) > MaxFormURL {
		return Invalid("redirect_url", "must be an https URL of at most %d characters", MaxFormURL)
	}
	return nil
}

// formInputs are the names of the inputs that every form has, and of the member of a JSON submission that
// holds the topics. No field of a form can have one of them.
var formInputs = []string{"email", "topics", "topics[]", "proof", "opened", "form-opened", "form-button", "website-url", "opt-in-decision"}

// IsFormInput reports whether every form has an input of a name, so that no field can have it.
func IsFormInput(name string) bool { return slices.Contains(formInputs, name) }

// OriginHost returns the host of a URL as browsers write it in an origin: in lower-case A-labels, and with
// its port unless it is that of the scheme. ok is false for a name that can't be written so.
func OriginHost(u *url.URL) (host string, ok bool) {
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if name, err := mailbox.ParseDomain(host); err == nil {
		host = name
	} else if !IsASCII(host) {
		return "", false
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" && !(u.Scheme == "https" && port == "443") && !(u.Scheme == "http" && port == "80") {
		host += ":" + port
	}
	return host, true
}

// RedirectsToOrigin reports whether the link of the form leads to the host of an allowed origin, and returns
// the name of its host.
func (f *Form) RedirectsToOrigin() (name string, allowed bool) {
	u, err := url.Parse(f.RedirectURL)
	if err != nil {
		return "", false
	}
	host, ok := OriginHost(u)
	if !ok {
		return "", false
	}
	for _, origin := range f.AllowedOrigins {
		if o, err := url.Parse(origin); err == nil {
			if there, ok := OriginHost(o); ok && there == host {
				return u.Hostname(), true
			}
		}
	}
	if name, err = mailbox.ParseDomain(u.Hostname()); err != nil {
		name = strings.ToLower(u.Hostname())
	}
	return name, false
}

// isLoopbackName reports whether a host name is that of this machine, for forms under development.
func isLoopbackName(name string) bool {
	return name == "localhost" || name == "127.0.0.1" || name == "::1"
}

// Uses reports whether a form names a topic, segment or template by its id.
func (f *Form) Uses(id string) bool {
	return id == f.ConfirmationTemplate || id == f.WelcomeTemplate || slices.Contains(f.Segments, id) ||
		slices.ContainsFunc(f.Topics, func(t FormTopic) bool { return t.ID == id })
}

// PerDay returns how many confirmations of the form are sent in 24 hours at most.
func (f *Form) PerDay() int {
	if f.MaxPerDay == 0 {
		return DefaultConfirmationsPerDay
	}
	return f.MaxPerDay
}
