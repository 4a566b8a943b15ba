package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestForeignDatabaseNamesOwner: SQLite's error names neither the file nor a remedy.
func TestForeignDatabaseNamesOwner(t *testing.T) {
	err := notWritable("mail.db", fmt.Errorf("open lock file: %w", fs.ErrPermission))
	if err == nil || !strings.HasPrefix(err.Error(), "this user can't write mail.db or its folder: run the command as the user that runs mailer serve") || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v", err)
	}
	other := errors.New("disk I/O error")
	if got := notWritable("mail.db", other); got != other {
		t.Errorf("%v", got)
	}
}

func TestUnknownCommandSuggestsAlias(t *testing.T) {
	for line, want := range map[string]string{
		"sevre":             `unknown command "sevre" of mailer; the nearest is serve`,
		"start":             `unknown command "start" of mailer; did you mean mailer serve?`,
		"keys delete 1":     `unknown command "delete" of mailer keys; did you mean mailer keys revoke?`,
		"keys ls":           `unknown command "ls" of mailer keys; did you mean mailer keys list?`,
		"import names.csv":  `unknown command "names.csv" of mailer import; did you mean mailer import csv names.csv?`,
		"import names.xlsx": `unknown command "names.xlsx" of mailer import; mailer import --help lists its commands`,
		"xyzzyq":            `unknown command "xyzzyq" of mailer; mailer --help lists its commands`,
		"help xyzzyq":       `unknown command "xyzzyq" of mailer; mailer --help lists its commands`,
		"help sevre":        `unknown command "sevre" of mailer; the nearest is serve`,
		"help keys list":    "",
		"help":              "",
		"serve extra":       `"extra" is not expected here. Usage: mailer serve`,
		"serve --foo":       "unknown flag: --foo of mailer serve; mailer serve --help lists its flags",
		"serve --lisetn":    "unknown flag: --lisetn of mailer serve; the nearest is --listen",
		"serve --prot 80":   "unknown flag: --prot of mailer serve; did you mean --listen :80?",
		"serve -port 80":    "unknown flag: -port of mailer serve; did you mean --listen :80?",
		"serve -p 80":       "unknown flag: -p of mailer serve; did you mean --listen :80?",
		"serve -p=80":       "unknown flag: -p of mailer serve; did you mean --listen :80?",
		"serve -listen :80": "unknown flag: -listen of mailer serve; the nearest is --listen",
		"serve -x":          "unknown flag: -x of mailer serve; mailer serve --help lists its flags",
		"shell zs":          `"zs" is none of bash, zsh. Usage: mailer shell SHELL`,
	} {
		run := func(*cobra.Command, []string) error { return nil }
		root := &cobra.Command{Use: "mailer", SilenceErrors: true, SilenceUsage: true}
		serve := newCommand("serve", "", NoArguments, run)
		serve.Flags().String("listen", "", "")
		serve.Flags().String("db", "", "")
		shell := newCommand("shell SHELL", "", cobra.OnlyValidArgs, run)
		shell.ValidArgs = []string{"bash", "zsh"}
		root.AddCommand(serve, shell, group("keys", "", newCommand("revoke ID", "", cobra.ExactArgs(1), run), newCommand("list", "", NoArguments, run)), group("import", "", newCommand("csv FILE", "", cobra.ExactArgs(1), run)))
		SuggestNearest(root, strings.Fields(line))
		root.SetArgs(strings.Fields(line))
		root.SetOut(io.Discard)
		if err := root.Execute(); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

func TestDomainGivenAsURL(t *testing.T) {
	for text, want := range map[string]string{"mail.x.test": "mail.x.test", "https://mail.x.test/": "mail.x.test", "https://mail.x.test/a?b": "mail.x.test", "ann@x.test": "x.test", "mail.x.test/": "mail.x.test"} {
		if got := bareName(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
