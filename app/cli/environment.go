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

// Prefix is what the names of all variables begin with.
const Prefix = "MAILER_"

// fromFile is the annotation of a flag whose value came from a file: its variable and
// the value.
const fromFile = "mailer_from_file"

// flagOnly is the annotation of a flag that has no variable: what an act is about is
// said each time, and MAILER_RELAY is a URL with a password.
const flagOnly = "mailer_typed_alone"

// variable is the name of a flag's variable.
func variable(flag string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// ReadEnvironment sets each flag that was not set to the value of its variable:
// --base-url is MAILER_BASE_URL, or the content of the file that MAILER_BASE_URL_FILE
// names. Lists are separated by spaces. A file that is named must be there and must
// hold something: an empty credential would be another setting in silence.
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

// readFileOf returns the content of the file that a variable's _FILE form names, and
// whether there is that form.
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

// WarnUnknownVariables logs each variable that begins with MAILER_ and that no command
// under root knows, with the name that comes nearest: a misspelt one would change
// nothing, in silence.
func WarnUnknownVariables(log *slog.Logger, root *cobra.Command, environ []string) {
	known := variables(root)
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, Prefix) && !slices.Contains(known, name) {
			log.Warn("unknown variable; it has no effect", "variable", name, "nearest", nearest.Of(name, known))
		}
	}
}

// variables lists the variables of all flags of a command and of those below it.
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

// WarnChangedFiles logs each setting whose file holds something else than what was
// read from it at the start, or can't be read any more.
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
