package health

import (
	"cmp"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"mailer/db/engine"
)

// Severity says how bad a finding is.
type Severity string

// The severities. An Error keeps mail from arriving, or soon will; an operator who asked
// for alerts gets one. A Warning should be looked at.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Finding is something that is not well: the same for `mailer status`, `mailer doctor`, the
// API and the dashboard.
type Finding struct {
	ID       string            `json:"id"` // of its Sentence
	Severity Severity          `json:"severity"`
	Subject  string            `json:"subject"` // what it is about: the name of a relay, the id of a domain or webhook; empty: the server
	Params   map[string]string `json:"params"`  // values of its Sentence
	What     string            `json:"what"`    // in English
	Fix      string            `json:"fix"`     // in English; no command
	Command  string            `json:"command"` // runs when pasted into a shell; empty: none helps
	Page     string            `json:"page"`    // of the dashboard, where it can be fixed; empty: there is none
}

// Sentence is what is said of a kind of finding. {name} stands for a parameter.
type Sentence struct {
	ID       string
	Severity Severity
	Title    string // fixed words without parameters, for alerts
	What     string
	Fix      string
	Command  string // {db} is the flag that names the database
	Page     string
	Terminal bool // only commands meet it, which speak English
}

// FlagRelay is added to the fix of what is wrong with a relay that the database does not
// hold: to store it there would change nothing.
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

// bad is a check that found something. pairs are names and values of parameters.
func bad(name, id, subject string, pairs ...string) Check {
	s := byID[id]
	f := &Finding{ID: id, Severity: s.Severity, Subject: subject, Params: map[string]string{}, Page: s.Page}
	for i := 0; i+1 < len(pairs); i += 2 {
		f.Params[pairs[i]] = pairs[i+1]
		if pairs[i] != "detail" && strings.Contains(pairs[i+1], " ") { // no sentence of its own, and no path
			f.Params[pairs[i]] = strings.TrimSuffix(pairs[i+1], ".")
		}
	}
	f.What, f.Fix, f.Command = strings.TrimSpace(filled(s.What, f.Params, plain)), filled(s.Fix, f.Params, plain), filled(s.Command, f.Params, quoted)
	f.Page = filled(s.Page, f.Params, plain)
	return Check{Name: name, Found: f.What, Fix: f.Fix, Finding: f}
}

// ofFlags says of a finding about a relay that the server's flags hold it.
func (c Check) ofFlags() Check {
	c.Finding.Params["note"] = FlagRelay
	c.Fix = strings.TrimSpace(c.Fix + " " + FlagRelayText)
	c.Finding.Fix = c.Fix
	if strings.HasPrefix(c.Finding.Command, "mailer relays add ") {
		c.Finding.Command = ""
	}
	return c
}

// lesser makes a check that found something one that only warns.
func (c Check) lesser() Check {
	if c.Finding != nil {
		c.Finding.Severity = Warning
	}
	return c
}

func plain(s string) string { return s }

var safeWord = regexp.MustCompile(`^[A-Za-z0-9._@%+=:,/-]+$`)

// quoted is a word for a shell.
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

// named has the commands of checks name the database, where that is not the default one of
// the folder in which this process runs.
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

// defaultDatabase is what --db names unless it is given.
const defaultDatabase = "mailer.db"

// findings are what checks found, errors first.
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

// key tells findings apart.
func (f *Finding) key() string { return f.ID + " " + f.Subject }

// Notice is what may be said of a finding outside: fixed words and an id, nothing that a
// tenant wrote.
func (f *Finding) Notice() string {
	return cmp.Or(byID[f.ID].Title, f.ID) + map[bool]string{true: " (" + f.Subject + ")"}[f.Subject != ""]
}

// merged puts what is known now over what a round of deep checks came to: of two checks of
// one name the one that found more counts. A relay or domain that only the round knows is
// gone.
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

// perObject reports whether a check is about a relay or a domain, which may be gone.
func (c *Check) perObject() bool {
	return strings.HasPrefix(c.Name, "relay ") || strings.HasPrefix(c.Name, "domain ")
}

// graver picks between a deep check and one of what is known now.
func graver(deep, now Check) Check {
	switch {
	case now.Settled.After(deep.Settled):
		return now
	case !deep.Settled.IsZero():
		return deep
	case !now.OK && !deep.OK && now.Finding.ID == "relay_failing":
		return deep // it says at which step
	case !now.OK:
		return now
	}
	return deep
}
