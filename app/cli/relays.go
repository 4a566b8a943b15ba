package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mailer/app/rules/relayurl"
	"mailer/app/sending/relays"
	"mailer/app/server"
)

func (c *Store) relays() *cobra.Command {
	return group("relays", "Manage relays; a running server uses changes within one second", c.relaysList(), c.relaysAdd(), c.relaysRemove(), c.relaysTest(), c.relaysPause(), c.relaysResume(),
		c.relaysOrder(), c.relaysFailover(), c.relaysSwitch(), c.relaysRoutes(), c.relaysRoute())
}

func (c *Store) relaysList() *cobra.Command {
	return c.jsonFlag(newCommand("list", "List relays with state, usage and queued mail", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			all, err := e.Relays.List(ctx)
			if err != nil {
				return err
			}
			if c.asJSON {
				return PrintJSON(os.Stdout, all)
			}
			if err := Print(os.Stdout, false, relayTable(all)); err != nil {
				return err
			}
			printRegions(all)
			for _, r := range all {
				if r.Note != "" {
					fmt.Println("\n" + r.Note)
				}
			}
			return nil
		})
	}))
}

func relayTable(all []relays.Status) Table {
	t := Table{Head: []string{"NAME", "HOST", "FROM", "STATE", "SINCE", "NEXT TRY", "RATE", "DAILY", "CONNECTIONS", "WAITING", "REASON"}}
	for _, r := range all {
		rate, daily := "-", "-"
		if r.Rate > 0 {
			rate = strconv.FormatFloat(r.Rate, 'f', -1, 64)
		}
		if r.Daily > 0 {
			daily = fmt.Sprintf("%d of %d", r.DailyUsed, r.Daily)
		}
		t.Rows = append(t.Rows, Row{Cells: []string{r.FullName(), r.Host, r.From, r.State, orDash(deref(r.Since)), orDash(deref(r.NextTry)), rate, daily,
			strconv.Itoa(r.Connections), strconv.FormatInt(r.Waiting, 10), orDash(deref(r.Reason))}})
	}
	return t
}

func (c *Store) relaysAdd() *cobra.Command {
	var file, existing string
	var in relays.AddInput
	cmd := newCommand("add [REGION[/NAME]=]URL | add REGION[/NAME] --url-file F", "Add or change a relay; a running server uses it within one second", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		arg := args[0]
		if existing != "" {
			return c.addExisting(cmd, arg, existing)
		}
		if in.Name != "" {
			if file == "" || strings.Contains(arg, "/") {
				return errors.New("--name needs REGION --url-file FILE; otherwise give REGION/NAME=URL")
			}
			arg += "/" + in.Name
		}
		text, err := relayText(arg, file, os.Stdin)
		if err != nil {
			return err
		}
		in.Text = text
		return c.with(cmd, true, func(ctx context.Context, e *server.Server) error {
			added, err := e.Relays.AddRelay(ctx, in)
			if err != nil {
				return err
			}
			msg := map[bool]string{false: "added", true: "changed"}[added.Changed] + " the relay " + added.Region + " (" + added.Host + ")"
			return c.printDone(added, msg+"; test it with mailer relays test "+added.Region)
		})
	})
	cmd.Flags().StringVar(&in.Name, "name", "", "name of the relay in the region, for a reserve")
	cmd.Flags().BoolVar(&in.Reserve, "reserve", false, "the region has another relay already; this one takes over when that one fails")
	cmd.Flags().StringVar(&existing, "existing", "", "in place of a URL: relay of another region, like OTHER/NAME, that becomes a reserve of this region too")
	cmd.Flags().StringVar(&file, "url-file", "", "file with the URL, which may contain a password; - for standard input")
	return c.jsonFlag(cmd)
}

// relayText returns `[REGION=]URL` from an argument, or from an argument with the region and a
// file. A password in an argument is visible in the process list.
func relayText(arg, file string, in io.Reader) (string, error) {
	if file == "" {
		if !strings.Contains(arg, "://") {
			return "", fmt.Errorf("%q is not a URL: use [REGION=]smtp://HOST or smtps://HOST, or REGION with --url-file", arg)
		}
		relay, err := relayurl.ParseOne(arg)
		if err == nil && relay.Password != "" || err != nil && strings.Contains(arg, "@") {
			return "", errors.New("a password on the command line can be read in the process list: write the URL to a file and use REGION --url-file FILE, or --url-file - for standard input")
		}
		return arg, nil
	}
	if _, _, err := relayurl.CutName(arg); err != nil {
		return "", errors.New("with --url-file the argument is the relay's name, REGION or REGION/NAME: 1 to 40 lower-case letters, digits and dashes each")
	}
	b, err := readSecret(file, in)
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(b))
	if text == "" {
		return "", fmt.Errorf("%s is empty; it must contain the relay's URL", nameOf(file))
	}
	if text, err = relayurl.ByRegion(arg, text); err != nil {
		return "", fmt.Errorf("%s %w", nameOf(file), err)
	}
	return text, nil
}

func readSecret(file string, in io.Reader) ([]byte, error) {
	if file != "-" {
		return os.ReadFile(file)
	}
	b, err := io.ReadAll(io.LimitReader(in, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	return b, nil
}

func nameOf(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

func (c *Store) relaysRemove() *cobra.Command {
	return c.jsonFlag(newCommand("remove REGION[/NAME] | remove REGION OTHER/NAME", "Remove a relay: in-flight deliveries finish, queued mail stays queued. OTHER/NAME stays in its own region", cobra.RangeArgs(1, 2), func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			if len(args) == 2 {
				st, err := e.Relays.RemoveFrom(ctx, args[0], args[1])
				if err != nil {
					return err
				}
				return c.printDone(st, "removed the relay "+args[1]+" from "+st.Region+"; it stays in its own region")
			}
			removed, err := e.Relays.Remove(ctx, args[0])
			if err != nil {
				return err
			}
			msg := "removed the relay " + removed.Region
			if removed.Waiting > 0 {
				msg += fmt.Sprintf("; %d emails stay queued for it until you add it again with mailer relays add", removed.Waiting)
				if region, _, named := strings.Cut(removed.Region, "/"); named {
					msg += fmt.Sprintf(", or send those that it may have sent through another relay with mailer queue release --doubts --relay %s --to-relay %s/NAME", removed.Region, region)
				}
			}
			return c.printDone(removed, msg)
		})
	}))
}

func (c *Store) relaysTest() *cobra.Command {
	var in relays.TestInput
	cmd := newCommand("test REGION[/NAME]", "Test a relay step by step without sending mail. Exits 0 only if all steps pass", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		in.Region = args[0]
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			tested, err := e.Relays.Test(ctx, in)
			if err != nil {
				return err
			}
			if c.asJSON {
				err = PrintJSON(os.Stdout, tested)
			} else {
				err = Print(os.Stdout, false, stepTable(tested.Steps))
			}
			if err != nil || tested.OK {
				return err
			}
			failed := tested.Steps[len(tested.Steps)-1]
			return fmt.Errorf("the relay %s can't be used: %s failed: %s", in.Region, failed.Step, failed.Reply)
		})
	})
	cmd.Flags().StringVar(&in.To, "to", "", "send one signed message to this address")
	cmd.Flags().StringVar(&in.From, "from", "", "sender address (default: postmaster at a verified domain)")
	return c.jsonFlag(cmd)
}

func stepTable(steps []relayurl.Step) Table {
	t := Table{Head: []string{"STEP", "OK", "MS", "SAID"}}
	for _, s := range steps {
		t.Rows = append(t.Rows, Row{Cells: []string{s.Step, map[bool]string{true: "yes", false: "NO"}[s.OK], strconv.FormatInt(s.MS, 10), s.Reply}})
	}
	return t
}

func (c *Store) relaysPause() *cobra.Command {
	var d time.Duration
	cmd := newCommand("pause REGION[/NAME]", "Pause all relays of a region, or one of them; its mail stays queued", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("for") && d <= 0 {
			return errors.New("--for must be greater than 0, like 30m or 2h")
		}
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			paused, err := e.Relays.Pause(ctx, args[0], d)
			if err != nil {
				return err
			}
			until := "mailer relays resume " + paused.Region
			if paused.Until != nil {
				until = *paused.Until
			}
			return c.printDone(paused, "paused "+relaysOf(paused)+" until "+until)
		})
	})
	cmd.Flags().DurationVar(&d, "for", 0, "how long, like 2h (default: until the relay is resumed)")
	return c.jsonFlag(cmd)
}

// relaysOf names the relays of a pause.
func relaysOf(p relays.Paused) string {
	if p.Relays > 1 {
		return "all relays of " + p.Region
	}
	return "the relay " + p.Region
}

func (c *Store) relaysResume() *cobra.Command {
	return c.jsonFlag(newCommand("resume REGION[/NAME]", "Resume the paused relays of a region, or one of them", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			resumed, err := e.Relays.Resume(ctx, args[0])
			if err != nil {
				return err
			}
			return c.printDone(resumed, "resumed "+relaysOf(resumed))
		})
	}))
}

// ShowsPassword reports whether --db was typed with a password: the process list shows command
// lines, but not variables and files.
func ShowsPassword(cmd *cobra.Command) bool {
	return isTyped(cmd, "db") && server.HasPassword(cmd.Flags().Lookup("db").Value.String())
}

// isTyped reports whether a flag was given on the command line, not by its variable.
func isTyped(cmd *cobra.Command, flag string) bool {
	f := cmd.Flags().Lookup(flag)
	return f != nil && f.Changed && f.Annotations[fromVariable] == nil && f.Annotations[fromFile] == nil
}

// WarnPasswords logs that the command line contains the password of the database, of a relay or of the spam filter with the
// URL rspamd.
func WarnPasswords(log *slog.Logger, cmd *cobra.Command, list []relayurl.Relay, rspamd string) {
	if ShowsPassword(cmd) {
		log.Warn("the database's password on the command line can be read in the process list", "help", "write the URL to a file that only its owner can read, and set MAILER_DB_FILE=FILE instead of --db")
	}
	if u, err := url.Parse(rspamd); err == nil && isTyped(cmd, "rspamd") {
		if _, has := u.User.Password(); has {
			log.Warn("a password on the command line can be read in the process list", "flag", "--rspamd", "help", "use MAILER_RSPAMD or MAILER_RSPAMD_FILE")
		}
	}
	if !cmd.Flags().Changed("relay") {
		return
	}
	for _, r := range list {
		if r.Password != "" {
			log.Warn("a password on the command line can be read in the process list", "relay", r.Region, "help", "use MAILER_RELAY or MAILER_RELAY_FILE, or mailer relays add "+r.Region+" --url-file FILE")
		}
	}
}
