// Package rest implements the HTTP API's plumbing: routing, authentication, limits, decoding of
// bodies, answers and errors, and the OpenAPI document. It knows no resource. Only packages below
// web import it.
//
// Failure policy: every answer has a request id and is a JSON object, unless its route writes
// another form. An *app.Error is answered under its own name; any other error, and any panic, is
// logged with the request id and answered as internal_server_error with a fixed text. Of a caller's
// input, only field names are repeated. The cost of a request is bounded before it is parsed.
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

	"github.com/julienschmidt/httprouter"
	"golang.org/x/net/idna"

	"mailer/app"
	"mailer/app/kit/fair"
	"mailer/app/kit/metrics"
	"mailer/app/rules/tracking"
	"mailer/web/rest/openapi"
)

// Authenticator finds the key of a token. Errors: CodeInvalidAPIKey.
type Authenticator interface {
	Authenticate(ctx context.Context, token string) (*app.Key, error)
}

// Sessions authenticates people.
type Sessions interface {
	// SignedIn returns the person of a session token as a key of the team with the given id.
	// Without a team it is the person's only team, or a key without a team. half allows a session
	// that still waits for its second factor. Errors: CodeInvalidCredentials; CodeNotFound if the
	// person is no member of the team; CodeForbidden if the team requires a second factor that the
	// person does not have.
	SignedIn(ctx context.Context, token, team string, partial bool) (*app.Key, error)
}

// Config configures a Handler.
type Config struct {
	Keys      Authenticator
	Sessions  Sessions  // nil: no sign-in
	ExportLog ExportLog // nil: exports are not recorded
	Log       *slog.Logger
	// BaseURL is the server's public URL without a trailing slash.
	BaseURL string
	// OneHost: under other host names than that of BaseURL, only routes with AnyHost answer.
	OneHost bool
	// PagesHost is a host under which only routes with AnyHost answer, whatever OneHost is; empty: none.
	PagesHost string
	// OwnPagesHost reports whether a host is the own host of a team for pages, where the same holds;
	// nil: none is.
	OwnPagesHost func(ctx context.Context, host string) bool
	// RateLimit is the number of requests per second for each key; 0: no limit, and no ratelimit
	// headers.
	RateLimit int
	// TeamRateLimit is the number of requests per second for all keys of a team together; 0: no
	// limit.
	TeamRateLimit int
	Limits        Limits
	// TrustedProxies are the addresses whose X-Forwarded-For is trusted; none: those of this
	// machine.
	TrustedProxies []netip.Prefix
	Now            func() time.Time
	// Metrics counts requests; nil: they are not counted.
	Metrics *metrics.Metrics
	// RequestLog records the requests of teams; nil: they are not recorded.
	RequestLog RequestLog
	// LogFaultsOnly reports whether only requests that fail with a server error are logged.
	LogFaultsOnly func() bool // nil: all are logged
	// DocumentVersion returns a text that changes whenever the document changes while the server
	// runs; nil: it never changes.
	DocumentVersion func() string
	// Unsupported returns the error for a path that is deliberately not served; nil: none.
	Unsupported func(path string) *Error
}

// Handler serves the API. It is safe for concurrent use once all routes are added.
type Handler struct {
	// Browsers is set before the first request.
	Browsers Browsers

	keys            Authenticator
	sessions        Sessions
	crossOrigin     *http.CrossOriginProtection
	log             *slog.Logger
	metrics         *metrics.Metrics
	requestLog      RequestLog
	logFaultsOnly   func() bool
	baseURL         string
	host            string // of baseURL
	oneHost         bool
	pagesHost       string
	ownPagesHost    func(ctx context.Context, host string) bool
	now             func() time.Time
	limits          Limits
	doc             *openapi.Document
	onDocument      []func(*openapi.Document)
	describe        sync.Once  // calls onDocument
	documentMu      sync.Mutex // guards what is made of doc
	completions     []func()
	literals        *httprouter.Router
	priority        *httprouter.Router
	parameters      *httprouter.Router
	methods         []string                     // of all routes, sorted
	operations      map[string]*Operation        // by id
	refusals        map[string]*openapi.Response // of the document, by status
	unsupported     func(path string) *Error
	documentVersion func() string
	rate            *rateLimiter
	failures        *failureLimiter
	bodyBudget      *bodyBudget
	answerBudget    *answerBudget
	spool           *fair.Semaphore[string] // bytes of bodies in files, by team
	exportLimiter   *exportLimiter
	exportLog       ExportLog
	proxies         proxies
	named           proxies // the proxies that the operator named
	draining        atomic.Bool
	stopping        context.Context // ends when answers of Follow must end
	stop            context.CancelFunc
	followers       sync.WaitGroup
}

// New makes a handler without routes. ServeDocument adds the last one.
func New(cfg Config) *Handler {
	h := &Handler{
		keys:            cfg.Keys,
		sessions:        cfg.Sessions,
		crossOrigin:     crossOriginOf(cfg.BaseURL),
		log:             cfg.Log,
		metrics:         cfg.Metrics,
		requestLog:      cfg.RequestLog,
		logFaultsOnly:   cfg.LogFaultsOnly,
		oneHost:         cfg.OneHost,
		pagesHost:       cfg.PagesHost,
		ownPagesHost:    cfg.OwnPagesHost,
		baseURL:         strings.TrimRight(cfg.BaseURL, "/"),
		now:             cfg.Now,
		limits:          cfg.Limits,
		unsupported:     cfg.Unsupported,
		documentVersion: cfg.DocumentVersion,
		rate:            newRateLimiter(cfg.RateLimit, cfg.TeamRateLimit, cfg.Now),
		failures:        newFailureLimiter(cfg.Now),
		bodyBudget:      newBodyBudget(cfg.Limits, cfg.Log),
		answerBudget:    newAnswerBudget(cfg.Limits.Answers, cfg.Log),
		spool:           newSpool(),
		exportLimiter:   newExportLimiter(),
		exportLog:       cfg.ExportLog,
		proxies:         cfg.TrustedProxies,
		named:           cfg.TrustedProxies,
		operations:      map[string]*Operation{},
		refusals:        map[string]*openapi.Response{},
	}
	h.stopping, h.stop = context.WithCancel(context.Background())
	if u, err := url.Parse(h.baseURL); err == nil {
		if h.host, err = idna.Lookup.ToASCII(tracking.HostOf(u.Host)); err != nil {
			h.host = tracking.HostOf(u.Host) // not a host name
		}
	}
	if len(h.proxies) == 0 {
		h.proxies = loopback
	}
	h.literals, h.priority, h.parameters = newTree(), newTree(), newTree()
	h.doc = newDocument(h)
	return h
}

// OnDocument registers a function that adds to the document. The functions are called in their
// order when the document is first needed: it takes megabytes, and few servers show it.
func (h *Handler) OnDocument(add func(doc *openapi.Document)) {
	h.onDocument = append(h.onDocument, add)
}

// OpenAPI returns the document of all routes.
func (h *Handler) OpenAPI() *openapi.Document {
	h.describe.Do(func() {
		for _, add := range h.onDocument {
			add(h.doc)
		}
		h.onDocument = nil
	})
	return h.doc
}

// Log returns the handler's logger.
func (h *Handler) Log() *slog.Logger { return h.log }

// Now returns the time.
func (h *Handler) Now() time.Time { return h.now() }

// BaseURL returns the server's public URL without a trailing slash.
func (h *Handler) BaseURL() string { return h.baseURL }

// Draining reports whether the server is shutting down.
func (h *Handler) Draining() bool { return h.draining.Load() }

// Operations returns all operations by id.
func (h *Handler) Operations() map[string]*Operation { return h.operations }
