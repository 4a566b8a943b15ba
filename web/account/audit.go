package account

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/tenants/teams"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

// AuditItem is a change and its author.
type AuditItem struct {
	Object    string        `json:"object" enum:"audit_log"`
	ID        string        `json:"id" format:"uuid"`
	CreatedAt string        `json:"created_at" format:"date-time"`
	TeamID    *string       `json:"team_id" format:"uuid" doc:"null: it is about the server"`
	Actor     actorItem     `json:"actor"`
	Address   *string       `json:"address" doc:"The IP address that it came from; null: not over the network"`
	Action    string        `json:"action" doc:"What was done, like key.create"`
	Target    *string       `json:"target" doc:"Id or name of what was changed; null: the server, or many"`
	Before    changedFields `json:"before" doc:"How it was, without secrets; null: nothing to say"`
	After     changedFields `json:"after" doc:"How it is since, without secrets; null: nothing to say"`
}

type actorItem struct {
	Type app.ActorType `json:"type" enum:"cli,key,person,server"`
	ID   *string       `json:"id" format:"uuid" doc:"Of the API key or the person"`
	Name *string       `json:"name" doc:"The key's name, the person's address, or the system's user at the terminal; null: it is gone"`
}

// changedFields is JSON as stored in the log.
type changedFields string

// MarshalJSON implements json.Marshaler.
func (f changedFields) MarshalJSON() ([]byte, error) {
	if f == "" {
		return []byte("null"), nil
	}
	return jsontext.Value(f), nil
}

// Schema implements openapi.SchemaProvider.
func (changedFields) Schema(*openapi.Registry) *openapi.Schema {
	return &openapi.Schema{Type: openapi.TypeObject, Nullable: true, AdditionalProperties: true}
}

// auditInput is the query of GET /audit-logs.
type auditInput struct {
	rest.PageParams
	Action        string `query:"action" doc:"What was done, like key.create"`
	Actor         string `query:"actor" doc:"The id of an API key or a person, or the name of the system's user"`
	Target        string `query:"target" doc:"Id or name of what was changed"`
	CreatedAfter  string `query:"created_after" format:"date-time" doc:"Not before this moment"`
	CreatedBefore string `query:"created_before" format:"date-time" doc:"Before this moment"`
}

// AuditRoutes are the routes of the audit log.
type AuditRoutes struct{ Service *teams.Service }

// Add adds the routes to a handler.
func (r AuditRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{Admin: true, AllTeams: true}, openapi.Operation{
		OperationID: "list-audit-logs", Method: http.MethodGet, Path: "/audit-logs",
		Summary: "List who changed what in the team, newest first", Tags: []string{"Audit log"},
		Errors: []int{http.StatusUnprocessableEntity},
	}, r.list)
}

func (r AuditRoutes) list(ctx context.Context, key *app.Key, in *auditInput) (*rest.ListOutput[AuditItem], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	f := teams.AuditFilter{Team: key.TeamID, Action: in.Action, Actor: in.Actor, Target: in.Target}
	if f.Since, err = shapes.Time("created_after", in.CreatedAfter); err != nil {
		return nil, err
	}
	if f.Until, err = shapes.Time("created_before", in.CreatedBefore); err != nil {
		return nil, err
	}
	rows, more, err := r.Service.AuditPage(ctx, &f, page)
	if err != nil {
		return nil, err
	}
	return rest.NewList(rows, more, newAuditItem), nil
}

func newAuditItem(e *app.AuditEntry) AuditItem {
	actor := actorItem{Type: e.Actor.Type, Name: &e.Actor.Name}
	if e.Actor.Type == app.ActorKey || e.Actor.Type == app.ActorPerson {
		actor.ID, actor.Name = &e.Actor.Name, base.TextOrNull(e.ActorName)
	}
	return AuditItem{
		Object: "audit_log", ID: e.ID, CreatedAt: app.FormatTime(e.CreatedAt), TeamID: base.TextOrNull(e.TeamID), Actor: actor,
		Address: base.TextOrNull(e.Actor.Address), Action: e.Action, Target: base.TextOrNull(e.Target),
		Before: changedFields(e.Before), After: changedFields(e.After),
	}
}
