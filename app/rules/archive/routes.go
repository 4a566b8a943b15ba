package archive

import (
	"time"

	"mailer/app"
)

// Route is a route for received mail. Routes are in their order.
type Route struct {
	ID        string            `json:"id,omitzero"`
	Match     string            `json:"match"`
	Actions   []app.RouteAction `json:"actions"`
	CreatedAt time.Time         `json:"created_at,omitzero"`
}

// Destination is an address to which routes forward received mail, and what its owner decided.
type Destination struct {
	ID        string            `json:"id,omitzero"`
	Address   string            `json:"address"`
	Status    app.ForwardStatus `json:"status"` // for people; the times count
	AskedAt   time.Time         `json:"asked_at,omitzero"`
	AgreedAt  time.Time         `json:"agreed_at,omitzero"`
	StoppedAt time.Time         `json:"stopped_at,omitzero"`
	CreatedAt time.Time         `json:"created_at,omitzero"`
}
