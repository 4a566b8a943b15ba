package automations

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/sending/automations"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

// CustomEventItem is a custom event in a list.
type CustomEventItem struct {
	ID        string      `json:"id" format:"uuid"`
	Name      string      `json:"name"`
	Schema    eventSchema `json:"schema"`
	CreatedAt string      `json:"created_at" format:"date-time"`
	UpdatedAt *string     `json:"updated_at" format:"date-time" doc:"null: never changed"`
}

type customEventRecord struct {
	Object string `json:"object" enum:"event"`
	CustomEventItem
}

type customEventRef struct {
	Object string `json:"object" enum:"event"`
	ID     string `json:"id" format:"uuid"`
}

type removedCustomEvent struct {
	Object  string `json:"object" enum:"event"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted" enum:"true"`
}

type sentCustomEvent struct {
	Object string `json:"object" enum:"event"`
	Event  string `json:"event" doc:"Its name"`
}

type createCustomEventRequest struct {
	Name   string      `json:"name" minLength:"1" maxLength:"100" doc:"Unique in the team; resend: and mailer: are reserved beginnings"`
	Schema eventSchema `json:"schema,omitempty"`
}

type updateCustomEventRequest struct {
	Schema rest.Change[eventSchema] `json:"schema" doc:"Replaces all; null: any payload"`
}

// sendEventRequest is the body of POST /events/send.
type sendEventRequest struct {
	Event     string    `json:"event" minLength:"1" maxLength:"100" doc:"The name of the event. It need not be declared"`
	ContactID string    `json:"contact_id,omitempty" format:"uuid" doc:"This or email"`
	Email     string    `json:"email,omitempty" doc:"The address of a contact. If there is none and an automation listens for the event, it becomes one"`
	Payload   rawObject `json:"payload,omitempty" doc:"Values for conditions and templates, of at most 65536 bytes. Those that the schema of the event names must have its types"`
}

// EventPath is the path parameter of one custom event.
type EventPath struct {
	ID string `path:"id" doc:"The id of the event, or its name, percent-encoded"`
}

// Resource implements rest.ResourcePath.
func (p *EventPath) Resource() (kind string, id *string) { return "", &p.ID }

type sentEventOutput struct{ Body sentCustomEvent }

// EventRoutes are the routes of custom events.
type EventRoutes struct{ Service *automations.Service }

// Add adds the routes to a handler.
func (r EventRoutes) Add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "create-event", Method: http.MethodPost, Path: "/events", DefaultStatus: http.StatusCreated,
		Summary: "Declare a custom event, with the types of its payload", Tags: automationTags,
		Errors: []int{http.StatusConflict},
	}, r.create)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-events", Method: http.MethodGet, Path: "/events",
		Summary: "List declared custom events, newest first", Tags: automationTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, rest.List(r.Service.ListEvents, newCustomEventItem))
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "send-event", Method: http.MethodPost, Path: "/events/send", DefaultStatus: http.StatusAccepted,
		Summary: "Send a custom event of a contact, which starts and continues automations", Tags: automationTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.send)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-event", Method: http.MethodGet, Path: "/events/{id}",
		Summary: "Get a custom event by id or name", Tags: automationTags,
		Errors: []int{http.StatusNotFound},
	}, rest.Get[*EventPath](r.Service.GetEvent, newCustomEventRecord))
	rest.RegisterBody(h, rest.Route{IDOf: r.eventID}, openapi.Operation{
		OperationID: "update-event", Method: http.MethodPatch, Path: "/events/{id}",
		Summary: "Change the schema of a custom event", Tags: automationTags,
		Errors: []int{http.StatusNotFound},
	}, r.update)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "delete-event", Method: http.MethodDelete, Path: "/events/{id}",
		Summary: "Delete the declaration of a custom event. Automations still listen for its name", Tags: automationTags,
		Errors: []int{http.StatusNotFound},
	}, r.delete)
}

// eventID implements Route.IDOf for paths that name an event.
func (r EventRoutes) eventID(ctx context.Context, key *app.Key, name string) (string, error) {
	e, err := r.Service.GetEvent(ctx, key, name)
	return e.ID, err
}

func (r EventRoutes) create(ctx context.Context, key *app.Key, _ *struct{}, b *createCustomEventRequest) (*rest.Output[customEventRef], error) {
	return rest.Answer(newCustomEventRef)(r.Service.CreateEvent(ctx, key, b.Name, b.Schema))
}

func (r EventRoutes) update(ctx context.Context, key *app.Key, in *EventPath, b *updateCustomEventRequest) (*rest.Output[customEventRef], error) {
	if !b.Schema.Set {
		return nil, app.Invalid("schema", "is required")
	}
	return rest.Answer(newCustomEventRef)(r.Service.UpdateEvent(ctx, key, in.ID, b.Schema.Value))
}

func (r EventRoutes) delete(ctx context.Context, key *app.Key, in *EventPath) (*rest.Output[removedCustomEvent], error) {
	return rest.Answer(func(e *app.CustomEvent) removedCustomEvent { return removedCustomEvent{"event", e.ID, true} })(r.Service.DeleteEvent(ctx, key, in.ID))
}

func (r EventRoutes) send(ctx context.Context, key *app.Key, in *shapes.IdempotencyHeader, b *sendEventRequest) (*sentEventOutput, error) {
	opts, err := in.Options(b)
	if err != nil {
		return nil, err
	}
	name, err := r.Service.SendOnce(ctx, key, automations.Sent{Event: b.Event, ContactID: b.ContactID, Email: b.Email, Payload: b.Payload.value()}, opts)
	if err != nil {
		return nil, err
	}
	return &sentEventOutput{sentCustomEvent{"event", name}}, nil
}

func newCustomEventItem(e *app.CustomEvent) CustomEventItem {
	return CustomEventItem{ID: e.ID, Name: e.Name, Schema: e.Schema, CreatedAt: app.FormatTime(e.CreatedAt), UpdatedAt: app.FormatTimePtr(e.UpdatedAt)}
}

func newCustomEventRecord(e *app.CustomEvent) customEventRecord {
	return customEventRecord{"event", newCustomEventItem(e)}
}

func newCustomEventRef(e *app.CustomEvent) customEventRef { return customEventRef{"event", e.ID} }
