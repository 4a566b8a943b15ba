package cli

import (
	"strings"

	"github.com/spf13/pflag"

	"mailer/app/operate/health"
	"mailer/app/rules/relayurl"
	"mailer/app/server"
)

// fromVariable is the annotation of a flag whose value came from its variable, which it
// names.
const fromVariable = "mailer_from_variable"

// SettingsInForce are the settings of a server and where each came from, without secrets.
// known are values that stand elsewhere than in their flags.
func SettingsInForce(flags *pflag.FlagSet, known map[string]string) (out []health.Setting) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		s := health.Setting{Name: f.Name, Value: plainValue(f), From: health.FromDefault, Variable: variable(f.Name), About: f.Usage}
		if value := known[f.Name]; value != "" {
			s.Value = value
		}
		switch {
		case f.Annotations[fromFile] != nil:
			s.From, s.Variable = health.FromFile, s.Variable+"_FILE"
		case f.Annotations[fromVariable] != nil:
			s.From = health.FromEnvironment
		case f.Changed:
			s.From = health.FromFlag
		}
		out = append(out, s)
	})
	return out
}

// plainValue is the value of a flag; of the URLs of relays and the database it shows neither
// user nor password.
func plainValue(f *pflag.Flag) string {
	if f.Name == "db" {
		return server.DatabaseName(f.Value.String())
	}
	list, ok := f.Value.(pflag.SliceValue)
	if !ok {
		return f.Value.String()
	}
	values := list.GetSlice()
	if f.Name == "relay" {
		for i, text := range values {
			values[i] = "…" // it was read before: this stays where it can't be any more
			if r, err := relayurl.ParseOne(text); err == nil {
				values[i] = r.String()
			}
		}
	}
	return strings.Join(values, ", ")
}
