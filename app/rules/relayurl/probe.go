package relayurl

// The steps of a relay test.
const (
	StepDNS      = "dns"
	StepConnect  = "connect"
	StepTLS      = "tls"
	StepGreeting = "greeting"
	StepAuth     = "auth"
	StepMail     = "mail" // MAIL, RCPT and RSET, without sending
	StepSend     = "send" // one message
)

// Step is the result of a step.
type Step struct {
	Step  string `json:"step"`
	OK    bool   `json:"ok"`
	MS    int64  `json:"ms"`   // duration
	Reply string `json:"said"` // the server's text, or ours
}
