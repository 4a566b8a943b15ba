// Command mailer is a self-hosted email service in one binary: an HTTP API, an
// embedded database, and a DKIM-signing relay client.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/cli"
	"mailer/app/kit/build"
	"mailer/app/kit/clock"
	"mailer/app/kit/mailbox"
	"mailer/app/kit/membudget"
	"mailer/app/net/dnsprovider"
	"mailer/app/net/fetch"
	"mailer/app/net/outbound"
	"mailer/app/net/resolver"
	"mailer/app/net/rspamd"
	"mailer/app/net/sns"
	"mailer/app/operate/health"
	"mailer/app/operate/settings"
	"mailer/app/rules/relayurl"
	"mailer/app/rules/tracking"
	"mailer/app/sending/delivery"
	"mailer/app/sending/receiving"
	"mailer/app/sending/signup"
	"mailer/app/server"
	"mailer/db"
	"mailer/db/engine"
	"mailer/smtpout"
	"mailer/web"
	"mailer/web/listen"
	"mailer/web/rest"
	"mailer/web/smtp/submission"
)

//go:embed schema.sql
var schema string

// Exit codes tell a service manager whether a restart can help. exitStorage: a disk failed or a
// file is damaged. exitInUse: another server or program uses the database. exitCutOff: an import
// was interrupted, and continues when it is run again.
const (
	exitOK      = 0
	exitError   = 1
	exitStorage = 2
	exitInUse   = 3
	exitCutOff  = 4
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot(args...)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	cli.PrintFailure(os.Stderr, cmd.Flags(), err)
	switch {
	case errors.Is(err, db.ErrInUse), errors.Is(err, db.ErrLocked):
		return exitInUse
	case errors.Is(err, cli.ErrCutOff):
		return exitCutOff
	case engine.IsStorage(err), errors.Is(err, cli.ErrDamage):
		return exitStorage
	}
	return exitError
}

// options are the values of all flags. Each command binds those it uses.
type options struct {
	cli.StoreFlags
	asJSON                          bool
	baseURL, mode, pagesHost        string
	disposable                      string // file
	relays, snsTopics, webhookAllow []string
	fetchAllow                      []string
	maxAttachments, maxImages       int64
	maxReceived                     int64
	rspamd                          string
	blockLists                      []string
	askSpamFilter                   func(ctx context.Context, in *app.SpamQuestion) (*app.ReceivedSpam, error) // nil: none
	fetchAttachments                bool
	dev, devPublic, capture, dryRun bool
	standby, migrate, dumped        bool
	boundFlags                      web.BoundFlags
	listeners                       listen.Listeners
	logs                            cli.LogFormat
	logLevel                        slog.LevelVar
	bounds                          web.Bounds
	settings                        settings.Flags
	flags                           *pflag.FlagSet // of serve
	sighups                         chan os.Signal
	openedURL                       string // base URL, if the listeners were opened before the database
}

// newRoot makes all commands. args are the arguments as typed, for error texts.
func newRoot(args ...string) *cobra.Command {
	o := &options{}
	root := &cobra.Command{Use: "mailer", Short: "A self-hosted email service in one binary", SilenceErrors: true, SilenceUsage: true}
	root.CompletionOptions.DisableDefaultCmd = true
	root.Version = build.Text()
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return cli.ReadEnvironment(cmd.Flags()) }
	root.AddCommand(serveCommand(o), migrateCommand(o), versionCommand(o), cli.MCP())
	root.AddCommand((&cli.Store{Open: open, InUse: engine.InUse, Schema: schema,
		Fetch: func(allow []netip.Prefix) app.FetchFiles { return fetch.New(allow).Fetch }}).Commands()...)
	root.AddCommand(cli.Completion(root))
	cli.SuggestNearest(root, args)
	return root
}

func command(use, short string, args cobra.PositionalArgs, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: args, RunE: run}
}

// open opens the database and its services for a command, which may run next to a server. Nothing
// runs in the background.
func open(ctx context.Context, f cli.StoreFlags, create bool) (*server.Server, func(), error) {
	if err := f.CheckKeyFile(); err != nil {
		return nil, nil, err
	}
	store, err := db.Open(ctx, db.Options{Path: f.DB, Schema: schema, Create: create, Lazy: true, Clock: true})
	if err != nil {
		return nil, nil, err
	}
	if store.Made() {
		fmt.Fprintln(os.Stderr, "mailer: made a new database", store.Path())
	}
	s, err := keyFile(f).NewServer(ctx, server.Config{DB: store, Resolver: resolver.New(f.Resolver).Lookup, OpenDNS: dnsprovider.Default(), Probe: probe})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	if dns := s.Settings.DNS; dns != "" && f.Resolver == "" {
		s.Domains.Resolver = resolver.New(dns).Lookup
	}
	return s, func() { store.Close() }, nil
}

// keyFile returns the master key file of a database.
func keyFile(f cli.StoreFlags) *server.KeyFile {
	return &server.KeyFile{Path: cmp.Or(f.MasterKey, engine.KeyPath(f.DB)), Database: engine.Name(f.DB)}
}

func serveCommand(o *options) *cobra.Command {
	cmd := command("serve", "Run the API and send mail", cli.NoArguments, func(cmd *cobra.Command, _ []string) error { return o.serve(cmd) })
	f := cmd.Flags()
	o.listeners.Bind(f)
	f.StringVar(&o.baseURL, "base-url", "", "public URL of the API (default: the listen address)")
	f.StringArrayVar(&o.relays, "relay", nil, "[REGION=]smtp://user:pass@host:587 or smtps://…; repeatable, the first is the default")
	cli.ResolverFlag(cmd, &o.Resolver)
	o.settings.Bind(f)
	f.StringArrayVar(&o.snsTopics, "sns-topic", nil, "ARN of an Amazon SNS topic whose Amazon SES events are trusted; repeatable (default: no topic)")
	f.StringVar(&o.mode, "mode", "self-hosted", "self-hosted: no quotas; cloud: teams have plans")
	o.boundFlags.Bind(f)
	f.StringArrayVar(&o.webhookAllow, "webhook-allow", nil, "private IP range (CIDR) allowed for webhook endpoints, also over plain http; repeatable")
	f.Int64Var(&o.maxAttachments, "max-attachments", app.DefaultMaxAttachmentBytes, "maximum bytes of attachments per email, decoded")
	cli.BytesFlag(f, &o.maxImages, "max-images", app.DefaultMaxImages, "maximum bytes of all images of a team, like 1GiB; in cloud mode the plan sets it")
	cli.BytesFlag(f, &o.maxReceived, "max-received", receiving.DefaultDailyBytes, "maximum bytes that a team receives per day, like 1GiB")
	f.StringVar(&o.rspamd, "rspamd", "", "URL of a rspamd that is asked about received mail, like http://127.0.0.1:11333")
	f.StringSliceVar(&o.blockLists, "block-lists", nil, "DNS block lists that are asked daily about the addresses that mail leaves from, with commas")
	f.StringVar(&o.disposable, "disposable-domains", "", "file of disposable domains for forms")
	f.StringVar(&o.pagesHost, "pages-host", "", "host name for the images of all teams, without API and dashboard")
	f.BoolVar(&o.fetchAttachments, "fetch-attachments", false, "fetch attachments that are given as a URL (path) when an email is accepted: only by https from public hosts")
	f.StringArrayVar(&o.fetchAllow, "fetch-allow", nil, "private IP range (CIDR) from which attachments and feeds may be fetched too, also over plain http; repeatable")
	o.logs.Bind(f)
	f.BoolVar(&o.standby, "standby", false, "with PostgreSQL: wait and answer 503 while another server uses the database, then take over; without it both work at the same time")
	f.BoolVar(&o.migrate, "migrate", false, "upgrade the database of an older version first, as mailer migrate does")
	f.BoolVar(&o.capture, "capture", false, "sign and store mail without sending it; sender domains need not be verified")
	f.BoolVar(&o.dev, "dev", false, "development mode: use mailer-dev.db, capture all mail, create and print an API key")
	f.BoolVar(&o.devPublic, "dev-public", false, "with --dev: allow a listen address that other machines can reach")
	return o.Bind(cmd)
}

// check refuses contradicting settings before anything is opened.
func (o *options) check(cmd *cobra.Command) error {
	if o.mode != "self-hosted" && o.mode != "cloud" {
		return fmt.Errorf("--mode must be self-hosted or cloud, is %q", o.mode)
	}
	if err := errors.Join(o.listeners.Check(o.dev, o.devPublic, o.baseURL), o.settings.Check()); err != nil {
		return err
	}
	bounds, err := o.boundFlags.Bounds()
	if err != nil {
		return err
	}
	o.bounds = bounds
	if o.rspamd != "" {
		client, err := rspamd.New(o.rspamd)
		if err != nil {
			return fmt.Errorf("--rspamd %w", err)
		}
		o.askSpamFilter = client.Check
	}
	if o.blockLists, err = health.ParseBlockLists(o.blockLists); err != nil {
		return err
	}
	if o.pagesHost != "" {
		host, err := mailbox.ParseDomain(o.pagesHost)
		if err != nil {
			return fmt.Errorf("--pages-host must be a host name, is %q", o.pagesHost)
		}
		o.pagesHost = host
		o.listeners.Certificates().Add(host)
	}
	if (o.dev || o.capture) && len(o.relays) > 0 {
		return errors.New("--dev and --capture don't send mail; they can't be used with --relay")
	}
	o.capture = o.capture || o.dev
	if o.dev && !cmd.Flags().Changed("db") {
		o.DB = "mailer-dev.db"
	}
	if err := o.CheckLocation(o.standby, o.settings.Backup.Dir); err != nil || o.baseURL == "" {
		return err
	}
	u, err := url.Parse(o.baseURL)
	if err == nil && o.pagesHost != "" && tracking.HostOf(u.Host) == o.pagesHost {
		return fmt.Errorf("--pages-host must differ from the host of --base-url, where the dashboard is: %s", o.pagesHost)
	}
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("--base-url %q is not an http or https address", o.baseURL)
	}
	return nil
}

// openStore opens the database for the server. A standby waits for it.
func (o *options) openStore(ctx context.Context, log *slog.Logger) (*db.DB, error) {
	waiting := func() {}
	opts := db.Options{Path: o.DB, Schema: schema, Create: true, Lock: true, Clock: true, Standby: o.standby, JoinCluster: !o.standby, Log: log, Metrics: o.listeners.Metrics(), Waiting: func() (err error) {
		waiting, err = o.listeners.ServeStandby(log)
		return err
	}}
	store, err := db.Open(ctx, opts)
	if o.migrate && errors.Is(err, engine.ErrOld) {
		if err = o.migrateOlder(ctx, log); err == nil {
			store, err = db.Open(ctx, opts)
		}
	}
	waiting()
	if err != nil {
		o.listeners.Close()
	}
	return store, err
}

// migrateOlder upgrades the database of an older version. Probes are answered meanwhile.
func (o *options) migrateOlder(ctx context.Context, log *slog.Logger) error {
	name := engine.Name(o.DB)
	step, end, err := o.listeners.ServeMigrating(log)
	if err != nil {
		return err
	}
	defer end()
	m, err := engine.Migrate(ctx, db.Options{Path: o.DB, Schema: schema}, engine.Migrating{
		Begin: func(m engine.Migration) {
			log.Info("migrating the database", "db", name, "from", m.From, "to", m.To, "steps", m.Steps, "expected_seconds", m.Seconds)
		},
		Step: func(name string) {
			log.Info("migration step", "step", name)
			step(name)
		},
	})
	if err != nil {
		return err
	}
	log.Info("migrated the database", "db", name, "from", m.From, "to", m.To, "steps", m.Steps, "copy", m.Copy, "removed", m.Removed)
	return nil
}

// removeOldCopies removes the copies of earlier migrations that are no longer needed, now and every
// day until ctx ends.
func (o *options) removeOldCopies(ctx context.Context, log *slog.Logger) {
	for {
		removed, err := engine.RemoveOldCopies(o.DB, clock.Now().Add(-engine.CopiesKept))
		if err != nil {
			log.Warn("an old copy of the database can't be removed", "err", err)
		}
		if len(removed) > 0 {
			log.Info("removed old copies of the database", "files", removed)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(24 * time.Hour):
		}
	}
}

// listenEarly opens the listeners if the database does not exist yet: if a port is in use, no
// database and no master key are created.
func (o *options) listenEarly() (err error) {
	if engine.IsRemote(o.DB) {
		return nil
	}
	if _, err := os.Lstat(o.DB); !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if o.openedURL, err = o.listeners.Open(o.baseURL); err != nil {
		o.listeners.Close()
	}
	return err
}

// routes makes the senders of the relays, or the capture transport. None: mail waits.
func (o *options) routes(cmd *cobra.Command, opts smtpout.Options) (routes []delivery.Route, err error) {
	parsed, err := relayurl.Parse(o.relays)
	if err != nil {
		return nil, err
	}
	cli.WarnPasswords(opts.Log, cmd, parsed, o.rspamd)
	for _, r := range parsed {
		client, err := smtpout.Connect(r, opts)
		if err != nil {
			return nil, err
		}
		routes = append(routes, delivery.Route{Relay: r, Sender: client})
	}
	if o.capture {
		relay := relayurl.Relay{Region: app.CaptureRegion, Connections: 4, DKIM: true}
		routes = append(routes, delivery.Route{Relay: relay, Sender: smtpout.WithSimulator(smtpout.NewCapture(opts))})
	}
	return routes, nil
}

// ehloName returns this machine's host name; empty: smtpout uses localhost.
func ehloName() string {
	name, _ := os.Hostname()
	return name
}

func probe(ctx context.Context, relay relayurl.Relay, m *app.Outgoing, send bool) []relayurl.Step {
	return smtpout.Probe(ctx, relay, smtpout.Options{Hello: ehloName()}, m, send)
}

// sns makes the receiver of SNS messages; nil without a topic. allow are private ranges that SNS
// may be in, if it is reached through an endpoint of a private network.
func (o *options) sns(allow []netip.Prefix) (web.SNS, error) {
	if len(o.snsTopics) == 0 {
		return nil, nil
	}
	receiver, err := sns.New(o.snsTopics, outbound.Client(outbound.Options{Allow: allow}))
	if err != nil {
		return nil, fmt.Errorf("--sns-topic: %w", err)
	}
	return receiver, nil
}

// overlapSyncs lets Go use two processors per core, unless GOMAXPROCS is set: a commit that waits
// for the disk occupies a processor until the runtime takes it away, and a core would be idle
// meanwhile. It returns the number of processors, each of which may compose and sign messages.
// While callers wait, a quarter of them do, which is half of the cores.
func overlapSyncs() (builders int) {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0))
	}
	return app.ComposeWorkers()
}

// ignoreHangups keeps a server running when its terminal closes or the reader of its log ends.
func (o *options) ignoreHangups(cmd *cobra.Command) {
	o.flags, o.sighups = cmd.Flags(), make(chan os.Signal, 1)
	signal.Notify(o.sighups, syscall.SIGHUP)
	signal.Ignore(syscall.SIGPIPE)
}

func (o *options) serve(cmd *cobra.Command) error {
	if err := o.check(cmd); err != nil {
		return err
	}
	builders := overlapSyncs()
	o.logLevel.Set(o.settings.Level())
	log, err := o.logs.Logger(&o.logLevel)
	if err != nil {
		return err
	}
	o.ignoreHangups(cmd)
	o.bounds.Memory = membudget.CgroupLimit(log)
	cli.WarnUnknownVariables(log, cmd.Root(), os.Environ())
	allow, err := app.ParseRanges(o.webhookAllow)
	if err != nil {
		return fmt.Errorf("--webhook-allow: %w", err)
	}
	ranges, err := app.ParseRanges(o.fetchAllow)
	if err != nil {
		return fmt.Errorf("--fetch-allow: %w", err)
	}
	fetcher := fetch.New(ranges)
	var fetchFiles app.FetchFiles
	if o.fetchAttachments {
		fetchFiles = fetcher.Fetch
	}
	load := &app.Load{}
	opts := smtpout.Options{Hello: ehloName(), Log: log, Builders: builders, Load: load}
	routes, err := o.routes(cmd, opts)
	if err != nil {
		return err
	}
	events, err := o.sns(allow)
	if err != nil {
		return err
	}
	var disposable map[string]bool
	if o.disposable != "" {
		if disposable, err = signup.ReadDisposable(o.disposable); err != nil {
			return fmt.Errorf("--disposable-domains: %w", err)
		}
	}
	ctx := cmd.Context()
	if err := o.listenEarly(); err != nil {
		return err
	}
	store, err := o.openStore(ctx, log)
	if server.Stopped(ctx, err) {
		return nil
	}
	if err != nil {
		return cli.NotCreated(o.DB, server.DamageError(o.DB, err))
	}
	set := &o.settings
	err = o.serveStore(ctx, log, events, server.Config{
		DB: store, DatabaseTLS: engine.TLSOf(o.DB), PasswordShown: cli.ShowsPassword(cmd), Log: log, Metrics: o.listeners.Metrics(), Certificates: o.listeners.Certificates(), MaxWait: set.Waits.MaxWait(),
		Routes: routes, NoRelay: len(routes) == 0, Capture: o.capture, Load: load, Memory: o.bounds.Memory, Builders: builders, DoubtDelay: set.DoubtDelay, BulkShare: 1 - set.Reserve,
		Cloud: o.mode == "cloud", Compat: app.Compat(set.Compat), EnforceGuardrails: set.Guardrails == "enforce" || o.mode == "cloud", MaxAttachments: o.maxAttachments, MaxImages: o.maxImages, MaxReceived: o.maxReceived, AskSpamFilter: o.askSpamFilter, PagesHost: o.pagesHost, BlockLists: o.blockLists, FetchFiles: fetchFiles, FetchFeed: fetcher.FetchChanged, Disposable: disposable,
		Connect:  func(r relayurl.Relay) (delivery.Sender, error) { return smtpout.Connect(r, opts) },
		Resolver: resolver.New(o.Resolver).Lookup, DNS: o.Resolver, OpenDNS: dnsprovider.Default(), Probe: probe,
		WebhookTransport: outbound.Client(outbound.Options{Allow: allow}).Transport, WebhookAllow: allow, WebhooksPerTeam: set.WebhooksPerTeam, Backup: set.Backup, Retention: set.Keep.Retention(), NoRequestLog: set.Silent(),
		FlagValues: settings.Given(cmd.Flags()), LogLevel: &o.logLevel, Alerts: set.Alerts,
	})
	return server.DamageError(o.DB, errors.Join(store.Reason(err), store.Close()))
}

// serveStore runs the server on an open database until ctx ends, or the storage or a listener
// fails. Then it drains.
func (o *options) serveStore(ctx context.Context, log *slog.Logger, events web.SNS, cfg server.Config) error {
	defer o.listeners.Close()
	named := o.baseURL != "" // otherwise any host name may be used
	base := o.openedURL
	if base == "" { // after the lock: the second of two servers fails because of the database
		var err error
		if base, err = o.listeners.Open(o.baseURL); err != nil {
			return err
		}
	}
	o.baseURL, cfg.BaseURL, cfg.BounceHost = base, base, o.listeners.BounceHost()
	key := keyFile(o.StoreFlags)
	s, err := key.StartServer(ctx, log, cfg)
	if server.Stopped(ctx, err) {
		return nil
	}
	if err != nil {
		return err
	}
	handler := web.New(web.Config{Server: s, Log: log, BaseURL: o.baseURL, OneHost: named, PagesHost: o.pagesHost, Spool: engine.Folder(o.DB), Bounds: o.bounds, SNS: events, Submission: o.listeners.Submission(),
		Version: build.Version(), Settings: cli.SettingsInForce(o.flags, map[string]string{
			"team-rate-limit": strconv.Itoa(o.bounds.TeamRateLimit), "bounce-host": cfg.BounceHost, "master-key-file": key.Path})})
	smtp, err := o.smtp(ctx, s, handler)
	if err != nil {
		return err
	}
	if o.migrate {
		go o.removeOldCopies(ctx, log)
	}
	ended := o.listeners.Serve(listen.Handlers{API: rest.NewServer(handler), ProviderEvents: s.ProviderEvents, Receiving: s.Receiving, Reports: s.Reports, SMTP: smtp, Log: log})
	err = o.announce(ctx, log, s)
	s.Health.Watch()
	if err == nil {
		err = waitForEnd(ctx, log, s, ended, o.sighups, func() {
			cli.WarnChangedFiles(log, o.flags)
			key.Check(log)
			if err := s.Relays.ReloadFiles(ctx); err != nil {
				log.Warn("a relay keeps its settings because its files can't be read", "err", err)
			}
			s.Certificates.Retry()
			log.Info("read configuration again")
		})
	}
	if err == nil {
		o.listeners.Drain(cfg.DB.Failed())
	}
	drain, cancel := o.listeners.StopContext()
	defer cancel()
	s.Drain()
	err = errors.Join(err, o.listeners.Shutdown(drain))
	s.Stop(drain)
	return errors.Join(err, o.listeners.StopMetrics(drain))
}

// smtp configures SMTP submission. With --dev no key is needed.
func (o *options) smtp(ctx context.Context, s *server.Server, h *rest.Handler) (c submission.Config, err error) {
	c = submission.Config{Messages: s.Mail.Submissions, API: h.Access(), Host: submission.HostOf(o.baseURL), Dir: engine.Folder(o.DB), LogFaultsOnly: s.RequestLog.Off}
	if o.dev {
		c.DefaultToken, err = s.Teams.DevKey(ctx)
	}
	return c, err
}

// waitForEnd waits for the reason to stop and returns it; nil if stopping was requested. Each
// SIGHUP reloads the configuration.
func waitForEnd(ctx context.Context, log *slog.Logger, s *server.Server, ended <-chan error, hangups <-chan os.Signal, reread func()) error {
	for {
		select {
		case <-hangups:
			reread()
		case <-ctx.Done():
			log.Info("stopping")
			return nil
		case <-s.DB.Failed():
			return s.DB.Err()
		case err := <-s.Failed():
			return err
		case err := <-ended:
			return err
		}
	}
}

// announce logs where the server listens and where its mail goes.
func (o *options) announce(ctx context.Context, log *slog.Logger, s *server.Server) error {
	made := build.Info("")
	log.Info("listening", "address", o.listeners.Address(), "base_url", o.baseURL, "db", engine.Name(o.DB), "compat", s.Compat(), "version", made["version"], "commit", made["commit"], "date", made["date"])
	for _, relay := range s.Delivery.Relays() {
		log.Info("mail leaves through", "relay", relay)
	}
	switch s.Settings.RelayMode() {
	case base.RelayCapture:
		log.Info("capture mode: mail is signed and stored, not sent; read it at GET /emails/{id}/raw")
	case base.RelayNone:
		log.Warn("no relay is configured: mail is accepted and stays queued; set --relay or MAILER_RELAY, run mailer relays add URL, or use --capture to try things out")
	}
	if !o.dev {
		if err := cli.AnnounceSetup(context.WithoutCancel(ctx), log, s); err != nil { // no reason to stop
			log.Warn("can't check for accounts", "err", err)
		}
		return nil
	}
	return cli.AnnounceDev(ctx, log, s, o.baseURL)
}

// migrationText says what a migration did, or would do.
func migrationText(name string, m engine.Migration, dryRun bool) string {
	steps := strings.Join(m.Steps, ", ")
	switch {
	case len(m.Steps) == 0:
		return fmt.Sprintf("%s is up to date (schema version %d)", name, m.To)
	case m.From == 0 && dryRun:
		return fmt.Sprintf("would create %s (schema version %d)", name, m.To)
	case m.From == 0:
		return fmt.Sprintf("created %s (schema version %d)", name, m.To)
	case dryRun:
		return fmt.Sprintf("would migrate %s from schema version %d to %d: %s\nExpected time: %s\n%s", name, m.From, m.To, steps, m.ExpectedTime(), olderText(m))
	}
	text := fmt.Sprintf("migrated %s from schema version %d to %d: %s", name, m.From, m.To, steps)
	if m.Copy != "" {
		text += "\nThe old database is in " + m.Copy
	}
	for _, file := range m.Removed {
		text += "\nRemoved the older copy " + file
	}
	return text
}

// olderText says whether older programs can work on the database after a migration.
func olderText(m engine.Migration) string {
	if len(m.Incompatible) == 0 {
		return "Older versions can work on the result"
	}
	return "Older versions can't work on the result: " + strings.Join(m.Incompatible, "; ")
}

func migrateCommand(o *options) *cobra.Command {
	cmd := command("migrate", "Upgrade the database to the schema of this version", cli.NoArguments, func(cmd *cobra.Command, _ []string) error {
		bar := &cli.Bar{}
		name := engine.Name(o.DB)
		m, err := engine.Migrate(cmd.Context(), db.Options{Path: o.DB, Schema: schema, Create: true}, engine.Migrating{DryRun: o.dryRun, Dumped: o.dumped, Begin: func(m engine.Migration) {
			fmt.Fprintf(cmd.ErrOrStderr(), "Migrating %s from schema version %d to %d: %s. Expected time: %s\n", name, m.From, m.To, strings.Join(m.Steps, ", "), m.ExpectedTime())
			bar = cli.Progress(cmd.Context(), "migrate", 0)
		}})
		bar.Done()
		if err != nil {
			return server.DamageError(o.DB, err)
		}
		return cli.PrintDone(o.asJSON, m, migrationText(name, m, o.dryRun))
	})
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show what would change, and change nothing")
	cmd.Flags().BoolVar(&o.dumped, "dumped", false, "with PostgreSQL: a dump of the database was made, and steps may run on whose result older versions can't work")
	return cli.JSONFlag(o.Bind(cmd), &o.asJSON)
}

func versionCommand(o *options) *cobra.Command {
	cmd := command("version", "Print version, commit, commit date and SQLite version", cli.NoArguments, func(cmd *cobra.Command, _ []string) error {
		sqlite, err := engine.SQLiteVersion(cmd.Context())
		if err != nil {
			return err
		}
		return cli.PrintDone(o.asJSON, build.Info(sqlite), fmt.Sprintf("mailer %s, SQLite %s", build.Text(), sqlite))
	})
	return cli.JSONFlag(o.Bind(cmd), &o.asJSON)
}
