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

// Logger makes the log of a server on standard error, of a level that may change. Lines that
// can't be written are lost; nothing else depends on them. Errors name the flag.
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

// PrintFailure tells why a command failed: a server whose log is JSON in a line of that, all others
// in words.
func PrintFailure(w io.Writer, flags *pflag.FlagSet, err error) {
	if format := flags.Lookup("log-format"); format != nil && format.Value.String() == "json" {
		slog.New(slog.NewJSONHandler(w, nil)).Error("mailer ends", "err", Words(err))
		return
	}
	fmt.Fprintln(w, "mailer:", Words(err))
}
