// Package rest is the plumbing of the HTTP API: it finds routes, keys and limits,
// reads bodies, writes answers and refusals, and makes the OpenAPI document from
// what it was told of the routes. It knows no resource. The packages of the doors
// (web, web/pages, web/mcp) may import it, and nothing else does.
//
// Failure policy: every answer is a JSON object, unless its route writes another
// form itself, and carries a request id. What the caller may know is an
// *app.Error and goes out under its own name; any other error, and any panic,
// is logged with the request id and answered as internal_server_error with a
// fixed text. Nothing that a caller sent is echoed but the names of its fields.
// What a request may cost is bounded before the request is parsed.
package rest

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/julienschmidt/httprouter"
	"golang.org/x/net/idna"

	"mailer/app"
	"mailer/app/kit/metrics"
	"mailer/app/rules/tracking"
)

// Authenticator finds the key of a token. Errors: CodeInvalidAPIKey.
type Authenticator interface {
	Authenticate(ctx context.Context, token string) (*app.Key, error)
}

// Sessions finds who is signed in.
type Sessions interface {
	// SignedIn returns the person of a session's token as a key of a team by its id. No
	// team: the only one of the person, or a key without a team. half: the session
	// may still wait for its second factor. Errors: CodeInvalidCredentials;
	// CodeNotFound for a team that the person does not belong to; CodeForbidden for one
	// that demands a second factor which the person has not.
	SignedIn(ctx context.Context, token, team string, half bool) (*app.Key, error)
}

// Config is what a Handler is made of.
type Config struct {
	Keys     Authenticator
	Sessions Sessions // nil: nobody signs in
	Exports  Exports  // nil: nobody notes them
	Log      *slog.Logger
	// BaseURL is where callers reach this server, without a slash at its end.
	BaseURL string
	// OneHost: under another host name than that of BaseURL only routes with AnyHost answer.
	OneHost bool
	// RateLimit is how many requests a second each key may make; 0: no limit,
	// and no ratelimit headers.
	RateLimit int
	// TeamRateLimit is how many all keys of a team may make together; 0: no limit.
	TeamRateLimit int
	Limits        Limits
	// TrustedProxies are the addresses whose X-Forwarded-For is believed; none: those
	// of this machine.
	TrustedProxies []netip.Prefix
	Now            func() time.Time
	// Metrics count requests; nil: nobody watches.
	Metrics *metrics.Metrics
	// Requests are told of each request of a team; nil: nobody is.
	Requests RequestLog
	// Silent: of requests only those have a line in the log that fail by the server's
	// fault.
	Silent func() bool // nil: all have lines
	// Variable returns what the document depends on that can change while the server runs,
	// as a text of any form; nil: nothing.
	Variable func() string
	// Absent refuses paths in words of their own that no route answers; nil: none.
	Absent func(path string) *Error
}

// Handler answers every request of the API. It is safe for concurrent use, once
// all routes are added.
type Handler struct {
	// Browsers is set before requests come.
	Browsers Browsers

	keys       Authenticator
	sessions   Sessions
	sites      *http.CrossOriginProtection
	log        *slog.Logger
	metrics    *metrics.Metrics
	requests   RequestLog
	silent     func() bool
	baseURL    string
	host       string // of baseURL
	oneHost    bool
	now        func() time.Time
	limits     Limits
	doc        *huma.OpenAPI
	again      func() *Handler // makes one with the same operations, described; nil: this one is
	literals   *httprouter.Router
	early      *httprouter.Router
	parameters *httprouter.Router
	methods    []string                  // that any route answers, sorted
	operations map[string]*Operation     // by id
	refusals   map[string]*huma.Response // of the document, by status
	absent     func(path string) *Error
	variable   func() string
	rate       *rateLimiter
	failures   *failureLimiter
	budget     *budget
	answers    *answers
	exports    *exports
	exported   Exports
	proxies    proxies
	named      proxies // of those, what the operator named
	draining   atomic.Bool
	stopping   context.Context // ends once answers of Follow must
	stop       context.CancelFunc
	followers  sync.WaitGroup
}

// New makes a handler without routes. ServeDocument ends their adding.
func New(cfg Config) *Handler {
	h := &Handler{
		keys:       cfg.Keys,
		sessions:   cfg.Sessions,
		sites:      crossOriginOf(cfg.BaseURL),
		log:        cfg.Log,
		metrics:    cfg.Metrics,
		requests:   cfg.Requests,
		silent:     cfg.Silent,
		oneHost:    cfg.OneHost,
		baseURL:    strings.TrimRight(cfg.BaseURL, "/"),
		now:        cfg.Now,
		limits:     cfg.Limits,
		absent:     cfg.Absent,
		variable:   cfg.Variable,
		rate:       newRateLimiter(cfg.RateLimit, cfg.TeamRateLimit, cfg.Now),
		failures:   newFailureLimiter(cfg.Now),
		budget:     newBodyBudget(cfg.Limits, cfg.Log),
		answers:    newAnswerBudget(cfg.Limits.Answers),
		exports:    newExportLimiter(),
		exported:   cfg.Exports,
		proxies:    cfg.TrustedProxies,
		named:      cfg.TrustedProxies,
		operations: map[string]*Operation{},
		refusals:   map[string]*huma.Response{},
	}
	h.stopping, h.stop = context.WithCancel(context.Background())
	if u, err := url.Parse(h.baseURL); err == nil {
		if h.host, err = idna.Lookup.ToASCII(tracking.HostOf(u.Host)); err != nil {
			h.host = tracking.HostOf(u.Host) // an address
		}
	}
	if len(h.proxies) == 0 {
		h.proxies = loopback
	}
	h.literals, h.early, h.parameters = newTree(), newTree(), newTree()
	h.doc = newDocument(h)
	return h
}

// OpenAPI returns the document as far as it is made.
func (h *Handler) OpenAPI() *huma.OpenAPI { return h.doc }

// Forget lets go of what describes the operations, which takes megabytes and is rarely
// asked for: again makes a handler with the same operations where it is.
func (h *Handler) Forget(again func() *Handler) {
	h.again = again
	h.doc, h.refusals = &huma.OpenAPI{Info: h.doc.Info}, nil
	for _, o := range h.operations {
		*o.Operation = huma.Operation{OperationID: o.OperationID, Method: o.Method, Path: o.Path, DefaultStatus: o.DefaultStatus}
	}
}

// Described returns a handler with the same operations of which the descriptions are
// there: to be read, and not to be kept.
func (h *Handler) Described() *Handler {
	if h.again == nil {
		return h
	}
	return h.again()
}

// Log returns where the handler logs.
func (h *Handler) Log() *slog.Logger { return h.log }

// Now returns the time.
func (h *Handler) Now() time.Time { return h.now() }

// BaseURL returns where callers reach the server, without a slash at its end.
func (h *Handler) BaseURL() string { return h.baseURL }

// Draining reports whether the server is shutting down.
func (h *Handler) Draining() bool { return h.draining.Load() }

// Operations returns all operations that were added, by their ids.
func (h *Handler) Operations() map[string]*Operation { return h.operations }
