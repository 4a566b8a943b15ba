package web

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/app/tenants/webhooks"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// WebhookItem is a webhook in a list.
type WebhookItem struct {
	ID           string              `json:"id" format:"uuid"`
	Endpoint     string              `json:"endpoint"`
	CreatedAt    string              `json:"created_at" format:"date-time"`
	Status       webhook.Status      `json:"status" enum:"enabled,disabled" doc:"An endpoint that failed for five days is disabled by the server"`
	Events       []webhook.EventName `json:"events"`
	Scope        webhook.Scope       `json:"scope,omitempty" enum:"server" doc:"server: it also gets events about the server, since an operator made it"`
	NotSent      []webhook.EventName `json:"events_not_sent,omitempty" doc:"Subscribed events of Resend that this service does not send yet; absent: none"`
	FailingSince *string             `json:"failing_since" format:"date-time" doc:"The first failure since the last success; null: it works"`
}

type webhookRecord struct {
	Object string `json:"object" enum:"webhook"`
	WebhookItem
	SigningSecret string `json:"signing_secret,omitempty" doc:"Only for owners and admins, of people for those who have just confirmed that it is them, and not after a change"`
}

type deletedWebhook struct {
	Object  string `json:"object" enum:"webhook"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted" enum:"true"`
}

type rotatedSecret struct {
	Object        string `json:"object" enum:"webhook"`
	ID            string `json:"id" format:"uuid"`
	SigningSecret string `json:"signing_secret"`
}

// eventList is an array of names whose length is checked while it is decoded.
type eventList []webhook.EventName

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *eventList) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return rest.DecodeList(d, (*[]webhook.EventName)(l), webhook.MaxEvents, "an array of strings")
}

// Schema implements openapi.SchemaProvider.
func (eventList) Schema(*openapi.Registry) *openapi.Schema {
	most := webhook.MaxEvents
	item := &openapi.Schema{Type: "string"}
	for _, name := range webhook.Subscribable() {
		item.Enum = append(item.Enum, name)
	}
	return &openapi.Schema{Type: "array", Items: item, MaxItems: &most}
}

type createWebhookRequest struct {
	Endpoint      string         `json:"endpoint" maxLength:"2048" doc:"An https URL of a public host"`
	Events        eventList      `json:"events" doc:"The events to deliver"`
	Status        webhook.Status `json:"status,omitempty" enum:"enabled,disabled" default:"enabled"`
	SigningSecret string         `json:"signing_secret,omitempty" doc:"Your own secret: whsec_ followed by the Base64 of 24 to 64 bytes; default: a new one"`
	Scope         webhook.Scope  `json:"scope,omitempty" enum:"team,server" default:"team" doc:"server: events about the server too, like relay.switched; only in a session of an operator"`
}

// updateWebhookRequest is the body of PATCH /webhooks/{id}.
type updateWebhookRequest struct {
	Endpoint string         `json:"endpoint,omitempty" maxLength:"2048"`
	Events   eventList      `json:"events,omitempty"`
	Status   webhook.Status `json:"status,omitempty" enum:"enabled,disabled" doc:"Once enabled again, a webhook gets its queued events"`
}

type rotateSecretRequest struct {
	OverlapHours  *int   `json:"overlap_hours,omitempty" minimum:"0" maximum:"72" doc:"How long the old secret signs beside the new one; 24 where it is absent"`
	SigningSecret string `json:"signing_secret,omitempty" doc:"Your own secret: whsec_ followed by the Base64 of 24 to 64 bytes; default: a new one"`
}

// WebhookPath is the path parameter of one webhook.
type WebhookPath struct {
	ID string `path:"id" doc:"The id of the webhook" format:"uuid"`
}

// Resource implements rest.ResourcePath.
func (p *WebhookPath) Resource() (kind string, id *string) { return "webhook", &p.ID }

type (
	webhookOutput       = rest.Output[webhookRecord]
	rotatedSecretOutput struct{ Body rotatedSecret }
)

var webhookTags = []string{"Webhooks"}

// webhookRoutes are the routes of webhooks and their events.
type webhookRoutes struct{ service *webhooks.Service }

// Add adds the routes to a handler.
func (r webhookRoutes) Add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "create-webhook", Method: http.MethodPost, Path: "/webhooks", DefaultStatus: http.StatusCreated,
		Summary: "Create a webhook: the server posts the chosen events to a URL", Tags: webhookTags,
		Errors: []int{http.StatusConflict},
	}, r.createWebhook)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-webhooks", Method: http.MethodGet, Path: "/webhooks",
		Summary: "List webhooks, newest first", Tags: webhookTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, rest.List(r.service.ListWebhooks, newWebhookItem))
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-webhook", Method: http.MethodGet, Path: "/webhooks/{id}",
		Summary: "Get a webhook", Tags: webhookTags,
		Errors: []int{http.StatusNotFound},
	}, rest.Get[*WebhookPath](r.service.GetWebhook, newWebhookRecord))
	rest.RegisterBody(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "update-webhook", Method: http.MethodPatch, Path: "/webhooks/{id}",
		Summary: "Change the URL, the events or the status of a webhook", Tags: webhookTags,
		Errors: []int{http.StatusNotFound},
	}, r.updateWebhook)
	rest.Register(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "delete-webhook", Method: http.MethodDelete, Path: "/webhooks/{id}",
		Summary: "Delete a webhook with its events and attempts", Tags: webhookTags,
		Errors: []int{http.StatusNotFound, http.StatusServiceUnavailable},
	}, rest.Do[*WebhookPath](r.service.DeleteWebhook, func(id string) deletedWebhook { return deletedWebhook{Object: "webhook", ID: id, Deleted: true} }))
	rest.RegisterBody(h, rest.Route{Admin: true, Fresh: true, Optional: true}, openapi.Operation{
		OperationID: "rotate-signing-secret", Method: http.MethodPost, Path: "/webhooks/{id}/signing-secret/rotate",
		Summary: "Create a new signing secret for a webhook. The old one signs as well for a while", Tags: webhookTags,
		Errors: []int{http.StatusNotFound},
	}, r.rotateSecret)
	r.addEvents(h)
	r.addTrials(h)
}

func (r webhookRoutes) createWebhook(ctx context.Context, key *app.Key, _ *struct{}, request *createWebhookRequest) (*webhookOutput, error) {
	return rest.Answer(newWebhookRecord)(r.service.CreateWebhook(ctx, key, webhook.Input{
		Endpoint: request.Endpoint, Events: request.Events, Status: request.Status, Secret: request.SigningSecret, Scope: request.Scope,
	}))
}

func (r webhookRoutes) updateWebhook(ctx context.Context, key *app.Key, in *WebhookPath, request *updateWebhookRequest) (*webhookOutput, error) {
	return rest.Answer(newWebhookRecord)(r.service.UpdateWebhook(ctx, key, in.ID, webhook.Patch{Endpoint: request.Endpoint, Events: request.Events, Status: request.Status}))
}

// rotateSecret accepts requests without a body: most clients send none.
func (r webhookRoutes) rotateSecret(ctx context.Context, key *app.Key, in *WebhookPath, request *rotateSecretRequest) (*rotatedSecretOutput, error) {
	w, err := r.service.RotateSigningSecret(ctx, key, in.ID, webhook.Rotation{OverlapHours: request.OverlapHours, Secret: request.SigningSecret})
	if err != nil {
		return nil, err
	}
	return &rotatedSecretOutput{rotatedSecret{Object: "webhook", ID: in.ID, SigningSecret: w.Secrets[0].String()}}, nil
}

func newWebhookItem(w *webhook.Webhook) WebhookItem {
	item := WebhookItem{
		ID: w.ID, Endpoint: w.Endpoint, CreatedAt: app.FormatTime(w.CreatedAt), Status: w.Status, Events: w.Events,
		FailingSince: app.FormatTimePtr(w.FailingSince),
	}
	if w.Scope == webhook.ScopeServer {
		item.Scope = w.Scope
	}
	for _, name := range w.Events {
		if name.NotSent() {
			item.NotSent = append(item.NotSent, name)
		}
	}
	return item
}

func newWebhookRecord(w *webhook.Webhook) webhookRecord {
	record := webhookRecord{Object: "webhook", WebhookItem: newWebhookItem(w)}
	if len(w.Secrets) > 0 {
		record.SigningSecret = w.Secrets[0].String()
	}
	return record
}
