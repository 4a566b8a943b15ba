package rest

import (
	"context"
	"errors"
	"net/http"
	"time"

	"mailer/app"
)

// RequestRow is a request of a team and how it was answered.
type RequestRow struct {
	ID, TeamID string
	KeyID      string // empty: a person
	UserID     string // empty: a key
	Method     string
	Endpoint   string // path as it was written, without the query
	Status     int
	Took       time.Duration
	UserAgent  string
	Error      string // name; empty: it was answered
	EmailID    string // the one email that it made; empty: none
}

// RequestLog is told of requests. Note must not wait; it may keep what it is handed.
type RequestLog interface{ Note(r *RequestRow) }

// RecordEmail notes the one email that a request made.
func RecordEmail(ctx context.Context, id string) { exchangeOf(ctx).emailID = id }

// RecordRefusedEmail notes the record that a refused send left, if any.
func RecordRefusedEmail(ctx context.Context, err error) {
	var refusal *app.Error
	if errors.As(err, &refusal) && refusal.Record != "" {
		RecordEmail(ctx, refusal.Record)
	}
}

// note tells of a request that is over, where it was a team's. What a person only looked
// at is not told: a page asks all the time, and would drown what programs do.
func (h *Handler) note(x *Exchange, r *http.Request, took time.Duration) {
	if h.requests == nil || x.inside || x.Key == nil || x.Key.TeamID == "" {
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
	h.requests.Note(row)
}
