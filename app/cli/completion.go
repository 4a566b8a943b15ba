package cli

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mailer/app/server"
)

// completionTime is how long a completing shell waits for the database.
const completionTime = 100 * time.Millisecond

// shells write the completion scripts.
var shells = map[string]func(root *cobra.Command) error{
	"bash": func(root *cobra.Command) error { return root.GenBashCompletionV2(os.Stdout, true) },
	"zsh":  func(root *cobra.Command) error { return root.GenZshCompletion(os.Stdout) },
	"fish": func(root *cobra.Command) error { return root.GenFishCompletion(os.Stdout, true) },
}

// Completion returns the command that prints completion scripts for root. Completion includes names
// from the database.
func Completion(root *cobra.Command) *cobra.Command {
	cmd := newCommand("completion SHELL", "Print the completion script for bash, zsh or fish (commands, flags, names and ids)", cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		func(cmd *cobra.Command, args []string) error { return shells[args[0]](cmd.Root()) })
	cmd.ValidArgs = []string{"bash", "zsh", "fish"}
	cmd.Example = "  source <(mailer completion bash)\n  mailer completion fish > ~/.config/fish/completions/mailer.fish"
	completeNames(root)
	return cmd
}

// completeNames adds completion of names from the database to a command and its subcommands.
func completeNames(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		completeNames(sub)
		if kinds := argumentKinds(sub); len(kinds) > 0 && sub.ValidArgsFunction == nil {
			sub.ValidArgsFunction = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
				if len(args) >= len(kinds) {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return storedNames(cmd, kinds[len(args)], prefix)
			}
		}
		for flag, kind := range map[string]string{"team": "team", "domain": "domain", "from-domain": "domain", "relay": "relay", "to-relay": "relay", "id": "email"} {
			if sub.Flags().Lookup(flag) == nil || sub.Name() == "serve" {
				continue
			}
			_ = sub.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
				return storedNames(cmd, kind, prefix)
			})
		}
	}
}

// argumentKinds returns the kinds of names that a command's arguments are, from its usage line.
func argumentKinds(cmd *cobra.Command) (kinds []string) {
	parent := ""
	if cmd.HasParent() {
		parent = cmd.Parent().Name()
	}
	for _, word := range strings.Fields(cmd.Use)[1:] {
		switch {
		case word == "TEAM":
			kinds = append(kinds, "team")
		case word == "REGION":
			kinds = append(kinds, "relay")
		case word == "NAME" && parent == "domains" && cmd.Name() != "add":
			kinds = append(kinds, "domain")
		case word == "ID" && parent == "keys":
			kinds = append(kinds, "key")
		case word == "ID":
			kinds = append(kinds, "email")
		default:
			return kinds
		}
	}
	return kinds
}

// storedNames returns the names of a kind with a prefix; none in case of an error.
func storedNames(cmd *cobra.Command, kind, prefix string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Root().Context()), completionTime)
	defer cancel()
	if err := ReadEnvironment(cmd.Flags()); err != nil || cmd.Flags().Lookup("db") == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, err := server.Names(ctx, cmd.Flags().Lookup("db").Value.String(), kind)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) }), cobra.ShellCompDirectiveNoFileComp
}
