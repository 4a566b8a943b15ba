package emails

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/operate/stats"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

// metricsInput is a query of metrics. Lists are separated by commas, repeated, or both.
type metricsInput struct {
	StartDate    string   `query:"start_date" doc:"First day (in the time zone) or time; default: some days before end_date" example:"2026-07-01"`
	EndDate      string   `query:"end_date" doc:"Last day (counted whole) or time; default and maximum: now" example:"2026-07-08T00:00:00Z"`
	Timezone     string   `query:"timezone" doc:"Time zone in which days begin. Figures are kept by whole hours of UTC" default:"UTC" example:"Europe/Berlin"`
	Granularity  string   `query:"granularity" doc:"Length of the periods of the dimension period" enum:"hourly,daily,weekly,monthly" default:"daily"`
	Metrics      []string `query:"metrics" doc:"The figures to answer; default: all" enum:"received,delivered,complained,suppressed,bounced,bounced_transient,bounced_permanent,bounced_undetermined,opened,clicked,unsubscribed,delivery_delayed,failed,sent,unique_opened,unique_clicked,delivery_rate,open_rate,click_rate,bounce_rate,complaint_rate,unsubscribe_rate"`
	Dimensions   []string `query:"dimensions" doc:"Group the rows of data by these; default: totals only. email needs email_id and excludes broadcast and broadcast_id" enum:"period,domain,email,broadcast"`
	DomainIDs    []string `query:"domain_id" doc:"Only mail from these domains"`
	EmailIDs     []string `query:"email_id" doc:"Only these emails"`
	BroadcastIDs []string `query:"broadcast_id" doc:"Only mail of these broadcasts"`
}

// MetricValues are the requested metrics. Each recipient counts once. Rates are between 0 and 1,
// and 0 without data.
type MetricValues struct {
	Received            *float64 `json:"received,omitempty" doc:"None: received mail is not counted here"`
	Delivered           *float64 `json:"delivered,omitempty" doc:"As far as the relay reports it"`
	Complained          *float64 `json:"complained,omitempty"`
	Suppressed          *float64 `json:"suppressed,omitempty"`
	Bounced             *float64 `json:"bounced,omitempty"`
	BouncedTransient    *float64 `json:"bounced_transient,omitempty"`
	BouncedPermanent    *float64 `json:"bounced_permanent,omitempty"`
	BouncedUndetermined *float64 `json:"bounced_undetermined,omitempty"`
	Opened              *float64 `json:"opened,omitempty" doc:"Each time, as far as the timeline of an email has room"`
	Clicked             *float64 `json:"clicked,omitempty" doc:"Each time, as far as the timeline of an email has room"`
	Unsubscribed        *float64 `json:"unsubscribed,omitempty" doc:"Through the link of a broadcast"`
	DeliveryDelayed     *float64 `json:"delivery_delayed,omitempty"`
	Failed              *float64 `json:"failed,omitempty"`
	Sent                *float64 `json:"sent,omitempty" doc:"Recipients that a relay took, or refused by name, and test recipients"`
	UniqueOpened        *float64 `json:"unique_opened,omitempty" doc:"Emails that were opened"`
	UniqueClicked       *float64 `json:"unique_clicked,omitempty" doc:"Emails with at least one clicked link"`
	DeliveryRate        *float64 `json:"delivery_rate,omitempty" doc:"delivered of sent"`
	OpenRate            *float64 `json:"open_rate,omitempty" doc:"unique_opened of those that have the mail: delivered or, if more, sent less bounced"`
	ClickRate           *float64 `json:"click_rate,omitempty" doc:"unique_clicked of those that have the mail"`
	BounceRate          *float64 `json:"bounce_rate,omitempty" doc:"bounced of sent"`
	ComplaintRate       *float64 `json:"complaint_rate,omitempty" doc:"complained of those that have the mail"`
	UnsubscribeRate     *float64 `json:"unsubscribe_rate,omitempty" doc:"unsubscribed of those that have the mail"`
}

func newMetricValues(values map[stats.Metric]float64) MetricValues {
	of := func(name stats.Metric) *float64 {
		if value, ok := values[name]; ok {
			return &value
		}
		return nil
	}
	return MetricValues{
		Received: of("received"), Delivered: of("delivered"), Complained: of("complained"), Suppressed: of("suppressed"), Bounced: of("bounced"),
		BouncedTransient: of("bounced_transient"), BouncedPermanent: of("bounced_permanent"), BouncedUndetermined: of("bounced_undetermined"),
		Opened: of("opened"), Clicked: of("clicked"), Unsubscribed: of("unsubscribed"), DeliveryDelayed: of("delivery_delayed"), Failed: of("failed"),
		Sent: of("sent"), UniqueOpened: of("unique_opened"), UniqueClicked: of("unique_clicked"), DeliveryRate: of("delivery_rate"), OpenRate: of("open_rate"),
		ClickRate: of("click_rate"), BounceRate: of("bounce_rate"), ComplaintRate: of("complaint_rate"), UnsubscribeRate: of("unsubscribe_rate"),
	}
}

// MetricsRow is the values of one combination of dimensions.
type MetricsRow struct {
	Period        string  `json:"period,omitempty" doc:"Its first day or, of an hour, when that begins; with the dimension period"`
	DomainID      *string `json:"domain_id,omitempty" format:"uuid" doc:"With the dimension domain; absent for a domain that was deleted"`
	DomainName    string  `json:"domain_name,omitempty" doc:"With the dimension domain"`
	EmailID       *string `json:"email_id,omitempty" format:"uuid" doc:"With the dimension email"`
	BroadcastID   *string `json:"broadcast_id,omitempty" format:"uuid" doc:"With the dimension broadcast; mail of no broadcast has no row"`
	BroadcastName string  `json:"broadcast_name,omitempty" doc:"With the dimension broadcast; absent for one that was deleted"`
	MetricValues
}

type metricsRecord struct {
	Object      string            `json:"object" enum:"metrics"`
	StartDate   string            `json:"start_date" format:"date-time"`
	EndDate     string            `json:"end_date" format:"date-time"`
	Metrics     []stats.Metric    `json:"metrics"`
	Dimensions  []stats.Dimension `json:"dimensions"`
	Granularity stats.Granularity `json:"granularity" enum:"hourly,daily,weekly,monthly"`
	Totals      MetricValues      `json:"totals"`
	Data        []MetricsRow      `json:"data,omitzero" doc:"Absent without dimensions. Of the dimension period alone there is a row for each period, else for what has figures"`
}

type metricsOutput struct{ Body metricsRecord }

// MetricsRoutes is the route of metrics.
type MetricsRoutes struct{ Service *stats.Service }

// Add adds the routes to a handler.
func (r MetricsRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-email-metrics", Method: http.MethodGet, Path: "/emails/metrics",
		Summary: "Get counts and rates of sent, delivered, opened, clicked and bounced emails, by period, domain, email or broadcast", Tags: shapes.EmailTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, r.get)
}

func (r MetricsRoutes) get(ctx context.Context, key *app.Key, in *metricsInput) (*metricsOutput, error) {
	a, err := r.Service.Metrics(ctx, key, &stats.Query{StartDate: in.StartDate, EndDate: in.EndDate, Timezone: in.Timezone, Granularity: in.Granularity,
		Metrics: in.Metrics, Dimensions: in.Dimensions, DomainIDs: in.DomainIDs, EmailIDs: in.EmailIDs, BroadcastIDs: in.BroadcastIDs})
	if err != nil {
		return nil, err
	}
	out := &metricsOutput{metricsRecord{Object: "metrics", StartDate: app.FormatTime(a.Start), EndDate: app.FormatTime(a.End), Metrics: a.Metrics,
		Dimensions: a.Dimensions, Granularity: a.Granularity, Totals: newMetricValues(a.Totals)}}
	if a.Rows != nil {
		out.Body.Data = make([]MetricsRow, len(a.Rows))
	}
	for i, row := range a.Rows {
		out.Body.Data[i] = MetricsRow{Period: row.Period, DomainID: base.TextOrNull(row.DomainID), DomainName: row.DomainName, EmailID: base.TextOrNull(row.EmailID),
			BroadcastID: base.TextOrNull(row.BroadcastID), BroadcastName: row.BroadcastName, MetricValues: newMetricValues(row.Values)}
	}
	return out, nil
}
