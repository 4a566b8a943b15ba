package operator

import (
	"cmp"
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/feedback"
	"mailer/app/sending/providerevents"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// ingestSource is the source of an endpoint, read as text.
type ingestSource string

// Schema implements openapi.SchemaProvider.
func (ingestSource) Schema(*openapi.Registry) *openapi.Schema {
	schema := &openapi.Schema{Type: openapi.TypeString, Description: "bounces: the listener that takes them as mail"}
	for _, p := range feedback.Providers() {
		schema.Enum = append(schema.Enum, p.Source)
	}
	schema.Enum = append(schema.Enum, providerevents.SourceBounces)
	return schema
}

// IngestRoute is an endpoint for provider events.
type IngestRoute struct {
	Source         ingestSource `json:"source"`
	Name           *string      `json:"name" doc:"Name of the provider; null: generic and bounces"`
	Authentication string       `json:"authentication" enum:"sns,url,password,signature,none" doc:"How reports are authenticated besides the secret in the URL: sns has no secret but a signature of Amazon; url nothing; password the Authorization header, as Basic with the user mailer or as Bearer; signature one by a key of the provider; none is the listener"`
	Password       *string      `json:"password" doc:"Of password, if it is not part of the address"`
	Address        *string      `json:"address" doc:"URL to configure at the provider; its last part is a secret, except for ses. For bounces: the host name for the MX record. null: the listener is off"`
	Open           bool         `json:"open" doc:"Whether reports are accepted: ses needs --sns-topic, bounces --smtp-receive, signature the key (mailer ingest key)"`
	LastSeenAt     *string      `json:"last_seen_at" format:"date-time" doc:"Time of the last accepted report; null: never"`
	LastRefusedAt  *string      `json:"last_refused_at" format:"date-time" doc:"When something was refused there last; null: never"`
	LastRefused    *string      `json:"last_refused" doc:"Why, in words"`
}

type ingestList struct {
	Object string        `json:"object" enum:"list"`
	Data   []IngestRoute `json:"data"`
}

type ingestListOutput struct{ Body ingestList }

// IngestRoutes is the operator's route of these endpoints.
type IngestRoutes struct {
	Service *providerevents.Service
	SES     bool // an SNS topic is configured
}

// Add adds the routes to a handler.
func (r IngestRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{Operator: true}, openapi.Operation{
		OperationID: "list-ingest-routes", Method: http.MethodGet, Path: "/ingest",
		Summary: "List where providers report bounces and complaints to, and when each was last used", Tags: []string{"Provider events"},
	}, r.list)
}

func (r IngestRoutes) list(ctx context.Context, _ *app.Key, _ *struct{}) (*ingestListOutput, error) {
	endpoints, err := r.Service.IngestRoutes(ctx, r.SES)
	if err != nil {
		return nil, err
	}
	return &ingestListOutput{ingestList{Object: "list", Data: converted(endpoints, func(d providerevents.IngestRoute) IngestRoute {
		return IngestRoute{Source: ingestSource(d.Source), Name: base.TextOrNull(feedback.ProviderBySource(d.Source).Name),
			Authentication: cmp.Or(string(d.Proof), "none"), Password: base.TextOrNull(d.Password), Address: base.TextOrNull(d.URL), Open: d.Open, LastSeenAt: app.FormatTimePtr(d.Seen),
			LastRefusedAt: app.FormatTimePtr(d.Refused), LastRefused: base.TextOrNull(d.Reason)}
	})}}, nil
}
