package operator

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/sending/relays"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// relayRule is a rule by which mail leaves through a certain relay of a region.
type relayRule struct {
	Region    string   `json:"region"`
	ID        string   `json:"id"`
	Position  int      `json:"position" doc:"The first rule that matches counts"`
	Rule      string   `json:"rule" doc:"In words"`
	ToDomains []string `json:"to_domains" doc:"Domains of recipients, in A-labels; empty: all"`
	Stream    string   `json:"stream,omitempty" enum:"transactional,broadcast"`
	KeyID     string   `json:"key_id,omitempty" doc:"The API key that sends the mail"`
	Weight    int      `json:"weight,omitempty" doc:"Percentage of the mail; absent: all"`
	Relay     string   `json:"relay" doc:"Through which the mail leaves"`
	Strict    bool     `json:"strict" doc:"The mail waits while the relay can't be used"`
	Note      string   `json:"note,omitempty" doc:"Why the mail does not leave through the relay now"`
}

type relayRuleRecord struct {
	Object string `json:"object" enum:"relay_route"`
	relayRule
}

// relayRuleList is a list without pages: there are few rules.
type relayRuleList struct {
	Object string      `json:"object" enum:"list"`
	Data   []relayRule `json:"data"`
}

type removedRelayRule struct {
	Object  string `json:"object" enum:"relay_route"`
	ID      string `json:"id"`
	Deleted bool   `json:"deleted" enum:"true"`
}

// addRelayRuleRequest is the body of POST /relays/{region}/routes.
type addRelayRuleRequest struct {
	ToDomain []string `json:"to_domain,omitempty" doc:"Domains of recipients"`
	Stream   string   `json:"stream,omitempty" enum:"transactional,broadcast"`
	Key      string   `json:"key,omitempty" doc:"Id or name of the API key that sends the mail"`
	Weight   int      `json:"weight,omitempty" doc:"Percentage of the mail. An email always falls on the same side"`
	Relay    string   `json:"relay" minLength:"1" doc:"Relay of the region"`
	Strict   bool     `json:"strict,omitempty" doc:"The mail waits while the relay can't be used, instead of leaving through the active one"`
}

// relayRulePath are the path parameters of one rule.
type relayRulePath struct {
	Region string `path:"region" doc:"Name of the region"`
	ID     string `path:"id" doc:"Id of the rule"`
}

type (
	relayRuleListOutput    struct{ Body relayRuleList }
	relayRuleOutput        struct{ Body relayRuleRecord }
	removedRelayRuleOutput struct{ Body removedRelayRule }
)

// addRules adds the routes of rules to a handler.
func (r RelayRoutes) addRules(h *rest.Handler) {
	reads, changes, missing := rest.Route{Operator: true}, rest.Route{Operator: true, Fresh: true}, []int{http.StatusNotFound}
	rest.Register(h, reads, openapi.Operation{
		OperationID: "list-relay-routes", Method: http.MethodGet, Path: "/relays/{region}/routes",
		Summary: "List the rules by which mail of a region leaves through certain relays, in their order", Tags: relayTags, Errors: missing,
	}, r.listRules)
	rest.RegisterBody(h, changes, openapi.Operation{
		OperationID: "add-relay-route", Method: http.MethodPost, Path: "/relays/{region}/routes", DefaultStatus: http.StatusCreated,
		Summary: "Add a rule after the others; it applies to mail that is accepted from then on", Tags: relayTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.addRule)
	rest.Register(h, changes, openapi.Operation{
		OperationID: "remove-relay-route", Method: http.MethodDelete, Path: "/relays/{region}/routes/{id}",
		Summary: "Remove a rule", Tags: relayTags, Errors: missing,
	}, r.removeRule)
}

func (r RelayRoutes) listRules(ctx context.Context, _ *app.Key, in *RelayPath) (*relayRuleListOutput, error) {
	all, err := r.Service.Routes(ctx, in.Region)
	if err != nil {
		return nil, err
	}
	return &relayRuleListOutput{relayRuleList{Object: "list", Data: converted(all, func(v relays.Route) relayRule { return relayRule(v) })}}, nil
}

func (r RelayRoutes) addRule(ctx context.Context, _ *app.Key, in *RelayPath, b *addRelayRuleRequest) (*relayRuleOutput, error) {
	added, err := r.Service.AddRoute(ctx, in.Region, relays.RouteInput{ToDomains: b.ToDomain, Stream: b.Stream, Key: b.Key, Weight: b.Weight, Relay: b.Relay, Strict: b.Strict})
	if err != nil {
		return nil, err
	}
	return &relayRuleOutput{relayRuleRecord{Object: "relay_route", relayRule: relayRule(added)}}, nil
}

func (r RelayRoutes) removeRule(ctx context.Context, _ *app.Key, in *relayRulePath) (*removedRelayRuleOutput, error) {
	removed, err := r.Service.RemoveRoute(ctx, in.Region, in.ID)
	if err != nil {
		return nil, err
	}
	return &removedRelayRuleOutput{removedRelayRule{Object: "relay_route", ID: removed.ID, Deleted: true}}, nil
}
