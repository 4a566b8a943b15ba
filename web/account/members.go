package account

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/tenants/accounts"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

// MemberItem is a member of a team.
type MemberItem struct {
	Object       string   `json:"object" enum:"member"`
	ID           string   `json:"id" format:"uuid" doc:"Of the person"`
	Email        string   `json:"email"`
	Name         string   `json:"name" doc:"Empty: not said"`
	Role         app.Role `json:"role" enum:"owner,admin,member"`
	SecondFactor bool     `json:"second_factor" doc:"Whether signing in takes more than a password"`
	LastSeenAt   *string  `json:"last_seen_at" format:"date-time" doc:"To five minutes; null: never"`
	CreatedAt    string   `json:"created_at" format:"date-time" doc:"When the person joined"`
}

type deletedMember struct {
	Object  string           `json:"object" enum:"member"`
	ID      string           `json:"id" format:"uuid"`
	Deleted bool             `json:"deleted" enum:"true"`
	Keys    []shapes.KeptKey `json:"keys" doc:"API keys that the person made and that still work"`
}

type addMemberRequest struct {
	Email string   `json:"email" doc:"Whether there is an account with it makes no difference"`
	Role  app.Role `json:"role" enum:"owner,admin,member" doc:"Not above that of who asks"`
}

type updateMemberRequest struct {
	Role app.Role `json:"role" enum:"owner,admin,member" doc:"Not above that of who asks"`
}

// MemberPath is the path parameter of one member.
type MemberPath struct {
	ID string `path:"id" format:"uuid" doc:"The id of the person"`
}

// Resource implements rest.ResourcePath.
func (p *MemberPath) Resource() (kind string, id *string) { return "member", &p.ID }

type (
	memberOutput        = rest.Output[MemberItem]
	deletedMemberOutput struct{ Body deletedMember }
)

var teamTags = []string{"Team"}

// MemberRoutes are the routes of a team's members.
type MemberRoutes struct{ Service *accounts.Service }

// Add adds the routes to a handler.
func (r MemberRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "list-members", Method: http.MethodGet, Path: "/members",
		Summary: "List the members of the team", Tags: teamTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, rest.List(r.Service.Members, newMemberItem))
	rest.RegisterBody(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "add-member", Method: http.MethodPost, Path: "/members", DefaultStatus: http.StatusCreated,
		Summary: "Invite a person to the team, as POST /invitations does. The person becomes a member by accepting", Tags: teamTags,
		Errors: []int{http.StatusConflict},
	}, r.add)
	rest.RegisterBody(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "update-member", Method: http.MethodPatch, Path: "/members/{id}",
		Summary: "Change the role of a member. This ends the member's sessions in this team", Tags: teamTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.update)
	rest.Register(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "delete-member", Method: http.MethodDelete, Path: "/members/{id}",
		Summary: "Remove a member from the team", Tags: teamTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable},
	}, r.remove)
}

func (r MemberRoutes) add(ctx context.Context, key *app.Key, _ *struct{}, b *addMemberRequest) (*createdInvitationOutput, error) {
	return newInvitation(r.Service.Invite(ctx, key, b.Email, b.Role))
}

func (r MemberRoutes) update(ctx context.Context, key *app.Key, in *MemberPath, b *updateMemberRequest) (*memberOutput, error) {
	return rest.Answer(newMemberItem)(r.Service.ChangeRole(ctx, key, in.ID, b.Role))
}

func (r MemberRoutes) remove(ctx context.Context, key *app.Key, in *MemberPath) (*deletedMemberOutput, error) {
	left, err := r.Service.RemoveMember(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	return &deletedMemberOutput{deletedMember{Object: "member", ID: in.ID, Deleted: true, Keys: shapes.NewKeptKeys(left)}}, nil
}

func newMemberItem(m *accounts.Member) MemberItem {
	return MemberItem{
		Object: "member", ID: m.ID, Email: m.Address, Name: m.Name, Role: m.Role, SecondFactor: m.Factor,
		LastSeenAt: app.FormatTimePtr(m.SeenAt), CreatedAt: app.FormatTime(m.JoinedAt),
	}
}
