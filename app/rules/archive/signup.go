package archive

import (
	"time"

	"mailer/app"
)

// Form is a sign-up form.
type Form struct {
	ID                   string           `json:"id,omitzero"`
	Name                 string           `json:"name"`
	Version              int64            `json:"version"`
	Confirm              app.Confirmation `json:"confirm"`
	From                 string           `json:"from"`
	ReplyTo              string           `json:"reply_to,omitzero"`
	Topics               []app.FormTopic  `json:"topics,omitzero"`
	Segments             []string         `json:"segments,omitzero"` // ids
	Fields               []app.FormField  `json:"fields,omitzero"`
	ConfirmationTemplate string           `json:"confirmation_template,omitzero"` // id
	WelcomeTemplate      string           `json:"welcome_template,omitzero"`      // id
	Language             string           `json:"language,omitzero"`
	RedirectURL          string           `json:"redirect_url,omitzero"`
	AllowedOrigins       []string         `json:"allowed_origins,omitzero"`
	RejectDisposable     bool             `json:"reject_disposable,omitzero"`
	MaxPerDay            int              `json:"max_confirmations_per_day,omitzero"`
	Requested            int64            `json:"requested,omitzero"`
	Confirmed            int64            `json:"confirmed,omitzero"`
	Refused              int64            `json:"refused,omitzero"`
	Stopped              int64            `json:"stopped,omitzero"`
	CreatedAt            time.Time        `json:"created_at,omitzero"`
	UpdatedAt            time.Time        `json:"updated_at,omitzero"`
}

// OptIn is an opt-in that is pending or was refused. Others are part of contacts and consents.
type OptIn struct {
	ID          string          `json:"id,omitzero"`
	Email       string          `json:"email"`
	Status      app.OptInStatus `json:"status"`
	Form        string          `json:"form,omitzero"` // id
	FormName    string          `json:"form_name,omitzero"`
	FormVersion int64           `json:"form_version,omitzero"`
	Topics      []string        `json:"topics,omitzero"`   // ids
	Segments    []string        `json:"segments,omitzero"` // ids
	FirstName   string          `json:"first_name,omitzero"`
	LastName    string          `json:"last_name,omitzero"`
	Properties  map[string]any  `json:"properties,omitzero"` // strings and numbers
	Language    string          `json:"language,omitzero"`
	Text        string          `json:"text,omitzero"`
	RequestedBy app.Visitor     `json:"requested_by,omitzero"`
	RequestedAt time.Time       `json:"requested_at"`
	DecidedAt   time.Time       `json:"decided_at,omitzero"`
}

// Record is the record of what a contact agreed to.
type Record struct {
	ID           string            `json:"id,omitzero"`
	ContactID    string            `json:"contact_id"`
	OptInID      string            `json:"opt_in_id,omitzero"`
	FormID       string            `json:"form_id,omitzero"`
	Email        string            `json:"email"`
	Form         string            `json:"form,omitzero"` // its name at that time
	FormVersion  int64             `json:"form_version,omitzero"`
	Topics       []app.ConsentItem `json:"topics,omitzero"`
	Text         string            `json:"text,omitzero"`
	ConfirmText  string            `json:"confirm_text,omitzero"`
	Language     string            `json:"language,omitzero"`
	RequestedAt  time.Time         `json:"requested_at"`
	RequestedBy  app.Visitor       `json:"requested_by,omitzero"`
	ConfirmedAt  time.Time         `json:"confirmed_at,omitzero"`
	ConfirmedBy  app.Visitor       `json:"confirmed_by,omitzero"`
	Resubscribed bool              `json:"resubscribed,omitzero"`
	CreatedAt    time.Time         `json:"created_at"`
}
