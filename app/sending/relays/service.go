package relays

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/delivery"
	"mailer/app/tenants/domains"
	"mailer/app/tenants/teams"
	"mailer/db"
)

// Config is what the service needs beside the Base.
type Config struct {
	Flags []relayurl.Relay // those of this server's flags, in their order; a command has none
	// Probe tries a relay, up to the first step that fails, and with send has it send m.
	Probe func(ctx context.Context, relay relayurl.Relay, m *app.Outgoing, send bool) []relayurl.Step
}

// Service is the use cases on relays.
type Service struct {
	*base.Base
	Config
	teams    *teams.Service
	domains  *domains.Service
	delivery *delivery.Service

	mu     sync.Mutex // held by who brings the lanes up to date
	seen   []db.Relay // as they were read last
	pauses map[string]delivery.Pause
	said   map[string]string // the states that were written last, by region

	testing sync.Mutex
	tests   map[string]LastTest // by name and host
}

// New makes the service.
func New(base *base.Base, owners *teams.Service, senders *domains.Service, outlets *delivery.Service, cfg Config) *Service {
	return &Service{Base: base, Config: cfg, teams: owners, domains: senders, delivery: outlets, tests: map[string]LastTest{}}
}

// unseal reads the URL of a relay of the database.
func (s *Service) unseal(row db.Relay) (relayurl.Relay, error) {
	text, err := s.Sealer.Open(base.RelayPurpose, row.Region, row.Sealed)
	if err != nil {
		return relayurl.Relay{}, fmt.Errorf("open the relay %s: %w", row.Region, err)
	}
	relay, err := relayurl.ParseOne(string(text))
	if err != nil {
		return relay, fmt.Errorf("the relay %s: %w", row.Region, err)
	}
	return relay, nil
}

// AddNamed adds a relay under a name as Add does. text is its URL, perhaps with that name
// before it. Errors never repeat it.
func (s *Service) AddNamed(ctx context.Context, region, text string) (Added, error) {
	text, err := relayurl.ByRegion(region, strings.TrimSpace(text))
	if err != nil {
		return Added{}, app.Errorf(app.CodeValidation, "The relay %v", err)
	}
	return s.Add(ctx, text)
}

// Added is what became of a relay that was added.
type Added struct {
	Region  string `json:"region"`
	Host    string `json:"host"`
	Changed bool   `json:"changed"` // there was one of this name
}

// Add adds a relay to the database, or puts it in the place of the one of its name. text
// is `[REGION=]URL`. Errors, which never repeat it: CodeConflict for the name of a relay of
// the server's flags, CodeValidation.
func (s *Service) Add(ctx context.Context, text string) (Added, error) {
	relay, err := relayurl.ParseOne(text)
	if err != nil {
		return Added{}, app.Errorf(app.CodeValidation, "The relay %v", err)
	}
	out := Added{Region: relay.Region, Host: hostOf(relay)}
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		old, err := tx.Relay(relay.Region)
		if err != nil && !errors.Is(err, db.ErrNotFound) {
			return err
		}
		out.Changed = err == nil
		var before any
		if was, err := s.unseal(old); out.Changed && err == nil {
			before = shown(was)
		}
		states, err := tx.RelayStates()
		if err != nil {
			return err
		}
		if slices.ContainsFunc(states, func(st db.RelayState) bool { return st.Region == relay.Region && st.Sealed != nil }) {
			return app.Errorf(app.CodeConflict, "The relay %s is set by --relay or MAILER_RELAY of the server: change it there, or choose another name", relay.Region)
		}
		if err := tx.SetRelay(relay.Region, s.Sealer.Seal(base.RelayPurpose, relay.Region, []byte(text))); err != nil {
			return err
		}
		return base.Audit(ctx, tx, "", "relay.add", relay.Region, before, shown(relay))
	})
	if err != nil {
		return out, fmt.Errorf("add the relay %s: %w", relay.Region, err)
	}
	return out, nil
}

// shown is what may be shown of a relay.
func shown(r relayurl.Relay) map[string]any {
	return map[string]any{"host": hostOf(r), "user": r.User, "tls": r.TLS, "rate": r.Rate, "daily": r.Daily, "connections": r.Connections}
}

// Removed is what became of a relay that was removed.
type Removed struct {
	Region  string `json:"region"`
	Waiting int64  `json:"waiting"` // emails that go on waiting for it, so many at most: maxWaiting
}

// Remove removes a relay of the database. The server lets end what is past MAIL; what
// waits goes on waiting. Error: app.CodeNotFound, or CodeValidation for one of the flags.
func (s *Service) Remove(ctx context.Context, region string) (Removed, error) {
	out := Removed{Region: region}
	err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		row, err := tx.Relay(region)
		if errors.Is(err, db.ErrNotFound) {
			return s.notRemovable(&tx.Reader, region)
		}
		if err != nil {
			return err
		}
		var before any
		if was, err := s.unseal(row); err == nil {
			before = shown(was)
		}
		if out.Waiting, err = tx.CountWaiting(region, "", "", maxWaiting); err != nil {
			return err
		}
		_, flag, err := s.flagged(&tx.Reader, region)
		if err != nil {
			return err
		}
		if err := tx.DeleteRelay(region); err != nil {
			return err
		}
		if !flag { // else the flags' relay of that name goes on, with its pause
			if err := errors.Join(base.IgnoreNotFound(tx.ResumeRelay(region)), tx.DeleteRelayState(region)); err != nil {
				return err
			}
		}
		return base.Audit(ctx, tx, "", "relay.remove", region, before, nil)
	})
	return out, wrap("remove", region, err)
}

// notRemovable says why there is no relay of a name in the database.
func (s *Service) notRemovable(r *db.Reader, region string) error {
	_, flag, err := s.flagged(r, region)
	if err != nil {
		return err
	}
	if flag {
		return app.Errorf(app.CodeValidation, "The relay %s is set by --relay or MAILER_RELAY: remove it there and restart the server", region)
	}
	return unknown(region)
}

func unknown(region string) error {
	return app.Errorf(app.CodeNotFound, "There is no relay %s; `mailer relays list` shows all relays", region)
}

// wrap names what was done, unless the error is for the caller.
func wrap(act, region string, err error) error {
	var told *app.Error
	if err == nil || errors.As(err, &told) {
		return err
	}
	return fmt.Errorf("%s the relay %s: %w", act, region, err)
}

// flagged returns what the last server said of a relay of its flags; false: it has none
// of that name.
func (s *Service) flagged(r *db.Reader, region string) (db.RelayState, bool, error) {
	states, err := r.RelayStates()
	for _, st := range states {
		if st.Region == region && st.Sealed != nil {
			return st, true, nil
		}
	}
	return db.RelayState{}, false, err
}

// Paused is a relay's pause as a command tells of it.
type Paused struct {
	Region string  `json:"region"`
	State  string  `json:"state"`
	Until  *string `json:"until"` // nil: until it is resumed
}

// Pause has nothing leave through a relay, for a while or (0) until it is resumed; mail
// waits in its place and no attempt counts. Error: app.CodeNotFound.
func (s *Service) Pause(ctx context.Context, region string, d time.Duration) (Paused, error) {
	out := Paused{Region: region, State: delivery.RelayPaused}
	if d < 0 {
		return out, app.Errorf(app.CodeValidation, "A pause must be longer than 0")
	}
	err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		if _, err := s.find(&tx.Reader, region); err != nil {
			return err
		}
		var until time.Time
		if d > 0 {
			until = tx.Now.Add(d)
		}
		out.Until = app.FormatTimePtr(until)
		if err := tx.PauseRelay(region, until); err != nil {
			return err
		}
		return base.Audit(ctx, tx, "", "relay.pause", region, nil, out)
	})
	return out, wrap("pause", region, err)
}

// Resume ends a pause; a relay that is not paused stays as it is. Error:
// app.CodeNotFound.
func (s *Service) Resume(ctx context.Context, region string) (Paused, error) {
	out := Paused{Region: region, State: delivery.RelayOpen}
	err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		if _, err := s.find(&tx.Reader, region); err != nil {
			return err
		}
		if err := tx.ResumeRelay(region); err != nil {
			return base.IgnoreNotFound(err)
		}
		return base.Audit(ctx, tx, "", "relay.resume", region, nil, out)
	})
	return out, wrap("resume", region, err)
}

// find returns a relay, the server's own first. Error: app.CodeNotFound.
func (s *Service) find(r *db.Reader, region string) (relayurl.Relay, error) {
	said, flag, err := s.flagged(r, region)
	if err != nil {
		return relayurl.Relay{}, err
	}
	if flag {
		return s.openFlag(said)
	}
	row, err := r.Relay(region)
	if errors.Is(err, db.ErrNotFound) {
		return relayurl.Relay{}, unknown(region)
	}
	if err != nil {
		return relayurl.Relay{}, err
	}
	return s.unseal(row)
}
