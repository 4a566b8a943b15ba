package account

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/tenants/accounts"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// OwnInvitationItem is an invitation of the signed-in person.
type OwnInvitationItem struct {
	Object    string   `json:"object" enum:"invitation"`
	ID        string   `json:"id" format:"uuid"`
	Team      string   `json:"team" doc:"The name of the team, as it calls itself"`
	TeamID    string   `json:"team_id" format:"uuid"`
	Role      app.Role `json:"role" enum:"owner,admin,member"`
	CreatedAt string   `json:"created_at" format:"date-time"`
	ExpiresAt string   `json:"expires_at" format:"date-time"`
}

type joined struct {
	Object string `json:"object" enum:"membership"`
	MembershipItem
}

type joinedOutput struct{ Body joined }

// OwnInvitationService is the part of the services that OwnInvitationRoutes needs.
type OwnInvitationService interface {
	OwnInvitations(ctx context.Context, key *app.Key) ([]accounts.Invitation, error)
	AcceptOwn(ctx context.Context, key *app.Key, id string) (accounts.Membership, error)
	Decline(ctx context.Context, key *app.Key, id string) error
}

// OwnInvitationRoutes are the routes of the signed-in person's invitations.
type OwnInvitationRoutes struct{ Service OwnInvitationService }

// Add adds the routes to a handler.
func (r OwnInvitationRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{Person: true}, openapi.Operation{
		OperationID: "list-my-invitations", Method: http.MethodGet, Path: "/users/me/invitations",
		Summary: "List the teams that ask one to join, newest first", Tags: meTags,
	}, r.list)
	rest.Register(h, rest.Route{Person: true}, openapi.Operation{
		OperationID: "accept-my-invitation", Method: http.MethodPost, Path: "/users/me/invitations/{id}/accept",
		Summary: "Join a team that asks for it", Tags: meTags,
		Errors: []int{http.StatusNotFound},
	}, r.accept)
	rest.Register(h, rest.Route{Person: true}, openapi.Operation{
		OperationID: "decline-my-invitation", Method: http.MethodDelete, Path: "/users/me/invitations/{id}",
		Summary: "Decline to join a team", Tags: meTags,
		Errors: []int{http.StatusNotFound},
	}, rest.Do[*InvitationPath](r.Service.Decline, func(id string) deletedInvitation {
		return deletedInvitation{Object: "invitation", ID: id, Deleted: true}
	}))
}

func (r OwnInvitationRoutes) list(ctx context.Context, key *app.Key, _ *struct{}) (*rest.ListOutput[OwnInvitationItem], error) {
	rows, err := r.Service.OwnInvitations(ctx, key)
	if err != nil {
		return nil, err
	}
	return rest.NewList(rows, false, func(i *accounts.Invitation) OwnInvitationItem {
		return OwnInvitationItem{Object: "invitation", ID: i.ID, Team: i.TeamName, TeamID: i.TeamID, Role: i.Role,
			CreatedAt: app.FormatTime(i.CreatedAt), ExpiresAt: app.FormatTime(i.ExpiresAt)}
	}), nil
}

func (r OwnInvitationRoutes) accept(ctx context.Context, key *app.Key, in *InvitationPath) (*joinedOutput, error) {
	m, err := r.Service.AcceptOwn(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	return &joinedOutput{joined{Object: "membership", MembershipItem: newTeamItems([]accounts.Membership{m})[0]}}, nil
}
