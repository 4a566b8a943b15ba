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
	"strings"
	"time"

	"mailer/app/kit/clock"
	"mailer/app/kit/metrics"
	"mailer/app/operate/health"
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
	// OneHost: under other host names than that of BaseURL there are only tracking and
	// hosted pages.
	OneHost bool
	Bounds
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

// New makes the handler. It panics on routes that contradict each other, which
// is a mistake in this package and none of the caller's.
func New(cfg Config) *rest.Handler {
	limits := rest.DefaultLimits().Within(cfg.Memory)
	limits.Connections = cmp.Or(cfg.MaxConnections, limits.Connections)
	cfg.metrics = cfg.Server.Metrics
	build := func() *rest.Handler { return newHandler(cfg, limits, clock.Now) }
	h := build()
	h.DropDescriptions(build)
	return h
}

func newHandler(cfg Config, l rest.Limits, now func() time.Time) *rest.Handler {
	s := cfg.Server
	h := rest.New(rest.Config{
		Keys: s.Teams, Sessions: s.Accounts, ExportLog: s.Teams, Log: cfg.Log, BaseURL: cfg.BaseURL, OneHost: cfg.OneHost, RateLimit: cfg.RateLimit, TeamRateLimit: cfg.TeamRateLimit,
		Metrics: cfg.metrics, LogFaultsOnly: s.RequestLog.Off, Limits: l, TrustedProxies: cfg.TrustedProxies, Now: now, Unsupported: refuseUnsupported,
		DocumentVersion: func() string { return strings.Join(s.Domains.Regions(), " ") },
		RequestLog:      requestLog{s.RequestLog},
	})
	addRoutes(h, &cfg)
	registerIngest(h, s.ProviderEvents, cfg.SNS)
	h.Browsers = rest.Browsers{Home: dashboard.Prefix + "/", ErrorPage: pages.Register(h, s.Pages, s.Mail, s.Shares, s.Brands)}
	manual.Register(h, dashboard.Register(h))
	mcp.Register(h)
	documentTags(h)
	documentWebhooks(h)
	h.ServeDocument()
	return h
}

// addRoutes adds the routes of the API.
func addRoutes(h *rest.Handler, cfg *Config) {
	s := cfg.Server
	segments := audience.SegmentRoutes{Service: s.Audience}
	for _, routes := range []interface{ Add(h *rest.Handler) }{
		healthRoutes{s, h.Draining, h.Starved},
		emails.Routes{Service: s.Mail, Search: s.Search, Verdicts: s.Queue},
		emails.ActionRoutes{Attempts: s.Search, Retry: s.Queue, Resends: s.Resends, Share: s.Shares, BaseURL: h.BaseURL()},
		emails.PreviewRoutes{Service: s.EmailPreviews, BaseURL: h.BaseURL()},
		emails.AttachmentRoutes{Service: s.Mail, BaseURL: h.BaseURL()},
		emails.MetricsRoutes{Service: s.Stats},
		logRoutes{s.RequestLog},
		audience.SuppressionRoutes{Service: s.Suppressions},
		domainRoutes{s.Domains},
		audience.TopicRoutes{Service: s.Topics},
		audience.PropertyRoutes{Service: s.Properties},
		audience.ContactTopicRoutes{Service: s.Audience},
		audience.ContactRoutes{Service: s.Audience, Previews: s.Previews, Suppressions: s.Suppressions},
		segments,
		audience.PreviewRoutes{Service: s.Previews},
		audience.AudienceRoutes{SegmentRoutes: segments},
		audience.ImportRoutes{Service: s.Imports},
		broadcasts.TemplateRoutes{Service: s.Templates, EmailPreviews: s.EmailPreviews, BaseURL: h.BaseURL()},
		broadcasts.Routes{Service: s.Broadcasts},
		broadcasts.RecipientRoutes{Service: s.Broadcasts},
		broadcasts.ReviewRoutes{Service: s.Reviews, EmailPreviews: s.EmailPreviews, BaseURL: h.BaseURL()},
		webhookRoutes{s.Webhooks},
		usageRoutes{s.Teams},
		deliverabilityRoutes{s.Mail, s.Guardrails},
		keyRoutes{s.Teams},
		smtpRoutes{base: cfg.BaseURL, ports: cfg.Submission},
		operator.QueueRoutes{Service: s.Queue},
		liveRoutes{s.DB.Live(), h},
		account.SignInRoutes{Service: s.Accounts},
		account.MeRoutes{Service: s.Accounts},
		account.SecondFactorRoutes{Service: s.Accounts},
		account.AuditRoutes{Service: s.Teams},
		operator.RelayRoutes{Service: s.Relays},
		operator.HealthRoutes{Service: s.Health, Version: cfg.Version},
		operator.BackupRoutes{Service: s.Backup},
		operator.SettingsRoutes{Disk: s.DiskUsage, Settings: cfg.Settings, Changes: s.RuntimeSettings},
		operator.AccountRoutes{Service: s.Directory},
		operator.IngestRoutes{Service: s.ProviderEvents, SES: cfg.SNS != nil},
		operator.TeamRoutes{Service: s.Teams},
		account.MemberRoutes{Service: s.Accounts},
		account.InvitationRoutes{Service: s.Accounts},
		account.OwnInvitationRoutes{Service: s.OwnInvitations},
		account.TeamRoutes{Service: s.Teams, Retention: s.Retention},
		account.BrandRoutes{Service: s.Brands, BaseURL: h.BaseURL()},
		account.PasskeyRoutes{Service: s.Passkeys},
	} {
		routes.Add(h)
	}
}
