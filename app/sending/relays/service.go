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
	"mailer/app/rules/webhook"
	"mailer/app/sending/delivery"
	"mailer/app/tenants/domains"
	"mailer/app/tenants/teams"
	"mailer/db"
)

// Config holds what the service needs besides the Base.
type Config struct {
	Flags []relayurl.Relay // of the server's flags, in their order; empty in a command
	// Probe tests a relay up to the first step that fails. With send it sends m.
	Probe func(ctx context.Context, relay relayurl.Relay, m *app.Outgoing, send bool) []relayurl.Step
	// Announce announces a switch of a region to the operator's webhooks.
	Announce func(tx *db.Tx, data webhook.RelaySwitch) error
}

// Service holds the use cases of relays.
type Service struct {
	*base.Base
	Config
	teams    *teams.Service
	domains  *domains.Service
	delivery *delivery.Service

	mu          sync.Mutex // held while the relay queues are updated
	lastRows    []db.Relay // as read last
	lastRegions []db.RegionRow
	regions     []region // in the order of their first relays
	pauses      map[string]delivery.Pause
	published   map[string]publishedState // stored last, by region

	testing sync.Mutex
	tests   map[string]LastTest // by testKey
	probes  map[string]*probing // by full name
}

// New makes a Service.
func New(base *base.Base, teamService *teams.Service, domainService *domains.Service, deliveryService *delivery.Service, cfg Config) *Service {
	var regions []region
	for _, g := range delivery.GroupByRegion(cfg.Flags) {
		regions = append(regions, region{name: g.Name, relays: g.Relays})
	}
	return &Service{Base: base, Config: cfg, regions: regions, teams: teamService, domains: domainService, delivery: deliveryService, tests: map[string]LastTest{}, probes: map[string]*probing{}}
}

// unseal decrypts the URL of a relay of the database.
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

// AddNamed adds a relay under a name, as Add does. text is its URL, with or without that name
// before it. Errors never contain text.
func (s *Service) AddNamed(ctx context.Context, region, text string) (Added, error) {
	text, err := relayurl.ByRegion(region, strings.TrimSpace(text))
	if err != nil {
		return Added{}, app.Errorf(app.CodeValidation, "The relay %v", err)
	}
	return s.Add(ctx, text)
}

// Added is the result of Add.
type Added struct {
	Region  string `json:"region"`
	Host    string `json:"host"`
	Changed bool   `json:"changed"` // a relay of this name was replaced
}

// AddInput is the input of AddRelay.
type AddInput struct {
	Text    string // [REGION[/NAME]=]URL
	Name    string // of the relay in the region, as in Text
	Reserve bool   // the region may have other relays
}

// Add is AddRelay for the only relay of a region, or a reserve whose name is given.
func (s *Service) Add(ctx context.Context, text string) (Added, error) {
	return s.AddRelay(ctx, AddInput{Text: text, Reserve: true})
}

// AddRelay adds a relay to the database or replaces the one of its name. Errors, which never contain
// the text: CodeConflict for the name of a relay of the server's flags, and for a new relay of a
// region that has one, unless it is a reserve; CodeValidation.
func (s *Service) AddRelay(ctx context.Context, in AddInput) (Added, error) {
	text := in.Text
	relay, err := relayurl.ParseOne(text)
	if err != nil {
		return Added{}, app.Errorf(app.CodeValidation, "The relay %v", err)
	}
	out := Added{Region: relay.FullName(), Host: hostOf(relay)}
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		old, err := tx.Relay(relay.FullName())
		if err != nil && !errors.Is(err, db.ErrNotFound) {
			return err
		}
		out.Changed = err == nil
		var before any
		if was, err := s.unseal(old); out.Changed && err == nil {
			before = auditView(was)
		}
		states, err := tx.RelayStates()
		if err != nil {
			return err
		}
		if slices.ContainsFunc(states, func(st db.RelayState) bool { return st.Region == relay.FullName() && st.Sealed != nil }) {
			return app.Errorf(app.CodeConflict, "The relay %s is set by --relay or MAILER_RELAY of the server: change it there, or choose another name", relay.FullName())
		}
		if !out.Changed && !in.Reserve {
			if err := s.refuseSecond(&tx.Reader, relay.Region); err != nil {
				return err
			}
		}
		if err := tx.SetRelay(relay.FullName(), s.Sealer.Seal(base.RelayPurpose, relay.FullName(), []byte(text))); err != nil {
			return err
		}
		return base.Audit(ctx, tx, "", "relay.add", relay.FullName(), before, auditView(relay))
	})
	if err != nil {
		return out, fmt.Errorf("add the relay %s: %w", relay.FullName(), err)
	}
	return out, nil
}

// AddExisting puts a relay of another region into a region, as its last reserve. Errors:
// app.CodeNotFound, CodeConflict if the region has it.
func (s *Service) AddExisting(ctx context.Context, name, relay string) (RegionStatus, error) {
	return s.changeRegion(ctx, name, "region.add_relay", func(tx *db.Tx, r *region) error {
		if slices.Contains(r.relays, relay) {
			return app.Errorf(app.CodeConflict, "The region %s has the relay %s already", name, relay)
		}
		if _, err := s.find(&tx.Reader, relay); err != nil {
			return err
		}
		r.settings.Also = append(slices.Clone(r.settings.Also), relay)
		r.relays = append(slices.Clone(r.relays), relay)
		return nil
	})
}

// RemoveFrom removes a relay of another region from a region, where it stays. Errors:
// app.CodeNotFound, CodeValidation for a relay of the region itself.
func (s *Service) RemoveFrom(ctx context.Context, name, relay string) (RegionStatus, error) {
	return s.changeRegion(ctx, name, "region.remove_relay", func(_ *db.Tx, r *region) error {
		full, err := r.find(relay)
		if err != nil {
			return err
		}
		if regionOf(full) == name {
			return app.Errorf(app.CodeValidation, "%s is a relay of %s itself: remove it with mailer relays remove %s", full, name, full)
		}
		other := func(s string) bool { return s == full }
		r.settings.Also = slices.DeleteFunc(slices.Clone(r.settings.Also), other)
		r.settings.Order = slices.DeleteFunc(slices.Clone(r.settings.Order), other)
		r.relays = slices.DeleteFunc(slices.Clone(r.relays), other)
		return nil
	})
}

// refuseSecond returns an error if a region has a relay.
func (s *Service) refuseSecond(r *db.Reader, name string) error {
	regions, err := s.readRegions(r)
	if err != nil {
		return err
	}
	for _, known := range regions {
		if known.name == name {
			return app.Errorf(app.CodeConflict, "The region %s has the relay %s already; with --reserve the new one takes over when that one fails", name, known.relays[0])
		}
	}
	return nil
}

// auditView is the part of a relay that the audit log shows.
func auditView(r relayurl.Relay) map[string]any {
	return map[string]any{"host": hostOf(r), "user": r.User, "tls": r.TLS, "rate": r.Rate, "daily": r.Daily, "connections": r.Connections}
}

// Removed is the result of Remove.
type Removed struct {
	Region  string `json:"region"`
	Waiting int64  `json:"waiting"` // emails that still wait for it, counted up to maxWaiting
}

// Remove removes a relay of the database. Transactions past MAIL finish; other mail goes on
// waiting. Errors: app.CodeNotFound, CodeValidation for a relay of the flags.
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
			before = auditView(was)
		}
		if out.Waiting, err = s.waitingFor(&tx.Reader, region); err != nil {
			return err
		}
		_, flag, err := s.flagRelay(&tx.Reader, region)
		if err != nil {
			return err
		}
		if err := tx.DeleteRelay(region); err != nil {
			return err
		}
		if !flag { // else the relay of the flags with that name is used, and keeps its pause
			if err := errors.Join(base.IgnoreNotFound(tx.ResumeRelay(region)), tx.DeleteRelayState(region)); err != nil {
				return err
			}
		}
		return base.Audit(ctx, tx, "", "relay.remove", region, before, nil)
	})
	return out, wrap("remove", region, err)
}

// waitingFor counts the mail that can't leave without a relay: all of its region if it is the only
// one, else what it may have sent and what only it may send.
func (s *Service) waitingFor(r *db.Reader, name string) (int64, error) {
	regions, err := s.readRegions(r)
	if err != nil {
		return 0, err
	}
	queues, err := r.UnitRelays()
	if err != nil {
		return 0, err
	}
	return countQueues(r, queues, func(queue string) bool {
		if app.FixedRelay(queue) == name {
			return true
		}
		at := slices.IndexFunc(regions, func(r region) bool { return r.name == app.QueueRegion(queue) })
		return at >= 0 && slices.Equal(regions[at].relays, []string{name}) && app.FixedRelay(queue) == ""
	})
}

// notRemovable returns the error for a relay that is not in the database.
func (s *Service) notRemovable(r *db.Reader, region string) error {
	_, flag, err := s.flagRelay(r, region)
	if err != nil {
		return err
	}
	if flag {
		return app.Errorf(app.CodeValidation, "The relay %s is set by --relay or MAILER_RELAY: remove it there and restart the server", region)
	}
	return errUnknownRelay(region)
}

func errUnknownRelay(region string) error {
	return app.Errorf(app.CodeNotFound, "There is no relay %s; `mailer relays list` shows all relays", region)
}

// wrap adds the action and the relay to an error, unless it is an app.Error.
func wrap(action, region string, err error) error {
	var appErr *app.Error
	if err == nil || errors.As(err, &appErr) {
		return err
	}
	return fmt.Errorf("%s the relay %s: %w", action, region, err)
}

// flagRelay returns the stored state of a relay of the server's flags; false: there is none of that
// name.
func (s *Service) flagRelay(r *db.Reader, region string) (db.RelayState, bool, error) {
	states, err := r.RelayStates()
	for _, st := range states {
		if st.Region == region && st.Sealed != nil {
			return st, true, nil
		}
	}
	return db.RelayState{}, false, err
}

// Paused is the result of Pause and Resume.
type Paused struct {
	Region string  `json:"region"`
	State  string  `json:"state"`
	Until  *string `json:"until"` // nil: until resumed
	Relays int     `json:"-"`
}

// Pause stops sending through a relay for d or, if d is 0, until it is resumed. The name of a region
// pauses all of its relays. Waiting mail keeps its place in the queue and no attempt is counted.
// Error: app.CodeNotFound.
func (s *Service) Pause(ctx context.Context, region string, d time.Duration) (Paused, error) {
	return s.pause(ctx, region, d, s.named)
}

// PauseOnly is Pause for a single relay, also for one that has the name of its region.
func (s *Service) PauseOnly(ctx context.Context, relay string, d time.Duration) (Paused, error) {
	return s.pause(ctx, relay, d, s.single)
}

// named returns the relays that a name means: one, or all of a region. Error: app.CodeNotFound.
func (s *Service) named(r *db.Reader, name string) ([]string, error) {
	regions, err := s.readRegions(r)
	if err != nil {
		return nil, err
	}
	for i := range regions {
		if regions[i].name == name {
			return slices.DeleteFunc(slices.Clone(regions[i].relays), func(relay string) bool { return regionOf(relay) != name }), nil
		}
	}
	return s.single(r, name)
}

// single returns a relay. Error: app.CodeNotFound.
func (s *Service) single(r *db.Reader, name string) ([]string, error) {
	_, err := s.find(r, name)
	return []string{name}, err
}

func (s *Service) pause(ctx context.Context, region string, d time.Duration, find func(*db.Reader, string) ([]string, error)) (Paused, error) {
	out := Paused{Region: region, State: delivery.RelayPaused}
	if d < 0 {
		return out, app.Errorf(app.CodeValidation, "A pause must be longer than 0")
	}
	err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		relays, err := find(&tx.Reader, region)
		if err != nil {
			return err
		}
		out.Relays = len(relays)
		var until time.Time
		if d > 0 {
			until = tx.Now.Add(d)
		}
		out.Until = app.FormatTimePtr(until)
		for _, relay := range relays {
			if err := tx.PauseRelay(relay, until); err != nil {
				return err
			}
		}
		return base.Audit(ctx, tx, "", "relay.pause", region, nil, out)
	})
	return out, wrap("pause", region, err)
}

// Resume ends a pause. It does nothing for a relay that is not paused. The name of a region resumes
// all of its relays. Error: app.CodeNotFound.
func (s *Service) Resume(ctx context.Context, region string) (Paused, error) {
	return s.resume(ctx, region, s.named)
}

// ResumeOnly is Resume for a single relay, also for one that has the name of its region.
func (s *Service) ResumeOnly(ctx context.Context, relay string) (Paused, error) {
	return s.resume(ctx, relay, s.single)
}

func (s *Service) resume(ctx context.Context, region string, find func(*db.Reader, string) ([]string, error)) (Paused, error) {
	out := Paused{Region: region, State: delivery.RelayOpen}
	err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		relays, err := find(&tx.Reader, region)
		if err != nil {
			return err
		}
		out.Relays = len(relays)
		resumed := false
		for _, relay := range relays {
			err := tx.ResumeRelay(relay)
			if base.IgnoreNotFound(err) != nil {
				return err
			}
			resumed = resumed || err == nil
		}
		if !resumed {
			return nil
		}
		return base.Audit(ctx, tx, "", "relay.resume", region, nil, out)
	})
	return out, wrap("resume", region, err)
}

// find returns a relay of the server's flags or of the database. Error: app.CodeNotFound.
func (s *Service) find(r *db.Reader, region string) (relayurl.Relay, error) {
	published, flag, err := s.flagRelay(r, region)
	if err != nil {
		return relayurl.Relay{}, err
	}
	if flag {
		return s.openFlag(published)
	}
	row, err := r.Relay(region)
	if errors.Is(err, db.ErrNotFound) {
		return relayurl.Relay{}, errUnknownRelay(region)
	}
	if err != nil {
		return relayurl.Relay{}, err
	}
	return s.unseal(row)
}
