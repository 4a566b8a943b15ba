package cli

import (
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
