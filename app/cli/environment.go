package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mailer/app/kit/nearest"
)

// Prefix begins the names of all variables.
const Prefix = "MAILER_"

// fromFile is the annotation of a flag whose value came from a file: its variable and value.
const fromFile = "mailer_from_file"

// flagOnly is the annotation of a flag without a variable: the subject of an action must be typed
// each time, and MAILER_RELAY is a URL with a password.
const flagOnly = "mailer_typed_alone"

// variable returns the name of a flag's variable.
func variable(flag string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// ReadEnvironment sets each flag that was not given to the value of its variable: --base-url is
// MAILER_BASE_URL, or the content of the file that MAILER_BASE_URL_FILE names. Lists are separated
// by spaces. A file must exist and must not be empty: an empty credential would silently be another
// setting.
func ReadEnvironment(flags *pflag.FlagSet) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Annotations[flagOnly] == nil {
			errs = append(errs, readVariable(flags, f))
		}
	})
	return errors.Join(errs...)
}

func readVariable(flags *pflag.FlagSet, f *pflag.Flag) error {
	name := variable(f.Name)
	content, found, err := readFileOf(name)
	if err != nil || f.Changed {
		return err
	}
	value := os.Getenv(name)
	if value == "" {
		value = content
	}
	if value == "" {
		return nil
	}
	if list, ok := f.Value.(pflag.SliceValue); ok {
		err = list.Replace(strings.Fields(value))
	} else {
		err = flags.Set(f.Name, value)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if found && value == content {
		return flags.SetAnnotation(f.Name, fromFile, []string{name, content})
	}
	return flags.SetAnnotation(f.Name, fromVariable, []string{name})
}

// readFileOf returns the content of the file that a variable's _FILE form names, and whether that
// form is set.
func readFileOf(name string) (content string, found bool, err error) {
	name += "_FILE"
	path, found := os.LookupEnv(name)
	if !found {
		return "", false, nil
	}
	if path == "" {
		return "", true, fmt.Errorf("%s is set and names no file; name one, or unset it", name)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", true, fmt.Errorf("%s: %w", name, err)
	}
	if content = strings.TrimSpace(string(b)); content == "" {
		return "", true, fmt.Errorf("%s names the file %s, which is empty; write the value into it, or unset the variable", name, path)
	}
	return content, true, nil
}

// WarnUnknownVariables logs each MAILER_ variable that no command knows, with the nearest known
// name: a misspelt variable would silently change nothing.
func WarnUnknownVariables(log *slog.Logger, root *cobra.Command, environ []string) {
	known := variables(root)
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, Prefix) && !slices.Contains(known, name) {
			log.Warn("unknown variable; it has no effect", "variable", name, "nearest", nearest.Of(name, known))
		}
	}
}

// variables returns the variables of a command's flags, subcommands included.
func variables(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Annotations[flagOnly] == nil {
			names = append(names, variable(f.Name), variable(f.Name)+"_FILE")
		}
	})
	for _, sub := range cmd.Commands() {
		names = append(names, variables(sub)...)
	}
	return names
}

// WarnChangedFiles logs each setting whose file has changed since the start, or can't be read any
// more.
func WarnChangedFiles(log *slog.Logger, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		noted := f.Annotations[fromFile]
		if len(noted) == 0 {
			return
		}
		switch content, _, err := readFileOf(noted[0]); {
		case err != nil:
			log.Warn("a settings file can't be read; the server keeps using the value it read at startup", "variable", noted[0]+"_FILE", "err", err)
		case content != noted[1]:
			log.Warn("a settings file changed; restart the server to use it", "variable", noted[0]+"_FILE", "file", os.Getenv(noted[0]+"_FILE"))
		}
	})
}
