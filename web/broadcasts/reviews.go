package broadcasts

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/broadcasts"
	"mailer/app/sending/mail"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

// ReviewRoutes are the routes of plans, previews, versions and outcomes.
type ReviewRoutes struct {
	Service       *broadcasts.Reviews
	EmailPreviews *mail.Previews
	BaseURL       string // of the server; preview URLs begin with it
}

type broadcastPlan struct {
	Object     string      `json:"object" enum:"broadcast_plan"`
	Recipients int         `json:"recipients" doc:"To how many it would be sent"`
	LeftOut    planLeftOut `json:"left_out" doc:"Contacts of the segment that the broadcast would not reach, each counted under the first reason that applies"`
	StartsAt   string      `json:"starts_at" format:"date-time"`
	FinishesAt *string     `json:"finishes_at" format:"date-time" doc:"Estimated time of the last send; null: unknown"`
	Waves      []planWave  `json:"waves" doc:"Estimated sends per day; empty: unknown"`
	Warning    *planDelay  `json:"warning" doc:"The audience exceeds the capacity available now: a part leaves now (paced), or nothing does (queued_behind); null: it does not"`
	Tags       []planTag   `json:"unfilled_tags" doc:"Tags of other services in its content, whose place no value takes"`
	Size       int64       `json:"size" doc:"Approximate bytes of one mail with its attachments"`
	Score      planScore   `json:"score" doc:"Score of the content, as in GET /emails/{id}/insights"`
}

type planTag struct {
	Field   string `json:"field" doc:"subject, preview_text, html or text, or one of these in a variant, like variants.de.html"`
	Line    int    `json:"line" doc:"Where it begins, from 1"`
	Tag     string `json:"tag" doc:"How it begins"`
	Refused bool   `json:"refused" doc:"The broadcast can't be sent with it; else it may be meant to be read"`
	Message string `json:"message" doc:"What to do about it; may change"`
}

type planDelay struct {
	_       struct{} `nullable:"true"`
	Code    string   `json:"code" enum:"paced,queued_behind"`
	Days    int      `json:"days" doc:"Begun ones, from now until it finishes"`
	Message string   `json:"message"`
}

type planLeftOut struct {
	Unsubscribed int              `json:"unsubscribed" doc:"From everything"`
	Suppressed   int              `json:"suppressed"`
	SuppressedBy planSuppressions `json:"suppressed_by" doc:"The suppressed ones by the origin of that"`
	Topic        int              `json:"topic" doc:"Not subscribed to its topic"`
}

type planSuppressions struct {
	Bounce      int `json:"bounce"`
	Complaint   int `json:"complaint"`
	Manual      int `json:"manual"`
	Unsubscribe int `json:"unsubscribe"`
}

type planWave struct {
	At    string `json:"at" format:"date-time"`
	Count int    `json:"count" doc:"How many leave from then on, until the next wave or within a day"`
}

type planScore struct {
	Score     float64       `json:"score" doc:"0 to 10, the best"`
	Band      app.Band      `json:"band" enum:"excellent,good,needs_attention,at_risk"`
	Penalties []planPenalty `json:"penalties"`
}

type planPenalty struct {
	ID       string       `json:"id"`
	Severity app.Severity `json:"severity" enum:"critical,major,minor"`
	Points   float64      `json:"points"`
	Message  string       `json:"message" doc:"In words, and what to do about it; may change"`
}

// broadcastInspection is the answer of POST /broadcasts/{id}/inspect.
type broadcastInspection struct {
	Object       string         `json:"object" enum:"broadcast_inspection"`
	Inspected    int            `json:"inspected" doc:"Recipients whose mail was rendered; none where the content uses no values"`
	Complete     bool           `json:"complete" doc:"Whether these were all recipients; of many, the first ones are inspected"`
	Missing      []missingValue `json:"missing" doc:"Values that the content uses, that have no fallback, and that recipients do not have; most recipients first"`
	RemovedLinks int            `json:"removed_links" doc:"Recipients whose mail lacks a link, since the value that is its address is no http, https, mailto or tel address"`
	RenderLimit  int            `json:"render_limit" doc:"Recipients whose mail would fail with the reason render_limit"`
}

type missingValue struct {
	Name       string `json:"name" doc:"As the content names it, like contact.city or FIRST_NAME"`
	Recipients int    `json:"recipients" doc:"How many do not have it"`
}

// planBroadcastRequest is the optional body of POST /broadcasts/{id}/plan.
type planBroadcastRequest struct {
	ScheduledAt string `json:"scheduled_at,omitempty" doc:"When it would be sent, as in send; default: now" example:"in 1 hour"`
}

// previewBroadcastRequest is the optional body of POST /broadcasts/{id}/preview.
type previewBroadcastRequest struct {
	Contact  string `json:"contact,omitempty" doc:"Contact to render for: an id or an address; absent: any contact of the segment"`
	Language string `json:"language,omitempty" doc:"Whose variant to show; und: none. Default: by contact"`
	Images   bool   `json:"images,omitempty" doc:"Have the page at url show pictures from elsewhere"`
	Clicks   bool   `json:"clicks,omitempty" doc:"Write behind each link how often it was followed, and its share of all clicks"`
}

type broadcastPreview struct {
	Object      string   `json:"object" enum:"broadcast_preview"`
	From        string   `json:"from"`
	Subject     string   `json:"subject"`
	PreviewText *string  `json:"preview_text"`
	HTML        *string  `json:"html"`
	Text        string   `json:"text" doc:"Made from html where the broadcast has none of its own"`
	Missing     []string `json:"missing" doc:"Placeholders that this contact has no value for and that have no fallback"`
	Language    *string  `json:"language" doc:"Of the variant; null: the broadcast itself"`
	shapes.MailFrame
}

type (
	broadcastPlanOutput    struct{ Body broadcastPlan }
	broadcastPreviewOutput struct{ Body broadcastPreview }

	broadcastInspectionOutput struct{ Body broadcastInspection }
)

// Add adds the routes to a handler.
func (r ReviewRoutes) Add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{ReadOnly: true, Optional: true}, openapi.Operation{
		OperationID: "plan-broadcast", Method: http.MethodPost, Path: "/broadcasts/{id}/plan",
		Summary: "Forecast a draft broadcast: how many contacts get it, how many do not and why, and when it would finish. Changes nothing", Tags: broadcastTags,
		Errors: []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusConflict},
	}, r.planBroadcast)
	rest.RegisterBody(h, rest.Route{ReadOnly: true, Optional: true}, openapi.Operation{
		OperationID: "preview-broadcast", Method: http.MethodPost, Path: "/broadcasts/{id}/preview",
		Summary: "Render a broadcast for one contact. The unsubscribe links in the result do nothing", Tags: broadcastTags,
		Errors: []int{http.StatusNotFound},
	}, r.previewBroadcast)
	rest.Register(h, rest.Route{ReadOnly: true}, openapi.Operation{
		OperationID: "inspect-broadcast", Method: http.MethodPost, Path: "/broadcasts/{id}/inspect",
		Summary: "Render a draft broadcast for its recipients, and count for how many something is missing. Changes nothing", Tags: broadcastTags,
		Errors: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, r.inspectBroadcast)
	r.addVersions(h)
	r.addOutcomes(h)
}

func (r ReviewRoutes) inspectBroadcast(ctx context.Context, key *app.Key, in *BroadcastPath) (*broadcastInspectionOutput, error) {
	found, err := r.Service.InspectBroadcast(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	out := broadcastInspection{Object: "broadcast_inspection", Inspected: found.Inspected, Complete: found.Complete, Missing: make([]missingValue, len(found.Missing)),
		RemovedLinks: found.Removed, RenderLimit: found.Limit}
	for i, m := range found.Missing {
		out.Missing[i] = missingValue(m)
	}
	return &broadcastInspectionOutput{out}, nil
}

func (r ReviewRoutes) planBroadcast(ctx context.Context, key *app.Key, in *BroadcastPath, request *planBroadcastRequest) (*broadcastPlanOutput, error) {
	p, err := r.Service.PlanBroadcast(ctx, key, in.ID, request.ScheduledAt)
	if err != nil {
		return nil, err
	}
	out := broadcastPlan{
		Object: "broadcast_plan", Recipients: int(p.Recipients), LeftOut: newPlanLeftOut(&p.LeftOut), StartsAt: app.FormatTime(p.StartsAt),
		FinishesAt: app.FormatTimePtr(p.FinishesAt), Waves: make([]planWave, len(p.Waves)), Tags: make([]planTag, len(p.RawTags)), Size: p.Size,
		Score: planScore{Score: p.Insights.Score(), Band: app.BandOf(p.Insights.Score()), Penalties: []planPenalty{}},
	}
	if w := p.Warning; w != nil {
		out.Warning = &planDelay{Code: w.Code, Days: w.Days, Message: w.Message}
	}
	for i, tag := range p.RawTags {
		out.Tags[i] = planTag{Field: tag.Field, Line: tag.Line, Tag: tag.Text, Refused: tag.Certain, Message: tag.Reason}
	}
	for i, w := range p.Waves {
		out.Waves[i] = planWave{At: app.FormatTime(w.At), Count: int(w.Count)}
	}
	for _, found := range p.Insights.Penalties() {
		out.Score.Penalties = append(out.Score.Penalties, planPenalty(found))
	}
	return &broadcastPlanOutput{out}, nil
}

func newPlanLeftOut(l *broadcasts.LeftOut) planLeftOut {
	return planLeftOut{Unsubscribed: l.Unsubscribed, Suppressed: l.Suppressed, Topic: l.Topic, SuppressedBy: planSuppressions{
		Bounce: l.By[app.OriginBounce], Complaint: l.By[app.OriginComplaint], Manual: l.By[app.OriginManual], Unsubscribe: l.By[app.OriginUnsubscribe]}}
}

func (r ReviewRoutes) previewBroadcast(ctx context.Context, key *app.Key, in *BroadcastPath, request *previewBroadcastRequest) (*broadcastPreviewOutput, error) {
	p, err := r.Service.PreviewBroadcast(ctx, key, in.ID, broadcasts.Look{Contact: request.Contact, Language: request.Language, Clicks: request.Clicks})
	if err != nil {
		return nil, err
	}
	frame, err := r.EmailPreviews.KeepDraft(ctx, key, p.HTML, p.Text, p.Broadcast.Attachments, request.Images)
	if err != nil {
		return nil, err
	}
	return &broadcastPreviewOutput{broadcastPreview{
		MailFrame: shapes.NewMailFrame(r.BaseURL, frame),
		Object:    "broadcast_preview", From: p.Broadcast.From.String(), Subject: p.Subject, PreviewText: base.TextOrNull(p.Preview.Preview), HTML: base.TextOrNull(p.HTML),
		Text: p.Text, Missing: append([]string{}, p.Missing...), Language: base.TextOrNull(p.Language),
	}}, nil
}

// renderTemplateRequest is the optional body of POST /templates/{id}/render.
type renderTemplateRequest struct {
	Variables shapes.VariableValues `json:"variables,omitempty"`
	Language  string                `json:"language,omitempty" doc:"Of the recipient: chooses the variant"`
	Version   string                `json:"version,omitempty" enum:"draft,published" doc:"draft, the version that is edited, where absent"`
	Images    bool                  `json:"images,omitempty" doc:"Have the page at url show pictures from elsewhere"`
}

type renderedTemplate struct {
	Object   string  `json:"object" enum:"rendered_template"`
	Subject  *string `json:"subject" doc:"null: the template has none"`
	HTML     string  `json:"html"`
	Text     string  `json:"text" doc:"Made from html where the template has none of its own"`
	Language *string `json:"language" doc:"Of the variant; null: the template itself"`
	shapes.MailFrame
}

type renderedTemplateOutput struct{ Body renderedTemplate }

func (r TemplateRoutes) renderTemplate(ctx context.Context, key *app.Key, in *TemplatePath, request *renderTemplateRequest) (*renderedTemplateOutput, error) {
	if request.Version != "" && request.Version != "draft" && request.Version != "published" {
		return nil, app.Invalid("version", "must be draft or published")
	}
	out, err := r.Service.RenderTemplate(ctx, key, app.TemplateUse{ID: in.ID, Language: request.Language, Variables: request.Variables}, request.Version == "published")
	if err != nil {
		return nil, err
	}
	frame, err := r.EmailPreviews.KeepDraft(ctx, key, out.HTML, *out.Text, nil, request.Images)
	if err != nil {
		return nil, err
	}
	return &renderedTemplateOutput{renderedTemplate{Object: "rendered_template", Subject: base.TextOrNull(out.Subject), HTML: out.HTML, Text: *out.Text, Language: base.TextOrNull(out.Language),
		MailFrame: shapes.NewMailFrame(r.BaseURL, frame)}}, nil
}
