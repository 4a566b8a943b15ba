package engine

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/db"
)

// announce notes an event for webhooks in the Write that made it happen. data is
// one of app's data types; what it says is frozen here.
func announce(tx *db.Tx, teamID string, name app.EventName, data any) error {
	payload, err := json.Marshal(struct {
		Type      app.EventName `json:"type"`
		CreatedAt string        `json:"created_at"`
		Data      any           `json:"data"`
	}{name, app.FormatTime(tx.Now), data})
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return tx.InsertHappening(&app.Happening{ID: app.NewID(), TeamID: teamID, Type: name, Payload: payload, CreatedAt: tx.Now})
}

// announceContact notes an event about a contact. segments are those that it
// was added to by hand.
func announceContact(tx *db.Tx, name app.EventName, c *app.Contact, segments []string) error {
	data := app.ContactData{
		ID: c.ID, SegmentIDs: segments, CreatedAt: app.FormatTime(c.CreatedAt), UpdatedAt: app.FormatTime(c.UpdatedAt),
		Email: c.Email, FirstName: textOrNull(c.FirstName), LastName: textOrNull(c.LastName), Unsubscribed: c.Unsubscribed,
	}
	if len(segments) > 0 {
		data.AudienceID = &segments[0]
	} else {
		data.SegmentIDs = []string{}
	}
	return announce(tx, c.TeamID, name, data)
}

// announceChoices notes the choices of an address that changed.
func announceChoices(tx *db.Tx, teamID, email string, changed []app.TopicChoice) error {
	if len(changed) == 0 {
		return nil
	}
	return announce(tx, teamID, app.ContactTopicsUpdated, app.ContactTopicsData{Email: email, Topics: changed})
}

func announceSuppression(tx *db.Tx, name app.EventName, s *app.Suppression) error {
	return announce(tx, s.TeamID, name, app.SuppressionData{
		ID: s.ID, Email: s.Email, Origin: s.Origin, SourceID: textOrNull(s.SourceID), CreatedAt: app.FormatTime(s.CreatedAt),
	})
}

func announceTopic(tx *db.Tx, name app.EventName, t *app.Topic) error {
	return announce(tx, t.TeamID, name, app.TopicData{
		ID: t.ID, Name: t.Name, Description: textOrNull(t.Description), Default: t.Default, Deleted: name == app.TopicDeleted,
		CreatedAt: app.FormatTime(t.CreatedAt), UpdatedAt: app.FormatTime(t.UpdatedAt),
	})
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
