package web

import (
	"reflect"
	"strings"

	"mailer/app"
	"mailer/app/rules/plan"
	"mailer/app/rules/reputation"
	"mailer/app/rules/webhook"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// documentTags describes the groups of operations, in their order in the document.
func documentTags(doc *openapi.Document) {
	doc.Tags = []openapi.Tag{
		{Name: "Emails", Description: "Send single emails and batches, and see their results."},
		{Name: "Received emails", Description: "Mail that arrived for a team's domains."},
		{Name: "Routes", Description: "What happens with mail that arrives for an address: store, announce, forward, answer or drop it."},
		{Name: "Domains", Description: "The domains that a team sends from, with the DNS records that they need."},
		{Name: "Reports", Description: "DMARC and TLS reports about domains: who sends as them, and what passes."},
		{Name: "Suppressions", Description: "The addresses that a team's mail leaves out."},
		{Name: "Templates", Description: "Stored content with variables, for sends and broadcasts."},
		{Name: "Blocks", Description: "HTML that templates and broadcasts share, like a header or a footer."},
		{Name: "Images", Description: "Pictures for mail, which this server shows to readers."},
		{Name: "Contacts", Description: "The people to whom broadcasts go, alone, in batches and from CSV files."},
		{Name: "Contact properties", Description: "Fields of contacts that a team defines."},
		{Name: "Segments", Description: "Groups of contacts: those added by hand, and those that fit a filter."},
		{Name: "Audiences", Description: "Segments under their old name."},
		{Name: "Topics", Description: "What contacts can opt into and out of."},
		{Name: "Forms", Description: "Sign-up forms."},
		{Name: "Opt-ins", Description: "Who asked to receive mail, and what they agreed to."},
		{Name: "Broadcasts", Description: "One email to many contacts."},
		{Name: "Archives", Description: "Broadcasts that can be read on the web."},
		{Name: "Feeds", Description: "RSS, Atom and JSON feeds that become broadcasts."},
		{Name: "Automations", Description: "Flows of steps that run for contacts, their runs, and the custom events that start and continue them."},
		{Name: "Webhooks", Description: "Endpoints that receive events, and their deliveries."},
		{Name: "API keys", Description: "The keys that open this API."},
		{Name: "Sign-in", Description: "How people get in and out of the dashboard."},
		{Name: "Account", Description: "What is a person's own: name, password, second factors, sessions."},
		{Name: "Team", Description: "The team itself, its people, and who is asked to join."},
		{Name: "Audit log", Description: "What was changed in a team, and by whom."},
		{Name: "Queue", Description: "Inspect and manage queued mail."},
		{Name: "Logs", Description: "Which requests were made, and how they were answered."},
		{Name: "Live", Description: "Changes as server-sent events."},
		{Name: "Relays", Description: "How mail leaves, for the operator of the server."},
		{Name: "Server", Description: "How the server is, and its backups, for its operator."},
		{Name: "Users", Description: "Who has an account on this server, for its operator."},
		{Name: "Teams", Description: "All teams, for the operator of the server."},
		{Name: "Usage", Description: "What a team used of its plan."},
		{Name: "Deliverability", Description: "How well a team's mail is received."},
		{Name: "MCP", Description: "The same operations as tools for agents."},
		{Name: "Health", Description: "Probes, and this document."},
		{Name: "Hosted pages", Description: "What recipients see: a link of their email opens them."},
		{Name: "Tracking", Description: "What the pixel and the links of tracked email lead to."},
		{Name: "Provider events", Description: "Endpoints for reports of providers: deliveries, bounces and complaints."},
	}
}

// eventData returns the types of each event's data.
func eventData() map[webhook.EventName][]reflect.Type {
	email, contact, domain := reflect.TypeFor[webhook.EmailData](), reflect.TypeFor[webhook.ContactData](), reflect.TypeFor[app.DomainData]()
	topic, suppression := reflect.TypeFor[webhook.TopicData](), reflect.TypeFor[webhook.SuppressionData]()
	optIn, received := reflect.TypeFor[webhook.OptInData](), reflect.TypeFor[webhook.ReceivedData]()
	line, rest, quota := reflect.TypeFor[reputation.GuardrailData](), reflect.TypeFor[reputation.BreakerData](), reflect.TypeFor[plan.QuotaData]()
	return map[webhook.EventName][]reflect.Type{
		webhook.EmailSent: {email}, webhook.EmailScheduled: {email}, webhook.EmailDelivered: {email}, webhook.EmailDeliveryDelayed: {email},
		webhook.EmailBounced: {email}, webhook.EmailComplained: {email}, webhook.EmailOpened: {email}, webhook.EmailClicked: {email},
		webhook.EmailFailed: {email}, webhook.EmailSuppressed: {email},
		webhook.EmailReceived: {received}, webhook.EmailReplied: {received},
		webhook.ContactCreated: {contact}, webhook.ContactUpdated: {contact}, webhook.ContactDeleted: {contact},
		webhook.ContactTopicsUpdated:  {reflect.TypeFor[webhook.ContactTopicsData]()},
		webhook.ContactOptInRequested: {optIn}, webhook.ContactOptInConfirmed: {optIn}, webhook.FormLimited: {reflect.TypeFor[webhook.FormLimitedData]()}, webhook.FeedFailed: {reflect.TypeFor[webhook.FeedFailedData]()},
		webhook.DomainCreated: {domain}, webhook.DomainUpdated: {domain}, webhook.DomainDeleted: {domain},
		webhook.DomainReportWarning: {reflect.TypeFor[webhook.ReportWarningData]()},
		webhook.SuppressionAdded:    {suppression}, webhook.SuppressionRemoved: {suppression},
		webhook.TopicCreated: {topic}, webhook.TopicUpdated: {topic}, webhook.TopicDeleted: {topic},
		webhook.RouteDestinationPaused: {reflect.TypeFor[webhook.DestinationPausedData]()},
		webhook.DeliverabilityWarning:  {line}, webhook.DeliverabilityPaused: {line, rest},
		webhook.QuotaWarning: {quota}, webhook.QuotaReached: {quota},
		webhook.RelaySwitched: {reflect.TypeFor[webhook.RelaySwitch]()},
	}
}

// eventNotes explain events whose names are not enough.
var eventNotes = map[webhook.EventName]string{
	webhook.EmailSent:              "The relay took the email: once for each time that it does.",
	webhook.EmailScheduled:         "An email was accepted that is to leave later.",
	webhook.EmailDelivered:         "The recipient's server took the email.",
	webhook.EmailDeliveryDelayed:   "Sent once, when the relay first puts the email off; also when a provider reports a delay. The email is tried again.",
	webhook.EmailBounced:           "The email came back; `bounce` says why.",
	webhook.EmailComplained:        "The recipient called the email spam.",
	webhook.EmailOpened:            "The pixel of the email was loaded.",
	webhook.EmailClicked:           "A link of the email was followed; `click` says which.",
	webhook.EmailFailed:            "The email can't be sent; `failed` says why.",
	webhook.EmailSuppressed:        "A recipient was left out; `suppressed` says why.",
	webhook.EmailReceived:          "An email arrived for a domain of the team. `text`, `html` and `reply_text` are cut at 64 KB each, and `truncated` is true then; get the email for the rest, and for its attachments.",
	webhook.EmailReplied:           "A recipient answered an email: DMARC, or a DKIM signature of the domain, passes. Out-of-office replies send no such event.",
	webhook.ContactTopicsUpdated:   "A contact opted into or out of topics; `topics` are those that changed.",
	webhook.ContactOptInRequested:  "A confirmed opt-in was asked for, through a form or by API. It is the same whether a confirmation is sent or not.",
	webhook.ContactOptInConfirmed:  "A person confirmed an opt-in: `contact_id` is the contact.",
	webhook.FormLimited:            "Confirmations of a form wait, because more were asked for than are sent in an hour or a day. Sent once in 24 hours.",
	webhook.FeedFailed:             "A due feed could not become a broadcast three times in a row; `error` says why. It is tried twice more until its next time.",
	webhook.DomainReportWarning:    "A report about a domain shows that a source fails which the team named as its own, that far more messages fail than before, or that senders can't use TLS; `message` is a sentence. Each once a week for a domain.",
	webhook.RouteDestinationPaused: "An address to which routes forward received mail refused 5 mails in a row. Nothing is forwarded there until a route names it in `actions` again.",
	webhook.DeliverabilityWarning:  "The rates of bounces or complaints crossed a line.",
	webhook.DeliverabilityPaused:   "Sending rests: for the rates of bounces or complaints, or because a relay refuses all mail of a domain.",
	webhook.QuotaWarning:           "A quota is nearly used up.",
	webhook.QuotaReached:           "A quota is used up.",
	webhook.RelaySwitched:          "The mail of a region leaves through another relay. Only webhooks with the scope `server` get it.",
}

// documentWebhooks describes the request that an endpoint receives for each event.
func documentWebhooks(h *rest.Handler, doc *openapi.Document) {
	items, data := map[string]openapi.PathItem{}, eventData()
	for _, name := range append(webhook.EventNames(), webhook.ServerEvents()...) {
		title := eventTitle(name)
		note := eventNotes[name]
		if note == "" {
			subject, verb, _ := strings.Cut(string(name), ".")
			note = "A " + subject + " was " + verb + "."
		}
		event := h.Component(title, eventSchema(doc.Components.Schemas, name, data[name]))
		items[string(name)] = openapi.PathItem{"post": {
			OperationID: "on-" + strings.NewReplacer(".", "-", "_", "-").Replace(string(name)), Tags: webhookTags,
			Summary: "Event " + string(name), Description: note + " Signed by the scheme of Standard Webhooks; an event can come twice, with the same id.",
			Security: []map[string][]string{}, Parameters: signatureHeaders(),
			RequestBody: &openapi.RequestBody{Required: true, Content: map[string]*openapi.MediaType{"application/json": {Schema: event}}},
			Responses:   map[string]*openapi.Response{"2XX": {Description: "The event is taken; after any other answer it comes again"}},
		}}
	}
	doc.Webhooks = items
}

// eventTitle returns the type name of an event in generated clients: EmailDeliveryDelayedEvent.
func eventTitle(name webhook.EventName) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(string(name), func(r rune) bool { return r == '.' || r == '_' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String() + "Event"
}

// eventSchema describes the payload of an event, whose data is one of the given types.
func eventSchema(r *openapi.Registry, name webhook.EventName, data []reflect.Type) *openapi.Schema {
	var shapes []*openapi.Schema
	for _, t := range data {
		shape := r.Component(t)
		properties := r.Edit(shape.Ref).Properties
		for member, s := range properties {
			if strings.HasSuffix(member, "_at") {
				at := *s
				at.Format = "date-time"
				properties[member] = &at
			}
		}
		properties["test"] = &openapi.Schema{Type: openapi.TypeBoolean, Description: "true in events that POST /webhooks/{id}/test makes up; absent in all others"}
		shapes = append(shapes, shape)
	}
	content := shapes[0]
	if len(shapes) > 1 {
		content = &openapi.Schema{AnyOf: shapes}
	}
	return &openapi.Schema{
		Type: openapi.TypeObject, AdditionalProperties: false, Required: []string{"type", "created_at", "data"},
		Properties: map[string]*openapi.Schema{
			"type":       {Type: openapi.TypeString, Enum: []any{string(name)}},
			"created_at": {Type: openapi.TypeString, Format: "date-time", Description: "When it happened"},
			"data":       content,
		},
	}
}

// signatureHeaders returns the signature headers. Endpoints also receive them with the prefix
// svix-.
func signatureHeaders() []*openapi.Param {
	header := func(name, what string) *openapi.Param {
		return &openapi.Param{Name: name, In: "header", Required: true, Description: what, Schema: &openapi.Schema{Type: openapi.TypeString}}
	}
	return []*openapi.Param{
		header("webhook-id", "msg_ and a uuid, the same for each attempt"),
		header("webhook-timestamp", "When this attempt began, in seconds since 1970"),
		header("webhook-signature", "v1, and the base64 of an HMAC-SHA256 of id, timestamp and body; several with spaces between while two secrets sign"),
	}
}
