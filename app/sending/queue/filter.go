package queue

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/kit/mailbox"
	"mailer/app/kit/nearest"
)

// State is what mail waits for.
type State string

// The states. Held mail has no other state.
const (
	Due       State = "due"       // can be sent now
	Scheduled State = "scheduled" // waits for its scheduled time
	Retry     State = "retry"     // waits for its next try
	Held      State = "held"      // waits until it is released
	Relay     State = "relay"     // waits for its relay, whose breaker is open or which is paused or missing
	Quota     State = "quota"     // waits for the next day of a quota
	Paced     State = "paced"     // recipient of a broadcast that has not begun
)

// States are all states.
var States = []string{string(Due), string(Scheduled), string(Retry), string(Held), string(Relay), string(Quota), string(Paced)}

// Filter selects mail of the queue. Mail must match all fields that are set.
type Filter struct {
	IDs        []string  `json:"ids,omitzero"`  // of emails, of emails to a broadcast's recipients, or of broadcasts
	Team       string    `json:"team,omitzero"` // name or id
	Relay      string    `json:"relay,omitzero"`
	FromDomain string    `json:"from_domain,omitzero"`
	ToDomain   string    `json:"to_domain,omitzero"` // of an open recipient
	State      State     `json:"state,omitzero"`
	OlderThan  Age       `json:"older_than,omitzero"` // accepted before this age
	Broadcast  string    `json:"broadcast,omitzero"`
	Doubts     bool      `json:"doubts,omitzero"`   // Relay may have sent it
	Restored   bool      `json:"restored,omitzero"` // held because a backup was restored
	After      time.Time `json:"after,omitzero"`    // accepted at this time or later
	// FailedSince and Captured are for Requeue only: mail that failed since a time, and captured
	// mail.
	FailedSince time.Time `json:"failed_since,omitzero"`
	Captured    bool      `json:"captured,omitzero"`
	// Visible leaves out confirmations of opt-ins, which their team does not see.
	Visible bool `json:"visible,omitzero"`
	// All confirms that no filter is intended.
	All bool `json:"all,omitzero"`
}

// MaxIDs is how many ids a filter may have.
const MaxIDs = 1000

// Validate checks the fields and converts ids and domains to their canonical form. Errors:
// CodeValidation.
func (f *Filter) Validate() error {
	if len(f.IDs) > MaxIDs {
		return app.Invalid("id", "can be given at most %d times", MaxIDs)
	}
	for i, id := range f.IDs {
		canonical, ok := app.ParseID(id)
		if !ok {
			return app.Invalid("id", "must be the id of an email or broadcast, like %s: %q is none", app.FirstID(time.Unix(1_800_000_000, 0)), id)
		}
		f.IDs[i] = canonical
	}
	if f.Broadcast != "" {
		canonical, ok := app.ParseID(f.Broadcast)
		if !ok {
			return app.Invalid("broadcast", "must be the id of a broadcast: %q is none", f.Broadcast)
		}
		f.Broadcast = canonical
	}
	if err := domainOf("from_domain", &f.FromDomain); err != nil {
		return err
	}
	if err := domainOf("to_domain", &f.ToDomain); err != nil {
		return err
	}
	if f.State != "" && !slices.Contains(States, string(f.State)) {
		return app.Invalid("state", "must be one of %s: %q is none; the nearest is %s", strings.Join(States, ", "), f.State, nearest.Of(string(f.State), States))
	}
	switch {
	case f.OlderThan < 0:
		return app.Invalid("older_than", "must not be negative")
	case f.Restored && f.State != "" && f.State != Held:
		return app.Invalid("state", "must be held beside `restored`")
	case f.All && !f.isEmpty():
		return app.Invalid("all", "can't be used with a filter")
	}
	return nil
}

// domainOf checks a domain of a filter and converts it to the form in addresses.
func domainOf(name string, domain *string) error {
	if *domain == "" {
		return nil
	}
	canonical, err := mailbox.ParseDomain(strings.TrimPrefix(*domain, "@"))
	if err != nil {
		return app.Invalid(name, "must be a domain name like example.com: %q is none", *domain)
	}
	*domain = canonical
	return nil
}

// isEmpty reports whether no field is set, including the team.
func (f *Filter) isEmpty() bool {
	return len(f.IDs) == 0 && f.Team == "" && f.Relay == "" && f.FromDomain == "" && f.ToDomain == "" && f.State == "" && f.OlderThan == 0 &&
		f.Broadcast == "" && !f.Doubts && !f.Restored && f.After.IsZero() && f.FailedSince.IsZero() && !f.Captured
}

// RequireCriteria refuses an empty filter without All, so that no action affects all mail by
// mistake. Errors: CodeValidation.
func (f *Filter) RequireCriteria() error {
	if f.All || !f.isEmpty() {
		return nil
	}
	return app.Errorf(app.CodeValidation, "This would affect all queued mail. Add a filter, or `all` (--all on the command line)")
}

// RequireTeamCriteria refuses a filter that selects a whole team, unless all is set. Errors:
// CodeValidation.
func (f *Filter) RequireTeamCriteria(all bool) error {
	rest := *f
	rest.Team = ""
	if all || !rest.isEmpty() {
		return nil
	}
	return rest.RequireCriteria()
}

// IsSingle reports whether a filter names a single id. Commands act on it without confirmation.
func (f *Filter) IsSingle() bool { return len(f.IDs) == 1 }

// Age is a duration before now.
type Age time.Duration

// MarshalText implements encoding.TextMarshaler.
func (a Age) MarshalText() ([]byte, error) { return []byte(time.Duration(a).String()), nil }

// ParseAge parses a duration for time.ParseDuration, or a number of days like "3d".
func ParseAge(s string) (Age, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err == nil && n >= 0 && n < 36500 {
			return Age(n * 24 * float64(time.Hour)), nil
		}
	} else if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return Age(d), nil
	}
	return 0, fmt.Errorf("%q is not a duration: use one like 90m, 2h or 3d", s)
}

// ParseSince parses a time in RFC 3339, or an Age before now.
func ParseSince(s string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return at, nil
	}
	age, err := ParseAge(s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a time: use one like %s, or a duration before now, like 2h or 3d", s, now.UTC().Format(time.RFC3339))
	}
	return now.Add(-time.Duration(age)), nil
}
