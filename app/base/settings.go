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
	"mailer/app/rules/routing"
	"mailer/db"
)

// RelayPurpose is the purpose that relay URLs are sealed for; the region is the context.
const RelayPurpose = "relay"

// serverSetting is the setting in which a server stores its settings, for commands and other
// servers of the database.
const serverSetting = "server"

// Settings are the settings of a server that commands on the same database need, to accept mail by
// the same rules. The relays may change while Settings is read.
type Settings struct {
	Capture bool   `json:"capture,omitzero"`
	BaseURL string `json:"base_url,omitzero"` // without a slash at its end; empty: unknown
	// Enforce makes guardrails pause a team or region that exceeds its limits.
	Enforce bool `json:"enforce,omitzero"`
	// DNS is the name server for all questions about domains; empty: the authoritative servers of
	// each domain.
	DNS        string `json:"dns,omitzero"`
	BounceHost string `json:"bounce_host,omitzero"` // the host that receives bounces; empty: none
	PagesHost  string `json:"pages_host,omitzero"`  // the host of what all teams publish, like images; empty: none
	Cloud      bool   `json:"cloud,omitzero"`       // teams have plans
	// BlockLists are the DNS block lists that are asked about the addresses that mail leaves from.
	BlockLists []string `json:"block_lists,omitzero"`
	// Compat is how requests are read; empty: app.CompatStrict.
	Compat app.Compat `json:"compat,omitzero"`
	// Keep is the retention of teams that set none.
	Keep app.Retention `json:"keep,omitzero"`

	relays *atomic.Pointer[Relays] // nil: not set
	rules  *atomic.Pointer[Rules]  // in force, where they differ from the flags; nil: they don't
}

// ReportHost is the host of the addresses for reports about domains; empty: this server receives none.
func (s *Settings) ReportHost() string { return app.BounceMX(s.BounceHost) }

// Rules are the settings for accepting and keeping mail that can change while a server runs.
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

// SetRules replaces the rules in force.
func (s *Settings) SetRules(r Rules) { s.rules.Store(&r) }

// Relays are the relays of a server, by region. A value never changes; SetRelays replaces it.
type Relays struct {
	NoRelay bool     `json:"no_relay,omitzero"` // no relay is configured: mail is accepted and waits
	Regions []Region `json:"regions,omitzero"`  // the first is the default; empty: no server has run yet
}

// NewRelays returns the Relays of a server. Without any relay there is only the default region, in
// which mail waits.
func NewRelays(regions []Region) Relays {
	if len(regions) == 0 {
		return Relays{NoRelay: true, Regions: []Region{{Name: app.DefaultRegion}}}
	}
	return Relays{Regions: regions}
}

// Relays returns the current relays.
func (s *Settings) Relays() Relays {
	if s.relays == nil {
		return Relays{}
	}
	return *s.relays.Load()
}

// SetRelays replaces the relays. All readers see the new ones from then on.
func (s *Settings) SetRelays(o Relays) {
	if s.relays == nil {
		s.relays = &atomic.Pointer[Relays]{}
	}
	s.relays.Store(&o)
}

// savedSettings is the stored form of Settings.
type savedSettings struct {
	*Settings `json:",inline"` // the flags that the server was started with
	Relays    `json:",inline"`
	Rules     *Rules `json:"rules,omitzero"` // in force
}

// The results of RelayMode.
const (
	RelayNone       = "none"
	RelayCapture    = "capture"
	RelayConfigured = "configured"
)

// RelayMode returns RelayNone, RelayCapture or RelayConfigured.
func (s *Settings) RelayMode() string {
	switch {
	case s.Capture:
		return RelayCapture
	case s.Relays().NoRelay:
		return RelayNone
	}
	return RelayConfigured
}

// RegionOf returns the region through which mail of a domain leaves: the region of the domain, even
// if it has no relay, and the default region for a domain that was added while all mail was
// captured.
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

// MissingRelay returns why no mail of a queue of units leaves; empty: its region has a relay, and the
// one that is fixed for the queue if there is one, or no server has run yet.
func (s *Settings) MissingRelay(queue string) string {
	now := s.Relays()
	region, relay := app.QueueRegion(queue), app.QueueRelay(queue)
	at := slices.IndexFunc(now.Regions, func(r Region) bool { return r.Name == region })
	switch {
	case now.NoRelay:
		return "no relay is configured"
	case len(now.Regions) == 0:
		return ""
	case at < 0:
		return "no relay for region " + region
	case relay != "" && !app.IsRouted(queue) && !slices.Contains(now.Regions[at].Relays, relay):
		return "no relay " + relay + ", through which alone the mail may leave"
	}
	return ""
}

// RelayOf returns the relay through which the mail of a queue leaves now, or that of its route.
func (s *Settings) RelayOf(queue string) string {
	if fixed := app.QueueRelay(queue); fixed != "" {
		return fixed
	}
	name := app.QueueRegion(queue)
	for _, r := range s.Relays().Regions {
		if r.Name == name {
			return cmp.Or(r.Active, name)
		}
	}
	return name
}

// FeedbackSetting is the name of the setting that says that a provider has reported events.
func FeedbackSetting(source string) string { return "feedback_" + source }

// Region is a region as DNS records and the acceptance of mail depend on it.
type Region struct {
	Name   string         `json:"name"`
	Needs  app.RelayNeeds `json:"needs,omitzero"`
	Relays []string       `json:"relays,omitzero"` // in full, unless there is one with the name of the region
	Active string         `json:"active,omitzero"` // relay through which mail leaves, if Relays are set
	Rules  []routing.Rule `json:"rules,omitzero"`  // with their queues
}

// RoutingRules returns the rules of a region, by which its mail goes into other queues.
func (s *Settings) RoutingRules(region string) []routing.Rule {
	for _, r := range s.Relays().Regions {
		if r.Name == region {
			return r.Rules
		}
	}
	return nil
}

// loadSettings sets the settings: own for a server, and those that the last server of the database
// stored for a command, which has no regions in own.
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
		return fmt.Errorf("read the settings of the server: %w", err)
	}
	if own.BaseURL != "" {
		s.Settings.BaseURL = own.BaseURL
	}
	return nil
}

// FollowLeader makes this process accept mail for the relays of the leading server. It logs once if
// the two servers have different settings.
func (s *Base) FollowLeader(ctx context.Context) error {
	want := savedSettings{Settings: &Settings{}}
	text, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]byte, error) { return r.Setting(serverSetting) })
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if errors.Is(err, db.ErrNotFound) { // no server has stored any yet
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the settings of the leading server: %w", err)
	}
	s.Settings.SetRelays(want.Relays)
	s.warnDifferentSettings(want.Settings)
	return nil
}

// warnDifferentSettings logs once how the settings of the leading server differ from those of this
// server.
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

// ruleAttrs returns the flags for accepting and keeping mail as log attributes.
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

// differing returns the attributes that differ between two servers, of either server.
func differing(own, other []slog.Attr) (ours, theirs []any) {
	for i := range own {
		if !own[i].Equal(other[i]) {
			ours, theirs = append(ours, own[i]), append(theirs, other[i])
		}
	}
	return ours, theirs
}

// SaveSettings stores the settings of this server for commands and other servers of the database.
func (s *Base) SaveSettings(ctx context.Context) error {
	rules := s.Settings.Rules()
	text, err := json.Marshal(savedSettings{&s.Settings, s.Settings.Relays(), &rules})
	if err != nil {
		return fmt.Errorf("encode the settings of the server: %w", err)
	}
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error { return tx.SetSetting(serverSetting, text) })
	if err != nil {
		return fmt.Errorf("store the settings of the server: %w", err)
	}
	return nil
}
