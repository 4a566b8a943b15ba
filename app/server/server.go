// Package server wires the services into the server that main, the commands and the tests start. It
// makes the services in their order, and starts and stops their workers. Only packages above the
// services import it.
//
// Failure policy: if a part can't start, the server does not start. A stop waits for transactions
// past the final dot and drops the others, which the database still holds.
package server

import (
	"cmp"
	"context"
	"crypto/rsa"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/metrics"
	"mailer/app/moving/transfer"
	"mailer/app/operate/backup"
	"mailer/app/operate/certificates"
	"mailer/app/operate/health"
	"mailer/app/operate/jobs"
	"mailer/app/operate/rekey"
	"mailer/app/operate/requestlog"
	"mailer/app/operate/retention"
	"mailer/app/operate/settings"
	"mailer/app/operate/stats"
	"mailer/app/rules/dnsplan"
	"mailer/app/rules/mailauth"
	"mailer/app/rules/relayurl"
	"mailer/app/rules/webhook"
	"mailer/app/sending/archive"
	"mailer/app/sending/automations"
	"mailer/app/sending/broadcasts"
	"mailer/app/sending/delivery"
	"mailer/app/sending/feeds"
	"mailer/app/sending/guardrails"
	"mailer/app/sending/mail"
	"mailer/app/sending/mailroutes"
	"mailer/app/sending/providerevents"
	"mailer/app/sending/queue"
	"mailer/app/sending/receiving"
	"mailer/app/sending/relays"
	"mailer/app/sending/signup"
	"mailer/app/tenants/accounts"
	"mailer/app/tenants/audience"
	"mailer/app/tenants/domains"
	"mailer/app/tenants/images"
	"mailer/app/tenants/pagehosts"
	"mailer/app/tenants/reports"
	"mailer/app/tenants/teams"
	"mailer/app/tenants/webhooks"
	"mailer/db"
	"mailer/db/engine"
)

// Config configures a Server.
type Config struct {
	DB     *db.DB
	Sealer *app.Sealer
	// KeyFile is the source of Sealer's keys, which follow changes of the file; nil: they don't
	// change.
	KeyFile *rekey.File
	// DatabaseTLS protects the connection to a PostgreSQL database.
	DatabaseTLS engine.RemoteTLS
	// PasswordShown: the database's password was given on the command line.
	PasswordShown bool
	Log           *slog.Logger
	// Routes are the relays; the first is the default region. Without any, no mail is sent, and
	// unless NoRelay is set, Start must not be called.
	Routes []delivery.Route
	// Connect makes the sender of a relay that is added while the server runs. Probe tests a relay
	// for `mailer relays test`. nil: this process makes no connections.
	Connect func(relayurl.Relay) (delivery.Sender, error)
	Probe   func(ctx context.Context, relay relayurl.Relay, m *app.Outgoing, send bool) []relayurl.Step
	// NoRelay: the server has no relay; what it accepts waits for one.
	NoRelay bool
	// Capture: the only route is the capture transport, so from-domains need not be verified.
	Capture        bool
	Compat         app.Compat       // empty: app.CompatStrict (for commands: the value of the server)
	Cloud          bool             // plans apply (for commands: the value of the server)
	FetchFiles     app.FetchFiles   // fetches attachments given as URLs; nil: they are refused
	FetchFeed      app.FetchChanged // fetches feeds; nil: they are refused
	MaxAttachments int64            // bytes; 0: app.DefaultMaxAttachmentBytes; in cloud mode the plans decide
	DoubtDelay     time.Duration    // 0: 60 s
	MaxWait        time.Duration    // see delivery.Config
	// EnforceGuardrails: a team or region above a guardrail's limit is paused; otherwise that is
	// only shown.
	EnforceGuardrails bool
	BulkShare         float64 // part of a relay's daily limit that broadcasts may use; 0: app.DefaultBulkShare
	Memory            int64   // bytes that the process may use; 0: unlimited
	Builders          int     // messages that the senders of Routes compose and sign at the same time; 0: app.Builders
	Jitter            func() float64
	Load              *app.Load        // counts waiting callers; nil: not counted
	Metrics           *metrics.Metrics // nil: not counted
	// Resolver looks up DNS records of domains; nil: domains are not checked.
	Resolver app.DNSLookup
	// NewDKIMKey makes the key pair of a domain; nil: a new one each time.
	NewDKIMKey func() (*rsa.PrivateKey, error)
	// BaseURL is the URL of hosted pages, like "https://mail.example.com"; New trims slashes. Empty
	// (for commands): the value of the server.
	BaseURL string
	// OpenDNS opens the DNS zones of domains to publish records; nil: this process can't.
	OpenDNS dnsplan.Open
	// DNS is the HOST:PORT that Resolver asks; empty: the authoritative servers of each name.
	DNS string
	// MaxReceived is how many bytes of mail of other servers a team receives on a day; 0: receiving.DefaultDailyBytes.
	MaxReceived int64
	// AskSpamFilter asks a spam filter about mail of other servers; nil: there is none.
	AskSpamFilter func(ctx context.Context, in *app.SpamQuestion) (*app.ReceivedSpam, error)
	MaxImages     int64 // bytes of the images of a team; 0: app.DefaultMaxImages; in cloud mode the plans decide
	// PagesHost is the host of what all teams publish. Empty: none (for commands: that of the server).
	PagesHost string
	// Disposable are the domains to whose addresses forms with RejectDisposable send nothing; nil: none.
	Disposable map[string]bool
	// BlockLists are the DNS block lists that are asked each day about the addresses that mail leaves from. Empty: none (for
	// commands: those of the server).
	BlockLists []string
	// BounceHost is the host name for bounces. Empty (also for commands): none.
	BounceHost string
	// WebhookTransport sends requests to webhooks. It checks addresses, follows no redirects, and
	// its errors are shown to the webhook's owner. nil: events wait.
	WebhookTransport http.RoundTripper
	// WebhookAllow are the ranges in which endpoints may be private and use plain HTTP.
	WebhookAllow []netip.Prefix
	// WebhooksPerTeam is the number of webhooks that a team may have; 0: webhook.DefaultPerTeam.
	WebhooksPerTeam int
	// Backup configures the daily backup.
	Backup backup.Daily
	// NoRequestLog: requests are not recorded.
	NoRequestLog bool
	// Certificates is the configuration of TLS; nil: none.
	Certificates *certificates.Config
	// PollEvery is how often the server looks for changes by other processes, and the shortest
	// interval of a cron job; 0: base.SweepEvery.
	PollEvery time.Duration
	// FlagValues are the values of flags and variables, by flag name, that override settings; nil:
	// settings don't change while the server runs.
	FlagValues map[string]string
	// LogLevel is the level of Log, which settings change; nil: it is fixed.
	LogLevel *slog.LevelVar
	// Alerts configures notifications of the operator.
	Alerts health.Alerts
	// Retention is how long finished mail is kept, unless its team has its own setting.
	Retention app.Retention
}

// Server holds all services.
type Server struct {
	*base.Base
	started      bool          // the workers were started
	followerDone chan struct{} // closed when following ends; nil: s never followed
	failed       chan error
	following    atomic.Bool
	reloadedAt   time.Time // when live listeners were last reset
	Webhooks     *webhooks.Service
	Teams        *teams.Service
	Brands       *teams.Brands
	Accounts     *accounts.Service
	Passkeys     *accounts.PasskeyService
	Directory    *accounts.Directory
	// OwnInvitations are invitations that signed-in people accept.
	OwnInvitations *accounts.OwnInvitations
	Domains        *domains.Service
	PageHosts      *pagehosts.Service
	Images         *images.Service
	Audience       *audience.Service
	Imports        *audience.Imports
	Previews       *audience.Previews
	Pages          *audience.Pages
	Topics         *audience.Topics
	Properties     *audience.Properties
	Suppressions   *audience.Suppressions
	Mail           *mail.Service
	Templates      *mail.Templates
	Blocks         *mail.Blocks
	Search         *mail.Search
	Resends        *mail.Resends
	Shares         *mail.Shares
	Views          *mail.Views
	EmailPreviews  *mail.Previews
	Delivery       *delivery.Service
	Guardrails     *guardrails.Service
	Broadcasts     *broadcasts.Service
	Reviews        *broadcasts.Reviews
	SignUp         *signup.Service
	Archive        *archive.Service
	Feeds          *feeds.Service
	Automations    *automations.Service
	ProviderEvents *providerevents.Service
	MailRoutes     *mailroutes.Service
	Receiving      *receiving.Service
	Reports        *reports.Service
	Relays         *relays.Service
	Health         *health.Service
	Backup         *backup.Service
	Queue          *queue.Service
	Rekey          *rekey.Service
	Retention      *retention.Service
	DiskUsage      *retention.DiskReports
	Stats          *stats.Service
	Certificates   *certificates.Service
	RequestLog     *requestlog.Service
	Exports        *transfer.Exporter
	Transfer       *transfer.Service
	Jobs           *jobs.Service
	// RuntimeSettings are the settings that change while the server runs.
	RuntimeSettings *settings.Service
}

func webhooksConfig(cfg *Config) webhooks.Config {
	return webhooks.Config{Transport: cfg.WebhookTransport, WebhookAllow: cfg.WebhookAllow, WebhooksPerTeam: cfg.WebhooksPerTeam}
}

// New makes a Server, and checks that the sealer fits the database. Errors: seal.ErrSeal for
// another master key.
func New(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	b, err := base.NewBase(ctx, cfg.DB, cfg.Sealer, cfg.Log, cfg.Load, settingsOf(&cfg))
	if err != nil {
		return nil, err
	}
	b.Metrics = cfg.Metrics
	b.PollEvery = cmp.Or(cfg.PollEvery, base.SweepEvery)
	s := &Server{Base: b, failed: make(chan error, 1)}
	if s.Webhooks, err = webhooks.New(ctx, b, webhooksConfig(&cfg)); err != nil {
		return nil, err
	}
	s.Teams = teams.New(b, s.Webhooks, teams.Config{MaxAttachments: cfg.MaxAttachments, MaxImages: cfg.MaxImages, OnPlan: func() { s.Delivery.WakeQueues() }})
	s.Brands = teams.NewBrands(b)
	s.Accounts = accounts.New(b, s.Teams)
	s.Passkeys, s.Directory, s.OwnInvitations = accounts.NewPasskeys(s.Accounts), accounts.NewDirectory(s.Accounts), accounts.NewOwnInvitations(s.Accounts)
	s.Domains = domains.New(b, s.Webhooks, s.Teams, cfg.Resolver)
	s.Domains.OpenDNS = cfg.OpenDNS
	if cfg.NewDKIMKey != nil {
		s.Domains.NewKey = cfg.NewDKIMKey
	}
	s.PageHosts = pagehosts.New(b, cfg.Resolver)
	s.Images = images.New(b, s.Teams, s.PageHosts, cfg.Memory)
	s.Audience = audience.New(b, s.Webhooks, s.Teams)
	s.Previews = s.Audience.Previews
	s.Imports, s.Pages, s.Topics, s.Properties, s.Suppressions = s.Audience.Imports, s.Audience.Pages, s.Audience.Topics, s.Audience.Properties, s.Audience.Suppressions
	s.Mail = mail.New(b, s.Webhooks, s.Teams, s.Domains, s.Audience)
	s.Mail.FetchFiles = cfg.FetchFiles
	s.Blocks = s.Mail.Blocks
	s.Templates, s.Search, s.Resends, s.Shares, s.Views, s.EmailPreviews = s.Mail.Templates, s.Mail.Search, s.Mail.Resends, s.Mail.Shares, s.Mail.Views, s.Mail.Previews
	s.Accounts.SendMail = s.Mail.Accounts.Send
	s.Delivery = delivery.New(b, s.Webhooks, s.Teams, s.Domains, s.Audience, s.Mail,
		delivery.Config{Routes: cfg.Routes, Connect: cfg.Connect, Tick: s.tick, PeerWrote: s.onRemoteWrite, DoubtDelay: cfg.DoubtDelay, MaxWait: cfg.MaxWait, BulkShare: cfg.BulkShare, Memory: cfg.Memory, Builders: cfg.Builders, Jitter: cfg.Jitter})
	s.Guardrails = s.Delivery.Guardrails
	s.Broadcasts = broadcasts.New(b, s.Teams, s.Audience, s.Mail, s.Delivery)
	s.Reviews = s.Broadcasts.Reviews
	s.SignUp = signup.New(b, s.Webhooks, s.Teams, s.Audience, s.Mail)
	s.SignUp.Hosts = s.PageHosts
	s.Archive = archive.New(b, s.PageHosts)
	s.Feeds = feeds.New(b, s.Webhooks, s.Templates, s.Broadcasts)
	s.Feeds.Fetch = cfg.FetchFeed
	s.Automations = automations.New(b, s.Webhooks, s.Teams, s.Audience, s.Mail)
	s.Automations.MayBroadcast = s.Guardrails.MayBroadcast
	s.Audience.OnSignal, s.Audience.WatchedSegments, s.Audience.OnFilterChange = s.Automations.Signal, s.Automations.WatchedSegments, s.Automations.FilterChanged
	s.Mail.OnSignal = s.Automations.Signal
	s.SignUp.Resolver, s.SignUp.Disposable = cfg.Resolver, cfg.Disposable
	s.ProviderEvents = providerevents.New(b, s.Audience, s.Mail, s.Delivery)
	s.MailRoutes = mailroutes.New(b, s.Webhooks, s.Mail, s.Audience)
	s.Mail.OnForward = s.MailRoutes.NoteForward
	s.Receiving = receiving.New(b, s.Webhooks, s.Audience, s.MailRoutes, cfg.Memory)
	s.Receiving.OnSignal = s.Automations.Signal
	s.Receiving.AskSpamFilter = cfg.AskSpamFilter
	s.Receiving.DailyBytes = cmp.Or(cfg.MaxReceived, receiving.DefaultDailyBytes)
	s.Receiving.DiskFree = func() (free, size int64, err error) { return engine.DiskSpace(cfg.DB.Path()) }
	s.Receiving.Check = mailauth.New(cfg.Resolver, b.Log).Check
	s.Reports = reports.New(b, s.Webhooks, cfg.Resolver)
	s.Reports.Check = s.Receiving.Check
	s.Relays = relays.New(b, s.Teams, s.Domains, s.Delivery, relays.Config{Flags: delivery.RelaysOf(cfg.Routes), Probe: cfg.Probe,
		Announce: func(tx *db.Tx, data webhook.RelaySwitch) error {
			return s.Webhooks.AnnounceServer(tx, webhook.RelaySwitched, data)
		}})
	s.Backup = backup.New(b, cfg.Backup)
	s.Queue = queue.New(b, s.Teams, s.Audience, s.Mail, s.Delivery, s.Broadcasts)
	s.Queue.ReleaseAutomation = s.Automations.Release
	s.Certificates = certificates.New(b, cfg.Certificates)
	s.Health = health.New(b, s.Domains, s.Relays, s.Queue, s.Backup, s.Certificates).WithTarget(locationOf(&cfg), health.Network{})
	s.Health.SetAlerts(cfg.Alerts)
	s.RuntimeSettings = settings.New(b, settings.Config{Given: cfg.FlagValues, Use: func(f *settings.Flags) { s.applySettings(f, cfg.LogLevel) }})
	s.Rekey = rekey.New(b, cfg.KeyFile)
	s.Retention = retention.New(b)
	s.DiskUsage = retention.NewDiskReports(s.Retention)
	s.Stats = stats.New(b)
	s.RequestLog = requestlog.New(b, cfg.NoRequestLog)
	s.Exports = transfer.NewExporter(b, s.Domains)
	s.Transfer = transfer.New(b, s.Webhooks, s.Teams, s.Audience, s.Domains, s.Images)
	s.Jobs = jobs.New(b, jobs.Dependencies{Health: s.Health, Events: s.Webhooks, Teams: s.Teams, Accounts: s.Accounts, Domains: s.Domains, PageHosts: s.PageHosts, Images: s.Images, Audience: s.Audience, Mail: s.Mail,
		Delivery: s.Delivery, Broadcasts: s.Broadcasts, SignUp: s.SignUp, MailRoutes: s.MailRoutes, Reports: s.ProviderEvents, Retention: s.Retention, RequestLog: s.RequestLog, Archive: s.Archive, Feeds: s.Feeds, Automations: s.Automations})
	s.Mail.Delivery, s.Mail.MayAccept, s.Audience.RunErasure = s.Delivery, s.Guardrails.MayAccept, s.Jobs.FinishErasure
	cfg.Metrics.Watch(s.sampleMetrics)
	return s, nil
}

// tick is called each second. changed tells whether anything was committed since, by this process
// or another.
func (s *Server) tick(changed bool) {
	s.RuntimeSettings.Tick(changed)
	if s.following.Load() {
		s.Relays.TickFollower(changed)
		return
	}
	s.Relays.Tick(changed)
	s.Health.Tick(changed)
	if changed {
		s.Broadcasts.WakeBroadcaster()
		s.SignUp.Tick(changed)
		s.MailRoutes.Tick(changed)
		s.Automations.Tick(changed)
		s.Jobs.DatabaseChanged()
	}
}

// settingsOf returns the settings that a configuration with routes implies.
func settingsOf(cfg *Config) base.Settings {
	own := base.Settings{Capture: cfg.Capture, BaseURL: cfg.BaseURL, BounceHost: cfg.BounceHost, PagesHost: cfg.PagesHost, DNS: cfg.DNS, BlockLists: cfg.BlockLists, Enforce: cfg.EnforceGuardrails, Cloud: cfg.Cloud, Compat: cfg.Compat, Keep: cfg.Retention}
	if cfg.NoRelay || len(cfg.Routes) > 0 {
		own.SetRelays(base.NewRelays(delivery.RegionSettings(delivery.RelaysOf(cfg.Routes), delivery.GroupByRegion(delivery.RelaysOf(cfg.Routes)), cfg.Capture)))
	}
	return own
}

// Start resolves what an earlier process left in doubt, and starts the workers. With Capture it
// fails, and changes nothing, if mail waits for a real relay.
func (s *Server) Start(ctx context.Context) error {
	if err := s.Delivery.MayCapture(ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{s.Backup.HoldRestored, s.RuntimeSettings.Load, s.Relays.Load, s.SaveSettings, s.Suppressions.RehashSuppressions} {
		if err := s.IgnoreFull(step(ctx)); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) error{
		s.Jobs.ResumeClock, s.Delivery.Resume, s.Jobs.StartEraser, s.Delivery.Start, s.Audience.Start, s.Certificates.Start,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	s.started = true
	s.Broadcasts.Start()
	s.SignUp.Start()
	s.MailRoutes.Start()
	s.Automations.Start()
	s.Webhooks.Start()
	s.Backup.Start()
	s.Rekey.Start()
	if s.followerDone == nil {
		s.Mail.Start()
		s.RequestLog.Start()
	}
	s.Relays.TestAll()
	return s.Jobs.StartCron()
}

// Stop lets running transactions end until ctx does, then drops those before their final dot, and
// waits for all workers. It abandons a PostgreSQL database that does not answer soon after: sent
// mail whose result is not stored is in doubt at the next start.
func (s *Server) Stop(ctx context.Context) {
	defer abandonDatabaseAfter(ctx, s.DB)()
	s.Drain()
	if s.followerDone != nil && !s.DB.Cluster().Leads() { // otherwise it may be taking over
		s.StopClaiming()
	}
	if s.followerDone != nil {
		select {
		case <-s.followerDone:
		case <-ctx.Done():
			s.StopClaiming()
			<-s.followerDone
		}
	}
	s.StopClaiming() // before waiting for cron, whose jobs end with Taking
	s.Jobs.StopCron(ctx)
	done := make(chan struct{})
	go func() {
		s.Workers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		s.Abort()
		s.Delivery.CloseSenders() // a relay may take minutes to reply to the final dot
		<-done
	}
	s.Abort()
	s.Delivery.CloseSenders()
	if s.started || s.followerDone != nil {
		if err := s.Delivery.MarkCleanShutdown(context.WithoutCancel(ctx)); err != nil {
			s.Log.Warn("that this server ended well is not stored", "err", err)
		}
	}
	s.RequestLog.Flush(context.WithoutCancel(ctx))
	if err := s.Teams.FlushKeys(context.WithoutCancel(ctx)); err != nil {
		s.Log.Warn("last use of keys not stored", "err", err)
	}
}
