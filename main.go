// Command mailer is a self-hosted email service in one binary: an HTTP API, an
// embedded database, and a DKIM-signing relay client.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/cli"
	"mailer/app/engine"
	"mailer/db"
	"mailer/smtpout"
	"mailer/web"
)

//go:embed schema.sql
var schema string

// Exit codes (decisions.md 2).
const (
	exitOK      = 0
	exitError   = 1
	exitStorage = 2
	exitInUse   = 3
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(os.Stderr, "mailer:", words(err))
	switch {
	case errors.Is(err, db.ErrInUse):
		return exitInUse
	case db.IsStorage(err):
		return exitStorage
	}
	return exitError
}

// words are what a person at a terminal needs of an error.
func words(err error) string {
	var e *app.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// options are the values of all flags; each command binds those that it takes.
type options struct {
	db, masterKey, team                    string
	asJSON                                 bool
	listen, baseURL, mode, logFormat       string
	relays                                 []string
	rateLimit                              int
	maxAttachments                         int64
	drainTimeout, doubtDelay               time.Duration
	dev, dryRun, trust                     bool
	name, permission, role, domain, region string
	from, subject, text, htmlFile          string
	to                                     []string
}

func newRoot() *cobra.Command {
	o := &options{}
	root := &cobra.Command{Use: "mailer", Short: "A self-hosted email service in one binary", SilenceErrors: true, SilenceUsage: true}
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return cli.ReadEnvironment(cmd.Flags(), "MAILER_") }
	root.AddCommand(serveCommand(o), migrateCommand(o), keysCommand(o), teamsCommand(o), domainsCommand(o),
		sendCommand(o), doubtsCommand(o), versionCommand(o))
	return root
}

func command(use, short string, args cobra.PositionalArgs, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: args, RunE: run}
}

func (o *options) storeFlags(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&o.db, "db", "mailer.db", "database file")
	cmd.Flags().StringVar(&o.masterKey, "master-key-file", "", "file of the master key (default: the database's name with .key)")
	return cmd
}

func (o *options) jsonFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print JSON")
	return o.storeFlags(cmd)
}

func (o *options) teamFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&o.team, "team", "", "team, by name or id (default: the first)")
	return cmd
}

// open opens store and engine for a command that works beside a server.
func (o *options) open(ctx context.Context, create bool) (*engine.Engine, func(), error) {
	store, err := db.Open(ctx, db.Options{Path: o.db, Schema: schema, Create: create})
	if err != nil {
		return nil, nil, err
	}
	e, err := o.engine(ctx, engine.Config{DB: store})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return e, func() { store.Close() }, nil
}

// engine makes an engine with the master key beside the database.
func (o *options) engine(ctx context.Context, cfg engine.Config) (*engine.Engine, error) {
	path := o.masterKey
	if path == "" {
		path = o.db + ".key"
	}
	fresh, err := cfg.DB.Fresh(ctx)
	if err != nil {
		return nil, err
	}
	master, err := db.MasterKey(path, fresh)
	if err != nil {
		return nil, err
	}
	if cfg.Sealer, err = app.NewSealer(master); err != nil {
		return nil, err
	}
	return engine.New(ctx, cfg)
}

// with runs fn on an engine beside a server.
func (o *options) with(cmd *cobra.Command, create bool, fn func(ctx context.Context, e *engine.Engine) error) error {
	e, done, err := o.open(cmd.Context(), create)
	if err != nil {
		return err
	}
	defer done()
	return fn(cmd.Context(), e)
}

// withTeam is with, and finds the team that the flags name.
func (o *options) withTeam(cmd *cobra.Command, create bool, fn func(ctx context.Context, e *engine.Engine, team app.Team) error) error {
	return o.with(cmd, create, func(ctx context.Context, e *engine.Engine) error {
		team, err := e.FindTeam(ctx, o.team)
		if err != nil {
			return err
		}
		return fn(ctx, e, team)
	})
}

func serveCommand(o *options) *cobra.Command {
	cmd := command("serve", "Run the API and send mail", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return o.serve(cmd) })
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:3000", "address of the HTTP API")
	f.StringVar(&o.baseURL, "base-url", "", "public address of the API (default: the listen address)")
	f.StringArrayVar(&o.relays, "relay", nil, "[REGION=]smtp://user:pass@host:587 or smtps://…; repeatable, the first is the default; none: mail is captured and never leaves")
	f.StringVar(&o.mode, "mode", "self-hosted", "self-hosted")
	f.IntVar(&o.rateLimit, "rate-limit", web.DefaultRateLimit, "requests a second of one key; 0: no limit")
	f.Int64Var(&o.maxAttachments, "max-attachments", app.DefaultMaxAttachmentBytes, "bytes of attachments in one email, decoded")
	f.DurationVar(&o.drainTimeout, "drain-timeout", 30*time.Second, "how long a stop waits for running work")
	f.DurationVar(&o.doubtDelay, "doubt-delay", time.Minute, "how long a message whose reply was lost waits before it is sent again")
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")
	f.BoolVar(&o.dev, "dev", false, "try it out: mailer-dev.db, mail is captured, a key is made and shown")
	return o.storeFlags(cmd)
}

func (o *options) logger() (*slog.Logger, error) {
	switch o.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, nil)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, nil)), nil
	}
	return nil, fmt.Errorf("--log-format must be text or json, is %q", o.logFormat)
}

// check refuses settings that contradict each other, before anything is opened.
func (o *options) check(cmd *cobra.Command) error {
	if o.mode != "self-hosted" {
		return fmt.Errorf("--mode %q is not supported; self-hosted is", o.mode)
	}
	if _, err := net.ResolveTCPAddr("tcp", o.listen); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if o.dev && len(o.relays) > 0 {
		return errors.New("--dev captures all mail; it can't be used with --relay")
	}
	if o.dev && !cmd.Flags().Changed("db") {
		o.db = "mailer-dev.db"
	}
	if o.baseURL == "" {
		return nil
	}
	u, err := url.Parse(o.baseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("--base-url %q is not an http or https address", o.baseURL)
	}
	return nil
}

// routes makes the relays' clients; without a relay, the capture transport.
func (o *options) routes(log *slog.Logger, load *app.Load) (routes []engine.Route, capture bool, err error) {
	relays, err := app.ParseRelays(o.relays)
	if err != nil {
		return nil, false, err
	}
	hello, _ := os.Hostname() // unknown: smtpout says localhost
	opts := smtpout.Options{Hello: hello, Log: log, Load: load}
	for _, r := range relays {
		client, err := smtpout.NewRelay(r, opts)
		if err != nil {
			return nil, false, err
		}
		routes = append(routes, engine.Route{Relay: r, Sender: smtpout.WithSimulator(client)})
	}
	if len(routes) == 0 {
		relay := app.Relay{Region: app.CaptureRegion, Connections: 4, DKIM: true}
		return []engine.Route{{Relay: relay, Sender: smtpout.WithSimulator(smtpout.NewCapture(opts))}}, true, nil
	}
	return routes, false, nil
}

func (o *options) serve(cmd *cobra.Command) error {
	if err := o.check(cmd); err != nil {
		return err
	}
	log, err := o.logger()
	if err != nil {
		return err
	}
	load := &app.Load{}
	routes, capture, err := o.routes(log, load)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	store, err := db.Open(ctx, db.Options{Path: o.db, Schema: schema, Create: true, Lock: true, Log: log})
	if err != nil {
		return err
	}
	err = o.serveEngine(ctx, log, store, engine.Config{DB: store, Log: log, Routes: routes, Capture: capture,
		MaxAttachments: o.maxAttachments, DoubtDelay: o.doubtDelay, Load: load})
	return errors.Join(err, store.Close())
}

func (o *options) serveEngine(ctx context.Context, log *slog.Logger, store *db.DB, cfg engine.Config) error {
	listener, err := net.Listen("tcp", o.listen) // after the lock: of two servers the second hears of the database
	if err != nil {
		return err
	}
	defer listener.Close()
	if o.baseURL == "" {
		o.baseURL = "http://" + listener.Addr().String()
	}
	cfg.BaseURL = o.baseURL
	e, err := o.engine(ctx, cfg)
	if err != nil {
		return err
	}
	if err := e.Start(ctx); err != nil {
		return err
	}
	server := web.NewServer(web.New(web.Config{Engine: e, Log: log, BaseURL: o.baseURL, RateLimit: o.rateLimit}))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	err = o.announce(ctx, log, listener, e)
	debug.FreeOSMemory() // what making the API's document took
	if err == nil {
		select {
		case <-ctx.Done():
			log.Info("stopping")
		case <-store.Failed():
			err = store.Err()
		case err = <-ended:
		}
	}
	drain, cancel := context.WithTimeout(context.Background(), o.drainTimeout)
	defer cancel()
	e.Drain()
	err = errors.Join(err, server.Shutdown(drain))
	e.Stop(drain)
	return err
}

// announce says where the server is and where its mail goes.
func (o *options) announce(ctx context.Context, log *slog.Logger, listener net.Listener, e *engine.Engine) error {
	log.Info("listening", "address", listener.Addr().String(), "base_url", o.baseURL, "db", o.db)
	for _, relay := range e.Relays() {
		log.Info("mail leaves through", "relay", relay)
	}
	if e.Captures() {
		log.Info("no relay is configured: mail is signed and kept, and nothing leaves this machine; read it at GET /emails/{id}/raw")
	}
	if !o.dev {
		return nil
	}
	token, err := e.DevKey(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("\nMailer is ready. Send an email (it is captured, nothing leaves this machine):\n\n"+
		"curl -sS %s/emails -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' -d '%s'\n\n",
		o.baseURL, token, `{"from":"Mailer <hello@example.com>","to":"you@example.org","subject":"It works","text":"Hello from Mailer"}`)
	return nil
}

func migrateCommand(o *options) *cobra.Command {
	cmd := command("migrate", "Bring the database to this version", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		m, err := db.Migrate(cmd.Context(), db.Options{Path: o.db, Schema: schema, Create: true}, o.dryRun)
		if err != nil {
			return err
		}
		verb := map[bool]string{true: "would run", false: "ran"}[o.dryRun]
		return o.done(m, fmt.Sprintf("version %d -> %d; %s %q; copy of the old database: %q", m.From, m.To, verb, m.Steps, m.Copy))
	})
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "only say what would be done")
	return o.jsonFlag(cmd)
}

func group(use, short string, sub ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short}
	cmd.AddCommand(sub...)
	return cmd
}

func versionCommand(o *options) *cobra.Command {
	cmd := command("version", "Print version, commit and SQLite version", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		sqlite, err := db.SQLiteVersion(cmd.Context())
		if err != nil {
			return err
		}
		v := cli.BuildVersion(sqlite)
		return o.done(v, fmt.Sprintf("mailer %s, commit %s, SQLite %s", v["version"], v["commit"], v["sqlite"]))
	})
	return o.jsonFlag(cmd)
}

func keysCommand(o *options) *cobra.Command {
	create := command("create", "Make an API key and print it, once", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return o.withTeam(cmd, true, func(ctx context.Context, e *engine.Engine, team app.Team) error {
			token, key, err := e.CreateKey(ctx, team.ID, app.KeyInput{Name: o.name, Permission: app.Permission(o.permission), Role: app.Role(o.role), Domain: o.domain})
			if err != nil {
				return err
			}
			return o.done(map[string]string{"object": "api_key", "id": key.ID, "token": token}, token)
		})
	})
	f := create.Flags()
	f.StringVar(&o.name, "name", "", "what the key is for (required)")
	f.StringVar(&o.permission, "permission", string(app.FullAccess), "full_access or sending_access")
	f.StringVar(&o.domain, "domain", "", "the one domain that the key may send from; with sending_access")
	f.StringVar(&o.role, "role", string(app.RoleOwner), "owner, admin or member")
	list := command("list", "List the keys of a team", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return o.withTeam(cmd, false, func(ctx context.Context, e *engine.Engine, team app.Team) error {
			keys, err := e.ListKeys(ctx, team.ID)
			if err != nil {
				return err
			}
			return cli.Print(os.Stdout, o.asJSON, cli.Keys(keys))
		})
	})
	revoke := command("revoke ID", "End a key; a running server obeys within a second", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return o.with(cmd, false, func(ctx context.Context, e *engine.Engine) error {
			if err := e.RevokeKey(ctx, args[0]); err != nil {
				return err
			}
			return o.done(map[string]any{"object": "api_key", "id": args[0], "deleted": true}, "revoked "+args[0])
		})
	})
	return group("keys", "API keys", o.teamFlag(o.jsonFlag(create)), o.teamFlag(o.jsonFlag(list)), o.jsonFlag(revoke))
}

// done prints what a command did: JSON, or words.
func (o *options) done(object any, words string) error {
	if o.asJSON {
		return cli.PrintJSON(os.Stdout, object)
	}
	fmt.Println(words)
	return nil
}

func teamsCommand(o *options) *cobra.Command {
	create := command("create NAME", "Add a team", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return o.with(cmd, true, func(ctx context.Context, e *engine.Engine) error {
			team, err := e.CreateTeam(ctx, args[0])
			if err != nil {
				return err
			}
			return o.done(map[string]string{"object": "team", "id": team.ID, "name": team.Name}, team.ID)
		})
	})
	list := command("list", "List all teams", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return o.with(cmd, false, func(ctx context.Context, e *engine.Engine) error {
			teams, err := e.ListTeams(ctx)
			if err != nil {
				return err
			}
			return cli.Print(os.Stdout, o.asJSON, cli.Teams(teams))
		})
	})
	return group("teams", "Teams, which never see each other's data", o.jsonFlag(create), o.jsonFlag(list))
}

func domainsCommand(o *options) *cobra.Command {
	add := command("add NAME", "Add a sending domain with a DKIM key of its own", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return o.withTeam(cmd, true, func(ctx context.Context, e *engine.Engine, team app.Team) error {
			d, err := e.AddDomain(ctx, team.ID, args[0], o.region, o.trust)
			if err != nil {
				return err
			}
			return cli.Print(os.Stdout, o.asJSON, cli.Records(d.Records()))
		})
	})
	add.Flags().StringVar(&o.region, "region", "", "region of the relay that its mail leaves through (default: "+app.DefaultRegion+")")
	add.Flags().BoolVar(&o.trust, "trust", false, "count it as verified without asking the DNS")
	list := command("list", "List the domains of a team", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return o.withTeam(cmd, false, func(ctx context.Context, e *engine.Engine, team app.Team) error {
			domains, err := e.ListDomains(ctx, team.ID)
			if err != nil {
				return err
			}
			return cli.Print(os.Stdout, o.asJSON, cli.Domains(domains))
		})
	})
	records := command("records NAME", "Show the DNS records of a domain", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return o.withTeam(cmd, false, func(ctx context.Context, e *engine.Engine, team app.Team) error {
			d, err := e.DomainByName(ctx, team.ID, args[0])
			if err != nil {
				return err
			}
			return cli.Print(os.Stdout, o.asJSON, cli.Records(d.Records()))
		})
	})
	return group("domains", "Sending domains", o.teamFlag(o.jsonFlag(add)), o.teamFlag(o.jsonFlag(list)), o.teamFlag(o.jsonFlag(records)))
}

func sendCommand(o *options) *cobra.Command {
	cmd := command("send", "Send one email through the queue of the server", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		in := &app.EmailInput{From: o.from, To: o.to, Subject: o.subject}
		if cmd.Flags().Changed("text") {
			in.Text = &o.text
		}
		if o.htmlFile != "" {
			html, err := os.ReadFile(o.htmlFile)
			if err != nil {
				return err
			}
			in.HTML = string(html)
		}
		return o.withTeam(cmd, true, func(ctx context.Context, e *engine.Engine, team app.Team) error {
			id, err := e.SendEmail(ctx, &app.Key{TeamID: team.ID, Permission: app.FullAccess, Role: app.RoleOwner}, in, engine.SendOptions{})
			if err != nil {
				return err
			}
			fmt.Println(id)
			if !db.InUse(o.db) {
				fmt.Fprintln(os.Stderr, "mailer: it is stored; it leaves when mailer serve runs on this database")
			}
			return nil
		})
	})
	f := cmd.Flags()
	f.StringVar(&o.from, "from", "", "sender (required)")
	f.StringArrayVar(&o.to, "to", nil, "recipient (required, repeatable)")
	f.StringVar(&o.subject, "subject", "", "subject (required)")
	f.StringVar(&o.text, "text", "", "text part")
	f.StringVar(&o.htmlFile, "html-file", "", "file of the HTML part")
	return o.teamFlag(o.storeFlags(cmd))
}

func doubtsCommand(o *options) *cobra.Command {
	cmd := command("doubts", "List transactions whose outcome at the relay is or was unknown", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return o.with(cmd, false, func(ctx context.Context, e *engine.Engine) error {
			doubts, err := e.ListDoubts(ctx, !db.InUse(o.db))
			if err != nil {
				return err
			}
			return cli.Print(os.Stdout, o.asJSON, cli.Doubts(doubts))
		})
	})
	return o.jsonFlag(cmd)
}
