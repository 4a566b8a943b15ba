package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"mailer/app"
	"mailer/app/rules/dnsplan"
	"mailer/app/server"
	"mailer/app/tenants/domains"
)

// publishFlags are the flags of mailer domains publish.
type publishFlags struct {
	in        domains.PublishInput
	tokenFile string
	yes       bool
	forget    bool
}

func (c *Store) domainsPublish() *cobra.Command {
	var f publishFlags
	cmd := newCommand("publish NAME", "Add the missing DNS records at the domain's DNS provider, after showing them. Exits with 1 if a record conflicts with an existing one", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		if err := f.read(os.Stdin); err != nil {
			return err
		}
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			d, err := e.Domains.DomainByName(ctx, team.ID, bareName(args[0]))
			if err != nil {
				return noDomain(ctx, e, &team, bareName(args[0]), err)
			}
			if f.forget {
				if err := e.Domains.ForgetDNS(ctx, &app.Key{TeamID: team.ID, Role: app.RoleOwner}, d.ID); err != nil {
					return err
				}
				return c.printDone(map[string]any{"object": "domain", "id": d.ID, "name": d.Name, "dns": nil}, "the DNS token of "+d.Name+" is forgotten")
			}
			warnUnserved(e, "the SPF record can't name its relay yet")
			return c.publish(ctx, e, &d, &f)
		})
	})
	cmd.Flags().StringVar(&f.in.Credentials.Provider, "provider", "", "where the DNS zone is: cloudflare, hetzner or rfc2136 (default: as remembered)")
	cmd.Flags().StringVar(&f.tokenFile, "token-file", "", "file with the API token, or with the TSIG key for rfc2136; - for standard input")
	cmd.Flags().StringVar(&f.in.Credentials.Server, "server", "", "HOST:PORT of the name server that takes updates, for rfc2136")
	cmd.Flags().StringVar(&f.in.DMARCReports, "dmarc", "", "email address to add to the DMARC record for aggregate reports (default: an existing record is left alone)")
	cmd.Flags().BoolVar(&f.in.Remember, "remember", false, "store the token, encrypted, until the domain is deleted or the token is forgotten")
	cmd.Flags().BoolVar(&f.forget, "forget", false, "delete the remembered token and do nothing else")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "don't ask for confirmation")
	return ResolverFlag(c.teamFlag(c.jsonFlag(cmd)), &c.flags.Resolver)
}

// read checks the flags and reads the token.
func (f *publishFlags) read(in io.Reader) error {
	c := &f.in.Credentials
	switch {
	case f.forget && (c.Provider != "" || f.tokenFile != "" || f.in.Remember):
		return errors.New("--forget takes no other flag of a provider")
	case f.forget:
		return nil
	case (c.Provider == "") != (f.tokenFile == ""):
		return errors.New("--provider and --token-file are used together; without both, the remembered token is used")
	case c.Provider != "" && c.Provider != dnsplan.Cloudflare && c.Provider != dnsplan.Hetzner && c.Provider != dnsplan.RFC2136:
		return fmt.Errorf("--provider must be %s, %s or %s", dnsplan.Cloudflare, dnsplan.Hetzner, dnsplan.RFC2136)
	case (c.Provider == dnsplan.RFC2136) != (c.Server != ""):
		return errors.New("--server names the name server of --provider rfc2136, and of no other")
	case f.tokenFile == "":
		return nil
	}
	b, err := readSecret(f.tokenFile, in)
	if err != nil {
		return err
	}
	if c.Token = strings.TrimSpace(string(b)); c.Token == "" {
		return fmt.Errorf("%s is empty; it must contain the token", nameOf(f.tokenFile))
	}
	return nil
}

// publish shows the plan, waits for a confirmation, and applies it.
func (c *Store) publish(ctx context.Context, e *server.Server, d *app.Domain, f *publishFlags) error {
	key := &app.Key{TeamID: d.TeamID, Role: app.RoleOwner}
	p, err := e.Domains.PlanDNS(ctx, key, d.ID, f.in)
	if err != nil {
		return err
	}
	shown := io.Writer(os.Stdout)
	if c.asJSON {
		shown = os.Stderr
	}
	if _, err := io.WriteString(shown, publicationText(d.Name, &p)); err != nil {
		return err
	}
	status := d.Status
	if len(p.Plan.Changes) > 0 || f.in.Remember {
		if err := confirmPlan(f.yes, d.Name, len(p.Plan.Changes)); err != nil {
			return err
		}
		if p, err = e.Domains.PublishAndCheck(ctx, d.TeamID, d.ID, f.in, p.Plan.ID()); err != nil {
			return err
		}
		status = p.Domain.Status
	}
	object := map[string]any{"object": "domain", "id": d.ID, "name": d.Name, "provider": p.Provider, "status": status, "changes": append([]dnsplan.Change{}, p.Written...),
		"conflicts": append([]dnsplan.Conflict{}, p.Plan.Conflicts...), "unchanged": p.Plan.Unchanged}
	msg := fmt.Sprintf("records written: %d; %s is %s", len(p.Written), d.Name, status)
	if status == app.DomainPending {
		msg += "; the server checks it again every minute"
	}
	if err := c.printDone(object, msg); err != nil {
		return err
	}
	if n := len(p.Plan.Conflicts); n > 0 {
		return fmt.Errorf("%d of the records conflict with existing ones and were not written", n)
	}
	return nil
}

// publicationText returns a plan as lines: + for what is added, - for what is removed, ! for conflicts.
func publicationText(name string, p *domains.Publication) string {
	var b strings.Builder
	line := func(sign, kind, name, value string, priority int) {
		if priority > 0 {
			value = strconv.Itoa(priority) + " " + value
		}
		fmt.Fprintf(&b, "%s %s %s %s\n", sign, kind, name, printableLines(value))
	}
	for _, change := range p.Plan.Changes {
		if change.Before != "" {
			line("-", change.Type, change.Name, change.Before, change.BeforePriority)
		}
		if change.After != "" {
			line("+", change.Type, change.Name, change.After, change.Priority)
		}
	}
	for _, conflict := range p.Plan.Conflicts {
		line("!", conflict.Type, conflict.Name, conflict.Reason, 0)
	}
	if len(p.Plan.Changes) == 0 {
		fmt.Fprintf(&b, "nothing to write for %s\n", name)
	}
	fmt.Fprintf(&b, "records that exist already: %d\n", p.Plan.Unchanged)
	return b.String()
}

// confirmPlan asks whether to write a plan that was shown.
func confirmPlan(yes bool, name string, changes int) error {
	if yes {
		return nil
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return errors.New("nothing was written: there is no terminal for confirmation; add --yes to write the records")
	}
	fmt.Fprintf(os.Stderr, "Write %d changes to the DNS zone of %s? [y/N] ", changes, name)
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return errors.New("nothing was written")
	}
	return nil
}
