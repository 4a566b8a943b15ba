package relays

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/kit/schedule"
	"mailer/app/rules/failover"
	"mailer/app/rules/relayurl"
	"mailer/app/rules/routing"
	"mailer/app/sending/delivery"
	"mailer/db"
)

// region is a region with its stored settings and state.
type region struct {
	name     string
	relays   []string // in full, the primary first
	settings regionSettings
	state    failover.State
}

// regionSettings is what the operator chose for a region.
type regionSettings struct {
	Order  []string `json:"order,omitzero"` // relays in full; others follow in the order in which they were added
	Also   []string `json:"also,omitzero"`  // relays of other regions that serve this one too
	Policy *Policy  `json:"policy,omitzero"`
	// Routes are the rules by which mail leaves through certain relays. The first that matches counts.
	Routes []routing.Rule `json:"routes,omitzero"`
}

// Policy says when a region switches to a reserve, and what happens then.
type Policy struct {
	Mode        failover.Mode `json:"mode"`
	After       string        `json:"after"`      // how long the active relay has been unusable, as 2m
	BackAfter   string        `json:"back_after"` // how long the primary has passed its tests, as 10m
	Broadcasts  bool          `json:"broadcasts"` // they follow when a daily limit is used up
	AlignedOnly bool          `json:"aligned_only"`
	Doubts      string        `json:"doubts"` // KeepDoubts or SendDoubts
}

// What happens to mail that the former relay may have sent.
const (
	KeepDoubts = "keep" // it stays with that relay
	SendDoubts = "send" // it is sent again through the active relay, after the usual delay
)

// policy returns the policy in force.
func (r *region) policy() Policy {
	p := Policy{After: "2m", BackAfter: "10m", Doubts: KeepDoubts}
	if r.settings.Policy != nil {
		p = *r.settings.Policy
	}
	if p.Mode == "" {
		if p.Mode = failover.Manual; len(r.relays) > 1 {
			p.Mode = failover.Auto
		}
	}
	return p
}

// rules returns the policy for failover.Next. Its times were checked when it was stored.
func (p *Policy) rules() failover.Policy {
	after, _ := schedule.ParseSpan(p.After)
	back, _ := schedule.ParseSpan(p.BackAfter)
	return failover.Policy{Mode: p.Mode, After: cmp.Or(after, failover.DefaultAfter), BackAfter: cmp.Or(back, failover.DefaultBackAfter), Broadcasts: p.Broadcasts}
}

// active returns the relay through which mail leaves.
func (r *region) active() string { return cmp.Or(r.state.Active, r.relays[0]) }

// delivery returns the region for the relay queues.
func (r *region) delivery() delivery.Region {
	out := delivery.Region{Name: r.name, Relays: r.relays, Emails: r.active(), Broadcasts: r.active(), Resend: r.policy().Doubts == SendDoubts,
		ByOperator: r.state.ByOperator, AlignedOnly: r.policy().AlignedOnly, Rules: r.settings.Routes}
	for _, name := range r.routed() {
		carrier := name
		if _, down := r.state.Down[name]; down {
			carrier = out.Emails
		}
		out.Routed = append(out.Routed, delivery.Routed{Relay: name, Carrier: carrier})
	}
	out.Emails, out.Broadcasts = cmp.Or(r.state.Emails, out.Emails), cmp.Or(r.state.Broadcasts, out.Broadcasts)
	carriers := []*string{&out.Emails, &out.Broadcasts}
	for i := range out.Routed {
		carriers = append(carriers, &out.Routed[i].Carrier)
	}
	for _, carrier := range carriers {
		if !slices.Contains(r.relays, *carrier) { // removed a moment ago
			*carrier = r.relays[0]
		}
	}
	return out
}

// groupRegions returns the regions of relays, in the order of the first relay of each.
func groupRegions(list []relayurl.Relay, stored []db.RegionRow) ([]region, error) {
	var all []region
	for _, g := range delivery.GroupByRegion(list) {
		all = append(all, region{name: g.Name, relays: g.Relays})
	}
	for _, row := range stored {
		at := slices.IndexFunc(all, func(r region) bool { return r.name == row.Name })
		if at < 0 { // its relays are gone; the choices stay for their return
			continue
		}
		if err := all[at].read(row); err != nil {
			return nil, err
		}
		all[at].arrange(list)
	}
	return all, nil
}

// read reads what is stored of a region.
func (r *region) read(row db.RegionRow) error {
	if err := errors.Join(json.Unmarshal(row.Settings, &r.settings), json.Unmarshal(row.State, &r.state)); err != nil {
		return fmt.Errorf("read the settings of region %s: %w", row.Name, err)
	}
	return nil
}

// arrange adds the relays of other regions and orders all as the operator chose.
func (r *region) arrange(list []relayurl.Relay) {
	for _, name := range r.settings.Also {
		known := slices.ContainsFunc(list, func(relay relayurl.Relay) bool { return relay.FullName() == name })
		if known && !slices.Contains(r.relays, name) {
			r.relays = append(r.relays, name)
		}
	}
	rank := func(name string) int {
		if i := slices.Index(r.settings.Order, name); i >= 0 {
			return i
		}
		return len(r.settings.Order)
	}
	r.relays = slices.Clone(r.relays)
	slices.SortStableFunc(r.relays, func(a, b string) int { return rank(a) - rank(b) })
}

// row returns the region for the database.
func (r *region) row() (db.RegionRow, error) {
	settings, err := json.Marshal(r.settings)
	if err != nil {
		return db.RegionRow{}, fmt.Errorf("encode the settings of region %s: %w", r.name, err)
	}
	state, err := json.Marshal(r.state, json.Deterministic(true))
	if err != nil {
		return db.RegionRow{}, fmt.Errorf("encode the state of region %s: %w", r.name, err)
	}
	return db.RegionRow{Name: r.name, Settings: settings, State: state}, nil
}

// readRegions returns all regions as a command knows them: from the published states and the rows of
// the database.
func (s *Service) readRegions(r *db.Reader) ([]region, error) {
	states, err := r.RelayStates()
	if err != nil {
		return nil, err
	}
	rows, err := r.Relays()
	if err != nil {
		return nil, err
	}
	stored, err := r.RegionRows()
	if err != nil {
		return nil, err
	}
	var list []relayurl.Relay
	add := func(name string) {
		if !slices.ContainsFunc(list, func(relay relayurl.Relay) bool { return relay.FullName() == name }) {
			relay := relayurl.Relay{Region: regionOf(name)}
			if name != relay.Region {
				relay.Name = name
			}
			list = append(list, relay)
		}
	}
	for _, flags := range []bool{true, false} {
		for _, st := range states {
			if (st.Sealed != nil) == flags {
				add(st.Region)
			}
		}
	}
	for _, row := range rows {
		add(row.Region)
	}
	return groupRegions(list, stored)
}

// regionOf returns the region of a relay's full name.
func regionOf(name string) string {
	if i := strings.IndexAny(name, "/#"); i >= 0 {
		return name[:i]
	}
	return name
}

// changeRegion changes what is stored of a region, and writes it to the audit log. Errors:
// app.CodeNotFound, those of change.
func (s *Service) changeRegion(ctx context.Context, name, action string, change func(tx *db.Tx, r *region) error) (RegionStatus, error) {
	return s.updateRegion(ctx, name, action, func(tx *db.Tx, r *region, _ time.Time) (before, after any, err error) {
		was := *r
		before = r.status()
		if err = change(tx, r); err == nil {
			err = s.recordSwitch(tx, &was, r)
		}
		return before, r.status(), err
	})
}

// RegionStatus is a region with its relays.
type RegionStatus struct {
	Region     string   `json:"region"`
	Relays     []string `json:"relays"` // in full, the primary first
	Active     string   `json:"active"`
	Policy     Policy   `json:"policy"`
	ByOperator bool     `json:"by_operator"` // the operator chose the active relay
	SwitchedAt *string  `json:"switched_at"`
	Reason     *string  `json:"reason"` // of the last switch
}

func (r *region) status() RegionStatus {
	out := RegionStatus{Region: r.name, Relays: r.relays, Active: r.active(), Policy: r.policy(), ByOperator: r.state.ByOperator, SwitchedAt: app.FormatTimePtr(r.state.SwitchedAt)}
	if r.state.Reason != "" {
		out.Reason = &r.state.Reason
	}
	return out
}

// Failover is what Status adds for a region with reserves.
type Failover struct {
	Active       string   `json:"active"` // relay through which mail leaves, in full
	Primary      string   `json:"primary"`
	Reserves     []string `json:"reserves"`
	Policy       Policy   `json:"policy"`
	ByOperator   bool     `json:"by_operator"` // the operator chose the active relay
	SwitchedAt   *string  `json:"switched_at"`
	SwitchReason *string  `json:"switch_reason"`
	Available    *string  `json:"available"`  // reserve that could take over from an unusable relay
	HeldUntil    *string  `json:"held_until"` // after many switches, it does not return to an earlier relay before
	Moved        int64    `json:"moved"`      // messages that left through the active relay since the switch, of the last day
	Kept         int64    `json:"kept"`       // messages that other relays may have sent, and which stay with them
}

func (r *region) failover() *Failover {
	now := r.status()
	out := &Failover{Active: now.Active, Primary: r.relays[0], Reserves: r.relays[1:], Policy: now.Policy, ByOperator: now.ByOperator, SwitchedAt: now.SwitchedAt, SwitchReason: now.Reason,
		HeldUntil: app.FormatTimePtr(r.heldUntil())}
	if r.state.Available != "" {
		out.Available = &r.state.Available
	}
	return out
}

// heldUntil returns until when a region that switched often stays with a reserve; zero: it does not.
func (r *region) heldUntil() time.Time {
	if r.active() == r.relays[0] || !clock.Now().Before(r.state.HeldUntil) {
		return time.Time{}
	}
	return r.state.HeldUntil
}

// groupStatus puts the relays in the order of their regions.
func (s *Service) groupStatus(r *db.Reader, all []Status) ([]Status, error) {
	regions, err := s.readRegions(r)
	if err != nil {
		return nil, err
	}
	out := []Status{}
	for i := range regions {
		region := &regions[i]
		first := true
		for _, name := range region.relays {
			at := slices.IndexFunc(all, func(st Status) bool { return st.FullName() == name })
			if at < 0 || regionOf(name) != region.name {
				continue
			}
			st := all[at]
			if len(region.relays) > 1 {
				if st.Traffic = (&Traffic{}); first {
					st.Failover = region.failover()
				}
			}
			first = false
			out = append(out, st)
		}
	}
	return out, nil
}

// Regions returns all regions. The first is the default one.
func (s *Service) Regions(ctx context.Context) ([]RegionStatus, error) {
	all, err := db.Get(ctx, s.DB, s.readRegions)
	if err != nil {
		return nil, fmt.Errorf("list regions: %w", err)
	}
	out := make([]RegionStatus, len(all))
	for i := range all {
		out[i] = all[i].status()
	}
	return out, nil
}

// Order sets the order of a region's relays; the first is the primary. Errors: app.CodeNotFound,
// CodeValidation unless names are all relays of the region.
func (s *Service) Order(ctx context.Context, name string, names []string) (RegionStatus, error) {
	return s.changeRegion(ctx, name, "region.order", func(tx *db.Tx, r *region) error {
		for i := range names {
			var err error
			if names[i], err = r.find(names[i]); err != nil {
				return err
			}
		}
		for _, known := range r.relays {
			if n := count(names, known); n != 1 {
				return app.Errorf(app.CodeValidation, "The order must name each relay of %s once: %s", r.name, strings.Join(r.relays, ", "))
			}
		}
		was := r.active()
		if r.settings.Order, r.relays = names, names; r.active() != was { // it was the primary
			r.state.SwitchedAt, r.state.Reason = tx.Now, "an operator made it the primary"
		}
		return nil
	})
}

func count(names []string, name string) (n int) {
	for _, one := range names {
		if one == name {
			n++
		}
	}
	return n
}

// find returns the full name of a relay of the region, which may be given without the region. Error:
// app.CodeNotFound.
func (r *region) find(name string) (string, error) {
	for _, full := range []string{name, r.name + "/" + name, r.name + "#" + strings.TrimPrefix(name, "#")} {
		if slices.Contains(r.relays, full) {
			return full, nil
		}
	}
	return "", app.Errorf(app.CodeNotFound, "The region %s has no relay %s; it has %s", r.name, name, strings.Join(r.relays, ", "))
}

// PolicyInput are changes of a Policy; nil: unchanged.
type PolicyInput struct {
	Mode        *string
	After       *string
	BackAfter   *string
	Broadcasts  *bool
	AlignedOnly *bool
	Doubts      *string
}

// SetPolicy changes when a region switches. Errors: app.CodeNotFound, CodeValidation.
func (s *Service) SetPolicy(ctx context.Context, name string, in PolicyInput) (RegionStatus, error) {
	return s.changeRegion(ctx, name, "region.failover", func(_ *db.Tx, r *region) error {
		p := r.policy()
		if err := in.apply(&p); err != nil {
			return err
		}
		r.settings.Policy = &p
		return nil
	})
}

func (in *PolicyInput) apply(p *Policy) error {
	if in.Mode != nil {
		if p.Mode = failover.Mode(*in.Mode); !slices.Contains([]failover.Mode{failover.Auto, failover.Manual, failover.Off}, p.Mode) {
			return app.Invalid("mode", "must be auto, manual or off")
		}
	}
	for field, set := range map[string]struct{ from, to *string }{"after": {in.After, &p.After}, "back_after": {in.BackAfter, &p.BackAfter}} {
		if set.from == nil {
			continue
		}
		if d, err := schedule.ParseSpan(*set.from); err != nil || d < 10*time.Second || d > 24*time.Hour {
			return app.Invalid(field, "must be a time span from 10s to 24h, like 2m")
		}
		*set.to = *set.from
	}
	if in.Broadcasts != nil {
		p.Broadcasts = *in.Broadcasts
	}
	if in.AlignedOnly != nil {
		p.AlignedOnly = *in.AlignedOnly
	}
	if in.Doubts != nil {
		if p.Doubts = *in.Doubts; p.Doubts != KeepDoubts && p.Doubts != SendDoubts {
			return app.Invalid("doubts", "must be keep or send")
		}
	}
	return nil
}

// Switch makes a relay of a region the active one until Auto. Errors: app.CodeNotFound.
func (s *Service) Switch(ctx context.Context, name, relay string) (RegionStatus, error) {
	return s.changeRegion(ctx, name, "region.switch", func(tx *db.Tx, r *region) error {
		full, err := r.find(relay)
		if err != nil {
			return err
		}
		r.state = failover.State{Active: full, ByOperator: true, SwitchedAt: tx.Now, Reason: "an operator switched to it", Switches: r.state.Switches, Down: r.state.Down}
		return nil
	})
}

// Auto returns the choice of the active relay to the server.
func (s *Service) Auto(ctx context.Context, name string) (RegionStatus, error) {
	return s.changeRegion(ctx, name, "region.auto", func(_ *db.Tx, r *region) error {
		r.state.ByOperator, r.state.HeldUntil, r.state.Switches = false, time.Time{}, nil
		return nil
	})
}
