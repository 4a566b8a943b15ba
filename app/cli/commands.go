package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/user"
	"strconv"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/server"
)

// Store opens the database for commands, whether or not a server runs on it.
type Store struct {
	// Open opens database and services; done closes them. It is called after the flags were parsed.
	Open func(ctx context.Context, f StoreFlags, create bool) (e *server.Server, done func(), err error)
	// InUse reports whether a server runs on the database.
	InUse func(path string) bool
	// Fetch returns a function that fetches files from public hosts, and from the ranges in allow.
	Fetch func(allow []netip.Prefix) app.FetchFiles
	// Schema is the text of schema.sql.
	Schema string

	flags  StoreFlags
	team   string
	asJSON bool
}

// StoreFlags are the flags for the database, its master key, and the DNS server.
type StoreFlags struct {
	DB        string
	MasterKey string // empty: next to the database
	Resolver  string // HOST:PORT; empty: the authoritative servers
}

// Bind adds all flags but --resolver, which few commands need.
func (f *StoreFlags) Bind(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&f.DB, "db", "mailer.db", "database file, or the URL of a PostgreSQL database (postgres://…)")
	cmd.Flags().StringVar(&f.MasterKey, "master-key-file", "", "file of the master key (default: the database's name with .key)")
	return cmd
}

// CheckKeyFile requires --master-key-file for a PostgreSQL database.
func (f *StoreFlags) CheckKeyFile() error {
	if server.RequireFile(f.DB) == nil || f.MasterKey != "" {
		return nil
	}
	return fmt.Errorf("--master-key-file must name the file of the master key: %s is on another machine, and every server that uses it needs the same key", server.DatabaseName(f.DB))
}

// CheckLocation refuses flags that the kind of database does not support.
func (f *StoreFlags) CheckLocation(standby bool, backupDir string) error {
	notFile := server.RequireFile(f.DB)
	switch {
	case notFile == nil && standby:
		return errors.New("--standby needs a PostgreSQL database: add --db postgres://…")
	case notFile != nil && backupDir != "":
		return fmt.Errorf("--backup-dir: %w", notFile)
	}
	return f.CheckKeyFile()
}

// ResolverFlag adds --resolver to a command that checks DNS records.
func ResolverFlag(cmd *cobra.Command, resolver *string) *cobra.Command {
	cmd.Flags().StringVar(resolver, "resolver", "", "HOST:PORT of the DNS server for domain checks (default: the authoritative servers of each domain)")
	return cmd
}

// JSONFlag adds --json to a command.
func JSONFlag(cmd *cobra.Command, asJSON *bool) *cobra.Command {
	cmd.Flags().BoolVar(asJSON, "json", false, "print JSON")
	return cmd
}

// Commands returns the commands that work on a database.
func (c *Store) Commands() []*cobra.Command {
	return []*cobra.Command{
		c.keys(),
		c.teams(),
		c.users(),
		c.domains(),
		c.reports(),
		c.suppressions(),
		c.pages(),
		c.forms(),
		c.optIns(),
		c.automations(),
		c.events(),
		c.audit(),
		c.send(),
		c.doubts(),
		c.ingest(),
		c.relays(),
		c.masterKey(),
		c.queue(),
		c.check(),
		c.status(),
		c.doctor(),
		c.disk(),
		imports(c),
		c.backup(),
		c.restore(),
		move(c),
		c.export(),
	}
}

func (c *Store) jsonFlag(cmd *cobra.Command) *cobra.Command {
	return JSONFlag(c.flags.Bind(cmd), &c.asJSON)
}

func (c *Store) teamFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&c.team, "team", "", "team, by name or id (default: the first)")
	return cmd
}

func newCommand(use, short string, args cobra.PositionalArgs, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	checked := func(cmd *cobra.Command, given []string) error {
		if err := args(cmd, given); err != nil {
			return wrongArguments(cmd, given)
		}
		return nil
	}
	return &cobra.Command{Use: use, Short: short, Args: checked, RunE: run}
}

func group(use, short string, sub ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short}
	cmd.AddCommand(sub...)
	return cmd
}

// with runs fn with the services, next to a running server or alone.
func (c *Store) with(cmd *cobra.Command, create bool, fn func(ctx context.Context, e *server.Server) error) error {
	e, done, err := c.Open(cmd.Context(), c.flags, create)
	if err != nil {
		return notWritable(c.flags.DB, server.DamageError(c.flags.DB, err))
	}
	defer done()
	return notWritable(c.flags.DB, server.DamageError(c.flags.DB, fn(app.WithActor(cmd.Context(), operator), e)))
}

// operator returns the actor of a command for the audit log.
func operator() app.Actor {
	name := os.Getenv("SUDO_USER")
	if u, err := user.Current(); name == "" && err == nil {
		name = u.Username
	}
	return app.Actor{Type: app.ActorCLI, Name: cmp.Or(name, strconv.Itoa(os.Getuid()))}
}

// withTeam is with for the team that the flags name.
func (c *Store) withTeam(cmd *cobra.Command, create bool, fn func(ctx context.Context, e *server.Server, team app.Team) error) error {
	return c.with(cmd, create, func(ctx context.Context, e *server.Server) error {
		team, err := e.Teams.FindTeam(ctx, c.team)
		if err != nil {
			return err
		}
		return fn(ctx, e, team)
	})
}

// warnUnserved prints on standard error what a command can't know if no server ever ran on the
// database: relays and the public URL are settings of mailer serve.
func warnUnserved(e *server.Server, lack string) {
	if len(e.Domains.Regions()) == 0 {
		fmt.Fprintln(os.Stderr, "mailer: no server has run on this database yet: "+lack+"; start mailer serve once, then run this command again")
	}
}

// printDone prints what a command did.
func (c *Store) printDone(object any, msg string) error { return PrintDone(c.asJSON, object, msg) }

// PrintDone prints what a command did, as JSON or text.
func PrintDone(asJSON bool, object any, msg string) error {
	if asJSON {
		return PrintJSON(os.Stdout, object)
	}
	fmt.Println(printableLines(msg))
	return nil
}
