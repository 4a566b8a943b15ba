package broadcasts

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// outcomeSegmentRequest is the body of POST /broadcasts/{id}/segment.
type outcomeSegmentRequest struct {
	Name    string `json:"name" maxLength:"255"`
	Outcome string `json:"outcome" enum:"sent,delivered,opened,not_opened,clicked,not_clicked,bounced,complained,unsubscribed,suppressed,failed,canceled" doc:"The recipients' result; canceled: not sent because the broadcast was canceled; not_opened and not_clicked: of accepted mail that did not bounce"`
	URL     string `json:"url,omitempty" doc:"With clicked: recipients who clicked this link, as it is written in the content"`
}

type outcomeSegment struct {
	Object       string `json:"object" enum:"segment"`
	ID           string `json:"id" format:"uuid"`
	Name         string `json:"name"`
	ContactCount int    `json:"contact_count"`
}

type outcomeSegmentOutput struct{ Body outcomeSegment }

func (r ReviewRoutes) addOutcomes(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "create-broadcast-segment", Method: http.MethodPost, Path: "/broadcasts/{id}/segment", DefaultStatus: http.StatusCreated,
		Summary: "Create a segment from the recipients of a broadcast with a given outcome", Tags: broadcastTags,
		Errors: []int{http.StatusBadRequest, http.StatusNotFound},
	}, r.segmentOfOutcome)
}

func (r ReviewRoutes) segmentOfOutcome(ctx context.Context, key *app.Key, in *BroadcastPath, request *outcomeSegmentRequest) (*outcomeSegmentOutput, error) {
	s, err := r.Service.SegmentOfOutcome(ctx, key, in.ID, request.Name, request.Outcome, request.URL)
	if err != nil {
		return nil, err
	}
	return &outcomeSegmentOutput{outcomeSegment{Object: "segment", ID: s.ID, Name: s.Name, ContactCount: s.Members}}, nil
}
