package operator

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/tenants/accounts"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

// UserItem is an account, in the form of `mailer users list --json`.
type UserItem struct {
	Object       string     `json:"object" enum:"user"`
	ID           string     `json:"id" format:"uuid"`
	Email        string     `json:"email"`
	Name         string     `json:"name" doc:"Empty: not said"`
	Operator     bool       `json:"operator" doc:"Has access to all teams"`
	Teams        []userTeam `json:"teams"`
	SecondFactor bool       `json:"second_factor" doc:"Whether signing in takes more than a password"`
	LastSeenAt   *string    `json:"last_seen_at" format:"date-time" doc:"To five minutes; null: never"`
	CreatedAt    string     `json:"created_at" format:"date-time"`
}

type userTeam struct {
	ID   string   `json:"id" format:"uuid"`
	Name string   `json:"name"`
	Role app.Role `json:"role" enum:"owner,admin,member"`
}

type deletedUser struct {
	Object  string           `json:"object" enum:"user"`
	ID      string           `json:"id" format:"uuid"`
	Deleted bool             `json:"deleted" enum:"true"`
	Keys    []shapes.KeptKey `json:"keys" doc:"API keys that the person made and that still work"`
}

type signInLink struct {
	Object string `json:"object" enum:"sign_in_link"`
	Email  string `json:"email"`
	URL    string `json:"url" format:"uri" doc:"Signs the person in, once, for a short time; a second factor is asked for all the same"`
}

// updateUserRequest is the body of PATCH /users/{id}.
type updateUserRequest struct {
	Operator *bool `json:"operator" doc:"Whether the user has access to all teams; a change ends the user's sessions"`
}

// UserPath is the path parameter of one account.
type UserPath struct {
	ID string `path:"id" format:"uuid" doc:"The id of the person"`
}

// Resource implements rest.ResourcePath.
func (p *UserPath) Resource() (kind string, id *string) { return "user", &p.ID }

type (
	userOutput        = rest.Output[UserItem]
	deletedUserOutput struct{ Body deletedUser }
	signInLinkOutput  struct{ Body signInLink }
)

var userTags = []string{"Users"}

// AccountRoutes are the routes of all accounts of the server.
type AccountRoutes struct{ Service *accounts.Directory }

// Add adds the routes to a handler.
func (r AccountRoutes) Add(h *rest.Handler) {
	changes, missing := rest.Route{Operator: true, Fresh: true, Priority: true}, []int{http.StatusNotFound, http.StatusConflict}
	rest.Register(h, rest.Route{Operator: true}, openapi.Operation{
		OperationID: "list-users", Method: http.MethodGet, Path: "/users",
		Summary: "List who has an account on this server", Tags: userTags, Errors: []int{http.StatusUnprocessableEntity},
	}, r.list)
	rest.RegisterBody(h, changes, openapi.Operation{
		OperationID: "update-user", Method: http.MethodPatch, Path: "/users/{id}",
		Summary: "Make a person an operator, or end that", Tags: userTags, Errors: missing,
	}, r.update)
	rest.Register(h, changes, openapi.Operation{
		OperationID: "delete-user", Method: http.MethodDelete, Path: "/users/{id}",
		Summary: "Remove a person from all teams, and the account", Tags: userTags,
		Errors: append([]int{http.StatusServiceUnavailable}, missing...),
	}, r.remove)
	rest.Register(h, changes, openapi.Operation{
		OperationID: "link-user", Method: http.MethodPost, Path: "/users/{id}/link", DefaultStatus: http.StatusCreated,
		Summary: "Make a link that signs a person in, once", Tags: userTags,
		Errors: []int{http.StatusNotFound, http.StatusServiceUnavailable},
	}, r.link)
}

func (r AccountRoutes) list(ctx context.Context, _ *app.Key, in *rest.PageParams) (*rest.ListOutput[UserItem], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	rows, more, err := r.Service.ListAccounts(ctx, page)
	if err != nil {
		return nil, err
	}
	return rest.NewList(rows, more, newUserItem), nil
}

func newUserItem(a *accounts.Account) UserItem {
	teams := converted(a.Teams, func(m accounts.Membership) userTeam { return userTeam{ID: m.TeamID, Name: m.TeamName, Role: m.Role} })
	return UserItem{Object: "user", ID: a.ID, Email: a.Address, Name: a.Name, Operator: a.Operator, Teams: teams, SecondFactor: a.Factor,
		LastSeenAt: app.FormatTimePtr(a.SeenAt), CreatedAt: app.FormatTime(a.JoinedAt)}
}

func (r AccountRoutes) update(ctx context.Context, _ *app.Key, in *UserPath, b *updateUserRequest) (*userOutput, error) {
	if b.Operator == nil {
		return nil, app.Invalid("operator", "is missing")
	}
	return rest.Answer(newUserItem)(r.Service.SetOperator(ctx, in.ID, *b.Operator))
}

func (r AccountRoutes) remove(ctx context.Context, _ *app.Key, in *UserPath) (*deletedUserOutput, error) {
	left, err := r.Service.DeleteAccount(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &deletedUserOutput{deletedUser{Object: "user", ID: in.ID, Deleted: true, Keys: shapes.NewKeptKeys(left)}}, nil
}

func (r AccountRoutes) link(ctx context.Context, _ *app.Key, in *UserPath) (*signInLinkOutput, error) {
	address, link, err := r.Service.LinkAccount(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &signInLinkOutput{signInLink{Object: "sign_in_link", Email: address, URL: link}}, nil
}
