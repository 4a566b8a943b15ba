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
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/julienschmidt/httprouter"

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

// Services are what the routes need of the rest, each in an interface of its
// own: whatever has the methods may stand there.
type Services struct {
	Auth           authService
	Health         healthService
	Emails         emailService
	Attachments    attachmentService
	Suppressions   suppressionService
	Domains        domainService
	Topics         topicService
	Properties     propertyService
	ContactTopics  contactTopicService
	Contacts       contactService
	Segments       segmentService
	Pages          pageService
	Tracking       trackingService
	Imports        importService
	Templates      templateService
	Ingest         ingestService
	Broadcasts     broadcastService
	BroadcastStats broadcastStatsService
	Webhooks       webhookService
	Usage          usageService
	Deliverability deliverabilityService
	Keys           keyService
}

// engineServices lets one engine stand for all services.
func engineServices(e *engine.Engine) Services {
	return Services{
		Auth: e, Health: e,
		Emails:         e,
		Attachments:    e,
		Suppressions:   e,
		Domains:        e,
		Topics:         e,
		Properties:     e,
		ContactTopics:  e,
		Contacts:       e,
		Segments:       e,
		Pages:          e,
		Tracking:       e,
		Imports:        e,
		Templates:      e,
		Ingest:         e,
		Broadcasts:     e,
		BroadcastStats: e,
		Webhooks:       e,
		Usage:          e,
		Deliverability: e,
		Keys:           e,
	}
}

// Handler answers every request of the API. It is safe for concurrent use.
type Handler struct {
	keys       authService
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
	document   []byte // openapi.json
	draining   atomic.Bool
}

// New makes the handler. It panics on routes that contradict each other, which
// is a mistake in this package and none of the caller's.
func New(cfg Config) *Handler {
	return newHandler(cfg, engineServices(cfg.Engine), defaultLimits(), time.Now)
}

func newHandler(cfg Config, s Services, l limits, now func() time.Time) *Handler {
	h := &Handler{
		keys:       s.Auth,
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
	addRoutes(h, s)
	registerIngest(h, s.Ingest, cfg.SNS)
	registerTracking(h, s.Tracking, registerPages(h, s.Pages))
	registerMCP(h)
	h.registerDocument()
	return h
}

// addRoutes adds the routes of the API.
func addRoutes(h *Handler, s Services) {
	segments := segmentRoutes{s.Segments}
	for _, routes := range []interface{ add(h *Handler) }{
		healthRoutes{s.Health, h.draining.Load},
		emailRoutes{s.Emails},
		attachmentRoutes{s.Attachments, h.baseURL},
		suppressionRoutes{s.Suppressions},
		domainRoutes{s.Domains},
		topicRoutes{s.Topics},
		propertyRoutes{s.Properties},
		contactTopicRoutes{s.ContactTopics},
		contactRoutes{s.Contacts},
		segments,
		audienceRoutes{segments},
		importRoutes{s.Imports},
		templateRoutes{s.Templates},
		broadcastRoutes{s.Broadcasts},
		recipientRoutes{s.BroadcastStats},
		webhookRoutes{s.Webhooks},
		usageRoutes{s.Usage},
		deliverabilityRoutes{s.Deliverability},
		keyRoutes{s.Keys},
	} {
		routes.add(h)
	}
}
