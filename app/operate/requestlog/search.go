package requestlog

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// Query is a search as the caller wrote it. Empty strings match all.
type Query struct {
	Method, Status, Endpoint, KeyID, EmailID, CreatedAfter, CreatedBefore string
}

// Page is a page of requests, newest first.
type Page struct {
	Entries    []Entry
	More       bool
	SearchedTo string // id of the last examined request, where the search can continue
}

const (
	// searchBound is how many requests one search examines, approximately.
	searchBound = 100_000
	// beforeSlack is how long before its email a request may have started.
	beforeSlack = time.Minute
)

// GetLog returns a request of the team. Error: CodeNotFound.
func (s *Service) GetLog(ctx context.Context, key *app.Key, id string) (Entry, error) {
	e, err := db.Get(ctx, s.DB, func(r *db.Reader) (Entry, error) { return r.RequestLog(key.TeamID, id) })
	if err != nil {
		return e, base.Lookup("log", err)
	}
	return e, nil
}

// ListLogs returns a page of the team's requests that match a query. It examines a limited number
// of requests; SearchedTo is where it ended. Errors: CodeValidation.
func (s *Service) ListLogs(ctx context.Context, key *app.Key, q Query, page app.Page) (out Page, err error) {
	f, err := q.filter()
	if err != nil {
		return out, err
	}
	if q != (Query{}) && page.Before != "" {
		return out, app.Invalid("before", "can't be used with filters; use `after`")
	}
	err = s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if q == (Query{}) {
			out.Entries, out.More, err = r.RequestLogs(key.TeamID, page)
			return err
		}
		out.Entries, out.SearchedTo, err = r.SearchRequestLogs(ctx, db.Effort{MaxRows: searchBound}, key.TeamID, f, page)
		out.More = out.SearchedTo != ""
		return err
	})
	if err != nil {
		return Page{}, base.Cursor(page, err)
	}
	return out, nil
}

// filter validates a query. Errors: CodeValidation.
func (q *Query) filter() (*db.RequestFilter, error) {
	f := &db.RequestFilter{Method: strings.ToUpper(q.Method), Prefix: q.Endpoint}
	var err error
	if f.MinStatus, f.MaxStatus, err = statuses(q.Status); err != nil {
		return nil, app.Invalid("status", "must be a status like 404, or a class of them like 4xx")
	}
	if len(q.Endpoint) > MaxEndpoint || q.Endpoint != "" && q.Endpoint[0] != '/' {
		return nil, app.Invalid("endpoint", "must be the beginning of a path, like /emails")
	}
	if f.Method != "" && f.Method != http.MethodGet && f.Method != http.MethodPost && f.Method != http.MethodPut && f.Method != http.MethodPatch && f.Method != http.MethodDelete {
		return nil, app.Invalid("method", "must be GET, POST, PUT, PATCH or DELETE")
	}
	var errs [4]error
	f.By, errs[0] = optionalID("key_id", q.KeyID)
	f.EmailID, errs[1] = optionalID("email_id", q.EmailID)
	f.From, errs[2] = idAt("created_after", q.CreatedAfter)
	f.To, errs[3] = idAt("created_before", q.CreatedBefore)
	if f.EmailID != "" { // the email was created while its request ran
		at := (&Entry{ID: f.EmailID}).CreatedAt()
		f.From = max(f.From, app.FirstID(at.Add(-beforeSlack)))
		if to := app.FirstID(at.Add(time.Second)); f.To == "" || to < f.To {
			f.To = to
		}
	}
	return f, errors.Join(errs[:]...)
}

// statuses parses 404, 4xx or "".
func statuses(text string) (lowest, highest int, err error) {
	if text == "" {
		return 0, 999, nil
	}
	if class, ok := strings.CutSuffix(strings.ToLower(text), "xx"); ok && len(class) == 1 {
		n, err := strconv.Atoi(class)
		return 100 * n, 100*n + 99, err
	}
	n, err := strconv.Atoi(text)
	return n, n, err
}

func optionalID(name, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	id, ok := app.ParseID(text)
	if !ok {
		return "", app.Invalid(name, "must be an id")
	}
	return id, nil
}

// idAt returns the first id of a time.
func idAt(name, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "", app.Invalid(name, "must be a time like 2026-07-01T00:00:00Z")
	}
	return app.FirstID(at), nil
}
