package archive

import (
	"time"

	"mailer/app"
)

// Automation is an automation with the current version of its flow. Runs are not part of an archive.
type Automation struct {
	ID        string               `json:"id,omitzero"`
	Name      string               `json:"name"`
	Status    app.AutomationStatus `json:"status"`
	Held      string               `json:"held,omitzero"` // reason why starts by date and schedule are held
	Version   int64                `json:"version"`
	Flow      app.AutomationFlow   `json:"flow"`
	CreatedAt time.Time            `json:"created_at,omitzero"`
	UpdatedAt time.Time            `json:"updated_at,omitzero"`
}

// Start is the last start of an automation for a contact, so that it does not start again too early.
type Start struct {
	AutomationID string    `json:"automation_id"`
	ContactID    string    `json:"contact_id"`
	Email        string    `json:"email"`
	Key          string    `json:"key,omitzero"` // hash of a value of the event, for once_per_event_key
	LastAt       time.Time `json:"last_at"`
}

// CustomEvent is an event that the team declared.
type CustomEvent struct {
	ID        string                        `json:"id,omitzero"`
	Name      string                        `json:"name"`
	Schema    map[string]app.EventFieldType `json:"schema,omitzero"` // nil: any payload
	CreatedAt time.Time                     `json:"created_at,omitzero"`
	UpdatedAt time.Time                     `json:"updated_at,omitzero"`
}
