package service

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/db"
)

// serverSetting is the name of what a server leaves for the commands beside it.
const serverSetting = "server"

// Settings is what commands beside a server must know of it, to accept by the
// same rules.
type Settings struct {
	Capture bool     `json:"capture,omitzero"`
	NoRelay bool     `json:"no_relay,omitzero"` // none is configured: mail is accepted and waits
	BaseURL string   `json:"base_url,omitzero"` // without a slash at its end; empty: not known
	Regions []Region `json:"regions,omitzero"`  // the first is the default; none: no server ran yet
	// Enforce: a team or region over the line of a guardrail is held back.
	Enforce    bool   `json:"enforce,omitzero"`
	BounceHost string `json:"bounce_host,omitzero"` // under which bounces arrive; empty: they do not
	Cloud      bool   `json:"cloud,omitzero"`       // teams have plans
	// Compat is what requests may say beyond this API's own rules; empty: app.CompatStrict.
	Compat app.Compat `json:"compat,omitzero"`
	// Keep is what teams keep that say nothing themselves.
	Keep app.Retention `json:"keep,omitzero"`
}

// The words of Relay.
const (
	RelayNone       = "none"
	RelayCapture    = "capture"
	RelayConfigured = "configured"
)

// Relay says in one word where mail goes: RelayNone, RelayCapture or RelayConfigured.
func (s *Settings) Relay() string {
	switch {
	case s.Capture:
		return RelayCapture
	case s.NoRelay:
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
	case len(s.Regions) > 0:
		return s.Regions[0].Name
	}
	return app.DefaultRegion
}

// Lack says why no mail leaves through a region; empty: there is a relay for it, or
// no server ran on this database yet.
func (s *Settings) Lack(region string) string {
	switch {
	case s.NoRelay:
		return "no relay is configured"
	case len(s.Regions) == 0 || slices.ContainsFunc(s.Regions, func(r Region) bool { return r.Name == region }):
		return ""
	}
	return "no relay for region " + region
}

// Region is a relay as the DNS sees it.
type Region struct {
	Name  string         `json:"name"`
	Needs app.RelayNeeds `json:"needs,omitzero"`
}

// loadServer finds out about the server: this process, which is own, or else (with
// no regions in own) the one that ran last on the database.
func (s *Base) loadServer(ctx context.Context, own Settings) error {
	if len(own.Regions) > 0 {
		s.Settings = own
		return nil
	}
	note, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]byte, error) { return r.Setting(serverSetting) })
	if err == nil {
		err = json.Unmarshal(note, &s.Settings)
	}
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return fmt.Errorf("read what the server noted: %w", err)
	}
	if own.BaseURL != "" {
		s.Settings.BaseURL = own.BaseURL
	}
	return nil
}

// RememberServer leaves a note of this server for commands beside it.
func (s *Base) RememberServer(ctx context.Context) error {
	note, err := json.Marshal(s.Settings)
	if err != nil {
		return fmt.Errorf("encode what this server is: %w", err)
	}
	err = s.DB.WriteVital(ctx, func(tx *db.Tx) error { return tx.SetSetting(serverSetting, note) })
	if err != nil {
		return fmt.Errorf("note what this server is: %w", err)
	}
	return nil
}
