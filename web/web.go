// Package web is the HTTP face of Mailer: routes, keys, limits, the shapes of
// requests and answers, and the OpenAPI document that is made from them.
//
// Failure policy: every answer is a JSON object (but for a downloaded
// attachment, the hosted pages and the addresses of tracked mail) and carries a
// request id. What the caller may know is an
// *app.Error and goes out under its own name; any other error, and any panic,
// is logged with the request id and answered as internal_server_error with a
// fixed text. Nothing that a caller sent is echoed but the names of its fields.
// What a request may cost is bounded before the request is parsed.
package web

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/julienschmidt/httprouter"

	"mailer/app"
	"mailer/app/engine"
)

// DefaultRateLimit is how many requests a second a key may make where nothing
// else is configured.
const DefaultRateLimit = 100

// Config is what the HTTP layer is made of.
type Config struct {
	Engine *engine.Engine
	Log    *slog.Logger
	// BaseURL is where callers reach this server, like "https://mail.example.com";
	// download addresses and the OpenAPI document carry it.
	BaseURL string
	// RateLimit is how many requests a second each key may make; 0: no limit,
	// and no ratelimit headers.
	RateLimit int
	// SNS proves what comes to /ingest/ses; nil: nothing is believed there.
	SNS SNS
}

// service is the part of the engine that the routes use. It exists so that
// tests can stand in for the engine; outside of them it is *engine.Engine.
type service interface {
	emailService
	suppressionService
	domainService
	topicService
	propertyService
	contactTopicService
	contactService
	segmentService
	pageService
	trackingService
	importService
	templateService
	ingestService
	broadcastService
	broadcastStatsService
	webhookService
	usageService
	deliverabilityService
	keyService
	Authenticate(ctx context.Context, token string) (*app.Key, error)
	Ready() error
}

// Handler answers every request of the API. It is safe for concurrent use.
type Handler struct {
	service    service
	log        *slog.Logger
	baseURL    string
	now        func() time.Time
	limits     limits
	api        huma.API
	literals   *httprouter.Router
	early      *httprouter.Router
	parameters *httprouter.Router
	methods    []string              // that any route answers, sorted
	operations map[string]*operation // by id
	absences   []absence
	rate       *rateLimiter
	failures   *failureLimiter
	budget     *budget
	document   func() []byte // openapi.json
	draining   atomic.Bool
}

// New makes the handler. It panics on routes that contradict each other, which
// is a mistake in this package and none of the caller's.
func New(cfg Config) *Handler {
	return newHandler(cfg, cfg.Engine, defaultLimits(), time.Now)
}

func newHandler(cfg Config, s service, l limits, now func() time.Time) *Handler {
	h := &Handler{
		service:    s,
		log:        cfg.Log,
		baseURL:    strings.TrimRight(cfg.BaseURL, "/"),
		now:        now,
		limits:     l,
		rate:       newRateLimiter(cfg.RateLimit, now),
		failures:   newFailureLimiter(now),
		budget:     newBudget(l),
		operations: map[string]*operation{},
		absences:   absences(),
	}
	h.literals, h.early, h.parameters = newTree(), newTree(), newTree()
	h.api = newAPI(h)
	h.registerHealth()
	h.registerEmails()
	h.registerAttachments()
	h.registerSuppressions()
	h.registerDomains()
	h.registerTopics()
	h.registerProperties()
	h.registerContactTopics()
	h.registerContacts()
	h.registerSegments()
	h.registerAudiences()
	h.registerPages()
	h.registerTracking()
	h.registerImports()
	h.registerTemplates()
	h.registerIngest(cfg.SNS)
	h.registerBroadcasts()
	h.registerBroadcastStats()
	h.registerWebhooks()
	h.registerUsage()
	h.registerDeliverability()
	h.registerKeys()
	h.registerMCP()
	h.registerDocument()
	return h
}
