package relays

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/mailbox"
	"mailer/app/rules/routing"
	"mailer/db"
)

// Limits of rules.
const (
	maxRoutes       = 100 // of a region
	maxRouteDomains = 500 // of a rule
	maxWeight       = 99
)

// routed returns the relays to which rules send mail that another relay may take over.
func (r *region) routed() (names []string) {
	for _, rule := range r.settings.Routes {
		if !rule.Strict && slices.Contains(r.relays, rule.Relay) && !slices.Contains(names, rule.Relay) {
			names = append(names, rule.Relay)
		}
	}
	return names
}

// RouteInput is the input of AddRoute. A rule has at least one condition; all must hold.
type RouteInput struct {
	ToDomains []string // of recipients
	Stream    string   // routing.Transactional or routing.Broadcast
	Key       string   // id or name of an API key
	Weight    int      // percent of the mail; 0: all
	Relay     string   // in full, or its name in the region
	Strict    bool     // the mail waits while the relay can't be used
}

// Route is a rule of a region.
type Route struct {
	Region    string   `json:"region"`
	ID        string   `json:"id"`
	Position  int      `json:"position"` // from 1
	Rule      string   `json:"rule"`     // in words
	ToDomains []string `json:"to_domains"`
	Stream    string   `json:"stream,omitzero"`
	KeyID     string   `json:"key_id,omitzero"`
	Weight    int      `json:"weight,omitzero"`
	Relay     string   `json:"relay"`
	Strict    bool     `json:"strict"`
	Note      string   `json:"note,omitzero"` // why its mail does not leave through its relay now
}

// route returns a rule as commands show it.
func (r *region) route(i int) Route {
	rule := &r.settings.Routes[i]
	out := Route{Region: r.name, ID: rule.ID, Position: i + 1, Rule: rule.Words(), ToDomains: slices.Clone(rule.ToDomains), Stream: rule.Stream, KeyID: rule.KeyID, Weight: rule.Weight, Relay: rule.Relay, Strict: rule.Strict}
	if out.ToDomains == nil {
		out.ToDomains = []string{}
	}
	since, down := r.state.Down[rule.Relay]
	switch {
	case !slices.Contains(r.relays, rule.Relay) && rule.Strict:
		out.Note = "the relay does not exist: mail waits"
	case !slices.Contains(r.relays, rule.Relay):
		out.Note = "the relay does not exist: mail leaves through the active relay"
	case down && !rule.Strict:
		out.Note = "the relay can't be used since " + app.FormatTime(since) + ": mail leaves through the active relay"
	}
	return out
}

// Routes returns the rules of a region, or of all regions for "", in their order. Error:
// app.CodeNotFound.
func (s *Service) Routes(ctx context.Context, name string) ([]Route, error) {
	all, err := db.Get(ctx, s.DB, s.readRegions)
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	out, found := []Route{}, name == ""
	for i := range all {
		if name != "" && all[i].name != name {
			continue
		}
		found = true
		for n := range all[i].settings.Routes {
			out = append(out, all[i].route(n))
		}
	}
	if !found {
		return nil, errUnknownRegion(name)
	}
	return out, nil
}

func errUnknownRegion(name string) error {
	return app.Errorf(app.CodeNotFound, "There is no region %s; `mailer relays list` shows all relays", name)
}

// AddRoute adds a rule after the other rules of a region. It applies to mail that is accepted from
// then on. Errors: app.CodeNotFound, CodeValidation, CodeConflict for a rule that exists already.
func (s *Service) AddRoute(ctx context.Context, name string, in RouteInput) (out Route, err error) {
	rule := routing.Rule{Stream: in.Stream, Weight: in.Weight, Strict: in.Strict}
	if rule.ToDomains, err = routeDomains(in.ToDomains); err != nil {
		return out, err
	}
	switch {
	case in.Stream != "" && in.Stream != routing.Transactional && in.Stream != routing.Broadcast:
		return out, app.Invalid("stream", "must be transactional or broadcast")
	case in.Weight < 0 || in.Weight > maxWeight:
		return out, app.Invalid("weight", "must be a percentage from 1 to %d", maxWeight)
	case in.Key != "" && in.Stream == routing.Broadcast:
		return out, app.Invalid("key", "does not apply to broadcasts, which no API key sends")
	case in.Relay == "":
		return out, app.Invalid("relay", "is required: the relay through which the mail leaves")
	case in.Key == "" && in.Stream == "" && in.Weight == 0 && rule.ToDomains == nil:
		return out, app.Errorf(app.CodeValidation, "A rule needs at least one of `to_domain`, `stream`, `key` and `weight`; mail that no rule matches leaves through the active relay (`mailer relays switch`)")
	}
	_, err = s.updateRegion(ctx, name, "region.route_add", func(tx *db.Tx, r *region, _ time.Time) (before, after any, err error) {
		if rule.Relay, err = r.find(in.Relay); err != nil {
			return nil, nil, app.Invalid("relay", "must be a relay of %s: there is no %s; it has %s", r.name, in.Relay, strings.Join(r.relays, ", "))
		}
		if err := setRouteKey(&tx.Reader, &rule, in.Key); err != nil {
			return nil, nil, err
		}
		if len(r.settings.Routes) >= maxRoutes {
			return nil, nil, app.Errorf(app.CodeValidation, "The region %s has %d rules, which is the most: remove one with `mailer relays route remove`", r.name, maxRoutes)
		}
		for _, known := range r.settings.Routes {
			if known.Words() == rule.Words() && slices.Equal(known.ToDomains, rule.ToDomains) && known.KeyID == rule.KeyID {
				return nil, nil, app.Errorf(app.CodeConflict, "The region %s has this rule already: %s", r.name, known.ID)
			}
		}
		id := app.NewID()
		rule.ID = id[len(id)-8:]
		r.settings.Routes = append(r.settings.Routes, rule)
		out = r.route(len(r.settings.Routes) - 1)
		return nil, out, nil
	})
	return out, err
}

// routeDomains checks the domains of a rule and returns them in A-labels, each once.
func routeDomains(list []string) (out []string, err error) {
	if len(list) > maxRouteDomains {
		return nil, app.Invalid("to_domain", "must not hold more than %d domains", maxRouteDomains)
	}
	for _, text := range list {
		domain, err := mailbox.ParseDomain(strings.ToLower(strings.TrimSpace(text)))
		if err != nil {
			return nil, app.Invalid("to_domain", "must hold domains like gmail.com: %q %v", text, err)
		}
		if !slices.Contains(out, domain) {
			out = append(out, domain)
		}
	}
	return out, nil
}

// keysNamed returns the API keys of all teams with an id or a name.
func keysNamed(r *db.Reader, text string) (found []app.Key, err error) {
	key, err := r.AnyKey(text)
	if !errors.Is(err, db.ErrNotFound) {
		return []app.Key{key}, err
	}
	teams, err := r.ListTeams()
	if err != nil {
		return nil, err
	}
	for _, team := range teams {
		keys, err := r.AllKeys(team.ID)
		if err != nil {
			return nil, err
		}
		found = append(found, slices.DeleteFunc(keys, func(k app.Key) bool { return k.Name != text })...)
	}
	return found, nil
}

// setRouteKey finds the API key of a rule by its id, or by its name in any team.
func setRouteKey(r *db.Reader, rule *routing.Rule, text string) error {
	if text == "" {
		return nil
	}
	found, err := keysNamed(r, text)
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		return app.Invalid("key", "must be the id or name of an API key: there is no %s (`mailer keys list` shows them)", text)
	case len(found) > 1:
		return app.Invalid("key", "must be the id of an API key: %d keys have the name %s", len(found), text)
	}
	rule.KeyID, rule.KeyName = found[0].ID, found[0].Name
	return nil
}

// RemoveRoute removes a rule of a region. Mail that waits by it for another relay than the active one
// leaves through the active relay, unless the rule was strict. Error: app.CodeNotFound.
func (s *Service) RemoveRoute(ctx context.Context, name, id string) (out Route, err error) {
	_, err = s.updateRegion(ctx, name, "region.route_remove", func(_ *db.Tx, r *region, _ time.Time) (before, after any, err error) {
		at := slices.IndexFunc(r.settings.Routes, func(rule routing.Rule) bool { return rule.ID == id })
		if at < 0 {
			return nil, nil, app.Errorf(app.CodeNotFound, "The region %s has no rule %s; `mailer relays routes` lists all rules", r.name, id)
		}
		out = r.route(at)
		r.settings.Routes = slices.Delete(slices.Clone(r.settings.Routes), at, at+1)
		return out, nil, nil
	})
	return out, err
}

// updateRegion changes what is stored of a region, and writes what change returns to the audit log.
// Errors: app.CodeNotFound, those of change.
func (s *Service) updateRegion(ctx context.Context, name, action string, change func(tx *db.Tx, r *region, now time.Time) (before, after any, err error)) (RegionStatus, error) {
	var out RegionStatus
	err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		all, err := s.readRegions(&tx.Reader)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(all, func(r region) bool { return r.name == name })
		if at < 0 {
			return errUnknownRegion(name)
		}
		r := &all[at]
		before, after, err := change(tx, r, tx.Now)
		if err != nil {
			return err
		}
		row, err := r.row()
		if err != nil {
			return err
		}
		if err := tx.SetRegion(row); err != nil {
			return err
		}
		out = r.status()
		return base.Audit(ctx, tx, "", action, name, before, after)
	})
	return out, wrap("change", name, err)
}
