package resendtest

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// Server answers for an account. It is an http.Handler, and an http.RoundTripper without a network
// for use within synctest.
type Server struct {
	// Account may be changed in Before.
	Account Account
	// Rate is the number of requests answered in a second; more get 429. 0: no limit.
	Rate int
	// ByQueryAlone: members of a segment are listed only by /contacts?segment_id=, as in the API
	// document.
	ByQueryAlone bool
	// Before, if not nil, is called before the n-th request (from 1) is answered, and reports
	// whether it answered itself. It may panic with http.ErrAbortHandler, which cuts the
	// connection.
	Before func(n int, w http.ResponseWriter, r *http.Request) bool

	mu       sync.Mutex
	requests []Request
	window   time.Time
	used     int
}

// Request is a received request.
type Request struct {
	At     time.Time
	Path   string // with its query
	Status int    // of the answer; 0: the connection was cut
}

// Requests returns all received requests.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Reset forgets the requests.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.window, s.used = nil, time.Time{}, 0
}

// RoundTrip implements http.RoundTripper.
func (s *Server) RoundTrip(r *http.Request) (answer *http.Response, err error) {
	defer func() {
		if cut := recover(); cut == http.ErrAbortHandler {
			answer, err = nil, errors.New("connection reset by peer")
		} else if cut != nil {
			panic(cut)
		}
	}()
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, r)
	answer = rec.Result()
	answer.Request = r
	return answer, nil
}

// statusRecorder records the status of an answer.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (w *statusRecorder) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// ServeHTTP implements http.Handler and serves one request at a time.
func (s *Server) ServeHTTP(plain http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.requests)
	s.requests = append(s.requests, Request{At: time.Now(), Path: r.URL.RequestURI()})
	w := &statusRecorder{ResponseWriter: plain, status: http.StatusOK}
	if s.Before != nil && s.Before(n+1, w, r) || !s.admit(w, r) {
		s.requests[n].Status = w.status
		return
	}
	s.answer(w, r)
	s.requests[n].Status = w.status
}

// admit checks the rate and the key.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) bool {
	if s.Rate > 0 {
		if now := time.Now(); now.Sub(s.window) >= time.Second {
			s.window, s.used = now, 0
		}
		s.used++
		h := w.Header()
		h.Set("Ratelimit-Limit", strconv.Itoa(s.Rate))
		h.Set("Ratelimit-Remaining", strconv.Itoa(max(0, s.Rate-s.used)))
		h.Set("Ratelimit-Reset", "1")
		h.Set("Ratelimit-Policy", strconv.Itoa(s.Rate)+";w=1")
		if s.used > s.Rate {
			h.Set("Retry-After", "1")
			Refuse(w, http.StatusTooManyRequests, "rate_limit_exceeded", "Too many requests. You can only make "+strconv.Itoa(s.Rate)+" requests per second.")
			return false
		}
	}
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !ok || key == "":
		Refuse(w, http.StatusUnauthorized, "missing_api_key", "Missing API key in the authorization header.")
	case key == s.Account.Sending:
		Refuse(w, http.StatusUnauthorized, "restricted_api_key", "This API key is restricted to only send emails.")
	case key != s.Account.Key:
		Refuse(w, http.StatusForbidden, "validation_error", "API key is invalid")
	case r.Method != http.MethodGet:
		Refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "Method is not allowed for the requested path.")
	default:
		return true
	}
	return false
}

// Refuse answers with an error in Resend's format.
func Refuse(w http.ResponseWriter, status int, name, message string) {
	reply(w, status, map[string]any{"statusCode": status, "name": name, "message": message})
}

func reply(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client is gone
}

// row is an item of a list.
type row struct {
	id   string
	item any
}

func rows[T any](all []T, each func(*T) row) []row {
	out := []row{}
	for _, v := range all {
		out = append(out, each(&v))
	}
	return out
}

// page answers with a page of a list.
func page(w http.ResponseWriter, q url.Values, all []row) {
	limit := 20
	if text := q.Get("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > 100 {
			Refuse(w, http.StatusUnprocessableEntity, "validation_error", "The pagination limit must be a number between 1 and 100.")
			return
		}
	}
	after, before := q.Get("after"), q.Get("before")
	if after != "" && before != "" {
		Refuse(w, http.StatusUnprocessableEntity, "validation_error", "Only one of after and before may be given.")
		return
	}
	from := 0
	if cursor := after + before; cursor != "" {
		at := slices.IndexFunc(all, func(r row) bool { return r.id == cursor })
		if at < 0 {
			Refuse(w, http.StatusUnprocessableEntity, "validation_error", "The cursor is not known.")
			return
		}
		if from = at + 1; before != "" {
			all = all[:at]
			from = max(0, at-limit)
		}
	}
	all = all[from:]
	data := []any{}
	for _, r := range all[:min(limit, len(all))] {
		data = append(data, r.item)
	}
	reply(w, http.StatusOK, map[string]any{"object": "list", "has_more": len(all) > limit, "data": data})
}
