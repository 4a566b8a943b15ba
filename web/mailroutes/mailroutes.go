// Package mailroutes implements the API's operations on routes for received mail. Only web imports it.
//
// Failure policy: that of web/rest.
package mailroutes

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/sending/mailroutes"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// routeAction is one action of a route.
type routeAction struct {
	Type       app.RouteActionType `json:"type" enum:"webhook,forward,drop,reply_with" doc:"webhook: announce it as email.received. forward: send it on. drop: accept it, and neither store nor announce it; it is then the only action. reply_with: answer with a template. All but drop store the email"`
	To         string              `json:"to,omitempty" doc:"Of forward: the address. Its owner gets a mail, and nothing is forwarded before a button in it was pressed"`
	TemplateID string              `json:"template_id,omitempty" doc:"Of reply_with: a published template. Only mail that passes DMARC is answered: each address at most once a week"`
}

// destination is an address of the actions.
type destination struct {
	Address string            `json:"address"`
	Status  app.ForwardStatus `json:"status" enum:"waiting,agreed,stopped,paused" doc:"waiting: its owner has not agreed. stopped: its owner wants no mail. paused: it refused several emails in a row; name it again in actions to resume"`
}

// RouteRecord is a route.
type RouteRecord struct {
	Object       string        `json:"object" enum:"route"`
	ID           string        `json:"id" format:"uuid"`
	Position     int           `json:"position" minimum:"1" doc:"Routes are tried in this order; the first that matches a recipient decides"`
	Match        string        `json:"match" doc:"In lower case, the domain in A-labels"`
	Actions      []routeAction `json:"actions"`
	Destinations []destination `json:"destinations" doc:"The addresses of the actions forward"`
	CreatedAt    string        `json:"created_at" format:"date-time"`
}

type removedRoute struct {
	Object  string `json:"object" enum:"route"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted" enum:"true"`
}

type createRouteRequest struct {
	Match    string        `json:"match" doc:"An address like support@example.com, *@example.com, or +tag for the tag of any address like ann+tag@example.com"`
	Actions  []routeAction `json:"actions" minItems:"1" maxItems:"10"`
	Position int           `json:"position,omitempty" minimum:"1" doc:"Moves the others; default: the last"`
}

type updateRouteRequest struct {
	Match    string        `json:"match,omitempty"`
	Actions  []routeAction `json:"actions,omitempty" minItems:"1" maxItems:"10" doc:"Resumes paused destinations that it names, and asks waiting ones again a week after the last mail"`
	Position int           `json:"position,omitempty" minimum:"1" doc:"Moves the others"`
}

// RoutePath is the path parameter of one route.
type RoutePath struct {
	ID string `path:"id" doc:"The id of the route" format:"uuid"`
}

// Resource implements rest.ResourcePath.
func (p *RoutePath) Resource() (kind string, id *string) { return "route", &p.ID }

var tags = []string{"Routes"}

// Routes are the operations.
type Routes struct{ Service *mailroutes.Service }

// Add adds the operations to a handler.
func (r Routes) Add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "create-route", Method: http.MethodPost, Path: "/routes", DefaultStatus: http.StatusCreated,
		Summary: "Create a route for received mail", Tags: tags,
	}, r.create)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-routes", Method: http.MethodGet, Path: "/routes",
		Summary: "List routes for received mail, in the order in which they are tried", Tags: tags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, rest.List(r.Service.List, newRecord))
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-route", Method: http.MethodGet, Path: "/routes/{id}",
		Summary: "Get a route for received mail", Tags: tags,
		Errors: []int{http.StatusNotFound},
	}, rest.Get[*RoutePath](r.Service.Get, newRecord))
	rest.RegisterBody(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "update-route", Method: http.MethodPatch, Path: "/routes/{id}",
		Summary: "Change or move a route for received mail", Tags: tags,
		Errors: []int{http.StatusNotFound},
	}, r.update)
	rest.Register(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "delete-route", Method: http.MethodDelete, Path: "/routes/{id}",
		Summary: "Delete a route for received mail", Tags: tags,
		Errors: []int{http.StatusNotFound},
	}, rest.Do[*RoutePath](r.Service.Delete, func(id string) removedRoute { return removedRoute{Object: "route", ID: id, Deleted: true} }))
}

func (r Routes) create(ctx context.Context, key *app.Key, _ *struct{}, request *createRouteRequest) (*rest.Output[RouteRecord], error) {
	return rest.Answer(newRecord)(r.Service.Create(ctx, key, app.MailRouteInput{Match: request.Match, Actions: actionsOf(request.Actions), Position: request.Position}))
}

func (r Routes) update(ctx context.Context, key *app.Key, in *RoutePath, request *updateRouteRequest) (*rest.Output[RouteRecord], error) {
	return rest.Answer(newRecord)(r.Service.Update(ctx, key, in.ID, app.MailRoutePatch{Match: request.Match, Actions: actionsOf(request.Actions), Position: request.Position}))
}

func actionsOf(list []routeAction) []app.RouteAction {
	if list == nil {
		return nil
	}
	out := make([]app.RouteAction, len(list))
	for i, a := range list {
		out[i] = app.RouteAction(a)
	}
	return out
}

func newRecord(m *app.MailRoute) RouteRecord {
	out := RouteRecord{Object: "route", ID: m.ID, Position: m.Position, Match: m.Match, Actions: make([]routeAction, len(m.Actions)), Destinations: make([]destination, len(m.Destinations)), CreatedAt: app.FormatTime(m.CreatedAt)}
	for i, a := range m.Actions {
		out.Actions[i] = routeAction(a)
	}
	for i := range m.Destinations {
		out.Destinations[i] = destination{m.Destinations[i].Address, m.Destinations[i].Status()}
	}
	return out
}
