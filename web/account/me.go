package account

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/tenants/accounts"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// MeRoutes are the routes of a person's own account.
type MeRoutes struct{ Service *accounts.Service }

// SessionItem is a session of a person in a browser.
type SessionItem struct {
	ID        string `json:"id" format:"uuid"`
	Device    string `json:"device" doc:"The browser, as it named itself"`
	Address   string `json:"address" doc:"The IP address from which it signed in"`
	CreatedAt string `json:"created_at" format:"date-time"`
	SeenAt    string `json:"seen_at" format:"date-time" doc:"When it was last used, to five minutes"`
	ProvedAt  string `json:"proved_at" format:"date-time" doc:"When the person last proved to be there: what needs a fresh proof goes for ten minutes"`
	Current   bool   `json:"current" doc:"It is the one that asks"`
}

type me struct {
	Object string `json:"object" enum:"user"`
	PersonItem
	Teams         []MembershipItem `json:"teams"`
	SecondFactor  []string         `json:"second_factor" doc:"What is asked for beside the password: totp, passkey; none: nothing"`
	Password      bool             `json:"password" doc:"Whether there is one; without, only links and passkeys sign in"`
	RecoveryCodes int              `json:"recovery_codes" doc:"How many are left"`
	Session       SessionItem      `json:"session"`
	Mode          string           `json:"mode" enum:"self-hosted,cloud" doc:"cloud: teams have plans with limits; self-hosted: they have none"`
	Guardrails    string           `json:"guardrails" enum:"enforce,warn" doc:"Whether the server slows and pauses teams over the bounce or complaint limit, or only warns"`
	Capturing     bool             `json:"capturing" doc:"Whether this server captures mail instead of sending it"`
}

type meOutput struct{ Body me }

type updateMeRequest struct {
	Name     *string `json:"name,omitempty" maxLength:"100"`
	Language *string `json:"language,omitempty" enum:"de,en,es,fr,it,ja,nl,pl,pt,zh," doc:"Empty: the browser's"`
	Theme    *string `json:"theme,omitempty" enum:"light,dark," doc:"Empty: the system's"`
}

// SessionPath is the path parameter of one session.
type SessionPath struct {
	ID string `path:"id" format:"uuid"`
}

// Resource implements rest.ResourcePath.
func (p *SessionPath) Resource() (kind string, id *string) { return "session", &p.ID }

type endedSession struct {
	Object  string `json:"object" enum:"session"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted" enum:"true"`
}

type endedSessions struct {
	Object string `json:"object" enum:"session"`
	Ended  int64  `json:"ended" doc:"How many there were"`
}

type (
	endedSessionOutput  struct{ Body endedSession }
	endedSessionsOutput struct{ Body endedSessions }
)

var meTags = []string{"Account"}

// Add adds the routes to a handler.
func (r MeRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{Person: true}, openapi.Operation{
		OperationID: "get-me", Method: http.MethodGet, Path: "/users/me",
		Summary: "Who is signed in, and to which teams he belongs", Tags: meTags,
	}, r.get)
	rest.RegisterBody(h, rest.Route{Person: true}, openapi.Operation{
		OperationID: "update-me", Method: http.MethodPatch, Path: "/users/me",
		Summary: "Change name, language or theme", Tags: meTags,
	}, r.update)
	rest.Register(h, rest.Route{Person: true}, openapi.Operation{
		OperationID: "list-my-sessions", Method: http.MethodGet, Path: "/users/me/sessions",
		Summary: "List where one is signed in, newest first", Tags: meTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, r.sessions)
	rest.Register(h, rest.Route{Person: true}, openapi.Operation{
		OperationID: "end-my-other-sessions", Method: http.MethodDelete, Path: "/users/me/sessions",
		Summary: "Sign out everywhere but here", Tags: meTags,
	}, r.endOthers)
	rest.Register(h, rest.Route{Person: true}, openapi.Operation{
		OperationID: "end-my-session", Method: http.MethodDelete, Path: "/users/me/sessions/{id}",
		Summary: "Sign out in one place", Tags: meTags,
		Errors: []int{http.StatusNotFound},
	}, r.end)
}

func (r MeRoutes) get(ctx context.Context, key *app.Key, _ *struct{}) (*meOutput, error) {
	m, err := r.Service.Me(ctx, key)
	if err != nil {
		return nil, err
	}
	return r.newMe(&m), nil
}

func (r MeRoutes) update(ctx context.Context, key *app.Key, _ *struct{}, b *updateMeRequest) (*meOutput, error) {
	m, err := r.Service.UpdateMe(ctx, key, &accounts.MeInput{Name: b.Name, Language: b.Language, Theme: b.Theme})
	if err != nil {
		return nil, err
	}
	return r.newMe(&m), nil
}

func (r MeRoutes) sessions(ctx context.Context, key *app.Key, in *rest.PageParams) (*rest.ListOutput[SessionItem], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	rows, more, err := r.Service.Sessions(ctx, key.ID, page)
	if err != nil {
		return nil, err
	}
	return rest.NewList(rows, more, func(s *accounts.Session) SessionItem { return newSessionItem(s, key.Session.ID) }), nil
}

func (r MeRoutes) end(ctx context.Context, key *app.Key, in *SessionPath) (*endedSessionOutput, error) {
	if err := r.Service.EndSession(ctx, key.ID, in.ID); err != nil {
		return nil, err
	}
	return &endedSessionOutput{endedSession{Object: "session", ID: in.ID, Deleted: true}}, nil
}

func (r MeRoutes) endOthers(ctx context.Context, key *app.Key, _ *struct{}) (*endedSessionsOutput, error) {
	n, err := r.Service.EndOtherSessions(ctx, key.ID, key.Session.ID)
	if err != nil {
		return nil, err
	}
	return &endedSessionsOutput{endedSessions{Object: "session", Ended: n}}, nil
}

func (r MeRoutes) newMe(m *accounts.Me) *meOutput {
	mode, guardrails := "self-hosted", "warn"
	if r.Service.Settings.Cloud {
		mode = "cloud"
	}
	if r.Service.Settings.Enforce {
		guardrails = "enforce"
	}
	factors := m.Factors
	if factors == nil {
		factors = []string{}
	}
	return &meOutput{me{
		Object: "user", PersonItem: newPersonItem(&m.User), Teams: newTeamItems(m.Teams), SecondFactor: factors,
		Password: m.User.Password != "", RecoveryCodes: m.Codes, Session: newSessionItem(&m.Session, m.Session.ID), Mode: mode, Guardrails: guardrails,
		Capturing: r.Service.Settings.Capture,
	}}
}

func newSessionItem(s *accounts.Session, current string) SessionItem {
	return SessionItem{
		ID: s.ID, Device: s.Device, Address: s.Address, CreatedAt: app.FormatTime(s.CreatedAt), SeenAt: app.FormatTime(s.SeenAt),
		ProvedAt: app.FormatTime(s.ProvedAt), Current: s.ID == current,
	}
}
