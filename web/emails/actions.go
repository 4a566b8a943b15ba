package emails

import (
	"context"
	"net/http"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/mail"
	"mailer/app/sending/queue"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
	"mailer/web/shapes"
)

// AttemptItem is an attempt to send an email to its relay.
type AttemptItem struct {
	ID           string  `json:"id" format:"uuid"`
	CreatedAt    string  `json:"created_at" format:"date-time"`
	Relay        string  `json:"relay"`
	Outcome      string  `json:"outcome" enum:"sent,partly_sent,deferred,refused,interrupted,in_doubt,relay_trouble" doc:"relay_trouble: the relay could not be used at all, for a while"`
	DurationMs   int64   `json:"duration_ms" doc:"From MAIL FROM to the last reply; zero: no transaction began"`
	TLS          *string `json:"tls" doc:"The version of TLS; null: none"`
	Reply        string  `json:"reply" doc:"The reply that it rests on, in words"`
	Conversation *string `json:"conversation" doc:"The dialogue with the relay, line by line: > this server, < the relay, * a remark. It has no sign-in and no message, and where it is long no middle; null of those that the relay took"`
}

type (
	resendInput struct {
		shapes.EmailPath
		shapes.IdempotencyHeader
	}
	resendRequest struct {
		To shapes.AddressList `json:"to,omitempty" doc:"Other recipients in place of all that it went to"`
	}
	shareRequest struct {
		ExpiresIn string `json:"expires_in,omitempty" doc:"How long the link works, as a span or in words; two days at most, and where absent" example:"2 hours"`
	}
	sharedEmail struct {
		Object string `json:"object" enum:"email"`
		ID     string `json:"id" format:"uuid"`
		URL    string `json:"url" format:"uri" doc:"Needs no key; anyone with it can read the email until it expires"`
	}
	sharedOutput struct{ Body sharedEmail }
)

// ActionRoutes are the routes of attempts and of actions on an email: retry, resend, share.
type ActionRoutes struct {
	Attempts *mail.Search
	Retry    *queue.Service
	Resends  *mail.Resends
	Share    *mail.Shares
	BaseURL  string
}

// Add adds the routes to a handler.
func (r ActionRoutes) Add(h *rest.Handler) {
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "list-email-attempts", Method: http.MethodGet, Path: "/emails/{id}/attempts",
		Summary: "List the attempts to deliver an email to its relay, newest first", Tags: shapes.EmailTags,
		Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, rest.ListOf[*emailPageInput](r.Attempts.Attempts, newAttemptItem))
	rest.Register(h, rest.Route{}, openapi.Operation{
		OperationID: "retry-email", Method: http.MethodPost, Path: "/emails/{id}/retry",
		Summary: "Retry an email now that is waiting for its next attempt", Tags: shapes.EmailTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, rest.Do[*shapes.EmailPath](r.Retry.RetryEmail, func(id string) changedEmail { return changedEmail{Object: "email", ID: id} }))
	rest.RegisterBody(h, rest.Route{Optional: true}, openapi.Operation{
		OperationID: "resend-email", Method: http.MethodPost, Path: "/emails/{id}/resend",
		Summary: "Send the content of an email again, as a new email", Tags: shapes.EmailTags,
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, r.resendEmail)
	rest.RegisterBody(h, rest.Route{Optional: true}, openapi.Operation{
		OperationID: "share-email", Method: http.MethodPost, Path: "/emails/{id}/share",
		Summary: "Create a public link to an email", Tags: shapes.EmailTags,
		Errors: []int{http.StatusNotFound},
	}, r.shareEmail)
}

func newAttemptItem(a *mail.Attempt) AttemptItem {
	return AttemptItem{ID: a.ID, CreatedAt: app.FormatTime(a.CreatedAt), Relay: a.Detail.Relay, Outcome: a.Outcome, DurationMs: a.Detail.DurationMs,
		TLS: base.TextOrNull(a.Detail.TLS), Reply: a.Detail.Answer(), Conversation: base.TextOrNull(a.Conversation)}
}

func (r ActionRoutes) resendEmail(ctx context.Context, key *app.Key, in *resendInput, request *resendRequest) (*sendOutput, error) {
	opts, err := in.Options(struct {
		ID string
		To []string
	}{in.ID, request.To})
	if err != nil {
		return nil, err
	}
	id, err := r.Resends.ResendEmail(ctx, key, in.ID, request.To, opts)
	if err != nil {
		return nil, err
	}
	return &sendOutput{shapes.CreatedEmail{ID: id}}, nil
}

func (r ActionRoutes) shareEmail(ctx context.Context, key *app.Key, in *shapes.EmailPath, request *shareRequest) (*sharedOutput, error) {
	token, err := r.Share.ShareEmail(ctx, key, in.ID, request.ExpiresIn)
	if err != nil {
		return nil, err
	}
	return &sharedOutput{sharedEmail{Object: "email", ID: in.ID, URL: r.BaseURL + "/shared/" + token}}, nil
}
