package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mailer/app/sending/relays"
	"mailer/app/server"
)

func (c *Store) relaysOrder() *cobra.Command {
	return c.jsonFlag(newCommand("order REGION RELAY…", "Set the order of a region's relays: the first is the primary, the others take over in this order", cobra.MinimumNArgs(2), func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			st, err := e.Relays.Order(ctx, args[0], args[1:])
			if err != nil {
				return err
			}
			return c.printDone(st, "set the order of "+st.Region+": "+strings.Join(st.Relays, ", "))
		})
	}))
}

func (c *Store) relaysFailover() *cobra.Command {
	var after, back, doubts string
	var broadcasts, aligned bool
	cmd := newCommand("failover REGION auto|manual|off", "Choose who switches a region to a reserve: the server (auto), or you (manual, off)", cobra.ExactArgs(2), func(cmd *cobra.Command, args []string) error {
		in := relays.PolicyInput{Mode: &args[1]}
		f := cmd.Flags()
		for name, set := range map[string]func(){"after": func() { in.After = &after }, "back-after": func() { in.BackAfter = &back }, "doubts": func() { in.Doubts = &doubts },
			"broadcasts": func() { in.Broadcasts = &broadcasts }, "aligned-only": func() { in.AlignedOnly = &aligned }} {
			if f.Changed(name) {
				set()
			}
		}
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			st, err := e.Relays.SetPolicy(ctx, args[0], in)
			if err != nil {
				return err
			}
			p := st.Policy
			text := map[string]string{
				"auto":   fmt.Sprintf("%s switches to a reserve after %s without its relay, and back %s after the relay works again", st.Region, p.After, p.BackAfter),
				"manual": fmt.Sprintf("%s never switches alone; status, log and dashboard say when a reserve is available", st.Region),
				"off":    st.Region + " never switches alone",
			}[string(p.Mode)]
			if len(st.Relays) == 1 {
				text += "; it has no reserve yet: add one with mailer relays add " + st.Region + " --name NAME --reserve --url-file FILE"
			}
			return c.printDone(st, text)
		})
	})
	f := cmd.Flags()
	f.StringVar(&after, "after", "2m", "how long the active relay has been unusable before mail leaves through a reserve")
	f.StringVar(&back, "back-after", "10m", "how long the primary has passed its tests before mail leaves through it again")
	f.BoolVar(&broadcasts, "broadcasts", false, "when the daily limit of the active relay is used up, broadcasts leave through a reserve too")
	f.BoolVar(&aligned, "aligned-only", false, "mail of domains whose DNS records do not name the reserve waits")
	f.StringVar(&doubts, "doubts", "keep", "mail that the failed relay may have sent: keep it for that relay, or send it again through the reserve, possibly a second time")
	return c.jsonFlag(cmd)
}

func (c *Store) relaysSwitch() *cobra.Command {
	var auto bool
	cmd := newCommand("switch REGION RELAY | switch REGION --auto", "Make a relay of a region the active one now, until --auto", cobra.RangeArgs(1, 2), func(cmd *cobra.Command, args []string) error {
		if auto == (len(args) == 2) {
			return errors.New("name a relay of the region, or give --auto")
		}
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) (err error) {
			var st relays.RegionStatus
			if auto {
				if st, err = e.Relays.Auto(ctx, args[0]); err != nil {
					return err
				}
				return c.printDone(st, fmt.Sprintf("the server chooses the relay of %s again; mail leaves through %s now", st.Region, st.Active))
			}
			if st, err = e.Relays.Switch(ctx, args[0], args[1]); err != nil {
				return err
			}
			return c.printDone(st, fmt.Sprintf("mail of %s leaves through %s until mailer relays switch %s --auto", st.Region, st.Active, st.Region))
		})
	})
	cmd.Flags().BoolVar(&auto, "auto", false, "let the server choose the relay again")
	return c.jsonFlag(cmd)
}
