package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mailer/app/nearest"
)

// otherNames are names that other programs give to a flag of ours, and how it is given
// here. VALUE is what was typed.
var otherNames = map[string]struct{ flag, form string }{
	"port":     {"listen", "--listen :VALUE"},
	"host":     {"listen", "--listen VALUE:3000"},
	"bind":     {"listen", "--listen VALUE"},
	"address":  {"listen", "--listen VALUE"},
	"addr":     {"listen", "--listen VALUE"},
	"database": {"db", "--db VALUE"},
	"data":     {"db", "--db VALUE"},
	"smtp":     {"relay", "--relay VALUE"},
	"url":      {"base-url", "--base-url VALUE"},
	"domain":   {"base-url", "--base-url https://VALUE"},
	"verbose":  {"log-level", "--log-level debug"},
	"debug":    {"log-level", "--log-level debug"},
}

// NameNearest has a command and those below it name what comes nearest to a command
// or flag that is not there. args are what was typed.
func NameNearest(cmd *cobra.Command, args []string) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if group, word := mistyped(cmd.Root(), args); group != nil {
			return unknownCommand(group, word)
		}
		var unknown *pflag.NotExistError
		if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
			return err
		}
		return fmt.Errorf("%w of %s; %s", err, cmd.CommandPath(), likelyFlag(cmd, unknown.GetSpecifiedName(), args))
	})
	nameCommands(cmd)
}

// likelyFlag says which flag somebody meant by a name that is none.
func likelyFlag(cmd *cobra.Command, name string, args []string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	for other, ours := range otherNames {
		if slices.Contains(names, ours.flag) && !slices.Contains(names, other) {
			names = append(names, other)
		}
	}
	slices.Sort(names)
	near := nearest.Of(name, names)
	if nearest.Distance(name, near) > max(2, len(name)/2) {
		return cmd.CommandPath() + " --help lists its flags"
	}
	if ours, ok := otherNames[near]; ok && cmd.Flags().Lookup(near) == nil {
		return "did you mean " + strings.Replace(ours.form, "VALUE", valueOf(args, name, near), 1) + "?"
	}
	return "the nearest is --" + near
}

// valueOf returns what was typed as the value of a flag, or in its place the word that
// stands for it.
func valueOf(args []string, name, meant string) string {
	for i, arg := range args {
		if value, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			return value
		}
		if arg == "--"+name && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			return args[i+1]
		}
	}
	return strings.ToUpper(meant)
}

// mistyped finds the first word of a line that should be a command and is none, and the
// group that lacks it. nil: there is no such word before the first flag.
func mistyped(cmd *cobra.Command, args []string) (group *cobra.Command, word string) {
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") || !cmd.HasSubCommands() {
			return nil, ""
		}
		at := slices.IndexFunc(cmd.Commands(), func(sub *cobra.Command) bool { return sub.Name() == arg || sub.HasAlias(arg) })
		switch {
		case at >= 0:
			cmd = cmd.Commands()[at]
		case arg == "help" && cmd == cmd.Root():
			return nil, ""
		default:
			return cmd, arg
		}
	}
	return nil, ""
}

func unknownCommand(group *cobra.Command, word string) error {
	var names []string
	for _, sub := range group.Commands() {
		names = append(names, sub.Name())
	}
	return fmt.Errorf("unknown command %q of %s; the nearest is %s", word, group.CommandPath(), nearest.Of(word, names))
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
		return unknownCommand(cmd, args[0])
	}
	for _, sub := range cmd.Commands() {
		nameCommands(sub)
	}
}
