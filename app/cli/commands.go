package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/server"
)

// Store is the way of the commands to the database, beside a server or alone.
type Store struct {
	// Open opens store and services; done closes them. The flags were read already.
	Open func(ctx context.Context, f StoreFlags, create bool) (e *server.Server, done func(), err error)
	// InUse tells whether a server runs on the database.
	InUse func(path string) bool
	// Schema is the text of schema.sql.
	Schema string

	flags  StoreFlags
	team   string
	asJSON bool
}

// StoreFlags say where the database and its master key are, and whom to ask
// about DNS records.
type StoreFlags struct {
	DB        string
	MasterKey string // empty: beside the database
	Resolver  string // HOST:PORT; empty: the authoritative servers
}

// Bind adds the flags to a command, but for that of the resolver, which few need.
func (f *StoreFlags) Bind(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&f.DB, "db", "mailer.db", "database file, or the URL of a PostgreSQL database (postgres://…)")
	cmd.Flags().StringVar(&f.MasterKey, "master-key-file", "", "file of the master key (default: the database's name with .key)")
	return cmd
}

// CheckKeyFile refuses to look for the master key beside a database that is elsewhere.
func (f *StoreFlags) CheckKeyFile() error {
	if server.RequireFile(f.DB) == nil || f.MasterKey != "" {
		return nil
	}
	return fmt.Errorf("--master-key-file must name the file of the master key: %s is on another machine, and every server that uses it needs the same key", server.DatabaseName(f.DB))
}

// CheckLocation refuses what a server can't have of a database where it is.
func (f *StoreFlags) CheckLocation(standby bool, backupDir string) error {
	elsewhere := server.RequireFile(f.DB)
	switch {
	case elsewhere == nil && standby:
		return errors.New("--standby needs a PostgreSQL database: add --db postgres://…")
	case elsewhere != nil && backupDir != "":
		return fmt.Errorf("--backup-dir: %w", elsewhere)
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

// Commands are those that work on a database: keys, teams, domains, send, doubts,
// ingest, and what an operator needs.
func (c *Store) Commands() []*cobra.Command {
	return []*cobra.Command{
		c.keys(),
		c.teams(),
		c.users(),
		c.domains(),
		c.suppressions(),
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
	said := func(cmd *cobra.Command, given []string) error {
		if err := args(cmd, given); err != nil {
			return wrongArguments(cmd, given)
		}
		return nil
	}
	return &cobra.Command{Use: use, Short: short, Args: said, RunE: run}
}

func group(use, short string, sub ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short}
	cmd.AddCommand(sub...)
	return cmd
}

// with runs fn on services beside a server.
func (c *Store) with(cmd *cobra.Command, create bool, fn func(ctx context.Context, e *server.Server) error) error {
	e, done, err := c.Open(cmd.Context(), c.flags, create)
	if err != nil {
		return notWritable(c.flags.DB, server.DamageError(c.flags.DB, err))
	}
	defer done()
	return notWritable(c.flags.DB, server.DamageError(c.flags.DB, fn(app.WithActor(cmd.Context(), operator), e)))
}

// operator is who runs a command, as the audit log names him.
func operator() app.Actor {
	name := os.Getenv("SUDO_USER")
	if u, err := user.Current(); name == "" && err == nil {
		name = u.Username
	}
	return app.Actor{Type: app.ActorCLI, Name: cmp.Or(name, strconv.Itoa(os.Getuid()))}
}

// withTeam is with, and finds the team that the flags name.
func (c *Store) withTeam(cmd *cobra.Command, create bool, fn func(ctx context.Context, e *server.Server, team app.Team) error) error {
	return c.with(cmd, create, func(ctx context.Context, e *server.Server) error {
		team, err := e.Teams.FindTeam(ctx, c.team)
		if err != nil {
			return err
		}
		return fn(ctx, e, team)
	})
}

// warnUnserved says on standard error what a command can't know where no server
// ran on the database: relays and public address are settings of mailer serve.
func warnUnserved(e *server.Server, lack string) {
	if len(e.Domains.Regions()) == 0 {
		fmt.Fprintln(os.Stderr, "mailer: no server has run on this database yet: "+lack+"; start mailer serve once, then run this command again")
	}
}

// done prints what a command did.
func (c *Store) done(object any, msg string) error { return Done(c.asJSON, object, msg) }

// Done prints what a command did: JSON, or words.
func Done(asJSON bool, object any, msg string) error {
	if asJSON {
		return PrintJSON(os.Stdout, object)
	}
	fmt.Println(printableLines(msg))
	return nil
}
