package account

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/tenants/accounts"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// InvitationItem is an invitation to a team, without its link.
type InvitationItem struct {
	Object    string   `json:"object" enum:"invitation"`
	ID        string   `json:"id" format:"uuid"`
	Email     string   `json:"email"`
	Role      app.Role `json:"role" enum:"owner,admin,member"`
	InvitedBy string   `json:"invited_by" doc:"The id of the person or API key, or the name of the system's user"`
	CreatedAt string   `json:"created_at" format:"date-time"`
	ExpiresAt string   `json:"expires_at" format:"date-time"`
}

type createdInvitation struct {
	Object    string   `json:"object" enum:"invitation"`
	ID        string   `json:"id" format:"uuid"`
	Email     string   `json:"email"`
	Role      app.Role `json:"role" enum:"owner,admin,member"`
	URL       string   `json:"url" doc:"What joins the team, once. It is shown here and never again. A person who is signed in can join without it"`
	ExpiresAt string   `json:"expires_at" format:"date-time"`
	Mailed    bool     `json:"mailed" doc:"Whether another link went to the person by mail"`
}

type readInvitationRequest struct {
	Code string `json:"code" doc:"The part of the link after #"`
}

type readInvitation struct {
	Object    string   `json:"object" enum:"invitation"`
	Team      string   `json:"team"`
	Email     string   `json:"email" doc:"Who is invited"`
	Role      app.Role `json:"role" enum:"owner,admin,member"`
	InvitedBy *string  `json:"invited_by" doc:"Name or address of the person who invites; null: it was no person, or the person is gone"`
}

type readInvitationOutput struct{ Body readInvitation }

type deletedInvitation struct {
	Object  string `json:"object" enum:"invitation"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted" enum:"true"`
}

type inviteRequest struct {
	Email string   `json:"email"`
	Role  app.Role `json:"role" enum:"owner,admin,member" doc:"Not above that of who asks"`
}

type acceptRequest struct {
	Code     string `json:"code" doc:"The part of the link after #"`
	Password string `json:"password" maxLength:"1000" doc:"Password of the existing account with this address, or of the new account. A mailed link sets a new password if the address was never confirmed"`
	Name     string `json:"name,omitempty" maxLength:"100" doc:"Of a person without an account"`
}

// InvitationPath is the path parameter of one invitation.
type InvitationPath struct {
	ID string `path:"id" format:"uuid" doc:"The id of the invitation"`
}

// Resource implements rest.ResourcePath.
func (p *InvitationPath) Resource() (kind string, id *string) { return "invitation", &p.ID }

type (
	createdInvitationOutput struct{ Body createdInvitation }
)

// InvitationRoutes are the routes of a team's invitations.
type InvitationRoutes struct{ Service *accounts.Service }

// Add adds the routes to a handler.
func (r InvitationRoutes) Add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "create-invitation", Method: http.MethodPost, Path: "/invitations", DefaultStatus: http.StatusCreated,
		Summary: "Invite a person to the team. The answer shows the link of the invitation once; an earlier invitation of the same address becomes invalid", Tags: teamTags,
		Errors: []int{http.StatusConflict},
	}, r.invite)
	rest.Register(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "list-invitations", Method: http.MethodGet, Path: "/invitations",
		Summary: "List open invitations to the team, newest first", Tags: teamTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, rest.List(r.Service.Invitations, newInvitationItem))
	rest.Register(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "delete-invitation", Method: http.MethodDelete, Path: "/invitations/{id}",
		Summary: "Withdraw an invitation", Tags: teamTags,
		Errors: []int{http.StatusNotFound, http.StatusServiceUnavailable},
	}, rest.Do[*InvitationPath](r.Service.TakeBackInvitation, func(id string) deletedInvitation {
		return deletedInvitation{Object: "invitation", ID: id, Deleted: true}
	}))
	r.addRead(h)
	registerSignIn(h, rest.Route{}, openapi.Operation{
		OperationID: "accept-invitation", Method: http.MethodPost, Path: "/auth/invitation",
		Summary: "Join the team that asked, with an account or a new one, and sign in", Tags: signInTags,
		Errors: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusConflict, http.StatusTooManyRequests},
	}, func(ctx context.Context, v *accounts.Visitor, b *acceptRequest) (accounts.NewSession, error) {
		return r.Service.Accept(ctx, v, &accounts.AcceptInput{Code: b.Code, Password: b.Password, Name: b.Name})
	})
}

// addRead adds the route that describes an invitation before it is accepted.
func (r InvitationRoutes) addRead(h *rest.Handler) {
	added := rest.RegisterRaw(h, rest.Route{Public: true, SameSite: true, Body: true, MaxBody: maxBody}, openapi.Operation{
		OperationID: "read-invitation", Method: http.MethodPost, Path: "/auth/invitation/read",
		Summary: "Show what the link of an invitation invites to. It changes nothing", Tags: signInTags,
		Errors: []int{http.StatusForbidden, http.StatusTooManyRequests},
	}, func(ctx context.Context, x *rest.Exchange, _ *struct{}) (*readInvitationOutput, error) {
		var body readInvitationRequest
		if err := rest.DecodeBody(x.Body, &body); err != nil {
			return nil, err
		}
		i, err := r.Service.ReadInvitation(ctx, visitor(h, x), body.Code)
		if err != nil {
			return nil, err
		}
		return &readInvitationOutput{readInvitation{Object: "invitation", Team: i.Team, Email: i.Address, Role: i.Role, InvitedBy: base.TextOrNull(i.By)}}, nil
	})
	rest.DocumentBody[readInvitationRequest](h, added, true)
}

func (r InvitationRoutes) invite(ctx context.Context, key *app.Key, _ *struct{}, b *inviteRequest) (*createdInvitationOutput, error) {
	return newInvitation(r.Service.Invite(ctx, key, b.Email, b.Role))
}

func newInvitation(i accounts.Invitation, link string, err error) (*createdInvitationOutput, error) {
	if err != nil {
		return nil, err
	}
	return &createdInvitationOutput{createdInvitation{
		Object: "invitation", ID: i.ID, Email: i.Address, Role: i.Role, URL: link, ExpiresAt: app.FormatTime(i.ExpiresAt), Mailed: i.Posted,
	}}, nil
}

func newInvitationItem(i *accounts.Invitation) InvitationItem {
	return InvitationItem{
		Object: "invitation", ID: i.ID, Email: i.Address, Role: i.Role, InvitedBy: i.InvitedBy,
		CreatedAt: app.FormatTime(i.CreatedAt), ExpiresAt: app.FormatTime(i.ExpiresAt),
	}
}
