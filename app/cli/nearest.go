package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mailer/app/nearest"
)

// NameNearest has a command and those below it name what comes nearest to a command
// or flag that is not there.
func NameNearest(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
			return err
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		return fmt.Errorf("%w of %s; the nearest is --%s", err, cmd.CommandPath(), nearest.Of(unknown.GetSpecifiedName(), names))
	})
	nameCommands(cmd)
}

// nameCommands has each group of commands refuse what is none of them: cobra shows
// the help, as if nothing was wrong.
func nameCommands(cmd *cobra.Command) {
	if !cmd.HasSubCommands() {
		return
	}
	if !cmd.Runnable() {
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var names []string
		for _, sub := range cmd.Commands() {
			names = append(names, sub.Name())
		}
		return fmt.Errorf("unknown command %q of %s; the nearest is %s", args[0], cmd.CommandPath(), nearest.Of(args[0], names))
	}
	for _, sub := range cmd.Commands() {
		nameCommands(sub)
	}
}
