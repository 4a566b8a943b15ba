package emails

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"mailer/app"
	"mailer/web/rest"
	"mailer/web/shapes"
)

// rescheduleRequest is the body of PATCH /emails/{id}.
type rescheduleRequest struct {
	ScheduledAt string `json:"scheduled_at" doc:"The new time, written as in a send" example:"in 1 hour"`
}

type (
	changedEmail struct {
		Object string `json:"object" enum:"email"`
		ID     string `json:"id" format:"uuid"`
	}
	changedOutput struct{ Body changedEmail }
	deletedEmail  struct {
		Object  string `json:"object" enum:"email"`
		ID      string `json:"id" format:"uuid"`
		Deleted bool   `json:"deleted" enum:"true"`
	}
	deletedOutput struct{ Body deletedEmail }
)

func (r Routes) addSchedules(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{Sending: true}, huma.Operation{
		OperationID: "reschedule-email", Method: http.MethodPatch, Path: "/emails/{id}",
		Summary: "Change the time of a scheduled email", Tags: shapes.EmailTags,
		Errors: []int{http.StatusNotFound},
	}, r.rescheduleEmail)
	rest.Register(h, rest.Route{Sending: true}, huma.Operation{
		OperationID: "cancel-email", Method: http.MethodPost, Path: "/emails/{id}/cancel",
		Summary: "Cancel an email that has not been sent yet", Tags: shapes.EmailTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, r.cancelEmail)
	rest.Register(h, rest.Route{}, huma.Operation{
		OperationID: "delete-email", Method: http.MethodDelete, Path: "/emails/{id}",
		Summary: "Delete an email with its content and events. If it is still waiting, it is not sent", Tags: shapes.EmailTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity},
	}, r.deleteEmail)
}

func (r Routes) rescheduleEmail(ctx context.Context, key *app.Key, in *shapes.EmailPath, request *rescheduleRequest) (*changedOutput, error) {
	if err := r.Service.RescheduleEmail(ctx, key, in.ID, request.ScheduledAt); err != nil {
		return nil, err
	}
	return &changedOutput{changedEmail{Object: "email", ID: in.ID}}, nil
}

func (r Routes) cancelEmail(ctx context.Context, key *app.Key, in *shapes.EmailPath) (*changedOutput, error) {
	if err := r.Service.CancelEmail(ctx, key, in.ID); err != nil {
		return nil, err
	}
	return &changedOutput{changedEmail{Object: "email", ID: in.ID}}, nil
}

func (r Routes) deleteEmail(ctx context.Context, key *app.Key, in *shapes.EmailPath) (*deletedOutput, error) {
	if err := r.Service.DeleteEmail(ctx, key, in.ID); err != nil {
		return nil, err
	}
	return &deletedOutput{deletedEmail{Object: "email", ID: in.ID, Deleted: true}}, nil
}
