package feedback

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"mailer/app"
)

// generic is the format for scripts and providers without a reader.
var generic = Provider{Source: app.SourceGeneric, Proof: ProofURL, read: readGeneric}

// MaxGenericEvents is the maximum number of events in one request of the generic format.
const MaxGenericEvents = 1000

// GenericEvent is an event in the generic format, for scripts and providers without a reader. One
// of EmailID, ProviderID and MessageID identifies the email.
type GenericEvent struct {
	ID         string `json:"id,omitempty" doc:"Your id of this event: the same again changes nothing. Without it, the same words again change nothing"`
	Type       string `json:"type" enum:"sent,delivered,delivery_delayed,bounced,complained,opened,clicked,failed"`
	EmailID    string `json:"email_id,omitempty" doc:"The email's id, as in X-Mailer-Email-ID; or else"`
	ProviderID string `json:"provider_id,omitempty" doc:"what Amazon SES calls it; or else"`
	MessageID  string `json:"message_id,omitempty" doc:"its Message-ID"`
	Recipient  string `json:"recipient,omitempty" doc:"Needed where the email has several"`
	CreatedAt  string `json:"created_at,omitempty" format:"date-time" doc:"When it happened; default now"`
	BounceType string `json:"bounce_type,omitempty" enum:"Permanent,Transient,Undetermined" doc:"Of bounced; default by the code"`
	SubType    string `json:"bounce_subtype,omitempty" doc:"Of bounced: NoEmail suppresses where the code says nothing"`
	Code       string `json:"enhanced_code,omitempty" doc:"Enhanced status code, like 5.1.1"`
	Diagnostic string `json:"diagnostic,omitempty" doc:"The other server's words"`
	Link       string `json:"link,omitempty" doc:"Of clicked"`
	UserAgent  string `json:"user_agent,omitempty"`
	IPAddress  string `json:"ip_address,omitempty"`
}

// genericKinds are the event types of the generic format.
var genericKinds = map[string]Kind{
	"sent": Accepted, "delivered": Delivered, "delivery_delayed": Delayed, "bounced": Bounced,
	"complained": Complained, "opened": Opened, "clicked": Clicked, "failed": Failed,
}

// readGeneric parses the generic format: one event, or an array of 1 to MaxGenericEvents. Errors:
// CodeInvalidPayload; CodeValidation, also for unknown names, since the format is ours.
func readGeneric(body []byte) (out Reading, err error) {
	var events []GenericEvent
	target := any(&events)
	single := bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{"))
	if single {
		events = make([]GenericEvent, 1)
		target = &events[0]
	}
	if err := json.Unmarshal(body, target, json.RejectUnknownMembers(true)); err != nil {
		return out, app.Errorf(app.CodeInvalidPayload, "The body must be JSON: an event of the generic form, or an array of them, without other fields")
	}
	if len(events) == 0 || len(events) > MaxGenericEvents {
		return out, app.Errorf(app.CodeValidation, "The array must hold 1 to %d events", MaxGenericEvents)
	}
	out.Reports = make([]Report, len(events))
	for i := range events {
		prefix := ""
		if !single {
			prefix = fmt.Sprintf("[%d].", i)
		}
		if out.Reports[i], err = events[i].feedback(prefix); err != nil {
			return Reading{}, err
		}
	}
	return out, nil
}

func (g *GenericEvent) feedback(prefix string) (Report, error) {
	f := Report{ID: g.ID, EmailID: g.EmailID, ProviderID: g.ProviderID, MessageID: bareMessageID(looseString(g.MessageID)),
		Recipient: g.Recipient, Bounce: app.BounceType(g.BounceType), SubType: g.SubType, Enhanced: g.Code, Diagnostic: g.Diagnostic,
		Link: g.Link, UserAgent: g.UserAgent, IPAddress: g.IPAddress}
	f.Kind = genericKinds[strings.TrimPrefix(g.Type, "email.")]
	switch f.Bounce {
	case "", app.BouncePermanent, app.BounceTransient, app.BounceUndetermined:
	default:
		return f, app.Invalid(prefix+"bounce_type", "must be Permanent, Transient or Undetermined")
	}
	switch {
	case f.Kind == "":
		return f, app.Invalid(prefix+"type", "must be sent, delivered, delivery_delayed, bounced, complained, opened, clicked or failed")
	case g.EmailID == "" && g.ProviderID == "" && g.MessageID == "":
		return f, app.Invalid(prefix+"email_id", "or `provider_id` or `message_id` is required")
	case g.Code != "" && !app.IsEnhancedCode(g.Code):
		return f, app.Invalid(prefix+"enhanced_code", "must be an enhanced status code like 5.1.1")
	case g.CreatedAt != "":
		if f.At = isoTime(looseString(g.CreatedAt)); f.At.IsZero() {
			return f, app.Invalid(prefix+"created_at", "must be a time in ISO 8601 with an offset")
		}
	}
	if g.Code == "" {
		f.Enhanced = codeOf("", looseString(g.Diagnostic))
	}
	return f, nil
}
