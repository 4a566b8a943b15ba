package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mailer/app"
	"mailer/app/kit/nearest"
	"mailer/app/server"
)

// usage returns the end of an error about arguments.
func usage(cmd *cobra.Command) string {
	return "Usage: mailer " + strings.TrimPrefix(strings.TrimSuffix(cmd.UseLine(), " [flags]"), "mailer ")
}

// wrongArguments returns an error that names missing or unexpected arguments.
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
	if len(cmd.ValidArgs) > 0 && len(given) == 1 {
		return fmt.Errorf("%q is none of %s. %s", given[0], strings.Join(cmd.ValidArgs, ", "), usage(cmd))
	}
	return fmt.Errorf("wrong arguments. %s", usage(cmd))
}

// required makes a command fail if a flag is missing, before anything is opened. Examples are given
// per flag, like "--name my-app".
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

// notFound names what was not found, and the command that lists what exists.
func notFound(err error, kind, name, list string) error {
	if app.CodeOf(err) != app.CodeNotFound {
		return err
	}
	return fmt.Errorf("there is no %s %s; `mailer %s` shows what there is", kind, name, list)
}

// noDomain names the team in which a domain was not found, and a remedy.
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

// notWritable names the user who can write the database.
func notWritable(database string, err error) error {
	if err == nil || !errors.Is(err, fs.ErrPermission) && !server.IsReadOnly(err) {
		return err
	}
	return fmt.Errorf("this user can't write %s or its folder: run the command as the user that runs mailer serve, like sudo -u mailer mailer status (%w)", server.DatabaseName(database), err)
}

// flagAliases are flag names of other programs, and the flag to use instead. VALUE is replaced by
// the typed value.
var flagAliases = map[string]struct{ flag, form string }{
	"port":     {"listen", "--listen :VALUE"},
	"p":        {"listen", "--listen :VALUE"},
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

// SuggestNearest makes a command and its subcommands suggest the nearest name for an unknown
// command or flag. args are the arguments as typed.
func SuggestNearest(cmd *cobra.Command, args []string) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if group, word := mistyped(cmd.Root(), args); group != nil {
			return unknownCommand(group, word)
		}
		var unknown *pflag.NotExistError
		if !errors.As(err, &unknown) {
			return err
		}
		dashes, name := "--", unknown.GetSpecifiedName()
		if letters := unknown.GetSpecifiedShortnames(); letters != "" {
			dashes, name = "-", letters
			name, _, _ = strings.Cut(name, "=")
		}
		return fmt.Errorf("unknown flag: %s%s of %s; %s", dashes, name, cmd.CommandPath(), likelyFlag(cmd, name, args))
	})
	nameCommands(cmd)
	cmd.SetHelpCommand(helpCommand(cmd))
}

// likelyFlag returns the flag that was probably meant by an unknown one.
func likelyFlag(cmd *cobra.Command, name string, args []string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	for other, alias := range flagAliases {
		if slices.Contains(names, alias.flag) && !slices.Contains(names, other) {
			names = append(names, other)
		}
	}
	slices.Sort(names)
	near := nearest.Of(name, names)
	if !nearest.Near(name, near) || len(name) == 1 && near != name {
		return cmd.CommandPath() + " --help lists its flags"
	}
	if alias, ok := flagAliases[near]; ok && cmd.Flags().Lookup(near) == nil {
		return "did you mean " + strings.Replace(alias.form, "VALUE", valueOf(args, name, near), 1) + "?"
	}
	return "the nearest is --" + near
}

// valueOf returns the typed value of a flag, or a placeholder.
func valueOf(args []string, name, meant string) string {
	for i, arg := range args {
		flag, isFlag := strings.CutPrefix(arg, "-")
		flag = strings.TrimPrefix(flag, "-")
		if value, ok := strings.CutPrefix(flag, name+"="); ok && isFlag {
			return value
		}
		if isFlag && flag == name && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			return args[i+1]
		}
	}
	return strings.ToUpper(meant)
}

// mistyped returns the first word that should be a command and is none, and the group it was looked
// up in; nil if there is none before the first flag.
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
	path := group.CommandPath()
	if file := strings.LastIndexByte(word, '.'); file >= 0 && slices.Contains(names, word[file+1:]) {
		return fmt.Errorf("unknown command %q of %s; did you mean %s %s %s?", word, path, path, word[file+1:], word)
	}
	near := nearest.Of(word, names)
	for _, same := range commandAliases {
		if at := slices.IndexFunc(same, func(w string) bool { return slices.Contains(names, w) }); at >= 0 && slices.Contains(same, word) {
			near = same[at]
			return fmt.Errorf("unknown command %q of %s; did you mean %s %s?", word, path, path, near)
		}
	}
	if !nearest.Near(word, near) {
		return fmt.Errorf("unknown command %q of %s; %s --help lists its commands", word, path, path)
	}
	return fmt.Errorf("unknown command %q of %s; the nearest is %s", word, path, near)
}

// commandAliases are command names of other programs, after the own one.
var commandAliases = [][]string{
	{"remove", "revoke", "delete", "drop", "rm", "del"},
	{"add", "create", "new", "make"},
	{"list", "ls", "show", "all"},
	{"serve", "start", "run", "server", "up"},
	{"status", "health", "info"},
	{"resume", "unpause", "unsuspend"},
	{"pause", "stop", "disable"},
}

// NoArguments validates a command without arguments.
func NoArguments(cmd *cobra.Command, given []string) error {
	if len(given) > 0 {
		return wrongArguments(cmd, given)
	}
	return nil
}

// NotCreated adds a remedy to the error of a server that can't write or create its database.
func NotCreated(database string, err error) error {
	if err == nil || !errors.Is(err, fs.ErrPermission) && !server.IsReadOnly(err) {
		return err
	}
	name := server.DatabaseName(database)
	return fmt.Errorf("this user can't write %[1]s or its folder: as root, run chown %[2]d %[3]s %[1]s*, or name another file with --db (%[4]w)", name, os.Getuid(), filepath.Dir(name), err)
}

// helpCommand is cobra's help command, which for unknown commands shows the help of mailer.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{Use: "help [command]", Short: "Help about any command", Hidden: true, RunE: func(_ *cobra.Command, args []string) error {
		if group, word := mistyped(root, args); group != nil {
			return unknownCommand(group, word)
		}
		cmd, _, err := root.Find(args)
		if err != nil {
			return err
		}
		cmd.InitDefaultHelpFlag()
		return cmd.Help()
	}}
}

// nameCommands makes groups of commands refuse unknown subcommands: cobra would show the help
// without an error.
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
