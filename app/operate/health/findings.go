package health

import (
	"cmp"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"mailer/db/engine"
)

// Severity is the severity of a finding.
type Severity string

// The severities. An Error prevents the delivery of mail, or soon will, and causes an alert. A
// Warning needs attention.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Finding is a problem, as `mailer status`, `mailer doctor`, the API and the dashboard show it.
type Finding struct {
	ID       string            `json:"id"` // of its Sentence
	Severity Severity          `json:"severity"`
	Subject  string            `json:"subject"` // name of a relay, id of a domain or webhook; empty: the server
	Params   map[string]string `json:"params"`  // parameters of its Sentence
	What     string            `json:"what"`    // in English
	Fix      string            `json:"fix"`     // in English, without a command
	Command  string            `json:"command"` // shell command; empty: none
	Page     string            `json:"page"`    // page of the dashboard where it can be fixed; empty: none
}

// Sentence is the text of a kind of finding. {name} is a parameter.
type Sentence struct {
	ID       string
	Severity Severity
	Title    string // fixed text without parameters, for alerts
	What     string
	Fix      string
	Command  string // {db} is the flag that names the database
	Page     string
	Terminal bool // only shown by commands, in English
}

// FlagRelay is added to the fix of a finding about a relay that is configured by flags: storing it
// in the database would change nothing.
const (
	FlagRelay     = "relay_of_flags"
	FlagRelayText = "The relay is set by --relay or MAILER_RELAY of the server: change it there and restart the server."
)

var byID = func() map[string]*Sentence {
	out := make(map[string]*Sentence, len(Sentences))
	for i := range Sentences {
		out[Sentences[i].ID] = &Sentences[i]
	}
	return out
}()

// bad returns a failed check. pairs are names and values of parameters.
func bad(name, id, subject string, pairs ...string) Check {
	s := byID[id]
	f := &Finding{ID: id, Severity: s.Severity, Subject: subject, Params: map[string]string{}, Page: s.Page}
	for i := 0; i+1 < len(pairs); i += 2 {
		f.Params[pairs[i]] = pairs[i+1]
		if pairs[i] != "detail" && strings.Contains(pairs[i+1], " ") { // a sentence, not a path
			f.Params[pairs[i]] = strings.TrimSuffix(pairs[i+1], ".")
		}
	}
	f.What, f.Fix, f.Command = strings.TrimSpace(filled(s.What, f.Params, plain)), filled(s.Fix, f.Params, plain), filled(s.Command, f.Params, quoted)
	f.Page = filled(s.Page, f.Params, plain)
	return Check{Name: name, Found: f.What, Fix: f.Fix, Finding: f}
}

// ofFlags adds that the relay is configured by the server's flags.
func (c Check) ofFlags() Check {
	c.Finding.Params["note"] = FlagRelay
	c.Fix = strings.TrimSpace(c.Fix + " " + FlagRelayText)
	c.Finding.Fix = c.Fix
	if strings.HasPrefix(c.Finding.Command, "mailer relays add ") {
		c.Finding.Command = ""
	}
	return c
}

// lesser turns the error of a failed check into a warning.
func (c Check) lesser() Check {
	if c.Finding != nil {
		c.Finding.Severity = Warning
	}
	return c
}

func plain(s string) string { return s }

var safeWord = regexp.MustCompile(`^[A-Za-z0-9._@%+=:,/-]+$`)

// quoted quotes a word for a shell.
func quoted(s string) string {
	if safeWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

var parameter = regexp.MustCompile(`\{\w+\}`)

func filled(text string, params map[string]string, as func(string) string) string {
	return parameter.ReplaceAllStringFunc(text, func(p string) string {
		value, ok := params[p[1:len(p)-1]]
		if !ok {
			return p
		}
		return as(value)
	})
}

// named adds the database to the commands of checks unless it is the default one in the working
// directory.
func named(p Target, checks []Check) []Check {
	flag := ""
	if !engine.IsRemote(p.Database) && (p.ThisProcess || p.Database != defaultDatabase) {
		path := p.Database
		if abs, err := filepath.Abs(path); err == nil && p.ThisProcess {
			path = abs
		}
		flag = " --db " + quoted(path)
	}
	for i := range checks {
		if f := checks[i].Finding; f != nil {
			f.Command = strings.Replace(f.Command, "{db}", flag, 1)
		}
	}
	return checks
}

// defaultDatabase is the default of --db.
const defaultDatabase = "mailer.db"

// findings returns the findings of checks, errors first.
func findings(checks []Check) []Finding {
	out := []Finding{}
	for _, severity := range []Severity{Error, Warning} {
		for _, c := range checks {
			if c.Finding != nil && c.Finding.Severity == severity {
				out = append(out, *c.Finding)
			}
		}
	}
	return out
}

// key identifies a finding.
func (f *Finding) key() string { return f.ID + " " + f.Subject }

// Notice returns the text of a finding for alerts: fixed text and an id, without text of tenants.
func (f *Finding) Notice() string {
	return cmp.Or(byID[f.ID].Title, f.ID) + map[bool]string{true: " (" + f.Subject + ")"}[f.Subject != ""]
}

// merged merges current checks into those of a deep round. Of two checks with one name the worse
// one counts. Relays and domains that only the round contains were removed.
func merged(deep, now []Check) []Check {
	current := map[string]*Check{}
	for i := range now {
		current[now[i].Name] = &now[i]
	}
	var out []Check
	used := map[string]bool{}
	for _, d := range deep {
		n := current[d.Name]
		switch {
		case n == nil && d.perObject():
			continue
		case n == nil:
			out = append(out, d)
		case used[d.Name]:
		default:
			used[d.Name] = true
			out = append(out, graver(d, *n))
		}
	}
	for _, n := range now {
		if !used[n.Name] {
			out = append(out, n)
		}
	}
	for i := range out {
		out[i].Settled = time.Time{}
	}
	return out
}

// perObject reports whether a check is about a relay or a domain, which may be removed.
func (c *Check) perObject() bool {
	return strings.HasPrefix(c.Name, "relay ") || strings.HasPrefix(c.Name, "domain ")
}

// graver returns the worse of a deep check and a current one.
func graver(deep, now Check) Check {
	switch {
	case now.Settled.After(deep.Settled):
		return now
	case !deep.Settled.IsZero():
		return deep
	case !now.OK && !deep.OK && now.Finding.ID == "relay_failing":
		return deep // it names the step
	case !now.OK:
		return now
	}
	return deep
}
