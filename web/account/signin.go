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

// SignInRoutes are the routes of sign-in and sign-out.
type SignInRoutes struct{ Service *accounts.Service }

// PersonItem is the signed-in person.
type PersonItem struct {
	ID       string  `json:"id" format:"uuid"`
	Email    string  `json:"email"`
	Name     string  `json:"name" doc:"Empty: not said"`
	Operator bool    `json:"operator" doc:"Has access to all teams"`
	Language *string `json:"language" doc:"Of the dashboard; null: the browser's"`
	Theme    *string `json:"theme" enum:"light,dark" doc:"null: the system's"`
}

// MembershipItem is a team of the person.
type MembershipItem struct {
	ID   string   `json:"id" format:"uuid"`
	Name string   `json:"name"`
	Role app.Role `json:"role" enum:"owner,admin,member"`
	// SecondFactorRequired: members need a second factor.
	SecondFactorRequired bool `json:"second_factor_required" doc:"People reach it only with a second factor"`
}

// signedIn is the answer to a sign-in.
type signedIn struct {
	User         *PersonItem      `json:"user,omitempty" doc:"Absent while a second factor is to come"`
	Teams        []MembershipItem `json:"teams,omitempty"`
	SecondFactor []string         `json:"second_factor,omitempty" doc:"One of these is to come within five minutes: totp by POST /auth/totp, passkey by POST /auth/passkey"`
}

type signedInOutput struct{ Body signedIn }

type signedOut struct {
	Object    string `json:"object" enum:"session"`
	SignedOut bool   `json:"signed_out" enum:"true"`
}

type signedOutOutput struct{ Body signedOut }

type setupRequest struct {
	Code     string `json:"code" doc:"The part of the link after #"`
	Email    string `json:"email"`
	Password string `json:"password" minLength:"12" maxLength:"1000"`
	Name     string `json:"name,omitempty" maxLength:"100" doc:"Of the person"`
	Team     string `json:"team,omitempty" maxLength:"100" doc:"What the first team is to be called"`
}

type setupState struct {
	Object string `json:"object" enum:"setup"`
	Needed bool   `json:"needed" doc:"There is no account yet: mailer serve and mailer users setup print the link that creates the first"`
}

type setupStateOutput struct{ Body setupState }

type signInRequest struct {
	Email    string `json:"email"`
	Password string `json:"password"`
}

type linkRequest struct {
	Code string `json:"code" doc:"The part of the link after #"`
}

var signInTags = []string{"Sign-in"}

// Add adds the routes to a handler.
func (r SignInRoutes) Add(h *rest.Handler) {
	rest.RegisterRaw(h, rest.Route{Public: true, SameSite: true, Quiet: true}, openapi.Operation{
		OperationID: "get-setup", Method: http.MethodGet, Path: "/auth/setup",
		Summary: "Tell whether the first account is still to be created", Tags: signInTags,
	}, func(ctx context.Context, _ *rest.Exchange, _ *struct{}) (*setupStateOutput, error) {
		needed, err := r.Service.NeedsSetup(ctx)
		return &setupStateOutput{setupState{Object: "setup", Needed: needed}}, err
	})
	registerSignIn(h, rest.Route{}, openapi.Operation{
		OperationID: "set-up", Method: http.MethodPost, Path: "/auth/setup",
		Summary: "Make the first account with the code that mailer serve shows, and sign in", Tags: signInTags,
		Errors: []int{http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusTooManyRequests},
	}, func(ctx context.Context, v *accounts.Visitor, b *setupRequest) (accounts.NewSession, error) {
		return r.Service.Setup(ctx, v, &accounts.SetupInput{Code: b.Code, Email: b.Email, Password: b.Password, Name: b.Name, Team: b.Team})
	})
	registerSignIn(h, rest.Route{}, openapi.Operation{
		OperationID: "sign-in", Method: http.MethodPost, Path: "/auth/sign-in",
		Summary: "Sign in with address and password", Tags: signInTags,
		Errors: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests},
	}, func(ctx context.Context, v *accounts.Visitor, b *signInRequest) (accounts.NewSession, error) {
		return r.Service.SignIn(ctx, v, b.Email, b.Password)
	})
	registerSignIn(h, rest.Route{}, openapi.Operation{
		OperationID: "open-sign-in-link", Method: http.MethodPost, Path: "/auth/link",
		Summary: "Sign in with a link, once, within half an hour of its making", Tags: signInTags,
		Errors: []int{http.StatusForbidden, http.StatusTooManyRequests},
	}, func(ctx context.Context, v *accounts.Visitor, b *linkRequest) (accounts.NewSession, error) {
		return r.Service.OpenLink(ctx, v, b.Code)
	})
	rest.RegisterRaw(h, rest.Route{Public: true, SameSite: true}, openapi.Operation{
		OperationID: "sign-out", Method: http.MethodPost, Path: "/auth/sign-out",
		Summary: "End the session; nothing where there is none", Tags: signInTags,
		Errors: []int{http.StatusForbidden, http.StatusServiceUnavailable},
	}, func(ctx context.Context, x *rest.Exchange, _ *struct{}) (*signedOutOutput, error) {
		if err := r.Service.SignOut(ctx, h.SessionToken(x.RequestHeader)); err != nil {
			return nil, err
		}
		h.SetSession(x, "", 0)
		return &signedOutOutput{signedOut{Object: "session", SignedOut: true}}, nil
	})
}

// registerSignIn adds a route that begins a session, or raises a partial one.
func registerSignIn[B any](h *rest.Handler, rt rest.Route, op openapi.Operation, signIn func(ctx context.Context, v *accounts.Visitor, body *B) (accounts.NewSession, error)) {
	rt.Public, rt.SameSite, rt.Body, rt.MaxBody = true, true, true, maxBody
	added := rest.RegisterRaw(h, rt, op, func(ctx context.Context, x *rest.Exchange, _ *struct{}) (*signedInOutput, error) {
		var body B
		if err := rest.DecodeBody(x.Body, &body); err != nil {
			return nil, err
		}
		if err := h.MaySignIn(x); err != nil {
			return nil, err
		}
		n, err := signIn(ctx, visitor(h, x), &body)
		if err != nil {
			return nil, err
		}
		return newSignedIn(h, x, &n), nil
	})
	rest.DocumentBody[B](h, added, true)
}

// maxBody bounds the bodies of these routes, in bytes.
const maxBody = 64 << 10

// visitor describes the client of a request.
func visitor(h *rest.Handler, x *rest.Exchange) *accounts.Visitor {
	return &accounts.Visitor{
		Address: x.Address(), Client: x.Client(), Agent: x.RequestHeader.Get("User-Agent"),
		Session: h.SessionToken(x.RequestHeader), Device: rest.CookieValue(x.RequestHeader, deviceCookie(h)),
	}
}

// newSignedIn sets the session's cookies and returns the person.
func newSignedIn(h *rest.Handler, x *rest.Exchange, n *accounts.NewSession) *signedInOutput {
	setCookies(h, x, n)
	if len(n.Factors) > 0 {
		return &signedInOutput{signedIn{SecondFactor: n.Factors}}
	}
	person := newPersonItem(&n.User)
	return &signedInOutput{signedIn{User: &person, Teams: newTeamItems(n.Teams)}}
}

// setCookies sets the cookies of a new session.
func setCookies(h *rest.Handler, x *rest.Exchange, n *accounts.NewSession) {
	h.SetSession(x, n.Token, n.Keep)
	if n.Device != "" {
		h.SetCookie(x, deviceCookie(h), n.Device, accounts.DeviceLife)
	}
}

// deviceCookie returns the name of the cookie that identifies a browser.
func deviceCookie(h *rest.Handler) string { return h.CookieName("device") }

func newPersonItem(u *accounts.User) PersonItem {
	return PersonItem{ID: u.ID, Email: u.Address, Name: u.Name, Operator: u.Operator, Language: base.TextOrNull(u.Language), Theme: base.TextOrNull(u.Theme)}
}

func newTeamItems(rows []accounts.Membership) []MembershipItem {
	out := make([]MembershipItem, len(rows))
	for i, m := range rows {
		out[i] = MembershipItem{ID: m.TeamID, Name: m.TeamName, Role: m.Role, SecondFactorRequired: m.SecondFactor}
	}
	return out
}
