package web

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"mailer/app"
)

// Audiences are segments under their old name (decisions.md 5): the same rows,
// for clients that know no other.

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
	audienceOutput        struct{ Body audienceRecord }
	removedAudienceOutput struct{ Body removedAudience }
)

var audienceTags = []string{"Audiences"}

func (h *Handler) registerAudiences() {
	registerBody(h, route{}, huma.Operation{
		OperationID: "create-audience", Method: http.MethodPost, Path: "/audiences", DefaultStatus: http.StatusCreated,
		Summary: "Create a segment under its old name", Tags: audienceTags,
	}, h.createAudience)
	register(h, route{}, huma.Operation{
		OperationID: "list-audiences", Method: http.MethodGet, Path: "/audiences",
		Summary: "List segments under their old name, newest first", Tags: audienceTags,
		Errors: []int{http.StatusUnprocessableEntity},
	}, h.listSegments)
	register(h, route{}, huma.Operation{
		OperationID: "get-audience", Method: http.MethodGet, Path: "/audiences/{id}",
		Summary: "Get a segment under its old name", Tags: audienceTags,
		Errors: []int{http.StatusNotFound},
	}, h.getAudience)
	register(h, route{}, huma.Operation{
		OperationID: "delete-audience", Method: http.MethodDelete, Path: "/audiences/{id}",
		Summary: "Delete a segment under its old name; its contacts stay", Tags: audienceTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable},
	}, h.deleteAudience)
}

func (h *Handler) createAudience(ctx context.Context, key *app.Key, _ *struct{}, request *createSegmentRequest) (*audienceOutput, error) {
	s, err := h.newSegment(ctx, key, request)
	if err != nil {
		return nil, err
	}
	return &audienceOutput{audienceRecord{Object: "audience", SegmentItem: newSegmentItem(&s)}}, nil
}

func (h *Handler) getAudience(ctx context.Context, key *app.Key, in *AudiencePath) (*audienceOutput, error) {
	s, contacts, err := h.service.GetSegment(ctx, key, in.ID)
	if err != nil {
		return nil, err
	}
	return &audienceOutput{audienceRecord{Object: "audience", SegmentItem: newSegmentItem(&s), ContactCount: &contacts}}, nil
}

func (h *Handler) deleteAudience(ctx context.Context, key *app.Key, in *AudiencePath) (*removedAudienceOutput, error) {
	if err := h.service.DeleteSegment(ctx, key, in.ID); err != nil {
		return nil, err
	}
	return &removedAudienceOutput{removedAudience{Object: "audience", ID: in.ID, Deleted: true}}, nil
}
