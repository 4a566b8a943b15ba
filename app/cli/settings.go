package cli

import (
	"net/url"
	"strings"

	"github.com/spf13/pflag"

	"mailer/app/operate/health"
	"mailer/app/rules/relayurl"
	"mailer/app/server"
)

// fromVariable is the annotation of a flag whose value came from its variable.
const fromVariable = "mailer_from_variable"

// SettingsInForce returns the server's settings and the source of each, without secrets. known are
// values that the flags don't hold.
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

// plainValue returns a flag's value. URLs of relays, of the database and of the spam filter are shown without user
// and password, block lists without the key of their user.
func plainValue(f *pflag.Flag) string {
	if f.Name == "db" {
		return server.DatabaseName(f.Value.String())
	}
	if f.Name == "rspamd" {
		return withoutPassword(f.Value.String())
	}
	list, ok := f.Value.(pflag.SliceValue)
	if !ok {
		return f.Value.String()
	}
	values := list.GetSlice()
	if f.Name == "block-lists" {
		for i, list := range values {
			values[i] = health.BlockListTitle(list)
		}
	}
	if f.Name == "relay" {
		for i, text := range values {
			values[i] = "…" // not parsed here: shown as …
			if r, err := relayurl.ParseOne(text); err == nil {
				values[i] = r.String()
			}
		}
	}
	return strings.Join(values, ", ")
}

// withoutPassword returns a URL without user and password, for people to read; "…" if it is none.
func withoutPassword(address string) string {
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "…"
	}
	if u.User != nil {
		u.User = url.User("…")
	}
	return strings.Replace(u.String(), url.QueryEscape("…"), "…", 1)
}
