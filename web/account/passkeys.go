package account

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"mailer/app"
	"mailer/app/tenants/accounts"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// PasskeyRoutes are the routes of passkeys.
type PasskeyRoutes struct{ Service *accounts.PasskeyService }

// PasskeyItem is a passkey in a list.
type PasskeyItem struct {
	ID         string  `json:"id" format:"uuid"`
	Name       string  `json:"name"`
	CreatedAt  string  `json:"created_at" format:"date-time"`
	LastUsedAt *string `json:"last_used_at" format:"date-time" doc:"null: never"`
}

type createdPasskey struct {
	Object string `json:"object" enum:"passkey"`
	PasskeyItem
	Codes []string `json:"recovery_codes,omitempty" doc:"Where it is the first second factor: each replaces it once. They are shown here and never again"`
}

type deletedPasskey struct {
	Object  string `json:"object" enum:"passkey"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted" enum:"true"`
}

// webauthnJSON is the JSON of a browser's WebAuthn interface (level 3, section 5.1):
// PublicKeyCredential.toJSON and similar.
type webauthnJSON map[string]any

type (
	webauthnOutput       struct{ Body webauthnJSON }
	createdPasskeyOutput struct{ Body createdPasskey }
)

// PasskeyPath is the path parameter of one passkey.
type PasskeyPath struct {
	ID string `path:"id" format:"uuid"`
}

// Resource implements rest.ResourcePath.
func (p *PasskeyPath) Resource() (kind string, id *string) { return "passkey", &p.ID }

type passkeyNameInput struct {
	Name string `query:"name" doc:"What the passkey is called in lists; absent: Passkey"`
}

// Add adds the routes to a handler.
func (r PasskeyRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{Person: true, Fresh: true}, openapi.Operation{
		OperationID: "begin-my-passkey", Method: http.MethodPost, Path: "/users/me/passkeys/options",
		Summary: "Get what a browser needs to make a passkey", Tags: meTags,
		Errors: []int{http.StatusConflict},
	}, r.options)
	added := rest.RegisterRaw(h, rest.Route{Person: true, Fresh: true, Body: true, MaxBody: maxBody}, openapi.Operation{
		OperationID: "create-my-passkey", Method: http.MethodPost, Path: "/users/me/passkeys", DefaultStatus: http.StatusCreated,
		Summary: "Keep the passkey that a browser made", Tags: meTags,
		Errors: []int{http.StatusConflict},
	}, r.create)
	rest.DocumentBody[webauthnJSON](h, added, true)
	rest.Register(h, rest.Route{Person: true}, openapi.Operation{
		OperationID: "list-my-passkeys", Method: http.MethodGet, Path: "/users/me/passkeys",
		Summary: "List one's passkeys, newest first; there are few", Tags: meTags,
	}, r.list)
	rest.Register(h, rest.Route{Person: true, Fresh: true}, openapi.Operation{
		OperationID: "delete-my-passkey", Method: http.MethodDelete, Path: "/users/me/passkeys/{id}",
		Summary: "Remove a passkey", Tags: meTags,
		Errors: []int{http.StatusNotFound},
	}, rest.Do[*PasskeyPath](r.Service.DeletePasskey, func(id string) deletedPasskey { return deletedPasskey{Object: "passkey", ID: id, Deleted: true} }))
	r.addSignIn(h)
}

func (r PasskeyRoutes) addSignIn(h *rest.Handler) {
	rest.RegisterRaw(h, rest.Route{Public: true, SameSite: true}, openapi.Operation{
		OperationID: "begin-passkey-sign-in", Method: http.MethodPost, Path: "/auth/passkey/options",
		Summary: "Get what a browser needs to sign in by passkey", Tags: signInTags,
		Errors: []int{http.StatusForbidden, http.StatusConflict},
	}, func(context.Context, *rest.Exchange, *struct{}) (*webauthnOutput, error) {
		options, err := r.Service.SignInOptions()
		return newWebAuthn(options, err)
	})
	added := rest.RegisterRaw(h, rest.Route{Public: true, SameSite: true, Body: true, MaxBody: maxBody}, openapi.Operation{
		OperationID: "sign-in-by-passkey", Method: http.MethodPost, Path: "/auth/passkey",
		Summary: "Sign in by passkey, complete a sign-in, or prove anew who one is", Tags: signInTags,
		Errors: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusConflict, http.StatusTooManyRequests},
	}, func(ctx context.Context, x *rest.Exchange, _ *struct{}) (*signedInOutput, error) {
		if err := h.MaySignIn(x); err != nil {
			return nil, err
		}
		n, err := r.Service.SignInByPasskey(ctx, visitor(h, x), x.Body)
		if err != nil {
			return nil, err
		}
		return newSignedIn(h, x, &n), nil
	})
	rest.DocumentBody[webauthnJSON](h, added, true)
}

func (r PasskeyRoutes) options(ctx context.Context, key *app.Key, _ *struct{}) (*webauthnOutput, error) {
	options, err := r.Service.PasskeyOptions(ctx, key)
	return newWebAuthn(options, err)
}

// newWebAuthn returns options in the library's JSON form.
func newWebAuthn(options any, err error) (*webauthnOutput, error) {
	if err != nil {
		return nil, err
	}
	var out webauthnOutput
	b, err := json.Marshal(options)
	if err == nil {
		err = json.Unmarshal(b, &out.Body)
	}
	if err != nil {
		return nil, fmt.Errorf("write options of passkeys: %w", err)
	}
	return &out, nil
}

func (r PasskeyRoutes) create(ctx context.Context, x *rest.Exchange, in *passkeyNameInput) (*createdPasskeyOutput, error) {
	name := in.Name
	if name == "" {
		name = "Passkey"
	}
	p, codes, err := r.Service.AddPasskey(ctx, x.Key, name, x.Body)
	if err != nil {
		return nil, err
	}
	return &createdPasskeyOutput{createdPasskey{Object: "passkey", PasskeyItem: newPasskeyItem(&p), Codes: codes}}, nil
}

func (r PasskeyRoutes) list(ctx context.Context, key *app.Key, _ *struct{}) (*rest.ListOutput[PasskeyItem], error) {
	keys, err := r.Service.Passkeys(ctx, key.ID)
	if err != nil {
		return nil, err
	}
	return rest.NewList(keys, false, newPasskeyItem), nil
}

func newPasskeyItem(p *accounts.Passkey) PasskeyItem {
	return PasskeyItem{ID: p.ID, Name: p.Name, CreatedAt: app.FormatTime(p.CreatedAt), LastUsedAt: app.FormatTimePtr(p.LastUsedAt)}
}
