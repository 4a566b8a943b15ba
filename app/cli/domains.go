package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/domains"
	"mailer/app/server"
)

func (c *Store) domains() *cobra.Command {
	return group("domains", "Sending domains",
		c.domainsAdd(), c.domainsList(),
		c.ofDomain("records NAME", "Show the DNS records to publish, and what the last check found", (*domains.Service).DomainByName),
		c.domainsVerify(),
		c.ofDomain("rotate-dkim NAME", "Make the next DKIM key; it signs once a check finds its record in the DNS", (*domains.Service).RotateDKIM),
		c.domainsTrust(), c.domainsDelete())
}

func (c *Store) domainsTrust() *cobra.Command {
	var off bool
	cmd := newCommand("trust NAME", "Count a domain as verified without asking the DNS; --off ends that and has it checked", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			d, err := e.Domains.Trust(ctx, team.ID, args[0], !off)
			if err != nil {
				return noDomain(ctx, e, &team, args[0], err)
			}
			words := fmt.Sprintf("%s is trusted: it counts as verified whatever the DNS says", d.Name)
			if off {
				words = fmt.Sprintf("%s is no longer trusted; its status is %s, and the server checks its records now", d.Name, d.Status)
			}
			object := domainObject(&d)
			object["object"], object["trusted"] = "domain", d.Trusted
			return c.done(object, words)
		})
	})
	cmd.Flags().BoolVar(&off, "off", false, "go by the DNS again")
	return c.teamFlag(c.jsonFlag(cmd))
}

func (c *Store) domainsDelete() *cobra.Command {
	cmd := newCommand("delete NAME", "Delete a domain with its DKIM keys and the API keys that are bound to it; mail of it that waits fails", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			gone, err := e.Domains.DeleteByName(ctx, team.ID, args[0])
			if err != nil {
				return noDomain(ctx, e, &team, args[0], err)
			}
			d := &gone.Domain
			return c.done(map[string]any{"object": "domain", "id": d.ID, "name": d.Name, "deleted": true, "waiting": gone.Waiting, "keys": gone.Keys},
				fmt.Sprintf("deleted %s of %s; API keys that ended with it: %d; emails of it that wait and will fail: %d", d.Name, team.Name, gone.Keys, gone.Waiting))
		})
	})
	return c.teamFlag(c.jsonFlag(cmd))
}

func (c *Store) domainsAdd() *cobra.Command {
	var in app.DomainInput
	cmd := newCommand("add NAME", "Add a sending domain with a DKIM key of its own, and show the DNS records to publish", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		in.Name = args[0]
		return c.withTeam(cmd, true, func(ctx context.Context, e *server.Server, team app.Team) error {
			d, err := e.Domains.AddDomain(ctx, team.ID, in)
			if err != nil {
				return err
			}
			return c.printDomain(e, &d)
		})
	})
	cmd.Flags().StringVar(&in.Region, "region", "", "region of the relay that its mail leaves through (default: the server's first)")
	cmd.Flags().BoolVar(&in.Trusted, "trust", false, "count it as verified without asking the DNS, now and later")
	return c.teamFlag(c.jsonFlag(cmd))
}

func (c *Store) domainsList() *cobra.Command {
	cmd := newCommand("list", "List the domains of a team", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			domains, err := allPages(func(page app.Page) ([]app.Domain, bool, error) { return e.Domains.ListDomains(ctx, team.ID, page) },
				func(d *app.Domain) string { return d.ID })
			if err != nil {
				return err
			}
			return Print(os.Stdout, c.asJSON, Domains(domains))
		})
	})
	return c.teamFlag(c.jsonFlag(cmd))
}

// ofDomain makes a command that does something with one domain and prints its
// records.
func (c *Store) ofDomain(use, short string, do func(s *domains.Service, ctx context.Context, teamID, name string) (app.Domain, error)) *cobra.Command {
	cmd := newCommand(use, short, cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			d, err := do(e.Domains, ctx, team.ID, args[0])
			if err != nil {
				return noDomain(ctx, e, &team, args[0], err)
			}
			return c.printDomain(e, &d)
		})
	})
	return c.teamFlag(c.jsonFlag(cmd))
}

func (c *Store) domainsVerify() *cobra.Command {
	cmd := newCommand("verify NAME", "Check the DNS records of a domain now and show what was found; exit code 0 only when it is verified", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			d, err := e.Domains.CheckDomain(ctx, team.ID, args[0])
			if err != nil {
				return noDomain(ctx, e, &team, args[0], err)
			}
			if err := c.printDomain(e, &d); err != nil || d.Status == app.DomainVerified {
				return err
			}
			return fmt.Errorf("%s is not verified: its status is %s", d.Name, d.Status)
		})
	})
	return ResolverFlag(c.teamFlag(c.jsonFlag(cmd)), &c.flags.Resolver)
}

func (c *Store) printDomain(e *server.Server, d *app.Domain) error {
	warnUnserved(e, "the SPF record can't name its relay yet")
	return PrintDomain(os.Stdout, c.asJSON, d, e.Domains.DomainRecords(d))
}
