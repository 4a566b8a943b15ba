package operator

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/providerevents"
	"mailer/web/rest"
)

// IngestRoute is an endpoint for provider events.
type IngestRoute struct {
	Source        string  `json:"source" enum:"ses,postmark,mailgun,sendgrid,generic,bounces" doc:"bounces: the listener that takes them as mail"`
	Address       *string `json:"address" doc:"URL to configure at the provider; its last part is a secret, except for ses. For bounces: the host name for the MX record. null: the listener is off"`
	Open          bool    `json:"open" doc:"Whether reports are accepted: ses needs --sns-topic, bounces --bounce-listen"`
	LastSeenAt    *string `json:"last_seen_at" format:"date-time" doc:"Time of the last accepted report; null: never"`
	LastRefusedAt *string `json:"last_refused_at" format:"date-time" doc:"When something was refused there last; null: never"`
	LastRefused   *string `json:"last_refused" doc:"Why, in words"`
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
	rest.Register(h, rest.Route{Operator: true}, huma.Operation{
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
		return IngestRoute{Source: d.Source, Address: base.TextOrNull(d.Address), Open: d.Open, LastSeenAt: app.FormatTimePtr(d.Seen),
			LastRefusedAt: app.FormatTimePtr(d.Refused), LastRefused: base.TextOrNull(d.Reason)}
	})}}, nil
}
