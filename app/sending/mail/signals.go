package mail

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/tracking"
	"mailer/db"
)

// hitPayload is the payload of the events mailer:email.opened and mailer:email.clicked.
type hitPayload struct {
	EmailID     string `json:"email_id"`
	BroadcastID string `json:"broadcast_id,omitzero"`
	TemplateID  string `json:"template_id,omitzero"`
	URL         string `json:"url,omitzero"`
}

// signalHit tells automations about the first open of an email, and the first click of each of its links, before the
// hit is recorded. The email belongs to a broadcast or was made from a template.
func (s *Service) signalHit(tx *db.Tx, f *tracking.Hit, email *db.TrackedEmail, kind app.EventType) error {
	name := ""
	switch kind {
	case app.EventType(app.Opened):
		name = app.TriggerEmailOpened
	case app.EventType(app.Clicked):
		name = app.TriggerEmailClicked
	}
	if s.OnSignal == nil || name == "" || email.Recipient == "" || !tracking.TimelineFits(kind, email.Events, email.Prefetched) {
		return nil
	}
	listens, err := tx.Listens(email.TeamID, name)
	if err != nil || !listens {
		return err
	}
	earlier, err := tx.NewestEvents(f.EmailID, tracking.MaxHitEvents)
	if err != nil {
		return fmt.Errorf("read earlier opens and clicks: %w", err)
	}
	if slices.ContainsFunc(earlier, func(e app.Event) bool { return e.Type == kind && e.Detail.Link == f.Target }) {
		return nil
	}
	payload := hitPayload{EmailID: f.EmailID, BroadcastID: email.Broadcast, URL: f.Target}
	var chain []string
	if email.Broadcast == "" {
		if payload.TemplateID, chain, err = Origin(tx, email.TeamID, f.EmailID); err != nil || payload.TemplateID == "" {
			return err
		}
	}
	contact, err := tx.ContactByAddress(email.TeamID, s.Sealer.AddressHash(email.TeamID, app.KeyOf(email.Recipient)))
	if err != nil {
		return base.IgnoreNotFound(err)
	}
	raw, err := json.Marshal(&payload)
	if err != nil {
		return err
	}
	return s.OnSignal(tx, app.Signal{TeamID: email.TeamID, ContactID: contact.ID, Name: name, Payload: raw, Chain: chain})
}

// Origin returns the template from which an email was made, and the automations that led to it.
func Origin(tx *db.Tx, teamID, emailID string) (template string, chain []string, err error) {
	template, runID, err := tx.EmailOrigin(teamID, emailID)
	if err != nil || runID == "" {
		return template, nil, base.IgnoreNotFound(err)
	}
	run, err := tx.Run(teamID, runID)
	if errors.Is(err, db.ErrNotFound) {
		return template, nil, nil
	}
	if chain = run.Context.Chain; err == nil && !slices.Contains(chain, run.AutomationID) {
		chain = append(slices.Clone(chain), run.AutomationID)
	}
	return template, chain, err
}
