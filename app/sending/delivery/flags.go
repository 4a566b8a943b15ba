package delivery

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"mailer/app"
	"mailer/app/kit/schedule"
)

// Flags are the flags for how long mail is tried.
type Flags struct{ maxWait string }

// Bind adds the flags to those of a command.
func (f *Flags) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.maxWait, "max-wait", app.FormatSpan(app.DefaultMaxWait), "how long delivery is attempted before an email fails, like 10m, 48h or 3d; 0: no limit")
}

// Check validates the flags. Errors name the flag.
func (f *Flags) Check() error {
	if _, err := schedule.ParseSpan(f.maxWait); err != nil {
		return fmt.Errorf("--max-wait %w, is %q", err, f.maxWait)
	}
	return nil
}

// MaxWait is Config.MaxWait.
func (f *Flags) MaxWait() time.Duration {
	if d, _ := schedule.ParseSpan(f.maxWait); d > 0 { // checked before
		return d
	}
	return -1
}
