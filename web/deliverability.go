package web

import (
	"context"
	"net/http"
	"time"

	"mailer/app"
	"mailer/app/rules/reputation"
	"mailer/app/sending/guardrails"
	"mailer/app/sending/mail"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

type insightsRecord struct {
	Object       string        `json:"object" enum:"insights"`
	EmailID      string        `json:"email_id" format:"uuid"`
	Score        float64       `json:"score" doc:"0 to 10 (best): 10 minus the points of all penalties; minor ones cost at most 1.5 together"`
	Band         app.Band      `json:"band" enum:"excellent,good,needs_attention,at_risk"`
	ScoreVersion int           `json:"score_version"`
	Penalties    []PenaltyItem `json:"penalties"`
}

// PenaltyItem is a finding in an email.
type PenaltyItem struct {
	ID       string       `json:"id" enum:"no_dmarc,no_one_click,no_sender_link,link_shortener,html_too_large,no_text_part,no_unsubscribe_link,phishing_link,no_reply_sender,svg,marketing_attachments,images_without_text,foreign_tracking,bare_domain,http_links,shouting_subject"`
	Severity app.Severity `json:"severity" enum:"critical,major,minor"`
	Points   float64      `json:"points"`
	Message  string       `json:"message" doc:"In words, and what to do about it; may change"`
}

type deliverabilityRecord struct {
	Object                  string               `json:"object" enum:"deliverability"`
	Score                   *float64             `json:"score" doc:"0 to 10, the best; null: nothing was sent"`
	ContentScore            *float64             `json:"content_score" doc:"The mean of the emails' scores, each with its recipients"`
	OutcomeScore            *float64             `json:"outcome_score" doc:"By the rates of complaints and hard bounces; null under 100 sends"`
	Band                    *app.Band            `json:"band" enum:"excellent,good,needs_attention,at_risk"`
	ComplaintRate           *float64             `json:"complaint_rate" doc:"A part of 1; null: nothing was sent"`
	HardBounceRate          *float64             `json:"hard_bounce_rate" doc:"A part of 1; null: nothing was sent"`
	EmailsSent              int64                `json:"emails_sent" doc:"Recipients that a relay took, or refused by name"`
	ScoredRecipients        int64                `json:"scored_recipients" doc:"Those of emails_sent whose email has a score"`
	WindowDays              int                  `json:"window_days"`
	InsufficientOutcomeData bool                 `json:"insufficient_outcome_data"`
	GuardrailStatus         reputation.Guardrail `json:"guardrail_status" enum:"ok,warning,paused"`
	ScoreVersion            int                  `json:"score_version"`
}

type (
	insightsOutput       struct{ Body insightsRecord }
	deliverabilityOutput struct{ Body deliverabilityRecord }
)

// deliverabilityRoutes are the routes of scores.
type deliverabilityRoutes struct {
	insights *mail.Service
	service  *guardrails.Service
}

// Add adds the routes to a handler.
func (r deliverabilityRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-email-insights", Method: http.MethodGet, Path: "/emails/{id}/insights",
		Summary: "Get the deliverability score of an email with the findings that lower it", Tags: shapes.EmailTags,
		Errors: []int{http.StatusNotFound},
	}, r.getInsights)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-deliverability", Method: http.MethodGet, Path: "/deliverability",
		Summary: "Get the team's delivery, bounce and complaint figures of the last 30 days", Tags: []string{"Deliverability"},
	}, r.getDeliverability)
}

func (r deliverabilityRoutes) getInsights(ctx context.Context, key *app.Key, in *shapes.EmailPath) (*insightsOutput, error) {
	found, err := r.insights.GetInsights(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	out := insightsRecord{Object: "insights", EmailID: in.ID, Score: found.Score(), Band: app.BandOf(found.Score()), ScoreVersion: found.Version, Penalties: []PenaltyItem{}}
	for _, p := range found.Penalties() {
		out.Penalties = append(out.Penalties, PenaltyItem(p))
	}
	return &insightsOutput{out}, nil
}

func (r deliverabilityRoutes) getDeliverability(ctx context.Context, key *app.Key, _ *struct{}) (*deliverabilityOutput, error) {
	d, err := r.service.Deliverability(ctx, key)
	if err != nil {
		return nil, err
	}
	out := deliverabilityRecord{
		Object: "deliverability", Score: d.Score, ContentScore: d.ContentScore, OutcomeScore: d.OutcomeScore, ComplaintRate: d.ComplaintRate,
		HardBounceRate: d.HardBounceRate, EmailsSent: d.Sent, ScoredRecipients: d.Scored, WindowDays: int(reputation.DeliverabilityWindow / (24 * time.Hour)),
		InsufficientOutcomeData: d.InsufficientOutcomes(), GuardrailStatus: d.Guardrail, ScoreVersion: app.ScoreVersion,
	}
	if band := d.Band(); band != "" {
		out.Band = &band
	}
	return &deliverabilityOutput{out}, nil
}
