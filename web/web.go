// Package web is the API of Mailer: the routes of its resources with the shapes of
// requests and answers, and what all doors are built of. How requests are read
// and answered is web/rest's, hosted pages and tracked links are web/pages',
// tools for agents web/mcp's. Only main imports it. It fails as web/rest does:
// what the caller may know goes out under its own name, all else is logged and
// answered as internal_server_error.
package web

import (
	"cmp"
	"log/slog"
	"time"

	"mailer/app/clock"
	"mailer/app/health"
	"mailer/app/live"
	"mailer/app/metrics"
	"mailer/app/server"
	"mailer/web/account"
	"mailer/web/audience"
	"mailer/web/broadcasts"
	"mailer/web/dashboard"
	"mailer/web/emails"
	"mailer/web/manual"
	"mailer/web/mcp"
	"mailer/web/operator"
	"mailer/web/pages"
	"mailer/web/rest"
)

// Config is what the HTTP layer is made of.
type Config struct {
	Server *server.Server
	Log    *slog.Logger
	// BaseURL is where callers reach this server, like "https://mail.example.com";
	// download addresses and the OpenAPI document carry it.
	BaseURL string
	// OneName: under other host names than that of BaseURL there are only tracking and
	// hosted pages.
	OneName bool
	Bounds
	// Silent: of requests only those have a line in the log that fail by the server's
	// fault.
	Silent bool
	// Version is that of the program, for its operator.
	Version string
	// Settings are those of the server, for its operator.
	Settings []health.Setting
	// Submission is where mail is taken by SMTP: addresses, each with how TLS is spoken
	// there, implicit, starttls or none.
	Submission [][2]string
	// SNS proves what comes to /ingest/ses; nil: nothing is believed there.
	SNS SNS

	metrics *metrics.Metrics // of the server
}

// Services are what the routes need of the rest, each in an interface of its
// own: whatever has the methods may stand there.
type Services struct {
	Auth           rest.Authenticator
	Sessions       rest.Sessions // nil: nobody signs in
	Health         healthService
	Emails         emails.Service
	Search         emails.SearchService
	Verdicts       emails.VerdictService
	Attempts       emails.AttemptService
	Retry          emails.RetryService
	Again          emails.AgainService
	Shares         sharing
	Frames         frames
	Attachments    emails.AttachmentService
	Metrics        emails.MetricsService
	RequestLog     requestLogService
	Suppressions   audience.SuppressionService
	Domains        domainService
	Topics         audience.TopicService
	Properties     audience.PropertyService
	ContactTopics  audience.ContactTopicService
	Contacts       audience.ContactService
	Segments       audience.SegmentService
	Previews       audience.PreviewService
	Pages          pages.Service
	Tracking       pages.TrackingService
	Imports        audience.ImportService
	Templates      broadcasts.TemplateService
	Ingest         ingestService
	Broadcasts     broadcasts.Service
	BroadcastStats broadcasts.StatsService
	Reviews        broadcasts.ReviewService
	Webhooks       webhookService
	Usage          usageService
	Insights       insightsService
	Deliverability deliverabilityService
	Keys           keyService
	Queue          operator.QueueService
	SignIn         account.SignInService
	Me             account.MeService
	SecondFactors  account.SecondFactorService
	Relays         operator.RelayService
	Status         operator.HealthService
	Backups        operator.BackupService
	Disk           operator.DiskService
	Accounts       operator.AccountService
	Teams          operator.TeamService
	Passkeys       account.PasskeyService
	Exports        rest.Exports // nil: nobody notes them
	Live           *live.Bus
	Audit          account.AuditService
	Members        account.MemberService
	Invitations    account.InvitationService
	Team           account.TeamService
	Retention      account.RetentionService
}

// sharing makes public links to emails and opens them.
type sharing interface {
	emails.ShareService
	pages.ShareService
}

// frames shows mails and drafts in frames.
type frames interface {
	emails.PreviewService
	broadcasts.FrameService
}

// servicesFrom returns the services of a server.
func servicesFrom(s *server.Server) Services {
	return Services{
		Auth:           s.Teams,
		Health:         s,
		Emails:         s.Mail,
		Search:         s.Search,
		Verdicts:       s.Queue,
		Attempts:       s.Search,
		Retry:          s.Queue,
		Again:          s.Again,
		Shares:         s.Shares,
		Frames:         s.Frames,
		Attachments:    s.Mail,
		Metrics:        s.Figures,
		RequestLog:     s.RequestLog,
		Suppressions:   s.Suppressions,
		Domains:        s.Domains,
		Topics:         s.Topics,
		Properties:     s.Properties,
		ContactTopics:  s.Audience,
		Contacts:       s.Audience,
		Segments:       s.Audience,
		Previews:       s.Previews,
		Pages:          s.Pages,
		Tracking:       s.Mail,
		Imports:        s.Imports,
		Templates:      s.Templates,
		Ingest:         s.Reports,
		Broadcasts:     s.Broadcasts,
		BroadcastStats: s.Broadcasts,
		Reviews:        s.Reviews,
		Webhooks:       s.Events,
		Usage:          s.Teams,
		Insights:       s.Mail,
		Deliverability: s.Guardrails,
		Keys:           s.Teams,
		Queue:          s.Queue,
		Sessions:       s.People,
		SignIn:         s.People,
		Me:             s.People,
		SecondFactors:  s.People,
		Relays:         s.Routing,
		Status:         s.Health,
		Backups:        s.Backup,
		Disk:           s.DiskLooks,
		Accounts:       s.Directory,
		Teams:          s.Teams,
		Passkeys:       s.Passkeys,
		Exports:        s.Teams,
		Live:           s.DB.Live(),
		Audit:          s.Teams,
		Members:        s.People,
		Invitations:    s.People,
		Team:           s.Teams,
		Retention:      s.Retention,
	}
}

// New makes the handler. It panics on routes that contradict each other, which
// is a mistake in this package and none of the caller's.
func New(cfg Config) *rest.Handler {
	limits := rest.DefaultLimits()
	limits.Connections = cmp.Or(cfg.MaxConnections, limits.Connections)
	cfg.metrics = cfg.Server.Metrics
	build := func() *rest.Handler { return newHandler(cfg, servicesFrom(cfg.Server), limits, clock.Now) }
	h := build()
	h.Forget(build)
	return h
}

func newHandler(cfg Config, s Services, l rest.Limits, now func() time.Time) *rest.Handler {
	h := rest.New(rest.Config{
		Keys: s.Auth, Sessions: s.Sessions, Exports: s.Exports, Log: cfg.Log, BaseURL: cfg.BaseURL, OneName: cfg.OneName, RateLimit: cfg.RateLimit, TeamRateLimit: cfg.TeamRateLimit,
		Metrics: cfg.metrics, Silent: cfg.Silent, Limits: l, TrustedProxies: cfg.TrustedProxies, Now: now, Absent: absent,
		Requests: noter{s.RequestLog},
	})
	addRoutes(h, s, &cfg)
	registerIngest(h, s.Ingest, cfg.SNS)
	pages.Register(h, s.Pages, s.Tracking, s.Shares)
	manual.Register(h, dashboard.Register(h))
	mcp.Register(h)
	documentTags(h)
	documentWebhooks(h)
	h.ServeDocument()
	return h
}

// addRoutes adds the routes of the API.
func addRoutes(h *rest.Handler, s Services, cfg *Config) {
	segments := audience.SegmentRoutes{Service: s.Segments}
	for _, routes := range []interface{ Add(h *rest.Handler) }{
		healthRoutes{s.Health, h.Draining, h.Starved},
		emails.Routes{Service: s.Emails, Search: s.Search, Verdicts: s.Verdicts},
		emails.ActRoutes{Attempts: s.Attempts, Retry: s.Retry, Again: s.Again, Share: s.Shares, BaseURL: h.BaseURL()},
		emails.PreviewRoutes{Service: s.Frames, BaseURL: h.BaseURL()},
		emails.AttachmentRoutes{Service: s.Attachments, BaseURL: h.BaseURL()},
		emails.MetricsRoutes{Service: s.Metrics},
		logRoutes{s.RequestLog},
		audience.SuppressionRoutes{Service: s.Suppressions},
		domainRoutes{s.Domains},
		audience.TopicRoutes{Service: s.Topics},
		audience.PropertyRoutes{Service: s.Properties},
		audience.ContactTopicRoutes{Service: s.ContactTopics},
		audience.ContactRoutes{Service: s.Contacts, Previews: s.Previews, Suppressions: s.Suppressions},
		segments,
		audience.PreviewRoutes{Service: s.Previews},
		audience.AudienceRoutes{SegmentRoutes: segments},
		audience.ImportRoutes{Service: s.Imports},
		broadcasts.TemplateRoutes{Service: s.Templates, Frames: s.Frames, BaseURL: h.BaseURL()},
		broadcasts.Routes{Service: s.Broadcasts},
		broadcasts.RecipientRoutes{Service: s.BroadcastStats},
		broadcasts.ReviewRoutes{Service: s.Reviews, Frames: s.Frames, BaseURL: h.BaseURL()},
		webhookRoutes{s.Webhooks},
		usageRoutes{s.Usage},
		deliverabilityRoutes{s.Insights, s.Deliverability},
		keyRoutes{s.Keys},
		smtpRoutes{base: cfg.BaseURL, ports: cfg.Submission},
		operator.QueueRoutes{Service: s.Queue},
		liveRoutes{s.Live, h},
		account.SignInRoutes{Service: s.SignIn},
		account.MeRoutes{Service: s.Me},
		account.SecondFactorRoutes{Service: s.SecondFactors},
		account.AuditRoutes{Service: s.Audit},
		operator.RelayRoutes{Service: s.Relays},
		operator.HealthRoutes{Service: s.Status, Version: cfg.Version},
		operator.BackupRoutes{Service: s.Backups},
		operator.SettingsRoutes{Disk: s.Disk, Settings: cfg.Settings},
		operator.AccountRoutes{Service: s.Accounts},
		operator.IngestRoutes{Service: s.Ingest, SES: cfg.SNS != nil},
		operator.TeamRoutes{Service: s.Teams},
		account.MemberRoutes{Service: s.Members},
		account.InvitationRoutes{Service: s.Invitations},
		account.TeamRoutes{Service: s.Team, Retention: s.Retention},
		account.PasskeyRoutes{Service: s.Passkeys},
	} {
		routes.Add(h)
	}
}
