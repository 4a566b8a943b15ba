// Package failover decides through which relay of a region mail leaves. It does no I/O and keeps no
// state: Next maps what is known of the relays, and the former decision, to the next one.
//
// Failure policy: in doubt nothing changes. A switch needs a relay that has just passed a probe.
package failover

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mailer/app"
)

// Mode says who switches.
type Mode string

// The modes.
const (
	Auto   Mode = "auto"   // the server
	Manual Mode = "manual" // an operator; the server says when a reserve is available
	Off    Mode = "off"    // nobody: reserves are used by an operator's switch only, and nothing is said
)

// Defaults of a Policy.
const (
	DefaultAfter     = 2 * time.Minute
	DefaultBackAfter = 10 * time.Minute
)

// Limits of flapping: after maxSwitches in an hour a region stays where it is for an hour.
const (
	maxSwitches = 3
	holdTime    = time.Hour
)

const (
	// ProbeEvery is the time between two probes of a relay.
	ProbeEvery = 10 * time.Second
	// freshFor is how long the result of a probe counts. A probe may take a while.
	freshFor = time.Minute
)

// Policy says when a region switches.
type Policy struct {
	Mode       Mode
	After      time.Duration // how long the active relay has been unusable
	BackAfter  time.Duration // how long an earlier relay has passed probes
	Broadcasts bool          // broadcasts follow when the daily limit of the active relay is used up
}

// Relay is what is known of a relay.
type Relay struct {
	Name          string
	Paused        bool
	UnusableSince time.Time // zero: usable, as far as known
	Why           string    // it is unusable: the relay's reply, or our error
	FullUntil     time.Time // when its daily limit has room again; zero: it has
	Probe         Probe
}

// Probe is the result of the latest probes of a relay.
type Probe struct {
	At      time.Time // of the last one; zero: none
	OK      bool
	OKSince time.Time // of the first of those that passed in a row
}

// State is the decision for a region.
type State struct {
	Active     string      `json:"active,omitzero"`      // relay through which mail leaves; empty: the primary
	Emails     string      `json:"emails,omitzero"`      // carries emails instead, while Active's daily limit is used up
	Broadcasts string      `json:"broadcasts,omitzero"`  // carries broadcasts instead, as Emails does
	ByOperator bool        `json:"by_operator,omitzero"` // until the operator returns the choice to the server
	SwitchedAt time.Time   `json:"switched_at,omitzero"`
	Reason     string      `json:"reason,omitzero"`     // of the last switch, in words
	Switches   []time.Time `json:"switches,omitzero"`   // of the last hour
	HeldUntil  time.Time   `json:"held_until,omitzero"` // it does not return to an earlier relay before
	// Down are the relays of routes whose mail leaves through the active relay, and since when.
	Down      map[string]time.Time `json:"down,omitzero"`
	Available string               `json:"available,omitzero"` // relay that could take over from an unusable one, if an operator switches to it
}

// Decision is the result of Next.
type Decision struct {
	State    State
	Switched bool     // Active changed
	Probe    []string // relays to be probed now
}

// Next returns the next decision for a region. relays are in their order, the primary first; there
// is at least one. routes are those of them to which rules send mail, which another one may take
// over.
func Next(p Policy, relays []Relay, routes []string, was State, now time.Time) Decision {
	r := region{p, relays, now}
	st := was
	st.Available = ""
	st.Switches = slices.DeleteFunc(slices.Clone(was.Switches), func(at time.Time) bool { return now.Sub(at) >= time.Hour })
	if len(st.Switches) == 0 {
		st.Switches = nil
	}
	d := Decision{State: st}
	at := 0
	if st.Active != "" {
		at = slices.IndexFunc(relays, func(r Relay) bool { return r.Name == st.Active })
	}
	if at < 0 { // the active relay was removed
		d.change(&relays[0], fmt.Sprintf("%s was removed", app.ShortRelay(st.Active)), now)
		d.State.ByOperator = false
		at = 0
	}
	active := &relays[at]
	switch {
	case d.State.ByOperator || p.Mode == Off:
	case active.bad():
		r.leave(&d, active)
	case at > 0 && p.Mode == Auto:
		r.goBack(&d, at)
	}
	r.spill(&d)
	r.divert(&d, routes, was.Down)
	if d.State.Active == relays[0].Name {
		d.State.Active = ""
	}
	return d
}

// region is the input of a decision.
type region struct {
	Policy
	relays []Relay
	now    time.Time
}

// bad reports whether nothing leaves through a relay.
func (r *Relay) bad() bool { return r.Paused || !r.UnusableSince.IsZero() }

// passes reports whether a relay that is not paused passed a probe lately.
func (r *Relay) passes(now time.Time) bool {
	return !r.Paused && r.Probe.OK && now.Sub(r.Probe.At) < freshFor
}

// due reports whether a relay should be probed.
func (r *Relay) due(now time.Time) bool {
	return !r.Paused && (r.Probe.At.IsZero() || now.Sub(r.Probe.At) >= ProbeEvery)
}

// leave looks for a relay that takes over from an active one that is bad.
func (r *region) leave(d *Decision, active *Relay) {
	ready := active.Paused || r.now.Sub(active.UnusableSince) >= r.After
	for i := range r.relays {
		next := &r.relays[i]
		if next.Name == active.Name || next.Paused {
			continue
		}
		if next.due(r.now) {
			d.Probe = append(d.Probe, next.Name)
		}
		if !ready || !next.passes(r.now) || next.FullUntil.After(r.now) || d.Switched || d.State.Available != "" {
			continue
		}
		if r.Mode == Manual {
			d.State.Available = next.Name
			continue
		}
		why := fmt.Sprintf("%s was paused", app.ShortRelay(active.Name))
		if !active.Paused {
			why = fmt.Sprintf("%s could not be %s since %s: %s", app.ShortRelay(active.Name), verb(active.Why), active.UnusableSince.UTC().Format(time.RFC3339), active.Why)
		}
		d.change(next, why, r.now)
	}
}

// verb says what could not be done with a relay that is unusable for a reason, which begins with the
// stage.
func verb(why string) string {
	if strings.HasPrefix(why, string(app.StageConnect)+":") {
		return "reached"
	}
	return "used"
}

// goBack returns to an earlier relay that has passed probes for long enough.
func (r *region) goBack(d *Decision, at int) {
	for i := range r.relays[:at] {
		earlier := &r.relays[i]
		if earlier.due(r.now) {
			d.Probe = append(d.Probe, earlier.Name)
		}
		if d.Switched || r.now.Before(d.State.HeldUntil) || len(d.State.Switches) >= maxSwitches-1 { // the last one is for leaving it again
			continue
		}
		if earlier.passes(r.now) && r.now.Sub(earlier.Probe.OKSince) >= r.BackAfter {
			d.change(earlier, fmt.Sprintf("%s has passed its tests for %s", app.ShortRelay(earlier.Name), r.BackAfter), r.now)
		}
	}
}

// change switches to a relay.
func (d *Decision) change(to *Relay, why string, now time.Time) {
	d.Switched = true
	d.State.Active, d.State.SwitchedAt, d.State.Reason = to.Name, now, why
	d.State.Switches = append(d.State.Switches, now)
	if len(d.State.Switches) >= maxSwitches {
		d.State.HeldUntil = now.Add(holdTime)
	}
}

// spill lets the next relay carry emails, and with the policy broadcasts, while the daily limit of
// the active one is used up.
func (r *region) spill(d *Decision) {
	d.State.Emails, d.State.Broadcasts = "", ""
	at := max(0, slices.IndexFunc(r.relays, func(r Relay) bool { return r.Name == d.State.Active }))
	if active := &r.relays[at]; r.Mode != Auto || d.State.ByOperator || !active.FullUntil.After(r.now) || active.bad() {
		return
	}
	for i := range r.relays {
		next := &r.relays[i]
		if i == at || next.bad() || next.FullUntil.After(r.now) {
			continue
		}
		if next.due(r.now) {
			d.Probe = append(d.Probe, next.Name)
		}
		if d.State.Emails == "" && next.passes(r.now) {
			if d.State.Emails = next.Name; r.Broadcasts {
				d.State.Broadcasts = next.Name
			}
		}
	}
}

// divert decides for each relay of a route whether the active relay carries its mail: as soon as it
// has been unusable for as long as a region waits before it switches, until it has passed probes for
// as long as a region waits before it switches back.
func (r *region) divert(d *Decision, routes []string, was map[string]time.Time) {
	d.State.Down = nil
	active := &r.relays[max(0, slices.IndexFunc(r.relays, func(r Relay) bool { return r.Name == d.State.Active }))]
	for i := range r.relays {
		relay := &r.relays[i]
		if r.Mode != Auto || relay == active || !slices.Contains(routes, relay.Name) {
			continue
		}
		since, down := was[relay.Name]
		switch {
		case down:
			if relay.due(r.now) {
				d.Probe = append(d.Probe, relay.Name)
			}
			passing := relay.Probe.OKSince
			if passing.Before(since) {
				passing = since
			}
			if relay.passes(r.now) && r.now.Sub(passing) >= r.BackAfter {
				continue
			}
		case !relay.Paused && (relay.UnusableSince.IsZero() || r.now.Sub(relay.UnusableSince) < r.After), active.bad():
			continue
		default:
			since = r.now
		}
		if d.State.Down == nil {
			d.State.Down = map[string]time.Time{}
		}
		d.State.Down[relay.Name] = since
	}
}
