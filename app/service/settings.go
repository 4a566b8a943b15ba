package service

import (
	"context"
	"errors"
	"fmt"

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
	BaseURL string   `json:"base_url,omitzero"` // without a slash at its end; empty: not known
	Regions []Region `json:"regions,omitzero"`  // the first is the default; none: no server ran yet
	// Enforce: a team or region over the line of a guardrail is held back.
	Enforce    bool   `json:"enforce,omitzero"`
	BounceHost string `json:"bounce_host,omitzero"` // under which bounces arrive; empty: they do not
	Cloud      bool   `json:"cloud,omitzero"`       // teams have plans
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
