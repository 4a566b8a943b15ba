package app

import "time"

// EventName is the name of an event that webhooks carry (decisions.md 10).
type EventName string

// The events of a team's audience.
const (
	ContactCreated       EventName = "contact.created"
	ContactUpdated       EventName = "contact.updated"
	ContactDeleted       EventName = "contact.deleted"
	ContactTopicsUpdated EventName = "contact.topics.updated"
	SuppressionAdded     EventName = "suppression.added"
	SuppressionRemoved   EventName = "suppression.removed"
	TopicCreated         EventName = "topic.created"
	TopicUpdated         EventName = "topic.updated"
	TopicDeleted         EventName = "topic.deleted"
	DomainCreated        EventName = "domain.created"
	DomainUpdated        EventName = "domain.updated"
	DomainDeleted        EventName = "domain.deleted"
)

// Happening is an event as webhooks carry it, its payload frozen.
type Happening struct {
	ID        string
	TeamID    string
	Type      EventName
	Payload   []byte // JSON: {type,created_at,data}
	CreatedAt time.Time
}

// HappeningsKept is how long happenings are kept.
const HappeningsKept = 30 * 24 * time.Hour

// ContactData is the data of contact.created, .updated and .deleted
// (clients.md 4.1).
type ContactData struct {
	ID           string   `json:"id"`
	AudienceID   *string  `json:"audience_id"` // the first of SegmentIDs
	SegmentIDs   []string `json:"segment_ids"` // those it was added to by hand
	CreatedAt    string   `json:"created_at"`
	UpdatedAt    string   `json:"updated_at"`
	Email        string   `json:"email"`
	FirstName    *string  `json:"first_name"`
	LastName     *string  `json:"last_name"`
	Unsubscribed bool     `json:"unsubscribed"`
}

// ContactTopicsData is the data of contact.topics.updated: the choices that
// changed.
type ContactTopicsData struct {
	Email  string        `json:"email"`
	Topics []TopicChoice `json:"topics"`
}

// SuppressionData is the data of suppression.added and .removed.
type SuppressionData struct {
	ID        string            `json:"id"`
	Email     string            `json:"email"`
	Origin    SuppressionOrigin `json:"origin"`
	SourceID  *string           `json:"source_id"`
	CreatedAt string            `json:"created_at"`
}

// TopicData is the data of topic.created, .updated and .deleted.
type TopicData struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	Description *string      `json:"description"`
	Default     Subscription `json:"default_subscription"`
	Deleted     bool         `json:"deleted"`
	CreatedAt   string       `json:"created_at"`
	UpdatedAt   string       `json:"updated_at"`
}
