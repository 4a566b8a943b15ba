package base

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/db"
)

// RelayPurpose is what the URLs of relays are sealed for; the region is the context.
const RelayPurpose = "relay"

// serverSetting is the name of what a server leaves for the commands beside it.
const serverSetting = "server"

// Settings is what commands beside a server must know of it, to accept by the
// same rules. Which relays there are may change while it is read.
type Settings struct {
	Capture bool   `json:"capture,omitzero"`
	BaseURL string `json:"base_url,omitzero"` // without a slash at its end; empty: not known
	// Enforce: a team or region over the line of a guardrail is held back.
	Enforce bool `json:"enforce,omitzero"`
	// DNS is the name server that all questions about domains go to; empty: the authoritative
	// ones of each. Commands beside the server ask it too.
	DNS        string `json:"dns,omitzero"`
	BounceHost string `json:"bounce_host,omitzero"` // under which bounces arrive; empty: they do not
	Cloud      bool   `json:"cloud,omitzero"`       // teams have plans
	// Compat is what requests may say beyond this API's own rules; empty: app.CompatStrict.
	Compat app.Compat `json:"compat,omitzero"`
	// Keep is what teams keep that say nothing themselves.
	Keep app.Retention `json:"keep,omitzero"`

	relays *atomic.Pointer[Relays] // nil: none were set
	rules  *atomic.Pointer[Rules]  // in force, where they differ from those of the start; nil: they don't
}

// Rules are the settings by which mail is accepted and kept that can change while a server runs.
type Rules struct {
	Enforce bool          `json:"enforce,omitzero"`
	Compat  app.Compat    `json:"compat,omitzero"`
	Keep    app.Retention `json:"keep,omitzero"`
}

// Rules returns the rules in force.
func (s *Settings) Rules() Rules {
	if s.rules != nil {
		if r := s.rules.Load(); r != nil {
			return *r
		}
	}
	return Rules{Enforce: s.Enforce, Compat: s.Compat, Keep: s.Keep}
}

// SetRules puts other rules in force.
func (s *Settings) SetRules(r Rules) { s.rules.Store(&r) }

// Relays are the relays of a server, as regions. They never change; others take their
// place.
type Relays struct {
	NoRelay bool     `json:"no_relay,omitzero"` // none is configured: mail is accepted and waits
	Regions []Region `json:"regions,omitzero"`  // the first is the default; none: no server ran yet
}

// NewRelays are those of a server with these relays: without any there is the default
// region, in which mail waits.
func NewRelays(regions []Region) Relays {
	if len(regions) == 0 {
		return Relays{NoRelay: true, Regions: []Region{{Name: app.DefaultRegion}}}
	}
	return Relays{Regions: regions}
}

// Relays are the relays as they are now.
func (s *Settings) Relays() Relays {
	if s.relays == nil {
		return Relays{}
	}
	return *s.relays.Load()
}

// SetRelays puts others in the place of the relays; all readers see them from now on.
func (s *Settings) SetRelays(o Relays) {
	if s.relays == nil {
		s.relays = &atomic.Pointer[Relays]{}
	}
	s.relays.Store(&o)
}

// savedSettings is how settings stand in the database.
type savedSettings struct {
	*Settings `json:",inline"` // as the server was started
	Relays    `json:",inline"`
	Rules     *Rules `json:"rules,omitzero"` // in force
}

// The words of Relay.
const (
	RelayNone       = "none"
	RelayCapture    = "capture"
	RelayConfigured = "configured"
)

// RelayMode says in one word where mail goes: RelayNone, RelayCapture or RelayConfigured.
func (s *Settings) RelayMode() string {
	switch {
	case s.Capture:
		return RelayCapture
	case s.Relays().NoRelay:
		return RelayNone
	}
	return RelayConfigured
}

// RegionOf returns the region that mail of a domain leaves through: its own, also where
// no relay is there for it, and the default one for a domain that was made while all
// mail was captured.
func (s *Settings) RegionOf(region string) string {
	switch {
	case s.Capture:
		return app.CaptureRegion
	case region != app.CaptureRegion:
		return region
	}
	if regions := s.Relays().Regions; len(regions) > 0 {
		return regions[0].Name
	}
	return app.DefaultRegion
}

// MissingRelay says why no mail leaves through a region; empty: there is a relay for it, or
// no server ran on this database yet.
func (s *Settings) MissingRelay(region string) string {
	now := s.Relays()
	switch {
	case now.NoRelay:
		return "no relay is configured"
	case len(now.Regions) == 0 || slices.ContainsFunc(now.Regions, func(r Region) bool { return r.Name == region }):
		return ""
	}
	return "no relay for region " + region
}

// Region is a relay as the DNS sees it.
type Region struct {
	Name  string         `json:"name"`
	Needs app.RelayNeeds `json:"needs,omitzero"`
}

// loadSettings finds out about the server: this process, which is own, or else (with
// no regions in own) the one that ran last on the database.
func (s *Base) loadSettings(ctx context.Context, own Settings) error {
	if len(own.Relays().Regions) > 0 {
		s.Settings = own
		s.Settings.rules = &atomic.Pointer[Rules]{}
		return nil
	}
	s.Settings.rules = &atomic.Pointer[Rules]{}
	want := savedSettings{Settings: &s.Settings}
	text, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]byte, error) { return r.Setting(serverSetting) })
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	s.Settings.SetRelays(want.Relays)
	if want.Rules != nil {
		s.Settings.SetRules(*want.Rules)
	}
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return fmt.Errorf("read what the server noted: %w", err)
	}
	if own.BaseURL != "" {
		s.Settings.BaseURL = own.BaseURL
	}
	return nil
}

// FollowLeader has this process accept for the relays of the server that leads. A server that
// was told otherwise says so, once.
func (s *Base) FollowLeader(ctx context.Context) error {
	want := savedSettings{Settings: &Settings{}}
	text, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]byte, error) { return r.Setting(serverSetting) })
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if errors.Is(err, db.ErrNotFound) { // it is not there yet
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what the server that leads noted: %w", err)
	}
	s.Settings.SetRelays(want.Relays)
	s.warnDifferentSettings(want.Settings)
	return nil
}

// warnDifferentSettings tells, once, what the server that leads was told otherwise than this one.
func (s *Base) warnDifferentSettings(leader *Settings) {
	ours, theirs := differing(s.Settings.ruleAttrs(), leader.ruleAttrs())
	otherURL := s.Settings.BaseURL != leader.BaseURL
	if len(ours) == 0 && !otherURL || s.warned.Swap(true) {
		return
	}
	if len(ours) > 0 {
		s.Log.Warn("the server that leads was started with other flags than this one, so that mail is accepted and kept by different rules: start all with the same", slog.Group("this", ours...), slog.Group("it", theirs...))
	}
	if otherURL {
		s.Log.Warn("the server that leads has another --base-url than this one: links in mails and invitations lead to the server that made them, and a passkey counts at the address where it was made. Start all with the address of what stands before them",
			slog.Group("this", "base_url", s.Settings.BaseURL), slog.Group("it", "base_url", leader.BaseURL))
	}
}

// ruleAttrs are those by which mail is accepted and kept as the server was started, for people, by their flags.
func (s *Settings) ruleAttrs() []slog.Attr {
	mode, guardrails := "self-hosted", "warn"
	if s.Cloud {
		mode = "cloud"
	}
	if s.Enforce {
		guardrails = "enforce"
	}
	return []slog.Attr{slog.Bool("capture", s.Capture), slog.String("mode", mode), slog.String("guardrails", guardrails),
		slog.String("compat", string(cmp.Or(s.Compat, app.CompatStrict))), slog.String("bounce_host", s.BounceHost),
		slog.Duration("keep_content", s.Keep.Content), slog.Duration("keep_emails", s.Keep.Emails), slog.Duration("keep_broadcasts", s.Keep.Broadcasts)}
}

// differing returns those of two servers' rules that differ, of each.
func differing(own, other []slog.Attr) (ours, theirs []any) {
	for i := range own {
		if !own[i].Equal(other[i]) {
			ours, theirs = append(ours, own[i]), append(theirs, other[i])
		}
	}
	return ours, theirs
}

// SaveSettings leaves a note of this server for commands beside it.
func (s *Base) SaveSettings(ctx context.Context) error {
	rules := s.Settings.Rules()
	text, err := json.Marshal(savedSettings{&s.Settings, s.Settings.Relays(), &rules})
	if err != nil {
		return fmt.Errorf("encode what this server is: %w", err)
	}
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error { return tx.SetSetting(serverSetting, text) })
	if err != nil {
		return fmt.Errorf("note what this server is: %w", err)
	}
	return nil
}
