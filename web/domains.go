package web

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/tenants/domains"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// DomainItem is a domain in a list.
type DomainItem struct {
	ID                string                 `json:"id" format:"uuid"`
	Name              string                 `json:"name" doc:"Lower case; international names as A-labels"`
	Status            app.DomainStatus       `json:"status" enum:"not_started,pending,verified,failed"`
	CreatedAt         string                 `json:"created_at" format:"date-time"`
	Region            string                 `json:"region" doc:"Fixed: to move a domain, delete it and add it again"`
	OpenTracking      bool                   `json:"open_tracking"`
	ClickTracking     bool                   `json:"click_tracking"`
	TrackingSubdomain *string                `json:"tracking_subdomain" doc:"Labels below the domain under which tracked links are; null: they are at the server's own address"`
	Capabilities      app.DomainCapabilities `json:"capabilities"`
}

type domainRecord struct {
	Object string `json:"object" enum:"domain"`
	DomainItem
	CustomReturnPath string          `json:"custom_return_path"`
	Records          []app.DNSRecord `json:"records" doc:"What to publish in the DNS, and what the last check found there"`
	DNS              *domainDNS      `json:"dns" doc:"The DNS token that this server remembers for the domain, without the token itself; null: none"`
	Paused           []domainPause   `json:"paused" doc:"Relays that accept no mail of this domain for now: its mail stays queued and is retried automatically. Only for a single domain"`
}

// domainDNS is a remembered DNS token.
type domainDNS struct {
	_        struct{} `nullable:"true"`
	Provider string   `json:"provider" enum:"cloudflare,hetzner,rfc2136"`
	Since    string   `json:"since" format:"date-time"`
}

func newDomainDNS(d app.RememberedDNS) *domainDNS {
	if d.Provider == "" {
		return nil
	}
	return &domainDNS{Provider: d.Provider, Since: app.FormatTime(d.Since)}
}

// domainPause is a pause of a domain's mail at one relay.
type domainPause struct {
	Region        string `json:"region"`
	Reason        string `json:"reason" doc:"With the relay's own words"`
	ReplyCode     int    `json:"reply_code,omitempty"`
	EnhancedCode  string `json:"enhanced_code,omitempty"`
	Since         string `json:"since" format:"date-time"`
	NextAttemptAt string `json:"next_attempt_at,omitempty" format:"date-time"`
}

func newDomainPauses(troubles []app.RelayTrouble) []domainPause {
	out := make([]domainPause, 0, len(troubles))
	for _, t := range troubles {
		out = append(out, domainPause{Region: t.Relay, Reason: t.Detail.Message, ReplyCode: t.Detail.ReplyCode, EnhancedCode: t.Detail.EnhancedCode,
			Since: app.FormatTime(t.StartedAt), NextAttemptAt: t.Detail.NextAttemptAt})
	}
	return out
}

type domainRef struct {
	Object string `json:"object" enum:"domain"`
	ID     string `json:"id" format:"uuid"`
}

type deletedDomain struct {
	Object  string `json:"object" enum:"domain"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted" enum:"true"`
}

// capabilitiesRequest says what a domain is used for. Sending can't be disabled.
type capabilitiesRequest struct {
	Sending   string `json:"sending,omitempty" enum:"enabled"`
	Receiving string `json:"receiving,omitempty" enum:"enabled,disabled" doc:"Receives mail"`
}

func (c *capabilitiesRequest) check() error {
	switch {
	case c == nil:
		return nil
	case c.Sending != "" && c.Sending != app.CapabilityEnabled:
		return app.Invalid("capabilities.sending", "must be enabled: a domain of this service is for sending")
	case c.Receiving != "" && c.Receiving != app.CapabilityEnabled && c.Receiving != app.CapabilityDisabled:
		return app.Invalid("capabilities.receiving", "must be enabled or disabled")
	}
	return nil
}

// receives returns whether the domain is to receive mail; nil: no change.
func (c *capabilitiesRequest) receives() *bool {
	if c == nil || c.Receiving == "" {
		return nil
	}
	enabled := c.Receiving == app.CapabilityEnabled
	return &enabled
}

// tlsSetting is a field of Resend's API. The default value is accepted when a domain is added;
// everything else is refused with a reason.
type tlsSetting string

func (s tlsSetting) check(adds bool) error {
	if s == "" || adds && s == "opportunistic" {
		return nil
	}
	return app.Invalid("tls", "can't be set: how mail leaves is the setting of the server's relay")
}

type addDomainRequest struct {
	Name              string               `json:"name" doc:"Like example.com"`
	Region            string               `json:"region,omitempty" doc:"A region of this server; default: the first"`
	CustomReturnPath  string               `json:"custom_return_path,omitempty" default:"send" doc:"The label of the return path, in front of the domain"`
	OpenTracking      bool                 `json:"open_tracking,omitempty"`
	ClickTracking     bool                 `json:"click_tracking,omitempty"`
	TrackingSubdomain string               `json:"tracking_subdomain,omitempty"`
	Capabilities      *capabilitiesRequest `json:"capabilities,omitempty"`
	TLS               tlsSetting           `json:"tls,omitempty" enum:"opportunistic" doc:"Only the default: the server's relay decides about TLS"`
}

type updateDomainRequest struct {
	OpenTracking      *bool                `json:"open_tracking,omitempty"`
	ClickTracking     *bool                `json:"click_tracking,omitempty"`
	TrackingSubdomain rest.Change[string]  `json:"tracking_subdomain,omitempty" doc:"null or an empty string clears"`
	Capabilities      *capabilitiesRequest `json:"capabilities,omitempty"`
	TLS               tlsSetting           `json:"tls,omitempty" hidden:"true"`
}

// DomainPath is the path parameter of one domain.
type DomainPath struct {
	ID string `path:"id" format:"uuid" doc:"The id of the domain"`
}

// Resource implements rest.ResourcePath.
func (p *DomainPath) Resource() (kind string, id *string) { return "domain", &p.ID }

type (
	domainOutput    struct{ Body domainRecord }
	domainPageInput struct{ rest.PageParams }
)

var domainTags = []string{"Domains"}

// domainRoutes are the routes of domains.
type domainRoutes struct{ service *domains.Service }

// Add adds the routes to a handler.
func (r domainRoutes) Add(h *rest.Handler) {
	add := rest.RegisterBody(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "add-domain", Method: http.MethodPost, Path: "/domains", DefaultStatus: http.StatusCreated,
		Summary: "Add a domain to send from. The answer has the DNS records to publish; then verify it", Tags: domainTags,
		Errors: []int{http.StatusConflict},
	}, r.addDomain)
	r.documentRegions(h, add)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-domains", Method: http.MethodGet, Path: "/domains",
		Summary: "List domains, newest first", Tags: domainTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, r.listDomains)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-domain", Method: http.MethodGet, Path: "/domains/{id}",
		Summary: "Get a domain with its DNS records and their status", Tags: domainTags,
		Errors: []int{http.StatusNotFound},
	}, r.getDomain)
	rest.RegisterBody(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "update-domain", Method: http.MethodPatch, Path: "/domains/{id}",
		Summary: "Change the tracking of a domain, and whether it receives mail", Tags: domainTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.updateDomain)
	rest.Register(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "verify-domain", Method: http.MethodPost, Path: "/domains/{id}/verify",
		Summary: "Start a check of the DNS records of a domain. The domain shows the result some seconds later", Tags: domainTags,
		Errors: []int{http.StatusNotFound, http.StatusServiceUnavailable},
	}, rest.Do[*DomainPath](r.service.VerifyDomain, func(id string) domainRef { return domainRef{Object: "domain", ID: id} }))
	rest.Register(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "rotate-domain-key", Method: http.MethodPost, Path: "/domains/{id}/dkim/rotate",
		Summary: "Create the next DKIM key of a domain, unless one is pending. It signs mail as soon as its DNS record is found", Tags: domainTags,
		Errors: []int{http.StatusNotFound, http.StatusServiceUnavailable},
	}, r.rotateKey)
	r.addPublishing(h)
	rest.Register(h, rest.Route{Admin: true, Fresh: true}, openapi.Operation{
		OperationID: "delete-domain", Method: http.MethodDelete, Path: "/domains/{id}",
		Summary: "Delete a domain and the API keys that are bound to it", Tags: domainTags,
		Errors: []int{http.StatusNotFound, http.StatusServiceUnavailable},
	}, rest.Do[*DomainPath](r.service.DeleteDomain, func(id string) deletedDomain { return deletedDomain{Object: "domain", ID: id, Deleted: true} }))
}

// documentRegions lists the regions that have a relay in the document, the default first. Without
// relays, any region is allowed.
func (r domainRoutes) documentRegions(h *rest.Handler, add *openapi.Operation) {
	h.BeforeDocument(func() {
		body := add.RequestBody.Content["application/json"].Schema
		properties := h.OpenAPI().Components.Schemas.Edit(body.Ref).Properties
		schema := *properties["region"]
		schema.Default, schema.Enum = nil, nil
		for i, region := range r.service.Regions() {
			if i == 0 {
				schema.Default = region
			}
			schema.Enum = append(schema.Enum, region)
		}
		properties["region"] = &schema
	})
}

func (r domainRoutes) addDomain(ctx context.Context, key *app.Key, _ *struct{}, request *addDomainRequest) (*domainOutput, error) {
	if err := request.TLS.check(true); err != nil {
		return nil, err
	}
	if err := request.Capabilities.check(); err != nil {
		return nil, err
	}
	d, err := r.service.AddDomain(ctx, key.TeamID, app.DomainInput{
		Name: request.Name, Region: request.Region, ReturnPath: request.CustomReturnPath,
		OpenTracking: request.OpenTracking, ClickTracking: request.ClickTracking, TrackingSubdomain: request.TrackingSubdomain,
		Receiving: request.Capabilities.receives() != nil && *request.Capabilities.receives(),
	})
	if err != nil {
		return nil, err
	}
	return r.domainAnswer(&d), nil
}

func (r domainRoutes) listDomains(ctx context.Context, key *app.Key, in *domainPageInput) (*rest.ListOutput[DomainItem], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	rows, more, err := r.service.ListDomains(ctx, key.TeamID, page)
	if err != nil {
		return nil, err
	}
	return rest.NewList(rows, more, newDomainItem), nil
}

func (r domainRoutes) getDomain(ctx context.Context, key *app.Key, in *DomainPath) (*domainOutput, error) {
	d, err := r.service.GetDomain(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	return r.domainAnswer(&d), nil
}

func (r domainRoutes) updateDomain(ctx context.Context, key *app.Key, in *DomainPath, request *updateDomainRequest) (*domainOutput, error) {
	if err := request.TLS.check(false); err != nil {
		return nil, err
	}
	if err := request.Capabilities.check(); err != nil {
		return nil, err
	}
	d, err := r.service.UpdateDomain(ctx, key, in.ID, app.DomainPatch{
		OpenTracking: request.OpenTracking, ClickTracking: request.ClickTracking, TrackingSubdomain: app.Change[string](request.TrackingSubdomain),
		Receiving: request.Capabilities.receives(),
	})
	if err != nil {
		return nil, err
	}
	return r.domainAnswer(&d), nil
}

func (r domainRoutes) rotateKey(ctx context.Context, key *app.Key, in *DomainPath) (*domainOutput, error) {
	d, err := r.service.RotateDKIMByID(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	return r.domainAnswer(&d), nil
}

func (r domainRoutes) domainAnswer(d *app.Domain) *domainOutput {
	return &domainOutput{domainRecord{
		Object: "domain", DomainItem: newDomainItem(d), CustomReturnPath: d.ReturnPath, Records: r.service.DomainRecords(d),
		DNS: newDomainDNS(d.DNS), Paused: newDomainPauses(d.Pauses),
	}}
}

func newDomainItem(d *app.Domain) DomainItem {
	return DomainItem{
		ID: d.ID, Name: d.Name, Status: d.Status, CreatedAt: app.FormatTime(d.CreatedAt), Region: d.Region,
		OpenTracking: d.OpenTracking, ClickTracking: d.ClickTracking, TrackingSubdomain: base.TextOrNull(d.TrackingSubdomain),
		Capabilities: d.Capabilities(),
	}
}
