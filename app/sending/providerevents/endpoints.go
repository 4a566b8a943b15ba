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
	"mailer/app/rules/feedback"
	"mailer/db"
)

// SourceBounces is the source of the listener that receives bounces and complaints as mail.
const SourceBounces = "bounces"

const (
	// usesSetting is the setting that holds when each endpoint was used.
	usesSetting = "ingest.seen"
	// maxReason bounds the stored reason of a refusal, in bytes.
	maxReason = 300
)

// Endpoints records when reports came in at which endpoint and which were refused. Uses are kept in
// memory and stored each minute, so that requests from unknown clients cost no write.
type Endpoints struct {
	base *base.Base

	mu      sync.Mutex
	uses    map[string]endpointUse // since the start
	changed bool                   // since it was stored last
}

// endpointUse is when an endpoint was last used.
type endpointUse struct {
	Seen    time.Time `json:"seen,omitzero"`
	Refused time.Time `json:"refused,omitzero"`
	Reason  string    `json:"reason,omitempty"`
}

// latest combines two uses, keeping the newer times.
func (u endpointUse) latest(v endpointUse) endpointUse {
	if v.Seen.After(u.Seen) {
		u.Seen = v.Seen
	}
	if v.Refused.After(u.Refused) {
		u.Refused, u.Reason = v.Refused, v.Reason
	}
	return u
}

// NoteSeen records that a report of a source was accepted.
func (d *Endpoints) NoteSeen(source string) { d.record(source, endpointUse{Seen: clock.Now()}) }

// NoteRefused records that a report to the endpoint of a source was refused, with the reason.
// Unknown sources are ignored.
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

// endpointNames returns the sources of all endpoints.
func endpointNames() []string {
	names := []string{SourceBounces}
	for _, p := range feedback.Providers() {
		names = append(names, p.Source)
	}
	return names
}

// StoreUses stores the uses since they were stored last.
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

// readUses reads the stored uses.
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

// IngestRoute is an endpoint for reports and its last uses.
type IngestRoute struct {
	IngestEndpoint      // its URL is the host name of the listener, or empty if there is none
	Open           bool // requests are accepted
	Seen           time.Time
	Refused        time.Time
	Reason         string // of the last refusal
}

// IngestRoutes returns all endpoints. ses reports whether SNS topics are configured.
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
	endpoints = append(endpoints, IngestEndpoint{Source: SourceBounces, URL: s.Settings.BounceHost})
	out := make([]IngestRoute, len(endpoints))
	for i, endpoint := range endpoints {
		u := used[endpoint.Source]
		out[i] = IngestRoute{IngestEndpoint: endpoint, Open: endpoint.URL != "", Seen: u.Seen, Refused: u.Refused, Reason: u.Reason}
		switch endpoint.Proof {
		case feedback.ProofSNS:
			out[i].Open = ses
		case feedback.ProofSignature:
			out[i].Open = endpoint.KeySet
		}
	}
	return out, nil
}
