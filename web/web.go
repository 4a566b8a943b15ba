// Package web implements the HTTP API: its resources, and the shapes of their requests and answers.
// web/rest reads requests and writes answers, web/pages serves hosted pages and tracked links,
// web/mcp the tools for agents. Only main imports it.
//
// Failure policy: that of web/rest. Errors for the caller have a stable name; all others are logged
// and answered as internal_server_error.
package web

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	"mailer/app/kit/clock"
	"mailer/app/kit/metrics"
	"mailer/app/operate/health"
	"mailer/app/server"
	"mailer/web/account"
	"mailer/web/audience"
	"mailer/web/automations"
	"mailer/web/broadcasts"
	"mailer/web/dashboard"
	"mailer/web/emails"
	"mailer/web/mailroutes"
	"mailer/web/manual"
	"mailer/web/mcp"
	"mailer/web/operator"
	"mailer/web/pages"
	"mailer/web/receiving"
	"mailer/web/reports"
	"mailer/web/rest"
	"mailer/web/rest/openapi"
)

// Config configures the HTTP API.
type Config struct {
	Server *server.Server
	Log    *slog.Logger
	// BaseURL is the server's public URL, like "https://mail.example.com". Download URLs and the
	// OpenAPI document contain it.
	BaseURL string
	// OneHost: other host names than that of BaseURL serve only tracking and hosted pages.
	OneHost bool
	Bounds
	// Version of the program, shown to operators.
	Version string
	// Settings of the server, shown to operators.
	Settings []health.Setting
	// Submission are the addresses of SMTP submission, each with its kind of TLS: implicit,
	// starttls or none.
	Submission [][2]string
	// PagesHost is the host of what all teams publish; empty: none.
	PagesHost string
	// Spool is the folder in which uploads wait for their turn; empty: that for temporary files.
	Spool string
	// SNS verifies requests to /ingest/ses; nil: all are refused.
	SNS SNS

	metrics *metrics.Metrics // of the server
}

// New makes the handler. It panics for contradicting routes, a programming error.
func New(cfg Config) *rest.Handler {
	limits := rest.DefaultLimits().Within(cfg.Memory)
	limits.Connections = cmp.Or(cfg.MaxConnections, limits.Connections)
	cfg.metrics = cfg.Server.Metrics
	return newHandler(cfg, limits, clock.Now)
}

func newHandler(cfg Config, l rest.Limits, now func() time.Time) *rest.Handler {
	s := cfg.Server
	h := rest.New(rest.Config{
		Keys: s.Teams, Sessions: s.Accounts, ExportLog: s.Teams, Log: cfg.Log, BaseURL: cfg.BaseURL, OneHost: cfg.OneHost, PagesHost: cfg.PagesHost, OwnPagesHost: ownPagesHost(s), RateLimit: cfg.RateLimit, TeamRateLimit: cfg.TeamRateLimit,
		Metrics: cfg.metrics, LogFaultsOnly: s.RequestLog.Off, Limits: l, TrustedProxies: cfg.TrustedProxies, Now: now, Unsupported: refuseUnsupported,
		DocumentVersion: func() string { return strings.Join(s.Domains.Regions(), " ") },
		RequestLog:      requestLog{s.RequestLog},
	})
	addRoutes(h, &cfg)
	registerIngest(h, s.ProviderEvents, cfg.SNS)
	h.Browsers = pages.Register(h, s.Pages, s.SignUp, s.Mail, s.Shares, s.Views, s.Brands, s.Images, s.Archive, s.MailRoutes)
	h.Browsers.Home = dashboard.Prefix + "/"
	manual.Register(h, dashboard.Register(h))
	mcp.Register(h)
	h.OnDocument(documentTags)
	h.OnDocument(func(doc *openapi.Document) { documentWebhooks(h, doc) })
	h.ServeDocument()
	return h
}

// ownPagesHost returns rest.Config.OwnPagesHost of a server.
func ownPagesHost(s *server.Server) func(ctx context.Context, host string) bool {
	if s.PageHosts == nil { // a server without parts, for its document
		return nil
	}
	return s.PageHosts.IsPagesHost
}

// filesBase returns receiving.Routes.FilesBase of a server.
func filesBase(s *server.Server) func() string {
	if s.PageHosts == nil { // a server without parts, for its document
		return nil
	}
	return s.PageHosts.FilesBase
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
		receiving.Routes{Service: s.Receiving, FilesBase: filesBase(s), EmailPreviews: s.EmailPreviews, BaseURL: h.BaseURL()},
		mailroutes.Routes{Service: s.MailRoutes},
		emails.MetricsRoutes{Service: s.Stats},
		logRoutes{s.RequestLog},
		audience.SuppressionRoutes{Service: s.Suppressions},
		domainRoutes{s.Domains},
		reports.Routes{Service: s.Reports, Dir: cfg.Spool},
		audience.TopicRoutes{Service: s.Topics},
		audience.PropertyRoutes{Service: s.Properties},
		audience.ContactTopicRoutes{Service: s.Audience},
		audience.ContactRoutes{Service: s.Audience, Previews: s.Previews, Suppressions: s.Suppressions},
		segments,
		audience.PreviewRoutes{Service: s.Previews},
		audience.AudienceRoutes{SegmentRoutes: segments},
		audience.ImportRoutes{Service: s.Imports},
		audience.FormRoutes{Service: s.SignUp, Snippet: pages.EmbeddedForm},
		audience.OptInRoutes{Service: s.SignUp},
		broadcasts.TemplateRoutes{Service: s.Templates, EmailPreviews: s.EmailPreviews, BaseURL: h.BaseURL()},
		broadcasts.BlockRoutes{Service: s.Blocks},
		broadcasts.ImageRoutes{Service: s.Images, Dir: cfg.Spool},
		broadcasts.Routes{Service: s.Broadcasts},
		broadcasts.RecipientRoutes{Service: s.Broadcasts},
		broadcasts.ArchiveRoutes{Service: s.Archive},
		broadcasts.FeedRoutes{Service: s.Feeds},
		broadcasts.ReviewRoutes{Service: s.Reviews, EmailPreviews: s.EmailPreviews, BaseURL: h.BaseURL()},
		automations.Routes{Service: s.Automations},
		automations.EventRoutes{Service: s.Automations},
		automations.ViewRoutes{Service: s.Automations, EmailPreviews: s.EmailPreviews, BaseURL: h.BaseURL()},
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
		account.TeamRoutes{Service: s.Teams, Retention: s.Retention, Hosts: s.PageHosts},
		account.BrandRoutes{Service: s.Brands, BaseURL: h.BaseURL()},
		account.PasskeyRoutes{Service: s.Passkeys},
	} {
		routes.Add(h)
	}
}
