package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"mailer/app"
	"mailer/app/operate/backup"
	"mailer/app/operate/health"
	"mailer/app/operate/retention"
	"mailer/app/rules/pacing"
	"mailer/app/rules/webhook"
	"mailer/app/sending/delivery"
)

// Flags are the flags of mailer serve that can be changed while it runs.
type Flags struct {
	Guardrails, Compat   string
	LogLevel, RequestLog string
	Reserve              float64 // share of a relay's daily limit that is reserved for other mail than broadcasts
	WebhooksPerTeam      int
	DoubtDelay           time.Duration
	Waits                delivery.Flags
	Keep                 retention.Flags
	Backup               backup.Daily
	Alerts               health.Alerts
}

// choices are the values of settings with enumerated values.
var choices = map[string][]string{
	"guardrails":  {"warn", "enforce"},
	"compat":      {string(app.CompatStrict), string(app.CompatResend)},
	"log-level":   {"debug", "info", "warn", "error"},
	"request-log": {"on", "off"},
}

// Bind adds the flags to those of a command.
func (f *Flags) Bind(flags *pflag.FlagSet) {
	f.Waits.Bind(flags)
	f.Keep.Bind(flags)
	f.Backup.Bind(flags)
	f.Alerts.Bind(flags)
	flags.StringVar(&f.Compat, "compat", string(app.CompatStrict), "strict: the rules of this API; resend: also accept requests that only Resend accepts (inline images, any custom header that the caller may set)")
	flags.StringVar(&f.Guardrails, "guardrails", "warn", "what happens when the bounce or complaint limit is exceeded: enforce (hold mail) or warn (report only)")
	flags.IntVar(&f.WebhooksPerTeam, "webhooks-per-team", webhook.DefaultPerTeam, "maximum number of webhooks per team")
	flags.Float64Var(&f.Reserve, "transactional-reserve", 1-pacing.DefaultBulkShare, "share of a relay's daily limit reserved for transactional mail, 0 to 0.95")
	flags.DurationVar(&f.DoubtDelay, "doubt-delay", time.Minute, "how long a message with an unknown outcome waits before it is sent again")
	flags.StringVar(&f.LogLevel, "log-level", "info", "minimum log level: debug, info, warn or error")
	flags.StringVar(&f.RequestLog, "request-log", "on", "on: store requests for 30 days (GET /logs, without bodies) and log each rejected or slow request, at level debug all requests; off: store none, and log only requests that fail because of a server error")
}

// Check validates the flags. Errors name the flag.
func (f *Flags) Check() error {
	for _, c := range []struct{ flag, value, words string }{
		{"compat", f.Compat, "strict or resend"}, {"guardrails", f.Guardrails, "enforce or warn"},
		{"log-level", f.LogLevel, "debug, info, warn or error"}, {"request-log", f.RequestLog, "on or off"},
	} {
		if !slices.Contains(choices[c.flag], c.value) {
			return fmt.Errorf("--%s must be %s, is %q", c.flag, c.words, c.value)
		}
	}
	if !(f.Reserve >= 0 && f.Reserve <= 0.95) { // excludes NaN
		return fmt.Errorf("--transactional-reserve must be between 0 and 0.95, is %g", f.Reserve)
	}
	if f.WebhooksPerTeam < 1 || f.WebhooksPerTeam > webhook.MaxPerTeam {
		return fmt.Errorf("--webhooks-per-team must be a number from 1 to %d, is %d", webhook.MaxPerTeam, f.WebhooksPerTeam)
	}
	if f.DoubtDelay <= 0 {
		return fmt.Errorf("--doubt-delay must be longer than 0, is %s", f.DoubtDelay)
	}
	return errors.Join(f.Waits.Check(), f.Backup.Check(), f.Alerts.Check(), f.Keep.Check())
}

// Silent reports whether the request log is off.
func (f *Flags) Silent() bool { return f.RequestLog == "off" }

// Level returns the log level, after Check.
func (f *Flags) Level() (level slog.Level) {
	_ = level.UnmarshalText([]byte(f.LogLevel)) // validated before
	return level
}

// Given returns the values of the flags that were set by a flag or a variable.
func Given(flags *pflag.FlagSet) map[string]string {
	given := map[string]string{}
	normalize().VisitAll(func(f *pflag.Flag) {
		if set := flags.Lookup(f.Name); set != nil && set.Changed {
			given[f.Name] = set.Value.String()
		}
	})
	return given
}

func normalize() *pflag.FlagSet {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&Flags{}).Bind(flags)
	return flags
}

// read converts values by name to flags and validates them.
func read(values ...map[string]string) (*Flags, error) {
	out, flags := &Flags{}, pflag.NewFlagSet("", pflag.ContinueOnError)
	out.Bind(flags)
	for _, set := range values {
		for name, value := range set {
			if err := flags.Set(name, value); err != nil {
				return nil, fmt.Errorf("--%s: %q is not a value of this setting", name, value)
			}
		}
	}
	return out, out.Check()
}
