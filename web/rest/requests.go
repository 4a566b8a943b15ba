package rest

import (
	"context"
	"errors"
	"net/http"
	"time"

	"mailer/app"
)

// RequestRow is a request of a team, and its answer.
type RequestRow struct {
	ID, TeamID string
	KeyID      string // empty: a person
	UserID     string // empty: a key
	Method     string
	Endpoint   string // path as sent, without the query
	Status     int
	Took       time.Duration
	UserAgent  string
	Error      string // code; empty: no error
	EmailID    string // the one email that the request created
}

// RequestLog records requests. Log must not block; it may keep r.
type RequestLog interface{ Log(r *RequestRow) }

// RecordEmail sets the one email that a request created.
func RecordEmail(ctx context.Context, id string) { exchangeOf(ctx).emailID = id }

// RecordRefusedEmail sets the email that records a refused send, if any.
func RecordRefusedEmail(ctx context.Context, err error) {
	var refusal *app.Error
	if errors.As(err, &refusal) && refusal.Record != "" {
		RecordEmail(ctx, refusal.Record)
	}
}

// logTeamRequest records a finished request of a team. Reads by people are not recorded: pages of
// the dashboard poll, and would bury the requests of programs.
func (h *Handler) logTeamRequest(x *Exchange, r *http.Request, took time.Duration) {
	if h.requestLog == nil || x.internal || x.Key == nil || x.Key.TeamID == "" {
		return
	}
	if x.Key.Session != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead || r.Header[ReadOnlyHeader] != nil) {
		return
	}
	row := &RequestRow{ID: x.ID, TeamID: x.Key.TeamID, KeyID: x.Key.ID, Method: logMethod(r.Method), Endpoint: r.URL.EscapedPath(), Status: x.status,
		Took: took, UserAgent: x.RequestHeader.Get("User-Agent"), EmailID: x.emailID}
	if x.Key.Session != nil {
		row.KeyID, row.UserID = "", x.Key.ID
	}
	if x.status >= http.StatusBadRequest {
		row.Error = string(x.failure)
	}
	h.requestLog.Log(row)
}
