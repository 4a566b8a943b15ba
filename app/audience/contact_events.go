package audience

import (
	"fmt"

	"mailer/app"
	"mailer/app/service"
	"mailer/app/webhook"
	"mailer/db"
)

// announceContact notes an event about a contact. segments are those that it
// was added to by hand.
func (s *Service) announceContact(tx *db.Tx, name webhook.EventName, c *app.Contact, segments []string) error {
	return s.events.Announce(tx, c.TeamID, name, func() (any, error) { return contactData(c, segments), nil })
}

func contactData(c *app.Contact, segments []string) webhook.ContactData {
	data := webhook.ContactData{
		ID: c.ID, SegmentIDs: segments, CreatedAt: app.FormatTime(c.CreatedAt), UpdatedAt: app.FormatTime(c.UpdatedAt),
		Email: c.Email, FirstName: service.TextOrNull(c.FirstName), LastName: service.TextOrNull(c.LastName), Unsubscribed: c.Unsubscribed,
	}
	if len(segments) > 0 {
		data.AudienceID = &segments[0]
	} else {
		data.SegmentIDs = []string{}
	}
	return data
}

// announceChange notes that a contact changed.
func (s *Service) announceChange(tx *db.Tx, c *app.Contact) error {
	return s.events.Announce(tx, c.TeamID, webhook.ContactUpdated, func() (any, error) {
		segments, err := tx.SegmentsOf(c.TeamID, c.ID)
		if err != nil {
			return nil, fmt.Errorf("read segments: %w", err)
		}
		return contactData(c, segments), nil
	})
}

// announceChoices notes the choices of an address that changed.
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
		return webhook.SuppressionData{
			ID: suppression.ID, Email: suppression.Email, Origin: suppression.Origin, SourceID: service.TextOrNull(suppression.SourceID), CreatedAt: app.FormatTime(suppression.CreatedAt),
		}, nil
	})
}

// AnnounceTopic notes an event about a topic in the Write that made it happen.
func (s *Service) AnnounceTopic(tx *db.Tx, name webhook.EventName, t *app.Topic) error {
	return s.events.Announce(tx, t.TeamID, name, func() (any, error) {
		return webhook.TopicData{
			ID: t.ID, Name: t.Name, Description: service.TextOrNull(t.Description), Default: t.Default, Deleted: name == webhook.TopicDeleted,
			CreatedAt: app.FormatTime(t.CreatedAt), UpdatedAt: app.FormatTime(t.UpdatedAt),
		}, nil
	})
}
