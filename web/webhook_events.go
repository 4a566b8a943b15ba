package web

import (
	"context"
	"encoding/json"
	"net/http"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// WebhookEventItem is an event that was or will be sent to a webhook.
type WebhookEventItem struct {
	ID            string                 `json:"id" doc:"msg_ and a uuid: what the endpoint gets as webhook-id, the same for each attempt"`
	Type          webhook.EventName      `json:"type"`
	CreatedAt     string                 `json:"created_at" format:"date-time"`
	Status        webhook.DeliveryStatus `json:"status" enum:"success,pending,failed,attempting" doc:"pending: it waits for its next attempt; failed: given up"`
	NextAttemptAt *string                `json:"next_attempt_at" format:"date-time"`
	LastStatus    *int                   `json:"last_http_status_code" doc:"The HTTP status that the last attempt was answered with; zero: no answer came; null: there was no attempt"`
}

// eventPayload is the JSON that the endpoint receives.
type eventPayload json.RawMessage

// MarshalJSON implements json.Marshaler.
func (p eventPayload) MarshalJSON() ([]byte, error) { return p, nil }

// Schema implements openapi.SchemaProvider.
func (eventPayload) Schema(*openapi.Registry) *openapi.Schema {
	return &openapi.Schema{Type: "object", AdditionalProperties: true, Description: "What the endpoint gets: type, created_at and data"}
}

type webhookEventRecord struct {
	Object string `json:"object" enum:"webhook_event"`
	WebhookEventItem
	Payload eventPayload `json:"payload"`
}

type webhookEventRef struct {
	Object string `json:"object" enum:"webhook_event"`
	ID     string `json:"id"`
}

// WebhookAttemptItem is one attempt to deliver an event to a webhook.
type WebhookAttemptItem struct {
	ID         string `json:"id" format:"uuid"`
	HTTPStatus int    `json:"http_status_code" doc:"0: no answer came"`
	Response   string `json:"response" doc:"How the answer began, or why none came"`
	SentAt     string `json:"sent_at" format:"date-time"`
}

// WebhookEventPath names a webhook and an event.
type WebhookEventPath struct {
	ID    string `path:"id" doc:"The id of the webhook" format:"uuid"`
	Event string `path:"event_id" doc:"The id of the event: msg_ and a uuid"`
}

// Resource implements rest.ResourcePath.
func (p *WebhookEventPath) Resource() (kind string, id *string) { return "webhook", &p.ID }

// Check implements Checker. It replaces the event's public id by the one in the database.
func (p *WebhookEventPath) Check() error {
	id, ok := webhook.ParseMessageID(p.Event)
	if !ok {
		return app.NotFound("webhook event")
	}
	p.Event = id
	return nil
}

type (
	webhookEventsInput struct {
		WebhookPath
		Limit  rest.PageLimit `query:"limit" doc:"Rows per page"`
		After  string         `query:"after" doc:"The last id of the previous page"`
		Before string         `query:"before" doc:"The id of the first row of the next page, to read the list backwards"`
	}
	webhookAttemptsInput struct {
		rest.PageParams
		WebhookEventPath
	}
	webhookEventOutput    struct{ Body webhookEventRecord }
	webhookEventRefOutput struct{ Body webhookEventRef }
)

func (r webhookRoutes) addEvents(h *rest.Handler) {
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-webhook-events", Method: http.MethodGet, Path: "/webhooks/{id}/events",
		Summary: "List the events of the last 30 days for a webhook, newest first", Tags: webhookTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.listWebhookEvents)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-webhook-event", Method: http.MethodGet, Path: "/webhooks/{id}/events/{event_id}",
		Summary: "Get a webhook event with its payload", Tags: webhookTags,
		Errors: []int{http.StatusNotFound},
	}, r.getWebhookEvent)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-webhook-attempts", Method: http.MethodGet, Path: "/webhooks/{id}/events/{event_id}/attempts",
		Summary: "List the delivery attempts of a webhook event, newest first", Tags: webhookTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.listWebhookAttempts)
	rest.Register(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "replay-webhook-event", Method: http.MethodPost, Path: "/webhooks/{id}/events/{event_id}/replay",
		Summary: "Deliver an event to a webhook again", Tags: webhookTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable},
	}, r.replayWebhookEvent)
}

// page returns the page of a list whose cursors are event ids.
func (in *webhookEventsInput) page() (app.Page, error) {
	params := rest.PageParams{Limit: in.Limit}
	var err error
	if params.After, err = eventCursor("after", in.After); err != nil {
		return app.Page{}, err
	}
	if params.Before, err = eventCursor("before", in.Before); err != nil {
		return app.Page{}, err
	}
	return params.Page()
}

// eventCursor parses a cursor that is an event id; empty stays empty.
func eventCursor(name, given string) (string, error) {
	id, ok := webhook.ParseMessageID(given)
	if given != "" && !ok {
		return "", app.Invalid(name, "must be an id that this list returned")
	}
	return id, nil
}

func (r webhookRoutes) listWebhookEvents(ctx context.Context, key *app.Key, in *webhookEventsInput) (*rest.ListOutput[WebhookEventItem], error) {
	page, err := in.page()
	if err != nil {
		return nil, err
	}
	rows, more, err := r.service.ListWebhookEvents(ctx, key, in.ID, page)
	if err != nil {
		return nil, err
	}
	return rest.NewList(rows, more, newWebhookEventItem), nil
}

func (r webhookRoutes) getWebhookEvent(ctx context.Context, key *app.Key, in *WebhookEventPath) (*webhookEventOutput, error) {
	d, err := r.service.GetWebhookEvent(ctx, key, in.ID, in.Event)
	if err != nil {
		return nil, err
	}
	return &webhookEventOutput{webhookEventRecord{Object: "webhook_event", WebhookEventItem: newWebhookEventItem(&d), Payload: d.Payload}}, nil
}

func (r webhookRoutes) listWebhookAttempts(ctx context.Context, key *app.Key, in *webhookAttemptsInput) (*rest.ListOutput[WebhookAttemptItem], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	rows, more, err := r.service.ListWebhookAttempts(ctx, key, in.ID, in.Event, page)
	if err != nil {
		return nil, err
	}
	return rest.NewList(rows, more, newWebhookAttemptItem), nil
}

func (r webhookRoutes) replayWebhookEvent(ctx context.Context, key *app.Key, in *WebhookEventPath) (*webhookEventRefOutput, error) {
	if err := r.service.ReplayWebhookEvent(ctx, key, in.ID, in.Event); err != nil {
		return nil, err
	}
	return &webhookEventRefOutput{webhookEventRef{Object: "webhook_event", ID: webhook.MessageID(in.Event)}}, nil
}

func newWebhookEventItem(d *webhook.Delivery) WebhookEventItem {
	item := WebhookEventItem{ID: webhook.MessageID(d.ID), Type: d.Type, CreatedAt: app.FormatTime(d.CreatedAt), Status: d.Status, LastStatus: d.LastStatus}
	if d.Status == webhook.DeliveryPending {
		item.NextAttemptAt = app.FormatTimePtr(d.NextAt)
	}
	return item
}

func newWebhookAttemptItem(a *webhook.Attempt) WebhookAttemptItem {
	return WebhookAttemptItem{ID: a.ID, HTTPStatus: a.HTTPStatus, Response: a.Response, SentAt: app.FormatTime(a.SentAt)}
}
