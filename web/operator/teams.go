package operator

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/rules/plan"
	"mailer/app/tenants/teams"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// TeamStanding is a team as the operator sees it.
type TeamStanding struct {
	ID          string    `json:"id" format:"uuid"`
	Name        string    `json:"name"`
	CreatedAt   string    `json:"created_at" format:"date-time"`
	Plan        plan.Name `json:"plan" enum:"free,starter,pro,scale" doc:"Which a server in cloud mode goes by"`
	Included    *int64    `json:"included" doc:"Recipients that a period of a monthly plan includes; null: a daily plan"`
	Overage     bool      `json:"overage" doc:"Whether a monthly plan may exceed the included recipients"`
	Suspended   bool      `json:"suspended" doc:"Nothing of it leaves, and what it sends is refused"`
	SuspendedAt *string   `json:"suspended_at" format:"date-time"`
	Reason      *string   `json:"reason" doc:"Reason, shown in the error of each rejected send"`
}

type standingRecord struct {
	Object string `json:"object" enum:"team"`
	TeamStanding
}

type deletedTeam struct {
	Object   string `json:"object" enum:"team"`
	ID       string `json:"id" format:"uuid"`
	Name     string `json:"name"`
	Deleted  bool   `json:"deleted" enum:"true" doc:"Its keys are revoked and its name is free immediately; its data is deleted in the background"`
	Emails   int64  `json:"emails"`
	Contacts int64  `json:"contacts"`
	Dropped  int64  `json:"dropped" doc:"Queued emails that are not sent"`
}

// createTeamRequest is the body of POST /teams.
type createTeamRequest struct {
	Name string `json:"name"`
}

// changeTeamRequest is the body of PATCH /teams/{id}.
type changeTeamRequest struct {
	Name      *string    `json:"name,omitempty"`
	Plan      *plan.Name `json:"plan,omitempty" enum:"free,starter,pro,scale"`
	Included  int64      `json:"included,omitempty" minimum:"0" doc:"With pro and scale: recipients that a period includes; without it the plan's own"`
	Overage   bool       `json:"overage,omitempty" doc:"With pro and scale: allow more than the included recipients"`
	Suspended *bool      `json:"suspended,omitempty" doc:"Whether nothing of it leaves"`
	Reason    string     `json:"reason,omitempty" doc:"With suspended: reason, shown in the error of each rejected send"`
}

// TeamPath is the path parameter of one team.
type TeamPath struct {
	ID string `path:"id" format:"uuid"`
}

// Resource implements rest.ResourcePath.
func (p *TeamPath) Resource() (kind string, id *string) { return "team", &p.ID }

type deleteTeamInput struct {
	TeamPath
	Name string `query:"name" doc:"Exact name of the team, as a confirmation: deleted data can't be restored"`
}

type (
	teamOutput        struct{ Body standingRecord }
	deletedTeamOutput struct{ Body deletedTeam }
)

var teamTags = []string{"Teams"}

// TeamRoutes are the routes of teams.
type TeamRoutes struct{ Service *teams.Service }

// Add adds the routes to a handler.
func (r TeamRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{Operator: true}, openapi.Operation{
		OperationID: "list-teams", Method: http.MethodGet, Path: "/teams",
		Summary: "List all teams, newest first", Tags: teamTags, Errors: []int{http.StatusUnprocessableEntity},
	}, r.list)
	rest.RegisterBody(h, rest.Route{Operator: true}, openapi.Operation{
		OperationID: "create-team", Method: http.MethodPost, Path: "/teams", DefaultStatus: http.StatusCreated,
		Summary: "Create a team", Tags: teamTags, Errors: []int{http.StatusConflict},
	}, r.create)
	rest.Register(h, rest.Route{Operator: true}, openapi.Operation{
		OperationID: "get-any-team", Method: http.MethodGet, Path: "/teams/{id}",
		Summary: "Get a team with its plan", Tags: teamTags, Errors: []int{http.StatusNotFound},
	}, r.get)
	rest.RegisterBody(h, rest.Route{Operator: true}, openapi.Operation{
		OperationID: "update-any-team", Method: http.MethodPatch, Path: "/teams/{id}",
		Summary: "Change a team's name or plan, suspend it or have its mail leave again", Tags: teamTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.update)
	rest.Register(h, rest.Route{Operator: true, Fresh: true}, openapi.Operation{
		OperationID: "delete-team", Method: http.MethodDelete, Path: "/teams/{id}",
		Summary: "Delete a team, whose name is said again, and everything that it has; mail of it that waits is not sent", Tags: teamTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity},
	}, r.remove)
}

func (r TeamRoutes) list(ctx context.Context, _ *app.Key, in *rest.PageParams) (*rest.ListOutput[TeamStanding], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	rows, more, err := r.Service.ListTeamDetails(ctx, page)
	if err != nil {
		return nil, err
	}
	return rest.NewList(rows, more, newTeam), nil
}

func newTeam(t *teams.Details) TeamStanding {
	out := TeamStanding{ID: t.ID, Name: t.Name, CreatedAt: app.FormatTime(t.CreatedAt), Plan: t.Plan.Name, Overage: t.Plan.Overage}
	if !t.Plan.Daily() {
		n := t.Plan.Included()
		out.Included = &n
	}
	if s := t.Suspended; !s.Since.IsZero() {
		out.Suspended, out.SuspendedAt, out.Reason = true, app.FormatTimePtr(s.Since), &s.Reason
	}
	return out
}

func teamOf(t teams.Details, err error) (*teamOutput, error) {
	if err != nil {
		return nil, err
	}
	return &teamOutput{standingRecord{Object: "team", TeamStanding: newTeam(&t)}}, nil
}

func (r TeamRoutes) create(ctx context.Context, _ *app.Key, _ *struct{}, b *createTeamRequest) (*teamOutput, error) {
	team, err := r.Service.CreateTeam(ctx, b.Name)
	if err != nil {
		return nil, err
	}
	return teamOf(r.Service.TeamDetails(ctx, team.ID))
}

func (r TeamRoutes) get(ctx context.Context, _ *app.Key, in *TeamPath) (*teamOutput, error) {
	return teamOf(r.Service.TeamDetails(ctx, in.ID))
}

func (r TeamRoutes) update(ctx context.Context, _ *app.Key, in *TeamPath, b *changeTeamRequest) (*teamOutput, error) {
	c := teams.Change{Name: b.Name, Suspended: b.Suspended, Reason: b.Reason}
	switch {
	case b.Plan != nil:
		c.Plan = &plan.Input{Name: *b.Plan, Included: b.Included, Overage: b.Overage}
	case b.Included != 0 || b.Overage:
		return nil, app.Invalid("plan", "is required with `included` and `overage`")
	}
	return teamOf(r.Service.ChangeTeam(ctx, in.ID, c))
}

func (r TeamRoutes) remove(ctx context.Context, _ *app.Key, in *deleteTeamInput) (*deletedTeamOutput, error) {
	d, err := r.Service.DeleteTeam(ctx, in.ID, in.Name)
	if err != nil {
		return nil, err
	}
	return &deletedTeamOutput{deletedTeam{Object: "team", ID: d.Team.ID, Name: d.Team.Name, Deleted: true, Emails: d.Size.Emails, Contacts: d.Size.Contacts, Dropped: d.Dropped()}}, nil
}
