package rest

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"mailer/app"
)

// Error is the body of every error answer.
type Error struct {
	StatusCode int      `json:"statusCode" doc:"The HTTP status of the answer" example:"422"`
	Name       app.Code `json:"name" doc:"The stable name of the error; branch on it" example:"validation_error"`
	Message    string   `json:"message" doc:"The error in words; may change"`
	// Repeated repeats an error whose name Resend's API does not have: its PHP client takes a body
	// with an unknown name for a success, unless the body has a member "error", whose message the
	// client then shows.
	Repeated *RepeatedError `json:"error,omitempty" doc:"Repeats an error whose name not every client knows"`
}

// RepeatedError is an error inside of its own body.
type RepeatedError struct {
	Name       app.Code `json:"name"`
	Message    string   `json:"message"`
	StatusCode int      `json:"statusCode"`
}

// Error implements error.
func (e *Error) Error() string { return string(e.Name) + ": " + e.Message }

// NewError makes an error with the status of its code.
func NewError(code app.Code, message string) *Error {
	return newErrorWith(statusOf(code), code, message)
}

func newErrorWith(status int, code app.Code, message string) *Error {
	e := &Error{StatusCode: status, Name: code, Message: message}
	if unknownToResend(code) {
		e.Repeated = &RepeatedError{Name: code, Message: message, StatusCode: status}
	}
	return e
}

// InternalError is what a caller sees of an internal error.
func InternalError() *Error {
	return NewError(app.CodeInternal, "Something went wrong on the server; its log has the details under the x-request-id of this answer")
}

// statusClientClosed is the logged status of a request whose client closed the connection before
// the answer, as in the logs of proxies. It is never sent.
const statusClientClosed = 499

// statusOf is the only map from code to HTTP status.
func statusOf(code app.Code) int {
	switch code {
	case app.CodeInvalidParameter, app.CodeInvalidPayload, app.CodeInvalidIdempotencyKey:
		return http.StatusBadRequest
	case app.CodeMissingAPIKey, app.CodeInvalidAPIKey, app.CodeInvalidCredentials:
		return http.StatusUnauthorized
	case app.CodeRestrictedAPIKey, app.CodeForbidden, app.CodeSendingPaused, app.CodeBroadcastsPaused, app.CodePlanLimitReached, app.CodeReauthentication:
		return http.StatusForbidden
	case app.CodeNotFound:
		return http.StatusNotFound
	case app.CodeMethodNotAllowed:
		return http.StatusMethodNotAllowed
	case app.CodeConflict, app.CodeConcurrentIdempotent, app.CodeInvalidIdempotent:
		return http.StatusConflict
	case app.CodePayloadTooLarge:
		return http.StatusRequestEntityTooLarge
	case app.CodeValidation, app.CodeAllRecipientsSuppressed, app.CodeBroadcastTooLarge:
		return http.StatusUnprocessableEntity
	case app.CodeRateLimitExceeded, app.CodeDailyQuotaExceeded, app.CodeMonthlyQuotaExceeded:
		return http.StatusTooManyRequests
	case app.CodeServiceUnavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// unknownToResend reports whether Resend's API never answers with a code.
func unknownToResend(code app.Code) bool {
	switch code {
	case app.CodeAllRecipientsSuppressed, app.CodeSendingPaused, app.CodeBroadcastsPaused, app.CodePlanLimitReached,
		app.CodeForbidden, app.CodeConflict, app.CodeInvalidPayload, app.CodePayloadTooLarge, app.CodeBroadcastTooLarge, app.CodeServiceUnavailable,
		app.CodeInvalidCredentials, app.CodeReauthentication:
		return true
	}
	return false
}

// ErrorFor turns any error into what the caller may see, and logs the rest.
func (h *Handler) ErrorFor(x *Exchange, err error) *Error {
	e := h.errorFor(x, err)
	x.failure = e.Name
	return e
}

func (h *Handler) errorFor(x *Exchange, err error) *Error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	var known *app.Error
	if !errors.As(err, &known) {
		if errors.Is(err, context.Canceled) {
			// The client closed the connection: no error of the server, and nobody reads the
			// answer.
			h.log.Debug("request canceled", "request_id", x.ID, "route", x.Pattern)
			closed := InternalError()
			closed.StatusCode = statusClientClosed
			return closed
		}
		h.log.Error("request failed", "request_id", x.ID, "route", x.Pattern, "error", err)
		return InternalError()
	}
	e := NewError(known.Code, known.Message)
	if known.RetryAfter > 0 {
		x.Header().Set("Retry-After", strconv.FormatInt(int64((known.RetryAfter+time.Second-1)/time.Second), 10))
	}
	if known.Err != nil {
		h.log.Warn("request refused", "request_id", x.ID, "route", x.Pattern, "name", known.Code, "error", known.Err)
	}
	if e.StatusCode == http.StatusInternalServerError {
		if known.Err == nil {
			h.log.Error("request failed", "request_id", x.ID, "route", x.Pattern, "error", known)
		}
		return InternalError()
	}
	return e
}

// writeError answers with e before the handler runs.
func (h *Handler) writeError(x *Exchange, e *Error) {
	x.failure = e.Name
	if x.refuse != nil {
		x.refuse(x, e)
		return
	}
	x.Header().Set("Content-Type", "application/json")
	x.WriteHeader(e.StatusCode)
	// An error means that the connection is closed.
	_ = Marshal(x, e)
}

// UnknownField is the text of a refusal for a member that an endpoint does not have.
func UnknownField(field string) string {
	return "`" + field + "` is not a field that this endpoint supports"
}

func bodyTimeout() *Error {
	return newErrorWith(http.StatusRequestTimeout, app.CodeInvalidPayload, "The request body did not arrive in time")
}
