package requestlog

import (
	"fmt"

	"github.com/spf13/pflag"
)

// Flags say whether requests are kept.
type Flags struct{ keep string }

// Bind adds the flags to those of a command.
func (f *Flags) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.keep, "request-log", "on", "on: which requests were made is kept for 30 days, without their bodies; off: it is not")
}

// Check refuses what can't be meant. Errors name the flag.
func (f *Flags) Check() error {
	if f.keep != "on" && f.keep != "off" {
		return fmt.Errorf("--request-log must be on or off, is %q", f.keep)
	}
	return nil
}

// Off reports whether requests are not kept.
func (f *Flags) Off() bool { return f.keep == "off" }
