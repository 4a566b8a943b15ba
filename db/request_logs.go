package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/rules/erase"
	"mailer/db/engine"
)

// RequestLog is a logged API request. Its id begins with the time of arrival.
type RequestLog struct {
	ID, TeamID string
	KeyID      string // empty: made by a person
	UserID     string // empty: made with a key
	Method     string
	Endpoint   string // path as requested, without query
	Status     int
	Took       time.Duration
	UserAgent  string
	Error      string // error name; empty: success
	EmailID    string // the only email that it created; empty: none
}

// CreatedAt returns the arrival time in milliseconds.
func (l *RequestLog) CreatedAt() time.Time {
	ms, err := strconv.ParseInt(strings.ReplaceAll(l.ID, "-", "")[:12], 16, 64)
	if err != nil {
		return time.Time{}
	}
	return fromMilli(ms)
}

// Mentions reports whether the row contains an address of a set, also percent-encoded.
func (l *RequestLog) Mentions(e *erase.Set) bool {
	plain, err := url.PathUnescape(l.Endpoint)
	return e.In(l.Endpoint) || e.In(l.UserAgent) || err == nil && e.In(plain)
}

// mayMention returns 1 if Mentions can be true for some set, else 0.
func (l *RequestLog) mayMention() int {
	if strings.ContainsAny(l.Endpoint, "@%") || strings.ContainsAny(l.UserAgent, "@%&") {
		return 1
	}
	return 0
}

// Values of one row of request_logs and of ten.
const (
	logRow  = `(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	tenLogs = `(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
		(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
		(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
		(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
		(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

// InsertRequestLogs stores requests.
func (tx *Tx) InsertRequestLogs(rows []RequestLog) error {
	const many = 10
	for chunk := range slices.Chunk(rows, many) {
		if len(chunk) == many {
			err := tx.Write(`INSERT INTO request_logs (team_id, id, key_id, user_id, method, endpoint, status, micros, user_agent, error, email_id, addresses) VALUES `+tenLogs, logArgs(chunk)...)
			if err != nil {
				return fmt.Errorf("insert request logs: %w", err)
			}
			continue
		}
		for i := range chunk {
			err := tx.Write(`INSERT INTO request_logs (team_id, id, key_id, user_id, method, endpoint, status, micros, user_agent, error, email_id, addresses) VALUES `+logRow, logArgs(chunk[i:i+1])...)
			if err != nil {
				return fmt.Errorf("insert request log: %w", err)
			}
		}
	}
	return nil
}

func logArgs(rows []RequestLog) []any {
	args := make([]any, 0, 12*len(rows))
	for i := range rows {
		l := &rows[i]
		args = append(args, l.TeamID, l.ID, nullText(l.KeyID), nullText(l.UserID), l.Method, l.Endpoint, l.Status, l.Took.Microseconds(),
			nullText(l.UserAgent), nullText(l.Error), nullText(l.EmailID), l.mayMention())
	}
	return args
}

const logColumns = `team_id, id, key_id, user_id, method, endpoint, status, micros, user_agent, error, email_id`

func scanRequestLog(s scanner) (RequestLog, error) {
	var l RequestLog
	var key, user, agent, name, email sql.NullString
	var micros int64
	err := s.Scan(&l.TeamID, &l.ID, &key, &user, &l.Method, &l.Endpoint, &l.Status, &micros, &agent, &name, &email)
	l.KeyID, l.UserID, l.UserAgent, l.Error, l.EmailID = key.String, user.String, agent.String, name.String, email.String
	l.Took = time.Duration(micros) * time.Microsecond
	return l, err
}

// RequestLog returns a request of a team. Error: ErrNotFound.
func (r *Reader) RequestLog(teamID, id string) (RequestLog, error) {
	return one(r, scanRequestLog, `SELECT `+logColumns+` FROM request_logs WHERE team_id = ? AND id = ?`, teamID, id)
}

func (r *Reader) hasRequestLog(teamID string) func(id string) error {
	return func(id string) error {
		return r.Exists(`SELECT 1 FROM request_logs WHERE team_id = ? AND id = ?`, teamID, id)
	}
}

// RequestLogs returns a page of a team's requests, newest first, and whether there are
// more. Error: ErrNotFound for an unknown cursor.
func (r *Reader) RequestLogs(teamID string, page app.Page) ([]RequestLog, bool, error) {
	return listPage(r, page, r.hasRequestLog(teamID), scanRequestLog,
		`SELECT `+logColumns+` FROM request_logs WHERE team_id = ? AND id < ? ORDER BY id DESC LIMIT ?`,
		`SELECT `+logColumns+` FROM request_logs WHERE team_id = ? AND id > ? ORDER BY id LIMIT ?`, teamID)
}

// RequestFilter selects requests. Empty fields match all requests.
type RequestFilter struct {
	Method               string
	MinStatus, MaxStatus int    // inclusive
	Prefix               string // of the endpoint
	By                   string // id of a key or person
	EmailID              string
	From, To             string // ids: from From on, below To
}

// SearchRequestLogs returns the newest requests of a team that match a filter, after a
// page's cursor: one page, or what it found before it reached the limit of e. searchedTo
// is the last request examined; empty at the end. Error: ErrNotFound for an unknown
// cursor.
func (r *Reader) SearchRequestLogs(ctx context.Context, e Effort, teamID string, f *RequestFilter, page app.Page) (rows []RequestLog, searchedTo string, err error) {
	if page.After != "" {
		if err := r.hasRequestLog(teamID)(page.After); err != nil {
			return nil, "", err
		}
	}
	from := min(cmp.Or(page.After, lastID), cmp.Or(f.To, lastID))
	query := `SELECT ` + logColumns + ` FROM request_logs WHERE team_id = ?1 AND id < ?2 AND id >= ?3 AND (?4 = '' OR method = ?4) AND status BETWEEN ?5 AND ?6
		AND (?7 = '' OR substr(endpoint, 1, length(?7)) = ?7) AND (?8 = '' OR coalesce(key_id, user_id) = ?8) AND (?9 = '' OR email_id = ?9) ORDER BY id DESC LIMIT ?10`
	stmt, err := r.Statement(query)
	if err != nil {
		return nil, "", err
	}
	end := func(from string) (to string, err error) {
		err = r.Row(`SELECT id FROM request_logs WHERE team_id = ? AND id < ? ORDER BY id DESC LIMIT 1 OFFSET ?`, []any{teamID, from, scanRange - 1}, &to)
		if err == nil && to < f.From {
			return "", ErrNotFound
		}
		return to, err
	}
	err = e.ranges(ctx, from, f.From, end, func(from, to string) (bool, error) {
		found, err := engine.Collect(ctx, stmt, scanRequestLog, teamID, from, to, f.Method, f.MinStatus, f.MaxStatus, f.Prefix, f.By, f.EmailID, page.Limit+1-len(rows))
		rows, searchedTo = append(rows, found...), to
		return len(rows) <= page.Limit, engine.ReadFault(query, err)
	})
	switch {
	case err != nil && !errors.Is(err, ErrLong):
		return nil, "", err
	case len(rows) > page.Limit:
		return rows[:page.Limit], rows[page.Limit-1].ID, nil
	case err == nil:
		return rows, "", nil
	}
	return rows, searchedTo, nil
}

// RequestLogsWithTraces searches the first limit requests of a span that may contain
// addresses. It returns those with an address of e; next is the last one examined, empty
// at the end of the span.
func (r *Reader) RequestLogsWithTraces(teamID string, span Span, limit int, e *erase.Set) (hit []string, next string, err error) {
	rows, err := list(r, scanRequestLog, `SELECT `+logColumns+` FROM request_logs
		WHERE team_id = ? AND addresses = 1 AND id > ? AND id <= ? ORDER BY id LIMIT ?`, teamID, span.After, span.Until, limit)
	for i := range rows {
		if rows[i].Mentions(e) {
			hit = append(hit, rows[i].ID)
		}
	}
	if len(rows) == limit {
		next = rows[limit-1].ID
	}
	return hit, next, err
}

// DeleteRequestLog deletes a request.
func (tx *Tx) DeleteRequestLog(teamID, id string) error {
	err := tx.Write(`DELETE FROM request_logs WHERE team_id = ? AND id = ?`, teamID, id)
	return err
}

// PurgeRequestLogs deletes at most limit requests of a team before a time, and reports
// whether there may be more.
func (tx *Tx) PurgeRequestLogs(teamID string, before time.Time, limit int) (more bool, err error) {
	n, err := tx.Exec(`DELETE FROM request_logs WHERE team_id = ?1 AND id IN (SELECT id FROM request_logs WHERE team_id = ?1 AND id < ?2 ORDER BY id LIMIT ?3)`,
		teamID, app.FirstID(before), limit)
	if err != nil {
		return false, fmt.Errorf("purge request logs: %w", err)
	}
	return n == int64(limit), nil
}
