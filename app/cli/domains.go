package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/engine"
)

func domainsCommand(c *Store) *cobra.Command {
	add := newCommand("add NAME", "Add a sending domain with a DKIM key of its own", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.withTeam(cmd, true, func(ctx context.Context, e *engine.Engine, team app.Team) error {
			d, err := e.AddDomain(ctx, team.ID, args[0], c.region, c.trust)
			if err != nil {
				return err
			}
			return Print(os.Stdout, c.asJSON, Records(d.Records()))
		})
	})
	add.Flags().StringVar(&c.region, "region", "", "region of the relay that its mail leaves through (default: "+app.DefaultRegion+")")
	add.Flags().BoolVar(&c.trust, "trust", false, "count it as verified without asking the DNS")
	list := newCommand("list", "List the domains of a team", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *engine.Engine, team app.Team) error {
			domains, err := e.ListDomains(ctx, team.ID)
			if err != nil {
				return err
			}
			return Print(os.Stdout, c.asJSON, Domains(domains))
		})
	})
	records := newCommand("records NAME", "Show the DNS records of a domain", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *engine.Engine, team app.Team) error {
			d, err := e.DomainByName(ctx, team.ID, args[0])
			if err != nil {
				return err
			}
			return Print(os.Stdout, c.asJSON, Records(d.Records()))
		})
	})
	return group("domains", "Sending domains", c.teamFlag(c.jsonFlag(add)), c.teamFlag(c.jsonFlag(list)), c.teamFlag(c.jsonFlag(records)))
}
