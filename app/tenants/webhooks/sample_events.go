package webhooks

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/rules/mailreport"
	"mailer/app/rules/plan"
	"mailer/app/rules/reputation"
	"mailer/app/rules/webhook"
)

// sampleEvent returns a made-up event for the test of a webhook, in the form of real events, with
// the member test. An empty name selects the first event that the webhook subscribes to and that is
// sent. Errors: CodeValidation for an unknown name, or one that is not sent yet.
func sampleEvent(w *webhook.Webhook, name webhook.EventName, now time.Time) (*webhook.Event, error) {
	name, err := w.CheckTest(name)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(sampleData(name, w.TeamID, now))
	if err != nil {
		return nil, fmt.Errorf("encode a sample of %s: %w", name, err)
	}
	payload, err := webhook.Payload(name, now, struct {
		Data jsontext.Value `json:",embed"`
		Test bool           `json:"test"`
	}{data, true})
	return &webhook.Event{ID: app.NewID(), TeamID: w.TeamID, Type: name, Payload: payload, CreatedAt: now}, err
}

// sampleData returns the data of a made-up event.
func sampleData(name webhook.EventName, teamID string, now time.Time) any {
	subject, _, _ := strings.Cut(string(name), ".")
	switch subject {
	case "email":
		if name == webhook.EmailReceived || name == webhook.EmailReplied {
			return sampleReceived(name, teamID, now)
		}
		return sampleEmail(name, teamID, now)
	case "contact":
		if name == webhook.ContactTopicsUpdated {
			return webhook.ContactTopicsData{Email: sampleRecipient, Topics: []app.TopicChoice{{ID: app.NewID(), Subscription: app.OptOut}}}
		}
		if name == webhook.ContactOptInRequested || name == webhook.ContactOptInConfirmed {
			return sampleOptIn(name, now)
		}
		c := app.Contact{ID: app.NewID(), TeamID: teamID, Email: sampleRecipient, FirstName: "Ann", LastName: "Example", CreatedAt: now, UpdatedAt: now}
		return webhook.ContactDataOf(&c, []string{app.NewID()})
	case "domain":
		if name == webhook.DomainReportWarning {
			return webhook.ReportWarningData{DomainID: app.NewID(), Domain: "example.com", Warning: mailreport.WarnOwnSource, Day: now.UTC().AddDate(0, 0, -1).Format(time.DateOnly), ReportID: app.NewID(),
				Message: "12 from 203.0.113.9, which you named as yours, failed SPF and DKIM."}
		}
		d := app.Domain{ID: app.NewID(), TeamID: teamID, Name: "example.com", Status: app.DomainVerified, Region: app.DefaultRegion, ReturnPath: "send", CreatedAt: now,
			Keys: []app.DKIMPair{{Selector: app.DKIMSelector, State: app.DKIMSigning, Public: "MIIBIjANBgkqhkiG9w0BAQ", CreatedAt: now}}}
		return d.Data(d.Records(app.RelayNeeds{}, ""))
	case "suppression":
		return webhook.SuppressionDataOf(&app.Suppression{ID: app.NewID(), TeamID: teamID, Email: sampleRecipient, Origin: app.OriginBounce, SourceID: app.NewID(), CreatedAt: now})
	case "topic":
		t := app.Topic{ID: app.NewID(), TeamID: teamID, Name: "News", Description: "A test of this webhook", Default: app.OptIn, CreatedAt: now, UpdatedAt: now}
		return webhook.TopicDataOf(name, &t)
	case "route":
		d := app.ForwardAddress{Address: sampleRecipient, Refusals: app.PausingRefusals}
		routes := []app.MailRoute{{ID: app.NewID(), Actions: []app.RouteAction{{Type: app.RouteForward, To: d.Address}}}}
		return webhook.DestinationPausedDataOf(&d, routes, app.Bounced, now)
	case "relay":
		return webhook.RelaySwitch{Region: app.DefaultRegion, From: app.DefaultRegion, To: app.DefaultRegion + "/reserve", Reason: "an operator switched to it", At: app.FormatTime(now)}
	case "form":
		return webhook.FormLimitedData{ID: app.NewID(), Name: "Newsletter", PerHour: app.MaxConfirmationsPerHour, PerDay: app.DefaultConfirmationsPerDay, Waiting: 12}
	case "feed":
		return webhook.FeedFailedData{ID: app.NewID(), URL: "https://blog.example.com/feed.xml", TopicID: app.NewID(), Error: "the feed could not be fetched: its URL " + string(app.FetchUnreachable), Tries: 3}
	case "quota":
		p := plan.Plan{Name: plan.Pro, Since: plan.DayStart(now)}
		return p.PeriodQuota(p.Included(), now)
	}
	judged := reputation.Judgement{State: reputation.GuardrailWarning, Window: reputation.WindowWeek, Rates: reputation.Outcome{Sent: 1000, HardBounced: 45}}
	if name == webhook.DeliverabilityPaused {
		judged = reputation.Judgement{State: reputation.GuardrailPaused, Window: reputation.WindowDay, Rates: reputation.Outcome{Sent: 1000, HardBounced: 60}}
	}
	return judged.Data(teamID, false)
}

// sampleOptIn returns the data of a made-up event of an opt-in.
func sampleOptIn(name webhook.EventName, now time.Time) webhook.OptInData {
	o := app.SignUp{ID: app.NewID(), FormID: app.NewID(), Email: sampleRecipient, Status: app.OptInPending, Request: app.SignUpRequest{Topics: []string{app.NewID()}}, RequestedAt: now}
	if name == webhook.ContactOptInConfirmed {
		o.Status, o.ContactID, o.DecidedAt = app.OptInConfirmed, app.NewID(), now
	}
	return webhook.OptInDataOf(&o)
}

// sampleReceived returns the data of a made-up event of a received email.
func sampleReceived(name webhook.EventName, teamID string, now time.Time) webhook.ReceivedData {
	m := app.Received{ID: app.NewID(), TeamID: teamID, FromEmail: "ann@example.net", To: []string{sampleRecipient}, Recipients: []string{sampleRecipient}, MessageID: "<1@example.net>",
		Subject: "A test of this webhook", Text: "Hi", HTML: "<p>Hi</p>", ReplyText: "Hi", Size: 1200, CreatedAt: now,
		Auth: app.ReceivedAuth{SPF: app.AuthPass, DKIM: app.AuthPass, DMARC: app.AuthPass, FromAligned: true}}
	if name == webhook.EmailReplied {
		m.Answers, m.Proven = app.NewID(), true
	}
	return webhook.ReceivedDataOf(&m)
}

const sampleRecipient = "recipient@example.com"

// sampleEmail returns the data of a made-up event of an email.
func sampleEmail(name webhook.EventName, teamID string, now time.Time) webhook.EmailData {
	id := app.NewID()
	data := webhook.EmailDataOf(&app.Email{ID: id, TeamID: teamID, MessageID: app.EmailMessageID(id, "example.com"), CreatedAt: now,
		Mail: app.Mail{From: app.Address{Local: "sender", Domain: "example.com"}, To: []app.Address{{Local: "recipient", Domain: "example.com"}},
			Subject: "A test of this webhook", Tags: []app.Tag{{Name: "category", Value: "test"}}}})
	switch name {
	case webhook.EmailSent, webhook.EmailScheduled: // no single recipient
	case webhook.EmailClicked:
		data.EmailExtra = webhook.Clicked(sampleRecipient, "https://example.com/", "192.0.2.1", "Mozilla/5.0", now)
	default:
		data.EmailExtra = webhook.EmailExtra{Recipient: sampleRecipient}
		for state, detail := range sampleStates {
			if event, extra := webhook.StateEvent(sampleRecipient, state, &detail); event == name {
				data.EmailExtra = extra
			}
		}
	}
	return data
}

// sampleStates are the recipient states of made-up events.
var sampleStates = map[app.LastEvent]app.EventDetail{
	app.Bounced:    {Message: "The recipient's server refused the address", ReplyCode: 550, EnhancedCode: "5.1.1", Reply: "no such user"},
	app.Suppressed: {Message: "Not sent to this recipient: the address bounced before", ReplyCode: 550, EnhancedCode: "5.1.1", Reply: "no such user"},
	app.Failed:     {Message: "Expired after 10m without an attempt", Reason: app.ReasonExpired},
}
