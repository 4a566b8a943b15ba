package cli

import (
	"context"
	"errors"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"mailer/app/sending/relays"
	"mailer/app/server"
)

func (c *Store) relaysRoute() *cobra.Command {
	return group("route", "Manage the rules by which mail leaves through certain relays of a region", c.relaysRouteAdd(), c.relaysRouteRemove())
}

func (c *Store) relaysRouteAdd() *cobra.Command {
	var in relays.RouteInput
	cmd := newCommand("add REGION", "Add a rule: mail that meets all its conditions leaves through a relay. The first matching rule counts; it applies to mail that is accepted from now on", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		f := cmd.Flags()
		switch {
		case in.Relay == "":
			return errors.New("--relay is required: the relay of the region through which the mail leaves")
		case f.Changed("weight") && (in.Weight < 1 || in.Weight > 99):
			return errors.New("--weight must be a percentage from 1 to 99")
		}
		for _, name := range []string{"to-domain", "stream", "key"} {
			if f.Changed(name) && (f.Lookup(name).Value.String() == "" || f.Lookup(name).Value.String() == "[]") {
				return errors.New("--" + name + " must not be empty")
			}
		}
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			added, err := e.Relays.AddRoute(ctx, args[0], in)
			if err != nil {
				return err
			}
			return c.printDone(added, "added the rule "+added.ID+" as number "+strconv.Itoa(added.Position)+" of "+added.Region+": "+added.Rule)
		})
	})
	f := cmd.Flags()
	f.StringSliceVar(&in.ToDomains, "to-domain", nil, "domains of recipients, like gmail.com,googlemail.com")
	f.StringVar(&in.Stream, "stream", "", "transactional or broadcast")
	f.StringVar(&in.Key, "key", "", "id or name of the API key that sends the mail")
	f.IntVar(&in.Weight, "weight", 0, "percentage of the mail, 1 to 99; an email always falls on the same side (default: all)")
	f.StringVar(&in.Relay, "relay", "", "relay of the region through which the mail leaves")
	f.BoolVar(&in.Strict, "strict", false, "mail waits while the relay can't be used, instead of leaving through the active one")
	return c.jsonFlag(cmd)
}

func (c *Store) relaysRouteRemove() *cobra.Command {
	return c.jsonFlag(newCommand("remove REGION ID", "Remove a rule; mailer relays routes lists their ids", cobra.ExactArgs(2), func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			removed, err := e.Relays.RemoveRoute(ctx, args[0], args[1])
			if err != nil {
				return err
			}
			return c.printDone(removed, "removed the rule "+removed.ID+" of "+removed.Region+": "+removed.Rule)
		})
	}))
}

func (c *Store) relaysRoutes() *cobra.Command {
	return c.jsonFlag(newCommand("routes [REGION]", "List the rules by which mail leaves through certain relays, in their order", cobra.MaximumNArgs(1), func(cmd *cobra.Command, args []string) error {
		region := ""
		if len(args) == 1 {
			region = args[0]
		}
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			all, err := e.Relays.Routes(ctx, region)
			if err != nil {
				return err
			}
			if c.asJSON {
				return PrintJSON(os.Stdout, all)
			}
			t := Table{Head: []string{"REGION", "POSITION", "ID", "RULE", "NOTE"}}
			for _, r := range all {
				t.Rows = append(t.Rows, Row{Cells: []string{r.Region, strconv.Itoa(r.Position), r.ID, r.Rule, orDash(r.Note)}})
			}
			return Print(os.Stdout, false, t)
		})
	}))
}
