package providerevents

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

// SourceBounces is the listener that takes bounces and complaints as mail.
const SourceBounces = "bounces"

const (
	// usesSetting is the setting with when each door was used.
	usesSetting = "ingest.seen"
	// maxReason bounds what is kept of a refusal's words, in bytes.
	maxReason = 300
)

// Endpoints notes when reports came in by which door, and what was refused there. It is in
// memory first, and stored each minute: how often strangers knock costs no write.
type Endpoints struct {
	base *base.Base

	mu      sync.Mutex
	uses    map[string]endpointUse // since the start
	changed bool                   // since it was stored
}

// endpointUse is when a door was used last.
type endpointUse struct {
	Seen    time.Time `json:"seen,omitzero"`
	Refused time.Time `json:"refused,omitzero"`
	Reason  string    `json:"reason,omitempty"`
}

// latest is what of two is newer.
func (u endpointUse) latest(v endpointUse) endpointUse {
	if v.Seen.After(u.Seen) {
		u.Seen = v.Seen
	}
	if v.Refused.After(u.Refused) {
		u.Refused, u.Reason = v.Refused, v.Reason
	}
	return u
}

// NoteSeen notes that something came from a source and was taken.
func (d *Endpoints) NoteSeen(source string) { d.record(source, endpointUse{Seen: clock.Now()}) }

// NoteRefused notes that something came to the door of a source and was refused, with the
// reason in words. Sources that there are not are left out.
func (d *Endpoints) NoteRefused(source, reason string) {
	d.record(source, endpointUse{Refused: clock.Now(), Reason: app.CutText(reason, maxReason)})
}

func (d *Endpoints) record(source string, u endpointUse) {
	if !slices.Contains(endpointNames(), source) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.uses == nil {
		d.uses = map[string]endpointUse{}
	}
	d.uses[source] = d.uses[source].latest(u)
	d.changed = true
}

// endpointNames are the sources of all doors.
func endpointNames() []string {
	return append(append([]string{app.SourceSES}, app.FeedbackSources()...), SourceBounces)
}

// StoreUses stores what was noted since it was stored last.
func (d *Endpoints) StoreUses(ctx context.Context) error {
	d.mu.Lock()
	noted, changed := maps.Clone(d.uses), d.changed
	d.changed = false
	d.mu.Unlock()
	if !changed {
		return nil
	}
	err := d.base.DB.Write(ctx, func(tx *db.Tx) error {
		all, err := readUses(&tx.Reader)
		if err != nil {
			return err
		}
		for source, u := range noted {
			all[source] = all[source].latest(u)
		}
		text, err := json.Marshal(all)
		if err != nil {
			return fmt.Errorf("encode the use of endpoints: %w", err)
		}
		return tx.SetSetting(usesSetting, text)
	})
	if err != nil {
		d.mu.Lock()
		d.changed = true
		d.mu.Unlock()
	}
	return err
}

// readUses reads what was stored.
func readUses(r *db.Reader) (map[string]endpointUse, error) {
	all := map[string]endpointUse{}
	text, err := r.Setting(usesSetting)
	if errors.Is(err, db.ErrNotFound) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("read the use of endpoints: %w", err)
	}
	return all, nil
}

// IngestRoute is a door for reports and how it was used.
type IngestRoute struct {
	Source  string
	Address string // where reports are sent to: a URL, or the host name of the listener; empty: none
	Open    bool   // something is listening there, and believed
	Seen    time.Time
	Refused time.Time
	Reason  string // of the last refusal
}

// IngestRoutes returns all doors; ses tells whether topics of SNS are believed.
func (s *Service) IngestRoutes(ctx context.Context, ses bool) ([]IngestRoute, error) {
	endpoints, err := s.IngestEndpoints(ctx)
	if err != nil {
		return nil, err
	}
	used, err := db.Get(ctx, s.DB, readUses)
	if err != nil {
		return nil, base.Unavailable(err)
	}
	s.mu.Lock()
	for source, u := range s.uses {
		used[source] = used[source].latest(u)
	}
	s.mu.Unlock()
	endpoints = append(endpoints, IngestEndpoint{SourceBounces, s.Settings.BounceHost})
	out := make([]IngestRoute, len(endpoints))
	for i, endpoint := range endpoints {
		u := used[endpoint.Source]
		out[i] = IngestRoute{Source: endpoint.Source, Address: endpoint.URL, Open: endpoint.URL != "", Seen: u.Seen, Refused: u.Refused, Reason: u.Reason}
		if endpoint.Source == app.SourceSES {
			out[i].Open = ses
		}
	}
	return out, nil
}
