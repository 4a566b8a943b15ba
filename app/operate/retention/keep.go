package retention

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"mailer/app"
)

const day = 24 * time.Hour

// units are the units of retention, the largest first. Go does not have d, w and y.
var units = []struct {
	suffix string
	length time.Duration
}{{"y", 365 * day}, {"w", 7 * day}, {"d", day}}

// maxRetention is 200 years: more would overflow dates in milliseconds.
const maxRetention = 200 * 365 * day

// ParseRetention parses a retention: 0 for no limit, or a number with a unit, like 1y, 2w, 30d,
// 12h. The errors do not name a flag.
func ParseRetention(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	bad := fmt.Errorf("%q is not a time like 30d, 2w, 1y or 12h, nor 0 for no limit", text)
	var kept time.Duration
	var err error
	for _, u := range units {
		number, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil || time.Duration(n) > maxRetention/u.length {
			return 0, bad
		}
		return retentionOrError(time.Duration(n)*u.length, bad)
	}
	if kept, err = time.ParseDuration(text); err != nil {
		return 0, bad
	}
	return retentionOrError(kept, bad)
}

// retentionOrError refuses negative and very short retentions.
func retentionOrError(kept time.Duration, bad error) (time.Duration, error) {
	if kept < time.Second || kept > maxRetention {
		return 0, bad
	}
	return kept, nil
}

// FormatRetention formats a retention for ParseRetention.
func FormatRetention(kept time.Duration) string {
	if kept == 0 {
		return "0"
	}
	for _, u := range units {
		if kept%u.length == 0 {
			return strconv.FormatInt(int64(kept/u.length), 10) + u.suffix
		}
	}
	text := kept.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Flags are the flags of the retention of finished mail.
type Flags struct {
	content, emails, broadcasts, optIns string
	received, reports                   string
	retention                           app.Retention
}

// Bind adds the flags to those of a command.
func (f *Flags) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.content, "keep-content", "0", "how long bodies, attachments and captured messages of finished emails are kept, like 30d; 0: no limit")
	flags.StringVar(&f.emails, "keep-emails", "0", "how long finished emails are kept, like 1y; 0: no limit")
	flags.StringVar(&f.broadcasts, "keep-broadcasts", "0", "how long recipients of finished broadcasts are kept, like 1y; counts stay; 0: no limit")
	flags.StringVar(&f.optIns, "keep-opt-ins", "30d", "how long opt-ins are kept, 1d to 365d")
	flags.StringVar(&f.received, "keep-received", "30d", "how long received mail is kept; 0: no limit")
	flags.StringVar(&f.reports, "keep-reports", "400d", "how long reports about domains are kept, 30d to 10y")
}

// Check parses the flags. Errors name the flag.
func (f *Flags) Check() error {
	var errs []error
	for _, flag := range []struct {
		name, text string
		to         *time.Duration
	}{{"keep-content", f.content, &f.retention.Content}, {"keep-emails", f.emails, &f.retention.Emails}, {"keep-broadcasts", f.broadcasts, &f.retention.Broadcasts}, {"keep-opt-ins", f.optIns, &f.retention.OptIns}, {"keep-received", f.received, &f.retention.Received}, {"keep-reports", f.reports, &f.retention.Reports}} {
		kept, err := ParseRetention(flag.text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", flag.name, err))
		}
		*flag.to = kept
	}
	if kept := f.retention.OptIns; len(errs) == 0 && (kept < day || kept > 365*day) {
		errs = append(errs, fmt.Errorf("--keep-opt-ins must be 1d to 365d, is %s", f.optIns))
	}
	if kept := f.retention.Reports; len(errs) == 0 && (kept < 30*day || kept > 3650*day) {
		errs = append(errs, fmt.Errorf("--keep-reports must be 30d to 10y, is %s", f.reports))
	}
	return errors.Join(errs...)
}

// Retention returns the retention that Check parsed.
func (f *Flags) Retention() app.Retention { return f.retention }
