package audience

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// Audiences are segments under their former name, for older clients.

type audienceRecord struct {
	Object string `json:"object" enum:"audience"`
	SegmentItem
	ContactCount *int `json:"contact_count,omitempty" doc:"How many contacts are in the audience now"`
}

type removedAudience struct {
	Object  string `json:"object" enum:"audience"`
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted"`
}

type (
	audienceOutput struct{ Body audienceRecord }
)

var audienceTags = []string{"Audiences"}

// AudienceRoutes are the routes of segments under their former name.
type AudienceRoutes struct{ SegmentRoutes }

// Add adds the routes to a handler.
func (r AudienceRoutes) Add(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{}, openapi.Operation{
		OperationID: "create-audience", Method: http.MethodPost, Path: "/audiences", DefaultStatus: http.StatusCreated,
		Summary: "Create a segment under its old name", Tags: audienceTags,
	}, r.createAudience)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-audiences", Method: http.MethodGet, Path: "/audiences",
		Summary: "List segments under their old name, newest first", Tags: audienceTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, rest.List(r.Service.ListSegments, listedSegment))
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "get-audience", Method: http.MethodGet, Path: "/audiences/{id}",
		Summary: "Get a segment under its old name", Tags: audienceTags,
		Errors: []int{http.StatusNotFound},
	}, r.getAudience)
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "delete-audience", Method: http.MethodDelete, Path: "/audiences/{id}",
		Summary: "Delete a segment under its old name; its contacts stay", Tags: audienceTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable},
	}, rest.Do[*AudiencePath](r.Service.DeleteSegment, func(id string) removedAudience { return removedAudience{Object: "audience", ID: id, Deleted: true} }))
}

func (r AudienceRoutes) createAudience(ctx context.Context, key *app.Key, _ *struct{}, request *createSegmentRequest) (*audienceOutput, error) {
	s, err := r.newSegment(ctx, key, request)
	if err != nil {
		return nil, err
	}
	return &audienceOutput{audienceRecord{Object: "audience", SegmentItem: newSegmentItem(&s)}}, nil
}

func (r AudienceRoutes) getAudience(ctx context.Context, key *app.Key, in *AudiencePath) (*audienceOutput, error) {
	s, contacts, err := r.Service.GetSegment(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	return &audienceOutput{audienceRecord{Object: "audience", SegmentItem: newSegmentItem(&s), ContactCount: &contacts}}, nil
}
