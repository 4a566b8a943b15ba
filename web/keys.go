package web

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/tenants/teams"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

// KeyItem is an API key in a list, without its token.
type KeyItem struct {
	ID         string         `json:"id" format:"uuid"`
	Name       string         `json:"name"`
	Prefix     string         `json:"prefix" doc:"What its token begins with: enough to know it by, and no secret"`
	CreatedAt  string         `json:"created_at" format:"date-time"`
	LastUsedAt *string        `json:"last_used_at" format:"date-time" doc:"To the minute; null: never"`
	Permission app.Permission `json:"permission" enum:"full_access,sending_access"`
	Role       app.Role       `json:"role" enum:"owner,admin,member"`
	DomainID   *string        `json:"domain_id" format:"uuid" doc:"The one domain that the key may send from; null: any"`
	ExpiresAt  *string        `json:"expires_at" format:"date-time" doc:"From then on it is refused; null: never"`
	AllowedIPs []netip.Prefix `json:"allowed_ips" doc:"The ranges of addresses that it may be used from; none: any"`
}

type keyRecord struct {
	Object string `json:"object" enum:"api_key"`
	KeyItem
}

type createdKey struct {
	Object string `json:"object" enum:"api_key"`
	ID     string `json:"id" format:"uuid"`
	Token  string `json:"token" doc:"What to send as bearer token. It is shown here and never again"`
}

type deletedKey struct {
	Object  string `json:"object" enum:"api_key"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted" enum:"true"`
}

type createKeyRequest struct {
	Name       string         `json:"name" minLength:"1" maxLength:"50" doc:"What the key is for"`
	Permission app.Permission `json:"permission,omitempty" enum:"full_access,sending_access" default:"full_access"`
	DomainID   string         `json:"domain_id,omitempty" format:"uuid" doc:"The only domain that the key may send from; only with sending_access"`
	Role       app.Role       `json:"role,omitempty" enum:"owner,admin,member" doc:"At most the role of the key that creates it, which is the default"`
	ExpiresAt  string         `json:"expires_at,omitempty" format:"date-time" doc:"When the key expires; default: never"`
	AllowedIPs ipRanges       `json:"allowed_ips,omitempty" doc:"IP addresses and ranges (CIDR) that may use the key; default: any"`
}

// updateKeyRequest is the body of PATCH /api-keys/{id}.
type updateKeyRequest struct {
	Name       *string               `json:"name,omitempty" minLength:"1" maxLength:"50"`
	ExpiresAt  rest.Change[string]   `json:"expires_at,omitempty" format:"date-time" doc:"null: never"`
	AllowedIPs rest.Change[ipRanges] `json:"allowed_ips,omitempty" doc:"null, or none: any"`
}

// ipRanges is an array of ranges whose length is checked while it is decoded.
type ipRanges []string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *ipRanges) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return rest.DecodeList(d, (*[]string)(l), teams.MaxAllowedIPs, "an array of strings")
}

// Schema implements openapi.SchemaProvider.
func (ipRanges) Schema(*openapi.Registry) *openapi.Schema {
	most := teams.MaxAllowedIPs
	return &openapi.Schema{Type: "array", Items: &openapi.Schema{Type: "string"}, MaxItems: &most}
}

// KeyPath is the path parameter of one API key.
type KeyPath struct {
	ID string `path:"id" format:"uuid" doc:"The id of the API key, not its token"`
}

// Resource implements rest.ResourcePath.
func (p *KeyPath) Resource() (kind string, id *string) { return "API key", &p.ID }

type (
	createdKeyOutput struct{ Body createdKey }
	keyOutput        struct{ Body keyRecord }
)

var keyTags = []string{"API keys"}

// keyRoutes are the routes of API keys.
type keyRoutes struct{ service *teams.Service }

// Add adds the routes to a handler.
func (r keyRoutes) Add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{Admin: true, Fresh: true}, openapi.Operation{
		OperationID: "create-api-key", Method: http.MethodPost, Path: "/api-keys", DefaultStatus: http.StatusCreated,
		Summary: "Create an API key. The answer shows its token once", Tags: keyTags,
		Errors: []int{http.StatusNotFound},
	}, r.createKey)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-api-keys", Method: http.MethodGet, Path: "/api-keys",
		Summary: "List API keys, newest first, without their tokens", Tags: keyTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, rest.List(r.service.ListTeamKeys, newKeyItem))
	rest.RegisterBody(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "update-api-key", Method: http.MethodPatch, Path: "/api-keys/{id}",
		Summary: "Change the name, the expiry or the allowed IP addresses of an API key", Tags: keyTags,
		Errors: []int{http.StatusNotFound},
	}, r.updateKey)
	rest.Register(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "delete-api-key", Method: http.MethodDelete, Path: "/api-keys/{id}",
		Summary: "Revoke an API key. It stops working immediately", Tags: keyTags,
		Errors: []int{http.StatusNotFound, http.StatusServiceUnavailable},
	}, rest.Do[*KeyPath](r.service.DeleteTeamKey, func(id string) deletedKey { return deletedKey{Object: "api_key", ID: id, Deleted: true} }))
}

func (r keyRoutes) createKey(ctx context.Context, key *app.Key, _ *struct{}, request *createKeyRequest) (*createdKeyOutput, error) {
	expires, err := shapes.Time("expires_at", request.ExpiresAt)
	if err != nil {
		return nil, err
	}
	token, k, err := r.service.CreateTeamKey(ctx, key, app.KeyInput{
		Name: request.Name, Permission: request.Permission, Role: request.Role, DomainID: request.DomainID,
		ExpiresAt: expires, AllowedIPs: request.AllowedIPs,
	})
	if err != nil {
		return nil, err
	}
	return &createdKeyOutput{createdKey{Object: "api_key", ID: k.ID, Token: token}}, nil
}

func (r keyRoutes) updateKey(ctx context.Context, key *app.Key, in *KeyPath, request *updateKeyRequest) (*keyOutput, error) {
	expires, err := shapes.Time("expires_at", request.ExpiresAt.Value)
	if err != nil {
		return nil, err
	}
	k, err := r.service.UpdateTeamKey(ctx, key, in.ID, teams.KeyChange{
		Name: request.Name, ExpiresAt: app.Change[time.Time]{Set: request.ExpiresAt.Set, Value: expires},
		AllowedIPs: app.Change[[]string]{Set: request.AllowedIPs.Set, Value: request.AllowedIPs.Value},
	})
	if err != nil {
		return nil, err
	}
	return &keyOutput{keyRecord{Object: "api_key", KeyItem: newKeyItem(&k)}}, nil
}

func newKeyItem(k *app.Key) KeyItem {
	return KeyItem{
		ID: k.ID, Name: k.Name, Prefix: k.Prefix(), CreatedAt: app.FormatTime(k.CreatedAt), LastUsedAt: app.FormatTimePtr(k.LastUsedAt),
		Permission: k.Permission, Role: k.Role, DomainID: base.TextOrNull(k.DomainID),
		ExpiresAt: app.FormatTimePtr(k.ExpiresAt), AllowedIPs: append([]netip.Prefix{}, k.AllowedIPs...),
	}
}
