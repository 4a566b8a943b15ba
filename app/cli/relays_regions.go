package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/sending/relays"
	"mailer/app/server"
)

func (c *Store) addExisting(cmd *cobra.Command, region, relay string) error {
	return c.with(cmd, true, func(ctx context.Context, e *server.Server) error {
		st, err := e.Relays.AddExisting(ctx, region, relay)
		if err != nil {
			return err
		}
		return c.printDone(st, relay+" is a reserve of "+st.Region+" too; its relays are "+strings.Join(st.Relays, ", "))
	})
}

// printRegions prints through which relay the mail of each region with reserves leaves, and why.
func printRegions(all []relays.Status) {
	for i := range all {
		if all[i].Failover != nil {
			fmt.Println("\n" + regionText(all[i].Region, all[i].Failover, all))
		}
	}
}

func regionText(region string, f *relays.Failover, all []relays.Status) string {
	var out strings.Builder
	role := "the primary"
	if f.Active != f.Primary {
		role = "a reserve"
	}
	fmt.Fprintf(&out, "%s: mail leaves through %s, %s", region, f.Active, role)
	if f.SwitchedAt != nil {
		fmt.Fprintf(&out, ", since %s", *f.SwitchedAt)
		if f.SwitchReason != nil {
			fmt.Fprintf(&out, ", because %s", *f.SwitchReason)
		}
	}
	out.WriteString("\n")
	if f.Available != nil {
		fmt.Fprintf(&out, "  nothing leaves, and the reserve %s works: mailer relays switch %s %s\n", *f.Available, region, app.ShortRelay(*f.Available))
	}
	switch {
	case f.ByOperator:
		fmt.Fprintf(&out, "  an operator chose it: mailer relays switch %s --auto lets the server choose again\n", region)
	case f.HeldUntil != nil:
		fmt.Fprintf(&out, "  it switched often, and does not return to an earlier relay before %s\n", *f.HeldUntil)
	}
	if f.Active != f.Primary {
		fmt.Fprintf(&out, "  moved %d messages since the switch", f.Moved)
		if f.Kept > 0 {
			fmt.Fprintf(&out, "; %d with unknown outcome are kept for the relay that may have sent them (mailer doubts)", f.Kept)
		}
		out.WriteString("\n")
	}
	fmt.Fprintf(&out, "  policy %s, after %s, back after %s; sent in the last hour and day:", f.Policy.Mode, f.Policy.After, f.Policy.BackAfter)
	for _, name := range append([]string{f.Primary}, f.Reserves...) {
		for i := range all {
			if all[i].FullName() == name && all[i].Traffic != nil {
				fmt.Fprintf(&out, " %s %d and %d,", name, all[i].SentHour, all[i].SentDay)
			}
		}
	}
	return strings.TrimSuffix(out.String(), ",")
}

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
