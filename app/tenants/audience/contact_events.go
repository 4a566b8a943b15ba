package audience

import (
	"fmt"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// announceContact announces an event of a contact. segments are those that it was added to
// manually.
func (s *Service) announceContact(tx *db.Tx, name webhook.EventName, c *app.Contact, segments []string) error {
	return s.events.Announce(tx, c.TeamID, name, func() (any, error) { return webhook.ContactDataOf(c, segments), nil })
}

// announceChange announces that a contact changed.
func (s *Service) announceChange(tx *db.Tx, c *app.Contact) error {
	return s.events.Announce(tx, c.TeamID, webhook.ContactUpdated, func() (any, error) {
		segments, err := tx.SegmentsOf(c.TeamID, c.ID)
		if err != nil {
			return nil, fmt.Errorf("read segments: %w", err)
		}
		return webhook.ContactDataOf(c, segments), nil
	})
}

// announceChoices announces changed topic choices of an address.
func (s *Service) announceChoices(tx *db.Tx, teamID, email string, changed []app.TopicChoice) error {
	if len(changed) == 0 {
		return nil
	}
	return s.events.Announce(tx, teamID, webhook.ContactTopicsUpdated, func() (any, error) {
		return webhook.ContactTopicsData{Email: email, Topics: changed}, nil
	})
}

func (s *Service) announceSuppression(tx *db.Tx, name webhook.EventName, suppression *app.Suppression) error {
	return s.events.Announce(tx, suppression.TeamID, name, func() (any, error) {
		return webhook.SuppressionDataOf(suppression), nil
	})
}

// AnnounceTopic announces an event of a topic inside the Write of the change.
func (s *Service) AnnounceTopic(tx *db.Tx, name webhook.EventName, t *app.Topic) error {
	return s.events.Announce(tx, t.TeamID, name, func() (any, error) {
		return webhook.TopicDataOf(name, t), nil
	})
}
