package feedback

import (
	"strings"

	"mailer/app"
)

// azure is written after "Azure Communication Services - Email events"
// (learn.microsoft.com/azure/event-grid/communication-services-email-events), "Webhook event delivery"
// and "Custom delivery properties" of Event Grid, read in November 2026. Azure reports the Message-ID.
var azure = Provider{
	Source: "azure", Name: "Azure Communication Services", Proof: ProofPassword, read: readAzure, relayDomains: []string{"azurecomm.net"},
	Hosts: []SMTPHost{{"smtp.azurecomm.net", ""}}, SPF: "include:spf.protection.outlook.com",
}

// azureEvent is an event in the schema of Event Grid.
type azureEvent struct {
	ID   looseString `json:"id"`
	Type looseString `json:"eventType"`
	Time looseString `json:"eventTime"`
	Data struct {
		ValidationCode looseString `json:"validationCode"` // validationUrl is never fetched
		Recipient      looseString `json:"recipient"`
		MessageID      looseString `json:"messageId"`
		InternetID     looseString `json:"internetMessageId"`
		Status         looseString `json:"status"`
		Details        struct {
			Message looseString `json:"statusMessage"`
		} `json:"deliveryStatusDetails"`
		Attempted  looseString `json:"deliveryAttemptTimeStamp"`
		Engagement looseString `json:"engagementType"`
		Context    looseString `json:"engagementContext"`
		Acted      looseString `json:"userActionTimeStamp"`
		Agent      looseString `json:"userAgent"`
	} `json:"data"`
}

// readAzure parses a request of Event Grid: an array of events, or the one event of its handshake.
// Error: CodeInvalidPayload.
func readAzure(body []byte) (out Reading, err error) {
	events, err := decodeEvents[azureEvent](body)
	if err != nil {
		return out, err
	}
	for i := range events {
		m := &events[i]
		if m.Type == "Microsoft.EventGrid.SubscriptionValidationEvent" && len(events) == 1 && len(m.Data.ValidationCode) <= 200 {
			out.Challenge = string(m.Data.ValidationCode)
			return out, nil
		}
		f := Report{ProviderID: string(m.Data.MessageID), MessageID: bareMessageID(m.Data.InternetID), Recipient: string(m.Data.Recipient), UserAgent: string(m.Data.Agent)}
		known := m.report(&f)
		if f.At.IsZero() {
			f.At = anyTime(string(m.Time))
		}
		f.ID = reportID(m.ID, string(f.Kind), f.Recipient)
		out.add(f, known)
	}
	return out, nil
}

// report sets the event and returns false for events that are ignored.
func (m *azureEvent) report(f *Report) bool {
	d := &m.Data
	switch m.Type {
	case "Microsoft.Communication.EmailDeliveryReportReceived":
		f.At = anyTime(string(d.Attempted))
		return m.delivery(f)
	case "Microsoft.Communication.EmailEngagementTrackingReportReceived":
		f.At = anyTime(string(d.Acted))
		switch strings.ToLower(string(d.Engagement)) {
		case "view":
			f.Kind = Opened
		case "click":
			f.Kind, f.Link = Clicked, string(d.Context)
		}
	}
	return f.Kind != ""
}

// delivery maps the status of a delivery.
func (m *azureEvent) delivery(f *Report) bool {
	words := m.Data.Details.Message
	f.Diagnostic = string(words)
	switch m.Data.Status {
	case "Delivered", "Expanded": // expanded: delivered to the members of a group
		f.Kind = Delivered
	case "Bounced":
		f.bounced(app.BouncePermanent, "", "", string(words))
	case "Suppressed": // it bounced before
		f.onProviderList(string(words))
	case "Quarantined", "FilteredSpam":
		f.bounced(app.BounceTransient, "ContentRejected", "", string(words))
	case "Failed":
		f.bounced(app.BounceUndetermined, "", "", string(words))
	default:
		return false
	}
	return true
}
