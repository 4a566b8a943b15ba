package webhook

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
)

// Payload returns the JSON payload of a webhook event. data is one of the data types.
func Payload(name EventName, at time.Time, data any) ([]byte, error) {
	payload, err := json.Marshal(struct {
		Type      EventName `json:"type"`
		CreatedAt string    `json:"created_at"`
		Data      any       `json:"data"`
	}{name, app.FormatTime(at), data})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	return payload, nil
}

// ContactDataOf returns the event data of a contact. segments are those that it was added to by
// hand.
func ContactDataOf(c *app.Contact, segments []string) ContactData {
	data := ContactData{
		ID: c.ID, SegmentIDs: segments, CreatedAt: app.FormatTime(c.CreatedAt), UpdatedAt: app.FormatTime(c.UpdatedAt),
		Email: c.Email, FirstName: app.TextOrNull(c.FirstName), LastName: app.TextOrNull(c.LastName), Unsubscribed: c.Unsubscribed,
	}
	if len(segments) > 0 {
		data.AudienceID = segments[0]
	} else {
		data.SegmentIDs = []string{}
	}
	return data
}

// SuppressionDataOf returns the event data of a suppression.
func SuppressionDataOf(s *app.Suppression) SuppressionData {
	return SuppressionData{ID: s.ID, Email: s.Email, Origin: s.Origin, SourceID: app.TextOrNull(s.SourceID), CreatedAt: app.FormatTime(s.CreatedAt)}
}

// OptInDataOf returns the event data of an opt-in.
func OptInDataOf(o *app.SignUp) OptInData {
	data := OptInData{ID: o.ID, Email: o.Email, Status: o.Status, FormID: app.TextOrNull(o.FormID), ContactID: app.TextOrNull(o.ContactID), Topics: o.Request.Topics, RequestedAt: app.FormatTime(o.RequestedAt)}
	if data.Topics == nil {
		data.Topics = []string{}
	}
	if o.Status == app.OptInConfirmed {
		data.ConfirmedAt = app.FormatTimePtr(o.DecidedAt)
	}
	return data
}

// TopicDataOf returns the event data of a topic.
func TopicDataOf(name EventName, t *app.Topic) TopicData {
	return TopicData{
		ID: t.ID, Name: t.Name, Description: app.TextOrNull(t.Description), Default: t.Default, Deleted: name == TopicDeleted,
		CreatedAt: app.FormatTime(t.CreatedAt), UpdatedAt: app.FormatTime(t.UpdatedAt),
	}
}

// EmailDataOf returns the data of all events of an email.
func EmailDataOf(email *app.Email) EmailData {
	data := EmailData{
		EmailID: email.ID, MessageID: "<" + email.MessageID + ">", CreatedAt: app.FormatTime(email.CreatedAt),
		From: email.From.String(), To: make([]string, len(email.To)), Subject: email.Subject, TemplateID: email.TemplateID, Headers: email.Headers,
	}
	for i, to := range email.To {
		data.To[i] = to.String()
	}
	if len(email.Tags) > 0 {
		data.Tags = make(map[string]string, len(email.Tags))
	}
	for _, tag := range email.Tags {
		data.Tags[tag.Name] = tag.Value
	}
	return data
}

// stateNames maps the states of a recipient to events. Sending is one event for all recipients.
var stateNames = map[app.LastEvent]EventName{
	app.Delivered:       EmailDelivered,
	app.DeliveryDelayed: EmailDeliveryDelayed,
	app.Bounced:         EmailBounced,
	app.Complained:      EmailComplained,
	app.Suppressed:      EmailSuppressed,
	app.Failed:          EmailFailed,
}

// StateEvent returns the event for a recipient that reached a state, with its additional data. The
// name is empty if there is no event.
func StateEvent(recipient string, state app.LastEvent, detail *app.EventDetail) (EventName, EmailExtra) {
	extra := EmailExtra{Recipient: recipient}
	switch state {
	case app.Bounced:
		extra.Bounce = &BounceData{Message: detail.Message, Type: app.BouncePermanent, SubType: BounceSubType(detail.EnhancedCode), Diagnostic: Diagnostic(detail)}
	case app.Suppressed:
		extra.Suppressed = &SuppressedData{Message: detail.Message, Type: AccountSuppressedType, Reason: PreviousBounce, Diagnostic: Diagnostic(detail)}
	case app.Failed:
		extra.Failed = &FailedData{Reason: cmp.Or(detail.Reason, detail.Message)}
	}
	return stateNames[state], extra
}

// Clicked returns the additional data of email.clicked.
func Clicked(recipient, link, ip, userAgent string, at time.Time) EmailExtra {
	return EmailExtra{Recipient: recipient, Click: &ClickData{IPAddress: ip, Link: link, Timestamp: app.FormatTime(at), UserAgent: userAgent}}
}

// Diagnostic returns a relay's answer on one line; empty list: none.
func Diagnostic(d *app.EventDetail) []string {
	if d.ReplyCode == 0 {
		return []string{}
	}
	line := fmt.Sprint("smtp; ", d.ReplyCode, " ", d.EnhancedCode, " ", d.Reply)
	return []string{strings.Join(strings.Fields(line), " ")}
}

// BounceSubType returns the subtype for an enhanced status code (RFC 3463).
func BounceSubType(enhanced string) string {
	_, code, _ := strings.Cut(enhanced, ".")
	subject, _, _ := strings.Cut(code, ".")
	switch {
	case code == "1.1", code == "1.2", code == "1.3", code == "1.10":
		return "NoEmail"
	case code == "2.2":
		return "MailboxFull"
	case code == "2.3", code == "3.4":
		return "MessageTooLarge"
	case subject == "6", code == "7.1":
		return "ContentRejected"
	case code == "":
		return "Undetermined"
	}
	return "General"
}
