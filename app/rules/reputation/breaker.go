package reputation

// BreakerData is the data of deliverability.paused where a relay takes nothing of one of
// the team's domains.
type BreakerData struct {
	TeamID        string    `json:"team_id"`
	Status        Guardrail `json:"guardrail_status"`
	Domain        string    `json:"domain"`
	Region        string    `json:"region"`
	Reason        string    `json:"reason"` // in the relay's words to this team's mail
	ReplyCode     int       `json:"reply_code,omitempty"`
	EnhancedCode  string    `json:"enhanced_code,omitempty"`
	NextAttemptAt string    `json:"next_attempt_at,omitempty"`
}
