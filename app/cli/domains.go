package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/server"
	"mailer/app/tenants/domains"
)

func (c *Store) domains() *cobra.Command {
	return group("domains", "Sending domains",
		c.domainsAdd(), c.domainsList(),
		c.ofDomain("records NAME", "Show the DNS records to publish, and the result of the last check", (*domains.Service).DomainByName),
		c.domainsVerify(), c.domainsPublish(),
		c.ofDomain("rotate-dkim NAME", "Create the next DKIM key; it is used once a check finds its DNS record", (*domains.Service).RotateDKIM),
		c.domainsTrust(), c.domainsDelete())
}

// bareName returns the domain name in a URL or an email address.
func bareName(text string) string {
	if _, rest, ok := strings.Cut(text, "://"); ok {
		text = rest
	}
	text, _, _ = strings.Cut(text, "/")
	return text[strings.LastIndexByte(text, '@')+1:]
}

func (c *Store) domainsTrust() *cobra.Command {
	var off bool
	cmd := newCommand("trust NAME", "Treat a domain as verified without DNS checks; --off turns the checks on again", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			d, err := e.Domains.Trust(ctx, team.ID, bareName(args[0]), !off)
			if err != nil {
				return noDomain(ctx, e, &team, bareName(args[0]), err)
			}
			msg := fmt.Sprintf("%s is trusted: it counts as verified without DNS checks", d.Name)
			if off {
				msg = fmt.Sprintf("%s is no longer trusted; its status is %s, and the server checks its records now", d.Name, d.Status)
			}
			object := domainObject(&d)
			object["object"], object["trusted"] = "domain", d.Trusted
			return c.printDone(object, msg)
		})
	})
	cmd.Flags().BoolVar(&off, "off", false, "check the domain's DNS records again")
	return c.teamFlag(c.jsonFlag(cmd))
}

func (c *Store) domainsDelete() *cobra.Command {
	cmd := newCommand("delete NAME", "Delete a domain with its DKIM keys and the API keys that are bound to it; its queued mail fails", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			deleted, err := e.Domains.DeleteByName(ctx, team.ID, bareName(args[0]))
			if err != nil {
				return noDomain(ctx, e, &team, bareName(args[0]), err)
			}
			d := &deleted.Domain
			return c.printDone(map[string]any{"object": "domain", "id": d.ID, "name": d.Name, "deleted": true, "waiting": deleted.Waiting, "keys": deleted.Keys},
				fmt.Sprintf("deleted %s of %s; API keys revoked: %d; queued emails that will fail: %d", d.Name, team.Name, deleted.Keys, deleted.Waiting))
		})
	})
	return c.teamFlag(c.jsonFlag(cmd))
}

func (c *Store) domainsAdd() *cobra.Command {
	var in app.DomainInput
	cmd := newCommand("add NAME", "Add a sending domain with its own DKIM key, and show the DNS records to publish", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		in.Name = bareName(args[0])
		return c.withTeam(cmd, true, func(ctx context.Context, e *server.Server, team app.Team) error {
			d, err := e.Domains.AddDomain(ctx, team.ID, in)
			if err != nil {
				return err
			}
			return c.printDomain(e, &d)
		})
	})
	cmd.Flags().StringVar(&in.Region, "region", "", "region of the relay for the domain's mail (default: the server's first relay)")
	cmd.Flags().BoolVar(&in.Trusted, "trust", false, "treat the domain as verified without DNS checks")
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

// ofDomain makes a command that acts on one domain and prints its records.
func (c *Store) ofDomain(use, short string, do func(s *domains.Service, ctx context.Context, teamID, name string) (app.Domain, error)) *cobra.Command {
	cmd := newCommand(use, short, cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			d, err := do(e.Domains, ctx, team.ID, bareName(args[0]))
			if err != nil {
				return noDomain(ctx, e, &team, bareName(args[0]), err)
			}
			return c.printDomain(e, &d)
		})
	})
	return c.teamFlag(c.jsonFlag(cmd))
}

func (c *Store) domainsVerify() *cobra.Command {
	cmd := newCommand("verify NAME", "Check the DNS records of a domain now and show the result. Exits 0 only if the domain is verified", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			d, err := e.Domains.CheckDomain(ctx, team.ID, bareName(args[0]))
			if err != nil {
				return noDomain(ctx, e, &team, bareName(args[0]), err)
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
