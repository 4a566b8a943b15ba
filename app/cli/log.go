package cli

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/pflag"
)

// LogFormat is the format of a server's log.
type LogFormat string

// Bind adds the flag to those of a command.
func (f *LogFormat) Bind(flags *pflag.FlagSet) {
	flags.StringVar((*string)(f), "log-format", "text", "log format: text or json")
}

// Logger makes the server's log on standard error, with a level that may change. Lines that can't
// be written are lost. Errors name the flag.
func (f LogFormat) Logger(level slog.Leveler) (*slog.Logger, error) {
	opts := &slog.HandlerOptions{Level: level}
	switch f {
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, opts)), nil
	}
	return nil, fmt.Errorf("--log-format must be text or json, is %q", string(f))
}

// PrintFailure prints why a command failed: as a line of the JSON log if the server uses one,
// otherwise as text.
func PrintFailure(w io.Writer, flags *pflag.FlagSet, err error) {
	if format := flags.Lookup("log-format"); format != nil && format.Value.String() == "json" {
		slog.New(slog.NewJSONHandler(w, nil)).Error("mailer ends", "err", ErrorText(err))
		return
	}
	fmt.Fprintln(w, "mailer:", ErrorText(err))
}
