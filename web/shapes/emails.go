package shapes

import (
	"mailer/web/rest"
)

// EmailTags are those of the operations of emails.
var EmailTags = []string{"Emails"}

// CreatedEmail is an email that was accepted.
type CreatedEmail struct {
	ID string `json:"id" format:"uuid"`
}

// EmailPath is the path parameter of everything below an email.
type EmailPath struct {
	ID string `path:"id" format:"uuid" doc:"The id of the email"`
}

// Check implements Checker.
func (p *EmailPath) Check() error { return rest.CheckID("email", &p.ID) }
