package emails

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
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
	changedOutput = rest.Output[changedEmail]
	deletedEmail  struct {
		Object  string `json:"object" enum:"email"`
		ID      string `json:"id" format:"uuid"`
		Deleted bool   `json:"deleted" enum:"true"`
	}
)

func (r Routes) addSchedules(h *rest.Handler) {
	rest.RegisterBody(h, rest.Route{Sending: true}, openapi.Operation{
		OperationID: "reschedule-email", Method: http.MethodPatch, Path: "/emails/{id}",
		Summary: "Change the time of a scheduled email", Tags: shapes.EmailTags,
		Errors: []int{http.StatusNotFound},
	}, r.rescheduleEmail)
	rest.Register(h, rest.Route{Sending: true}, openapi.Operation{
		OperationID: "cancel-email", Method: http.MethodPost, Path: "/emails/{id}/cancel",
		Summary: "Cancel an email that has not been sent yet", Tags: shapes.EmailTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, rest.Do[*shapes.EmailPath](r.Service.CancelEmail, func(id string) changedEmail { return changedEmail{Object: "email", ID: id} }))
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "delete-email", Method: http.MethodDelete, Path: "/emails/{id}",
		Summary: "Delete an email with its content and events. If it is still waiting, it is not sent", Tags: shapes.EmailTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity},
	}, rest.Do[*shapes.EmailPath](r.Service.DeleteEmail, func(id string) deletedEmail { return deletedEmail{Object: "email", ID: id, Deleted: true} }))
}

func (r Routes) rescheduleEmail(ctx context.Context, key *app.Key, in *shapes.EmailPath, request *rescheduleRequest) (*changedOutput, error) {
	if err := r.Service.RescheduleEmail(ctx, key, in.ID, request.ScheduledAt); err != nil {
		return nil, err
	}
	return &changedOutput{Body: changedEmail{Object: "email", ID: in.ID}}, nil
}
