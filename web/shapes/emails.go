package shapes

import (
	"mailer/app"
)

// EmailTags are the tags of email operations.
var EmailTags = []string{"Emails"}

// CreatedEmail is an email that was accepted.
type CreatedEmail struct {
	ID string `json:"id" format:"uuid"`
}

// EmailPath is the path parameter of everything below an email.
type EmailPath struct {
	ID string `path:"id" format:"uuid" doc:"The id of the email"`
}

// Resource implements rest.ResourcePath.
func (p *EmailPath) Resource() (kind string, id *string) { return "email", &p.ID }

// EventItem is a line of an email's timeline.
type EventItem struct {
	ID        string          `json:"id" format:"uuid"`
	Type      app.EventType   `json:"type"`
	CreatedAt string          `json:"created_at" format:"date-time"`
	Recipient string          `json:"recipient,omitempty" doc:"Absent where the event is about the whole email"`
	Detail    app.EventDetail `json:"detail"`
}

// NewEventItem converts an event.
func NewEventItem(e *app.Event) EventItem {
	return EventItem{
		ID: e.ID, Type: e.Type, CreatedAt: app.FormatTime(e.CreatedAt),
		Recipient: e.Recipient, Detail: e.Detail,
	}
}
