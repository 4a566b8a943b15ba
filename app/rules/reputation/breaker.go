package reputation

// BreakerData is the data of deliverability.paused when the circuit breaker of a relay is open for
// one of the team's domains.
type BreakerData struct {
	_             struct{}  `schema:"RestData"` // generated clients know this name
	TeamID        string    `json:"team_id"`
	Status        Guardrail `json:"guardrail_status"`
	Domain        string    `json:"domain"`
	Region        string    `json:"region"`
	Reason        string    `json:"reason"` // the relay's reply to this team's mail
	ReplyCode     int       `json:"reply_code,omitempty"`
	EnhancedCode  string    `json:"enhanced_code,omitempty"`
	NextAttemptAt string    `json:"next_attempt_at,omitempty"`
}
