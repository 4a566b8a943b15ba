package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/server"
)

// usage is what an error about arguments ends with.
func usage(cmd *cobra.Command) string {
	return "Usage: mailer " + strings.TrimPrefix(strings.TrimSuffix(cmd.UseLine(), " [flags]"), "mailer ")
}

// wrongArguments says which arguments a command lacks, or which it has no use for.
func wrongArguments(cmd *cobra.Command, given []string) error {
	wanted := strings.Fields(cmd.Use)[1:]
	needed := slices.IndexFunc(wanted, func(w string) bool { return strings.HasPrefix(w, "[") })
	if needed < 0 {
		needed = len(wanted)
	}
	if len(given) < needed {
		return fmt.Errorf("missing %s. %s", strings.Join(wanted[len(given):needed], " "), usage(cmd))
	}
	if len(given) > len(wanted) {
		extra := given[len(wanted)]
		if cmd.Flags().Lookup("id") != nil {
			return fmt.Errorf("%q is not expected here: name an email by --id %s. %s --id ID", extra, extra, usage(cmd))
		}
		return fmt.Errorf("%q is not expected here. %s", extra, usage(cmd))
	}
	return fmt.Errorf("wrong arguments. %s", usage(cmd))
}

// required has a command refuse to run without a value for a flag, before anything is
// opened. Examples are by flag, like "--name my-app".
func required(cmd *cobra.Command, examples ...string) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, example := range examples {
			name, _, _ := strings.Cut(strings.TrimPrefix(example, "--"), " ")
			if f := cmd.Flags().Lookup(name); f.Value.String() == "" || f.Value.String() == "[]" {
				return fmt.Errorf("--%s is required. Example: %s %s", name, cmd.CommandPath(), strings.Join(examples, " "))
			}
		}
		return run(cmd, args)
	}
	return cmd
}

// noDomain says in what team a domain was looked for, and what helps.
func noDomain(ctx context.Context, e *server.Server, team *app.Team, name string, err error) error {
	if app.CodeOf(err) != app.CodeNotFound {
		return err
	}
	teams, listErr := e.Teams.ListTeams(ctx)
	if listErr != nil {
		return errors.Join(err, listErr)
	}
	for _, other := range teams {
		if _, err := e.Domains.DomainByName(ctx, other.ID, name); err == nil && other.ID != team.ID {
			return fmt.Errorf("the team %s has no domain %s, but the team %s has: add --team %q", team.Name, name, other.Name, cmp.Or(other.Name, other.ID))
		}
	}
	return fmt.Errorf("the team %s has no domain %s: mailer domains list shows its domains, mailer domains add %s adds this one", team.Name, name, name)
}

// notWritable says who should run a command whose database this user can't write.
func notWritable(database string, err error) error {
	if err == nil || !errors.Is(err, fs.ErrPermission) && !server.IsReadOnly(err) {
		return err
	}
	return fmt.Errorf("this user can't write %s or its folder: run the command as the user that runs mailer serve, like sudo -u mailer mailer status (%w)", server.DatabaseName(database), err)
}
