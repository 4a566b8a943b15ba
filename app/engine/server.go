package engine

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/db"
)

// serverSetting is the name of what a server leaves for the commands beside it.
const serverSetting = "server"

// server is what commands beside a server must know of it, to accept by the
// same rules.
type server struct {
	Capture bool     `json:"capture,omitzero"`
	BaseURL string   `json:"base_url,omitzero"` // without a slash at its end; empty: not known
	Regions []region `json:"regions,omitzero"`  // the first is the default; none: no server ran yet
	// Enforce is Config.Enforce.
	Enforce bool `json:"enforce,omitzero"`
	// BounceHost is Config.BounceHost.
	BounceHost string `json:"bounce_host,omitzero"`
	Cloud      bool   `json:"cloud,omitzero"` // Config.Cloud
}

// region is a relay as the DNS sees it.
type region struct {
	Name  string         `json:"name"`
	Needs app.RelayNeeds `json:"needs,omitzero"`
}

// serverOf is what a configuration with routes says.
func serverOf(cfg *Config) server {
	s := server{Capture: cfg.Capture, BaseURL: cfg.BaseURL, BounceHost: cfg.BounceHost, Enforce: cfg.Enforce, Cloud: cfg.Cloud}
	for _, route := range cfg.Routes {
		r := region{Name: route.Relay.Region}
		if !cfg.Capture {
			r.Needs = route.Relay.Needs()
		}
		s.Regions = append(s.Regions, r)
	}
	return s
}

// loadServer finds out about the server: this process, which is own, or else (with
// no regions in own) the one that ran last on the database.
func (e *Engine) loadServer(ctx context.Context, own server) error {
	if len(own.Regions) > 0 {
		e.server = own
		return nil
	}
	var note []byte
	err := e.db.Read(ctx, func(r *db.Reader) (err error) {
		note, err = r.Setting(serverSetting)
		return err
	})
	if err == nil {
		err = json.Unmarshal(note, &e.server)
	}
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return fmt.Errorf("read what the server noted: %w", err)
	}
	if own.BaseURL != "" {
		e.server.BaseURL = own.BaseURL
	}
	return nil
}

// rememberServer leaves a note of this server for commands beside it.
func (e *Engine) rememberServer(ctx context.Context) error {
	note, err := json.Marshal(e.server)
	if err != nil {
		return fmt.Errorf("encode what this server is: %w", err)
	}
	err = e.db.WriteVital(ctx, func(tx *db.Tx) error { return tx.SetSetting(serverSetting, note) })
	if err != nil {
		return fmt.Errorf("note what this server is: %w", err)
	}
	return nil
}

// Regions names the regions that domains can be in, the default first. None: no
// server ran on this database yet, and any may be named.
func (e *Engine) Regions() []string {
	if e.server.Capture {
		return []string{app.DefaultRegion}
	}
	var names []string
	for _, r := range e.server.Regions {
		names = append(names, r.Name)
	}
	return names
}

// wants gives what the records of a domain depend on: what the relay of its
// region needs (the default one where its own is no longer configured), with this server
// as the host for feedback where it takes bounces and the relay names none, and
// the host that its tracking host points to.
func (e *Engine) wants(d *app.Domain) (needs app.RelayNeeds, trackingTarget string) {
	if u, err := url.Parse(e.server.BaseURL); err == nil {
		trackingTarget = u.Hostname()
	}
	for i, r := range e.server.Regions {
		if i == 0 || r.Name == d.Region {
			needs = r.Needs
		}
	}
	if needs.Feedback == "" {
		needs.Feedback = app.BounceMX(e.server.BounceHost)
	}
	return needs, trackingTarget
}
