package cli

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/spf13/pflag"
)

// LogFlags say what a server logs, and how.
type LogFlags struct{ format, level, requests string }

// Bind adds the flags to those of a command.
func (f *LogFlags) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.format, "log-format", "text", "log format: text or json")
	flags.StringVar(&f.level, "log-level", "info", "minimum log level: debug, info, warn or error")
	flags.StringVar(&f.requests, "request-log", "on", "on: store requests for 30 days (GET /logs, without bodies) and log each rejected or slow request, at level debug all requests; off: store none, and log only requests that fail because of a server error")
}

// Silent reports whether requests are not kept and have no lines, but for those that fail
// by the server's fault.
func (f *LogFlags) Silent() bool { return f.requests == "off" }

// Logger makes the log of a server on standard error. Errors name the flag.
func (f *LogFlags) Logger() (*slog.Logger, error) {
	if f.requests != "on" && f.requests != "off" {
		return nil, fmt.Errorf("--request-log must be on or off, is %q", f.requests)
	}
	return newLogger(f.format, f.level)
}

// SayFailure tells why a command failed: a server whose log is JSON in a line of that, all others
// in words.
func SayFailure(w io.Writer, flags *pflag.FlagSet, err error) {
	if format := flags.Lookup("log-format"); format != nil && format.Value.String() == "json" {
		slog.New(slog.NewJSONHandler(w, nil)).Error("mailer ends", "err", Words(err))
		return
	}
	fmt.Fprintln(w, "mailer:", Words(err))
}

// newLogger makes the log of a server on standard error. Lines that can't be written
// are lost; nothing else depends on them.
func newLogger(format, level string) (*slog.Logger, error) {
	var least slog.Level
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, level) {
		return nil, fmt.Errorf("--log-level must be debug, info, warn or error, is %q", level)
	}
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log-level: %w", err)
	}
	opts := &slog.HandlerOptions{Level: least}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, opts)), nil
	}
	return nil, fmt.Errorf("--log-format must be text or json, is %q", format)
}
