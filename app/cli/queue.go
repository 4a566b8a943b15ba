package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"mailer/app/kit/clock"
	"mailer/app/sending/queue"
	"mailer/app/server"
)

// queueFlags are the filters of the queue commands.
type queueFlags struct {
	queue.Filter
	state, olderThan, after, failedSince string
	yes                                  bool
}

// bind adds the filters to a command.
func (f *queueFlags) bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringSliceVar(&f.IDs, "id", nil, "email, or broadcast (repeatable)")
	fs.StringVar(&f.Team, "team", "", "team, by name or id (default: all)")
	fs.StringVar(&f.Relay, "relay", "", "region, or relay of a region (with --doubts: the one that may have sent the mail)")
	fs.StringVar(&f.FromDomain, "from-domain", "", "domain of the sender")
	fs.StringVar(&f.ToDomain, "to-domain", "", "domain of a queued recipient")
	fs.StringVar(&f.state, "state", "", strings.Join(queue.States, ", "))
	fs.StringVar(&f.olderThan, "older-than", "", "accepted more than this long ago, like 2h or 3d")
	fs.StringVar(&f.Broadcast, "broadcast", "", "broadcast, by its id")
	fs.BoolVar(&f.Doubts, "doubts", false, "the relay may have sent it, and its reply was lost")
	fs.BoolVar(&f.Restored, "restored", false, "held since a backup was restored")
	fs.StringVar(&f.after, "after", "", "accepted since this time (RFC 3339) or for this long (like 2h)")
	fs.VisitAll(typed)
}

// typed removes a flag's variable.
func typed(f *pflag.Flag) { f.Annotations = map[string][]string{flagOnly: {}} }

// everything adds the flag --all.
func (f *queueFlags) everything(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.All, "all", false, "all mail, without a filter")
	typed(cmd.Flags().Lookup("all"))
}

// read returns the filter.
func (f *queueFlags) read(now time.Time) (queue.Filter, error) {
	out := f.Filter
	out.State = queue.State(f.state)
	var errs []error
	if f.olderThan != "" {
		age, err := queue.ParseAge(f.olderThan)
		out.OlderThan, errs = age, append(errs, named("--older-than", err))
	}
	for _, since := range []struct {
		flag, text string
		at         *time.Time
	}{{"--after", f.after, &out.After}, {"--failed-since", f.failedSince, &out.FailedSince}} {
		if since.text == "" {
			continue
		}
		at, err := queue.ParseSince(since.text, now)
		*since.at, errs = at, append(errs, named(since.flag, err))
	}
	return out, errors.Join(errs...)
}

func named(flag string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

// queue returns the queue commands.
func (c *Store) queue() *cobra.Command {
	var team string
	summary := func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			sum, err := e.Queue.Summary(ctx, team)
			if err != nil {
				return err
			}
			return c.printSummary(&sum)
		})
	}
	hold := c.queueAct("hold", "Hold queued mail until you release it", (*queue.Service).Hold)
	drop := c.queueAct("drop", "Cancel queued mail (for a broadcast: everything not yet sent)", (*queue.Service).Drop)
	cmd := group("queue", "Inspect and manage the queue of a running server", c.queueList(), c.queueShow(), hold,
		c.queueRelease(),
		c.queueAct("retry", "Retry deferred mail now", (*queue.Service).Retry), drop, c.queueMove(), c.queueRequeue())
	cmd.Flags().StringVar(&team, "team", "", "team, by name or id (default: all)")
	typed(cmd.Flags().Lookup("team"))
	cmd.RunE = summary
	return c.jsonFlag(cmd)
}

func (c *Store) queueList() *cobra.Command {
	var f queueFlags
	var limit int
	var behind string
	cmd := newCommand("list", "List queued mail, oldest first", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		filter, err := f.read(clock.Now())
		if err != nil {
			return err
		}
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			items, more, err := e.Queue.List(ctx, filter, behind, limit)
			if err != nil {
				return err
			}
			if more {
				fmt.Fprintf(os.Stderr, "mailer: there are more: add --behind %s\n", items[len(items)-1].ID)
			}
			return c.printItems(items)
		})
	})
	f.bind(cmd)
	cmd.Flags().IntVar(&limit, "limit", queue.MaxRows, "maximum number of rows")
	cmd.Flags().StringVar(&behind, "behind", "", "id of a row: list the rows after it")
	return c.jsonFlag(cmd)
}

func (c *Store) queueShow() *cobra.Command {
	var team string
	cmd := newCommand("show ID", "Show one email with its attempts and the relay's responses", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			shown, err := e.Queue.Show(ctx, team, args[0])
			if err != nil {
				return notFound(err, "email with the id", args[0], "queue list")
			}
			return c.printShown(shown)
		})
	})
	cmd.Flags().StringVar(&team, "team", "", "team, by name or id (default: any)")
	typed(cmd.Flags().Lookup("team"))
	return c.jsonFlag(cmd)
}

// queueAct makes a command that acts on all mail that matches its filters.
func (c *Store) queueAct(name, short string, do func(*queue.Service, context.Context, queue.Filter) (queue.Result, error)) *cobra.Command {
	cmd, f := c.act(name, short, do)
	f.everything(cmd)
	return cmd
}

func (c *Store) act(name, short string, do func(*queue.Service, context.Context, queue.Filter) (queue.Result, error)) (*cobra.Command, *queueFlags) {
	f := &queueFlags{}
	cmd := newCommand(name, short, cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		filter, err := f.read(clock.Now())
		if err != nil {
			return err
		}
		if err := filter.Validate(); err != nil {
			return err
		}
		if name != "requeue" { // requeue has its own required flags
			if err := filter.RequireCriteria(); err != nil {
				return err
			}
		}
		if err := f.agreed(cmd, name, &filter); err != nil {
			return err
		}
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			res, err := do(e.Queue, ctx, filter)
			for _, note := range res.Notes {
				fmt.Fprintln(os.Stderr, "mailer:", note)
			}
			if err != nil {
				return err
			}
			f.explain(name, &filter, &res)
			return c.printDone(res, fmt.Sprintf("%s: %d matched, %d changed", name, res.Matched, res.Changed))
		})
	})
	f.bind(cmd)
	cmd.Flags().BoolVar(&f.yes, "yes", false, "don't ask for confirmation")
	typed(cmd.Flags().Lookup("yes"))
	return c.jsonFlag(cmd), f
}

// explain prints on standard error why less was changed than matched.
func (f *queueFlags) explain(name string, filter *queue.Filter, res *queue.Result) {
	switch {
	case len(res.Notes) > 0:
	case res.Matched == 0 && filter.IsSingle():
		fmt.Fprintf(os.Stderr, "mailer: %s is not queued; mailer queue show %s shows its status\n", filter.IDs[0], filter.IDs[0])
	case name == "move" && res.Changed < res.Matched:
		fmt.Fprintln(os.Stderr, "mailer: mail that is being delivered, or already uses that relay, was not changed; pause its relay with mailer relays pause, then move the rest")
	case res.Changed < res.Matched:
		fmt.Fprintln(os.Stderr, "mailer: mail that was already transmitted, or already in this state, was not changed")
	}
}

// agreed asks for confirmation before acting on more than one email.
func (f *queueFlags) agreed(cmd *cobra.Command, name string, filter *queue.Filter) error {
	if f.yes || filter.IsSingle() {
		return nil
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return fmt.Errorf("queue %s affects more than one email, and there is no terminal for confirmation: add --yes", name)
	}
	fmt.Fprintf(os.Stderr, "mailer: queue %s affects all matching mail. Continue? (y/N) ", name)
	answer, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); err != nil || answer != "y" && answer != "yes" {
		return errors.New("canceled: nothing was changed")
	}
	return nil
}

func (c *Store) queueMove() *cobra.Command {
	var to string
	cmd, f := c.act("move", "Move queued mail to another relay", func(s *queue.Service, ctx context.Context, f queue.Filter) (queue.Result, error) {
		return s.Move(ctx, f, to)
	})
	f.everything(cmd)
	cmd.Flags().StringVar(&to, "to-relay", "", "region of the new relay (required)")
	typed(cmd.Flags().Lookup("to-relay"))
	return required(cmd, "--to-relay us-east-1")
}

func (c *Store) queueRelease() *cobra.Command {
	var to string
	cmd, f := c.act("release", "Release held mail; overdue mail is sent immediately. With --doubts: send mail in doubt through another relay", func(s *queue.Service, ctx context.Context, f queue.Filter) (queue.Result, error) {
		switch {
		case to != "":
			return s.ReleaseDoubts(ctx, f, to)
		case f.Doubts:
			return queue.Result{}, errors.New("mail in doubt leaves through the relay that may have sent it; to send it through another one, say which: --doubts --relay A --to-relay B")
		}
		return s.Release(ctx, f)
	})
	f.everything(cmd)
	cmd.Flags().StringVar(&to, "to-relay", "", "with --doubts and --relay: relay of the same region that sends the mail, possibly a second time")
	typed(cmd.Flags().Lookup("to-relay"))
	return cmd
}

func (c *Store) queueRequeue() *cobra.Command {
	cmd, f := c.act("requeue", "Send again mail that failed, bounced by policy or was captured", (*queue.Service).Requeue)
	cmd.Flags().StringVar(&f.failedSince, "failed-since", "", "mail that failed or bounced since this time (RFC 3339) or within this time (like 2h)")
	cmd.Flags().BoolVar(&f.Captured, "captured", false, "captured mail")
	typed(cmd.Flags().Lookup("failed-since"))
	typed(cmd.Flags().Lookup("captured"))
	return cmd
}

func (c *Store) printSummary(sum *queue.Summary) error {
	if c.asJSON {
		return PrintJSON(os.Stdout, sum)
	}
	fmt.Printf("%d queued%s\n", sum.Waiting, since(sum.Oldest))
	if sum.Waiting == 0 {
		return nil
	}
	by := Table{Head: []string{"RELAY", "TEAM", "STATE", "COUNT", "REASON"}}
	for _, row := range sum.By {
		by.Rows = append(by.Rows, Row{Cells: []string{row.Relay, row.TeamName, string(row.State), strconv.FormatInt(row.Count, 10), row.Reason}})
	}
	fmt.Println()
	if err := Print(os.Stdout, false, by); err != nil || len(sum.ToDomains) == 0 {
		return err
	}
	to := Table{Head: []string{"RECIPIENTS AT", "COUNT"}}
	for _, row := range sum.ToDomains {
		to.Rows = append(to.Rows, Row{Cells: []string{row.Domain, strconv.FormatInt(row.Count, 10)}})
	}
	fmt.Println()
	return Print(os.Stdout, false, to)
}

func (c *Store) printItems(items []queue.Item) error {
	if c.asJSON {
		return PrintJSON(os.Stdout, append([]queue.Item{}, items...))
	}
	t := Table{Head: []string{"ID", "STATE", "RELAY", "FROM", "TO", "CREATED", "NEXT", "ATTEMPTS", "REASON"}}
	for _, i := range items {
		to := strings.Join(i.To, ",")
		if i.Count > 0 {
			to = fmt.Sprintf("%d recipients", i.Count)
		}
		t.Rows = append(t.Rows, Row{Cells: []string{i.ID, string(i.State), i.Relay, i.From, to, i.CreatedAt, orDash(deref(i.NextAt)), strconv.Itoa(i.Attempts), i.Reason}})
	}
	return Print(os.Stdout, false, t)
}

func (c *Store) printShown(s *queue.Shown) error {
	if c.asJSON {
		return PrintJSON(os.Stdout, s)
	}
	if s.Verdict != nil {
		fmt.Printf("%s\n%s\n\n", s.Verdict.Text, s.Verdict.Fix)
	}
	head := Table{Head: []string{"ID", "STATE", "QUEUE", "LAST EVENT", "RELAY", "FROM", "TO", "NEXT", "ATTEMPTS", "REASON"}, Rows: []Row{{Cells: []string{
		s.ID, string(s.State), orDash(string(s.Waits)), string(s.LastEvent), s.Relay, s.From, orDash(strings.Join(s.To, ",")), orDash(deref(s.NextAt)), strconv.Itoa(s.Attempts), s.Reason}}}}
	if err := Print(os.Stdout, false, head); err != nil {
		return err
	}
	fmt.Println()
	t := Table{Head: []string{"TIME", "EVENT", "RECIPIENT", "WHAT"}}
	for _, ev := range s.Events {
		t.Rows = append(t.Rows, Row{Cells: []string{ev.At, string(ev.Type), orDash(ev.Recipient), ev.Message}})
	}
	return Print(os.Stdout, false, t)
}
