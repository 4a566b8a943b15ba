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

// AnnounceEmail announces an event of a team's email, or of an email of a broadcast. It does
// nothing for an unknown email. extra is the data of this event. Without a subscriber it costs two
// lookups in memory, so callers need not check before.
func (s *Service) AnnounceEmail(tx *db.Tx, teamID string, name webhook.EventName, emailID string, extra webhook.EmailExtra) error {
	return s.announceWith(tx, teamID, name, emailID, func() (webhook.EmailExtra, error) { return extra, nil })
}

// announceWith is AnnounceEmail for data that is costly to read: extra is called only if there is a
// subscriber.
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

// emailData reads the data that all events of an email contain. Error: db.ErrNotFound.
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

// broadcastData is emailData for an email of a broadcast.
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

// subjectFor returns the subject of the email to one recipient of a broadcast.
func (s *Service) subjectFor(r *db.Reader, b *app.Broadcast, to *app.BroadcastRecipient) (string, error) {
	if !strings.Contains(b.Subject, "{{") && !strings.Contains(b.Subject, "{%") && to.Language == "" {
		return b.Subject, nil
	}
	if content := s.mails.get(b.ID); content != nil {
		return content.Subject(to), nil
	}
	full, err := r.Broadcast(b.TeamID, b.ID)
	if err != nil {
		return "", err
	}
	full = full.In(to.Language)
	none := "none" // compiling the bodies would take long, and only the subject is needed
	full.HTML, full.Text = "", &none
	content, err := render.Compile(full)
	if err != nil {
		return "", fmt.Errorf("compile the subject of a broadcast: %w", err)
	}
	return content.Subject(to), nil
}

// scrubErasing removes addresses that are being erased from an event: the running erasure does not
// scan events that are stored now.
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
		if job, err := s.audience.OpenErasure(row); err == nil { // the eraser logs the error
			jobs.Jobs = append(jobs.Jobs, job)
		}
	}
	text, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("encode the data of an event: %w", err)
	}
	return jsontext.Value(jobs.Set(data.EmailID).ScrubJSON(string(text))), nil
}

// AnnounceState announces the new state of a recipient.
func (s *Service) AnnounceState(tx *db.Tx, u app.Unit, address string, state app.LastEvent, detail *app.EventDetail) error {
	name, extra := webhook.StateEvent(address, state, detail)
	if name == "" {
		return nil
	}
	return s.AnnounceEmail(tx, u.TeamID, name, u.EmailID, extra)
}
