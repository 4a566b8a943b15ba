package audience

import (
	"strings"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/verdict"
	"mailer/db"
)

// maxAnswers is how many answers to an email its timeline shows, the newest.
const maxAnswers = 50

// Answers returns the received emails that answer an email or claim to, newest first.
func Answers(r *db.Reader, teamID, emailID string) ([]verdict.Answer, error) {
	received, err := r.AnswersTo(teamID, emailID, maxAnswers)
	if err != nil || len(received) == 0 {
		return nil, err
	}
	answers := make([]verdict.Answer, len(received))
	names := map[string]string{} // of contacts
	for i := range received {
		m := &received[i]
		if _, ok := names[m.ContactID]; !ok && m.ContactID != "" {
			c, err := r.Contact(teamID, m.ContactID)
			if base.IgnoreNotFound(err) != nil {
				return nil, err
			}
			names[m.ContactID] = NameOf(&c)
		}
		if answers[i], err = answerOf(r, m, names[m.ContactID]); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// NameOf returns first and last name of a contact; empty: it has none.
func NameOf(c *app.Contact) string { return strings.TrimSpace(c.FirstName + " " + c.LastName) }

// answerOf returns a received email as an answer to the email that it names. name is that of its contact.
func answerOf(r *db.Reader, m *app.Received, name string) (verdict.Answer, error) {
	a := verdict.Answer{ReceivedID: m.ID, Address: m.FromEmail, Name: name, Proven: m.Proven, Auto: m.AutoSubmitted, At: m.CreatedAt}
	sent, err := r.NewestEventOf(m.Answers, app.EventType(app.Sent))
	if base.IgnoreNotFound(err) != nil {
		return a, err
	}
	if err == nil && !sent.CreatedAt.After(m.CreatedAt) { // after it, it was sent again
		a.After = max(m.CreatedAt.Sub(sent.CreatedAt), time.Millisecond)
	}
	return a, nil
}

// receivedState is the state of received mail in a history.
const receivedState = "received"

// receivedFrom returns the mail that a contact sent to its team from page's cursor on, the nearest first, and the id up
// to which there is no more of it; empty: the end was reached.
func receivedFrom(r *db.Reader, c *app.Contact, page app.Page) (out []ContactMail, searchedTo string, err error) {
	rows, more, err := r.ReceivedFrom(c.TeamID, c.ID, page)
	if err != nil {
		return nil, "", err
	}
	for i := range rows {
		m := &rows[i]
		mail := ContactMail{ID: m.ID, Received: true, Answers: m.Answers, Subject: m.Subject, LastEvent: receivedState, State: receivedState, CreatedAt: m.CreatedAt}
		if m.Answers != "" {
			a, err := answerOf(r, m, NameOf(c))
			if err != nil {
				return nil, "", err
			}
			mail.Events = []app.Event{a.Event(c.TeamID, m.Answers)}
		}
		out = append(out, mail)
	}
	if more {
		searchedTo = out[len(out)-1].ID
		if page.Before != "" {
			searchedTo = out[0].ID
		}
	}
	return out, searchedTo, nil
}
