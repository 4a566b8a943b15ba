package web

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/rules/dnsplan"
	"mailer/app/tenants/domains"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// publishDomainRequest has a token, which appears in no answer, log or error.
type publishDomainRequest struct {
	Provider     string `json:"provider,omitempty" enum:"cloudflare,hetzner" doc:"Where the DNS zone of the domain is; default: as remembered"`
	Token        string `json:"token,omitempty" doc:"An API token of the provider that may read the zone and change its records. It is not stored, unless remember is true"`
	DMARCReports string `json:"dmarc_reports,omitempty" doc:"An email address that the DMARC record is to name for aggregate reports (rua); default: an existing record is left alone"`
	Remember     bool   `json:"remember,omitempty" doc:"Store the token, encrypted, until the domain is deleted or the token is forgotten"`
	Plan         string `json:"plan,omitempty" doc:"The id of the plan to apply; without it, the plan is returned and nothing is changed"`
}

// publicationRecord is a plan, and whether it was applied.
type publicationRecord struct {
	Object    string             `json:"object" enum:"domain"`
	ID        string             `json:"id" format:"uuid"`
	Provider  string             `json:"provider" enum:"cloudflare,hetzner,rfc2136"`
	Plan      string             `json:"plan" doc:"The id of this plan"`
	Applied   bool               `json:"applied" doc:"Whether all changes were made"`
	Changes   []dnsplan.Change   `json:"changes"`
	Conflicts []dnsplan.Conflict `json:"conflicts" doc:"Records for which nothing is written, and why"`
	Unchanged int                `json:"unchanged" doc:"How many of the domain's records exist already"`
}

type publicationOutput struct{ Body publicationRecord }

// addPublishing adds the routes that publish the records of a domain.
func (r domainRoutes) addPublishing(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{Admin: true, Fresh: true}, openapi.Operation{
		OperationID: "publish-domain", Method: http.MethodPost, Path: "/domains/{id}/publish",
		Summary: "Publish the missing DNS records of a domain at its DNS provider. Without a plan, the answer shows what would change; with the plan's id, the changes are made and the domain is checked", Tags: domainTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable},
	}, r.publishDomain)
	rest.Register(h, rest.Route{Admin: true}, openapi.Operation{
		OperationID: "forget-domain-dns", Method: http.MethodDelete, Path: "/domains/{id}/publish/token",
		Summary: "Forget the DNS token of a domain", Tags: domainTags,
		Errors: []int{http.StatusNotFound, http.StatusServiceUnavailable},
	}, rest.Do[*DomainPath](r.service.ForgetDNS, func(id string) domainRef { return domainRef{Object: "domain", ID: id} }))
}

func (r domainRoutes) publishDomain(ctx context.Context, key *app.Key, in *DomainPath, request *publishDomainRequest) (*publicationOutput, error) {
	if p := request.Provider; p != "" && p != dnsplan.Cloudflare && p != dnsplan.Hetzner { // only the operator names a server
		return nil, app.Invalid("provider", "must be %s or %s", dnsplan.Cloudflare, dnsplan.Hetzner)
	}
	input := domains.PublishInput{
		Credentials: dnsplan.Credentials{Provider: request.Provider, Token: request.Token},
		Remember:    request.Remember, DMARCReports: request.DMARCReports,
	}
	var p domains.Publication
	var err error
	if request.Plan == "" {
		p, err = r.service.PlanDNS(ctx, key, in.ID, input)
	} else {
		p, err = r.service.PublishDNS(ctx, key, in.ID, input, request.Plan)
	}
	if err != nil {
		return nil, err
	}
	return &publicationOutput{publicationRecord{
		Object: "domain", ID: in.ID, Provider: p.Provider, Plan: p.Plan.ID(), Applied: request.Plan != "",
		Changes: append([]dnsplan.Change{}, p.Plan.Changes...), Conflicts: append([]dnsplan.Conflict{}, p.Plan.Conflicts...), Unchanged: p.Plan.Unchanged,
	}}, nil
}
