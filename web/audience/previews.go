package audience

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/tenants/audience"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// PreviewRoutes are the routes of segment previews and contact history.
type PreviewRoutes struct{ Service *audience.Previews }

// previewSegmentRequest is the body of POST /segments/preview.
type previewSegmentRequest struct {
	Filter    *segmentFilter `json:"filter,omitempty"`
	SegmentID string         `json:"segment_id,omitempty" format:"uuid" doc:"Instead of filter: counts the contacts that a broadcast to this segment would reach, without a sample"`
	TopicID   string         `json:"topic_id,omitempty" format:"uuid" doc:"Counts only contacts that mail about this topic would reach"`
}

type segmentPreview struct {
	Object string        `json:"object" enum:"segment_preview"`
	Count  int           `json:"count"`
	Exact  bool          `json:"exact" doc:"false: at least as many; counting all would take too long"`
	Sample []ContactItem `json:"sample" doc:"The newest matching contacts, ten at most"`
}

type segmentPreviewOutput struct{ Body segmentPreview }

// Add adds the routes to a handler.
func (r PreviewRoutes) Add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{ReadOnly: true}, openapi.Operation{
		OperationID: "preview-segment", Method: http.MethodPost, Path: "/segments/preview",
		Summary: "Count the contacts that match a filter, and show ten of them", Tags: segmentTags,
		Errors: []int{http.StatusNotFound, http.StatusTooManyRequests},
	}, r.previewSegment)
	r.addHistory(h)
}

func (r PreviewRoutes) previewSegment(ctx context.Context, key *app.Key, _ *struct{}, request *previewSegmentRequest) (*segmentPreviewOutput, error) {
	topicID, err := optionalID("topic_id", request.TopicID)
	if err != nil {
		return nil, err
	}
	segmentID, err := optionalID("segment_id", request.SegmentID)
	if err != nil {
		return nil, err
	}
	var p audience.SegmentPreview
	if segmentID != "" && request.Filter == nil {
		p, err = r.Service.CountReach(ctx, key, segmentID, topicID)
	} else {
		p, err = r.Service.PreviewSegment(ctx, key, request.Filter.input(), topicID)
	}
	if err != nil {
		return nil, err
	}
	out := segmentPreview{Object: "segment_preview", Count: p.Count, Exact: p.Exact, Sample: make([]ContactItem, len(p.Sample))}
	for i := range p.Sample {
		out.Sample[i] = newContactItem(&p.Sample[i], app.Include{Properties: true})
	}
	return &segmentPreviewOutput{out}, nil
}

// optionalID parses an id that may be empty. Errors: CodeValidation.
func optionalID(field, s string) (string, error) {
	id, ok := app.ParseID(s)
	if s != "" && !ok {
		return "", app.Invalid(field, "must be an id")
	}
	return id, nil
}

func (r ContactRoutes) searchContacts(ctx context.Context, key *app.Key, in *contactPageInput) (*rest.SearchOutput[ContactItem], error) {
	page, err := in.Page()
	if err != nil {
		return nil, err
	}
	include, err := app.ParseInclude(in.Include)
	if err != nil {
		return nil, err
	}
	q := audience.ContactQuery{Search: in.Search, SegmentID: in.SegmentID, TopicID: in.TopicID, State: in.State}
	if q.SegmentID != "" {
		if err := rest.CheckID("segment", &q.SegmentID); err != nil {
			return nil, err
		}
	}
	if q.TopicID != "" {
		if err := rest.CheckID("topic", &q.TopicID); err != nil {
			return nil, err
		}
	}
	found, err := r.Previews.SearchContacts(ctx, key, q, include, page)
	if err != nil {
		return nil, err
	}
	return rest.NewSearch(found.Contacts, found.More, &rest.SearchedTo{ID: found.SearchedTo}, func(c *app.Contact) ContactItem { return newContactItem(c, include) }), nil
}
