package cli

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestPasswordOnCommandLineIsDetected: not one from a variable or a file, which no process list
// shows.
func TestPasswordOnCommandLineIsDetected(t *testing.T) {
	const secret = "postgres://mailer:secret@127.0.0.1/mailer"
	for name, c := range map[string]struct {
		typed, variable, file string
		want                  bool
	}{
		"typed":              {typed: secret, want: true},
		"without a password": {typed: "postgres://mailer@127.0.0.1/mailer"},
		"a file of SQLite":   {typed: "mailer.db"},
		"by a variable":      {variable: secret},
		"by a file":          {file: secret},
		"nothing":            {},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := &cobra.Command{}
			cmd.Flags().String("db", "mailer.db", "")
			t.Setenv("MAILER_DB", c.variable)
			if c.file != "" {
				t.Setenv("MAILER_DB_FILE", file(t, c.file))
			}
			if c.typed != "" {
				if err := cmd.ParseFlags([]string{"--db", c.typed}); err != nil {
					t.Fatal(err)
				}
			}
			if err := ReadEnvironment(cmd.Flags()); err != nil {
				t.Fatal(err)
			}
			if got := ShowsPassword(cmd); got != c.want {
				t.Errorf("%t, want %t", got, c.want)
			}
		})
	}
}

func TestPasswordOfSpamFilterIsReported(t *testing.T) {
	const secret = "http://user:hunter2@127.0.0.1:11333"
	for name, c := range map[string]struct {
		typed, variable string
		want            bool
	}{
		"typed":              {typed: secret, want: true},
		"without a password": {typed: "http://127.0.0.1:11333"},
		"by a variable":      {variable: secret},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := &cobra.Command{}
			url := cmd.Flags().String("rspamd", "", "")
			t.Setenv("MAILER_RSPAMD", c.variable)
			if c.typed != "" {
				if err := cmd.ParseFlags([]string{"--rspamd", c.typed}); err != nil {
					t.Fatal(err)
				}
			}
			if err := ReadEnvironment(cmd.Flags()); err != nil {
				t.Fatal(err)
			}
			var log strings.Builder
			WarnPasswords(slog.New(slog.NewTextHandler(&log, nil)), cmd, nil, *url)
			if got := strings.Contains(log.String(), "MAILER_RSPAMD_FILE"); got != c.want || strings.Contains(log.String(), "hunter2") {
				t.Errorf("%q, want a warning: %t", log.String(), c.want)
			}
		})
	}
}
