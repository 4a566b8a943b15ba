package archive

import (
	"time"

	"mailer/app"
)

// Issue is a broadcast in the archive of its topic, rendered for nobody.
type Issue struct {
	ID          string    `json:"id,omitzero"`
	TopicID     string    `json:"topic_id"`
	BroadcastID string    `json:"broadcast_id"` // which may be deleted
	Subject     string    `json:"subject"`
	Preview     string    `json:"preview_text,omitzero"`
	Language    string    `json:"language,omitzero"`
	HTML        string    `json:"html"`
	SentAt      time.Time `json:"sent_at"`
}

// Feed is a feed of which broadcasts are made.
type Feed struct {
	ID              string        `json:"id,omitzero"`
	URL             string        `json:"url"`
	TopicID         string        `json:"topic_id"`
	TemplateID      string        `json:"template_id"`
	From            string        `json:"from,omitzero"`
	Schedule        string        `json:"schedule"`
	Zone            string        `json:"zone"`
	Mode            string        `json:"mode"`
	SkipEmpty       bool          `json:"skip_empty,omitzero"`
	State           app.FeedState `json:"state"`
	Held            string        `json:"held,omitzero"`  // reason
	Since           time.Time     `json:"since,omitzero"` // items that are older are in no issue
	Seen            []string      `json:"seen,omitzero"`  // hashes of the ids of items that were in an issue
	LastBroadcastID string        `json:"last_broadcast_id,omitzero"`
	CreatedAt       time.Time     `json:"created_at,omitzero"`
	UpdatedAt       time.Time     `json:"updated_at,omitzero"`
}
