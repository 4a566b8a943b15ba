package app

import (
	"errors"
	"fmt"
	"time"
)

// Code is the stable name of an error. Clients see it in the member "name".
type Code string

// The error codes. Package web maps each to an HTTP status.
const (
	CodeMissingAPIKey           Code = "missing_api_key"
	CodeInvalidAPIKey           Code = "invalid_api_key"
	CodeRestrictedAPIKey        Code = "restricted_api_key"
	CodeForbidden               Code = "forbidden"
	CodeInvalidCredentials      Code = "invalid_credentials"
	CodeReauthentication        Code = "reauthentication_required"
	CodeSendingPaused           Code = "sending_paused"
	CodeBroadcastsPaused        Code = "broadcasts_paused"
	CodeBroadcastTooLarge       Code = "broadcast_too_large"
	CodePlanLimitReached        Code = "plan_limit_reached"
	CodeMonthlyQuotaExceeded    Code = "monthly_quota_exceeded"
	CodeNotFound                Code = "not_found"
	CodeConflict                Code = "conflict"
	CodeConcurrentIdempotent    Code = "concurrent_idempotent_requests"
	CodeInvalidIdempotent       Code = "invalid_idempotent_request"
	CodeInvalidIdempotencyKey   Code = "invalid_idempotency_key"
	CodeInvalidParameter        Code = "invalid_parameter"
	CodeInvalidPayload          Code = "invalid_payload"
	CodeValidation              Code = "validation_error"
	CodeAllRecipientsSuppressed Code = "all_recipients_suppressed"
	CodePayloadTooLarge         Code = "payload_too_large"
	CodeMethodNotAllowed        Code = "method_not_allowed"
	CodeRateLimitExceeded       Code = "rate_limit_exceeded"
	CodeDailyQuotaExceeded      Code = "daily_quota_exceeded"
	CodeInternal                Code = "internal_server_error"
	CodeServiceUnavailable      Code = "service_unavailable"
)

// Error is an error whose message clients may see. Err is the cause, which is logged but never
// shown to clients.
type Error struct {
	Code    Code
	Message string
	Err     error
	// RetryAfter is how long to wait before the same call may succeed; 0: unknown.
	RetryAfter time.Duration
	// Record is the id of the email that records a refused send; empty: none.
	Record string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error with the given code.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid returns a validation_error whose message begins with the field.
func Invalid(field, format string, args ...any) *Error {
	return Errorf(CodeValidation, "`%s` %s", field, fmt.Sprintf(format, args...))
}

// NotFound returns a not_found error for a kind of resource ("email", "domain").
func NotFound(kind string) *Error {
	return Errorf(CodeNotFound, "The requested %s was not found", kind)
}

// CodeOf returns the code of err, or CodeInternal if err is not an *Error.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}
