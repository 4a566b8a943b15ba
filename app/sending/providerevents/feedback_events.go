package providerevents

import (
	"fmt"
	"strings"

	"mailer/app"
	"mailer/app/rules/bounce"
	"mailer/app/rules/feedback"
	"mailer/app/rules/tracking"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// event returns the timeline event of the report, and whether it is shown there.
func (r *report) event(tx *db.Tx) (ev app.Event, shown bool, err error) {
	kind, text := r.describe()
	var domain string
	if !r.notRecipient() {
		domain = r.subject.Domain
	}
	ev = app.Event{ID: app.NewID(), TeamID: r.subject.TeamID, EmailID: r.subject.EmailID, BroadcastID: r.subject.BroadcastID, Domain: domain, Relay: r.subject.Relay, Type: kind, CreatedAt: r.At,
		Detail: app.EventDetail{Message: text, Source: r.Source, EnhancedCode: r.Enhanced, BounceType: string(r.Bounce),
			BounceSubType: r.SubType, Diagnostic: r.Diagnostic, Link: r.Link, UserAgent: r.UserAgent, IPAddress: r.IPAddress}}
	if r.recipient != nil {
		ev.Recipient = r.recipient.Address
	}
	if r.Kind == feedback.Accepted { // shown only if the relay's reply is unknown
		return ev, r.recipient != nil && r.recipient.State == app.Queued, nil
	}
	if !isHit(r.Kind) {
		return ev, true, nil
	}
	all, prefetched, err := tx.CountTrackingEvents(ev.EmailID)
	return ev, tracking.TimelineFits(kind, all, prefetched), err
}

func isHit(k feedback.Kind) bool {
	return k == feedback.Opened || k == feedback.Clicked
}

// describe returns the event type of the report and its text.
func (r *report) describe() (app.EventType, string) {
	who := "The provider reports"
	if r.Source == "bounce" {
		who = "A message to the bounce address reports"
	}
	if isHit(r.Kind) {
		kind, what := r.hit()
		return kind, who + ": " + what
	}
	kind := app.EventType(r.Kind.LastEvent())
	switch r.Kind {
	case feedback.Accepted:
		return kind, who + " that it took the mail"
	case feedback.Delivered:
		return kind, who + " that the mail was delivered"
	case feedback.Delayed:
		return kind, who + " that the delivery is delayed; it keeps trying" + r.quoted()
	case feedback.Bounced:
		why := strings.Join(strings.Fields(fmt.Sprint(r.Bounce, " ", r.SubType, " ", r.Enhanced)), ", ")
		if r.Reason != "" && r.Reason != bounce.NoReason {
			why += ": " + r.Reason.Description()
		}
		if r.Unauthenticated {
			why += "; not proven, so no address is suppressed"
		}
		return kind, fmt.Sprintf("%s a bounce (%s)%s", who, why, r.quoted())
	case feedback.Complained:
		return kind, who + " a complaint: the recipient called the mail spam" + r.quoted()
	}
	return kind, who + " that it did not send the mail" + r.quoted()
}

func (r *report) quoted() string {
	if r.Diagnostic == "" {
		return ""
	}
	return ": " + r.Diagnostic
}

// hit judges an open or a click by the rules for our own pixel and links, with what the report
// contains only, so that the order of reports does not matter.
func (r *report) hit() (app.EventType, string) {
	taken := r.AcceptedBy
	if taken.Before(r.subject.AcceptedAt) {
		taken = r.subject.AcceptedAt
	}
	f := tracking.Hit{Target: r.Link, UserAgent: r.UserAgent, At: r.At}
	if r.UserAgent != "" { // not every provider reports it
		f.Scanner = tracking.ScannerName(r.UserAgent)
	}
	if r.Kind == feedback.Clicked {
		f.Links = 1
	}
	if f.Scanner == "" && r.Machine {
		f.Scanner = "a machine, says the provider"
	}
	return f.Judge(taken, false)
}

// webhookEvents are the webhook events of reports. Prefetches are not announced.
var webhookEvents = map[app.EventType]webhook.EventName{
	app.EventType(app.Sent):            webhook.EmailSent,
	app.EventType(app.Delivered):       webhook.EmailDelivered,
	app.EventType(app.DeliveryDelayed): webhook.EmailDeliveryDelayed,
	app.EventType(app.Bounced):         webhook.EmailBounced,
	app.EventType(app.Complained):      webhook.EmailComplained,
	app.EventType(app.Opened):          webhook.EmailOpened,
	app.EventType(app.Clicked):         webhook.EmailClicked,
	app.EventType(app.Failed):          webhook.EmailFailed,
}

// announceReport announces a report to webhooks.
func (s *Service) announceReport(tx *db.Tx, ev *app.Event) error {
	name, ok := webhookEvents[ev.Type]
	if !ok {
		return nil
	}
	extra, d := webhook.EmailExtra{Recipient: ev.Recipient}, ev.Detail
	switch name {
	case webhook.EmailBounced:
		extra.Bounce = &webhook.BounceData{Message: d.Message, Type: app.BounceType(d.BounceType), SubType: d.BounceSubType, Diagnostic: []string{}}
		if d.BounceSubType == "" {
			extra.Bounce.SubType = "General"
		}
		if d.Diagnostic != "" {
			extra.Bounce.Diagnostic = []string{d.Diagnostic}
		}
	case webhook.EmailClicked:
		extra = webhook.Clicked(ev.Recipient, d.Link, d.IPAddress, d.UserAgent, ev.CreatedAt)
	case webhook.EmailFailed:
		extra.Failed = &webhook.FailedData{Reason: d.Message}
	}
	return s.mail.AnnounceEmail(tx, ev.TeamID, name, ev.EmailID, extra)
}
