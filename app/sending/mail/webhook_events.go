package mail

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/rules/render"
	"mailer/app/rules/webhook"
	"mailer/app/tenants/audience"
	"mailer/db"
)

// AnnounceEmail notes an event of a team's email, also of one to a recipient of
// a broadcast; of one that is not in the database, or no longer, there is nothing
// to tell. extra is what this event says beyond others. Where no webhook wants
// the event it costs two look-ups in memory: callers need not ask before.
func (s *Service) AnnounceEmail(tx *db.Tx, teamID string, name webhook.EventName, emailID string, extra webhook.EmailExtra) error {
	return s.announceWith(tx, teamID, name, emailID, func() (webhook.EmailExtra, error) { return extra, nil })
}

// announceWith is AnnounceEmail where it costs something to know what an event says:
// extra is called where a webhook wants it.
func (s *Service) announceWith(tx *db.Tx, teamID string, name webhook.EventName, emailID string, extra func() (webhook.EmailExtra, error)) error {
	return s.events.Announce(tx, teamID, name, func() (any, error) {
		data, err := s.emailData(tx, teamID, emailID)
		if errors.Is(err, db.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the email of an event: %w", err)
		}
		if data.EmailExtra, err = extra(); err != nil {
			return nil, err
		}
		return s.scrubErasing(tx, teamID, &data)
	})
}

// emailData reads what every event of an email says. Error: db.ErrNotFound.
func (s *Service) emailData(tx *db.Tx, teamID, emailID string) (webhook.EmailData, error) {
	email, err := tx.WebhookEmail(teamID, emailID)
	if errors.Is(err, db.ErrNotFound) {
		return s.broadcastData(tx, teamID, emailID)
	}
	if err != nil {
		return webhook.EmailData{}, err
	}
	return webhook.EmailDataOf(&email), nil
}

// broadcastData is emailData for the email to a recipient of a broadcast.
func (s *Service) broadcastData(tx *db.Tx, teamID, emailID string) (data webhook.EmailData, err error) {
	b, err := tx.BroadcastOfMail(teamID, emailID)
	if err != nil {
		return data, err
	}
	to, err := tx.BroadcastRecipient(emailID)
	if err != nil {
		return data, err
	}
	subject, err := s.subjectFor(&tx.Reader, &b, &to)
	if err != nil {
		return data, err
	}
	return webhook.EmailData{
		EmailID: emailID, MessageID: "<" + app.EmailMessageID(emailID, b.From.Domain) + ">", CreatedAt: app.FormatTime(b.QueuedAt),
		From: b.From.String(), To: []string{to.Email}, Subject: subject, BroadcastID: b.ID,
	}, nil
}

// subjectFor is the subject of the mail to one recipient of a broadcast.
func (s *Service) subjectFor(r *db.Reader, b *app.Broadcast, to *app.BroadcastRecipient) (string, error) {
	if !strings.Contains(b.Subject, "{{{") {
		return b.Subject, nil
	}
	if content := s.mails.get(b.ID); content != nil {
		return content.Subject(to), nil
	}
	full, err := r.Broadcast(b.TeamID, b.ID)
	if err != nil {
		return "", err
	}
	none := "none" // the bodies would take long, and nobody reads them here
	full.HTML, full.Text = "", &none
	content, err := render.Compile(full)
	if err != nil {
		return "", fmt.Errorf("compile the subject of a broadcast: %w", err)
	}
	return content.Subject(to), nil
}

// scrubErasing takes addresses out of an event whose email came before their
// erasure, which is under way: what is noted now is not looked at any more.
func (s *Service) scrubErasing(tx *db.Tx, teamID string, data *webhook.EmailData) (any, error) {
	erasing, err := tx.HasErasures(teamID)
	if err != nil || !erasing {
		return data, err
	}
	rows, err := tx.Erasures(audience.MaxErasures)
	if err != nil {
		return nil, err
	}
	jobs := &audience.TeamErasures{ID: teamID}
	for _, row := range rows {
		if row.TeamID != teamID {
			continue
		}
		if job, err := s.audience.OpenErasure(row); err == nil { // else the eraser says so
			jobs.Jobs = append(jobs.Jobs, job)
		}
	}
	text, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("encode the data of an event: %w", err)
	}
	clean, err := jobs.Set(data.EmailID).ScrubJSON(string(text))
	return jsontext.Value(clean), err
}

// AnnounceState notes that a recipient of an email came to a state.
func (s *Service) AnnounceState(tx *db.Tx, u app.Unit, address string, state app.LastEvent, detail *app.EventDetail) error {
	name, extra := webhook.StateEvent(address, state, detail)
	if name == "" {
		return nil
	}
	return s.AnnounceEmail(tx, u.TeamID, name, u.EmailID, extra)
}
