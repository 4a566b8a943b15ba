package relayurl

// The steps of a test of a relay.
const (
	StepDNS      = "dns"
	StepConnect  = "connect"
	StepTLS      = "tls"
	StepGreeting = "greeting"
	StepAuth     = "auth"
	StepMail     = "mail" // MAIL, RCPT and RSET: nothing is sent
	StepSend     = "send" // one message
)

// Step is what came of one step.
type Step struct {
	Step string `json:"step"`
	OK   bool   `json:"ok"`
	MS   int64  `json:"ms"`   // how long it took
	Said string `json:"said"` // in the server's words, or ours
}
