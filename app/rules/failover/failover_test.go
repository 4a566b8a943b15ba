package failover_test

import (
	"slices"
	"testing"
	"time"

	"mailer/app/rules/failover"
)

var start = time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)

// trial advances a region second by second.
type trial struct {
	t      *testing.T
	policy failover.Policy
	relays []failover.Relay
	routes []string
	state  failover.State
	now    time.Time
	log    []string // switches: minutes after the start, and the relay
	works  map[string]bool
}

func newTrial(t *testing.T, names ...string) *trial {
	tr := &trial{t: t, policy: failover.Policy{Mode: failover.Auto, After: failover.DefaultAfter, BackAfter: failover.DefaultBackAfter}, now: start, works: map[string]bool{}}
	for _, name := range names {
		tr.relays, tr.works[name] = append(tr.relays, failover.Relay{Name: name}), true
	}
	return tr
}

func (tr *trial) active() string {
	if tr.state.Active == "" {
		return tr.relays[0].Name
	}
	return tr.state.Active
}

// down reports whether the active relay carries the mail of a route.
func (tr *trial) down(name string) bool {
	_, down := tr.state.Down[name]
	return down
}

// fail makes a relay unusable; the failure of the active one is noticed immediately. mend ends that.
func (tr *trial) fail(name string) { tr.works[name] = false }
func (tr *trial) mend(name string) { tr.works[name] = true }

func (tr *trial) run(d time.Duration) {
	for end := tr.now.Add(d); tr.now.Before(end); tr.now = tr.now.Add(time.Second) {
		for i := range tr.relays {
			r := &tr.relays[i]
			switch carries := r.Name == tr.active() || r.Name == tr.state.Emails || slices.Contains(tr.routes, r.Name) && !tr.down(r.Name); {
			case tr.works[r.Name] && carries:
				r.UnusableSince = time.Time{}
			case !tr.works[r.Name] && carries && r.UnusableSince.IsZero():
				r.UnusableSince = tr.now
			}
		}
		d := failover.Next(tr.policy, tr.relays, tr.routes, tr.state, tr.now)
		if tr.state = d.State; d.Switched {
			tr.log = append(tr.log, tr.now.Sub(start).String()+" "+tr.active())
		}
		for _, name := range d.Probe {
			r := &tr.relays[slices.IndexFunc(tr.relays, func(r failover.Relay) bool { return r.Name == name })]
			if !tr.works[name] {
				r.Probe = failover.Probe{At: tr.now}
				continue
			}
			if !r.Probe.OK {
				r.Probe.OKSince = tr.now
			}
			r.Probe.At, r.Probe.OK = tr.now, true
			r.UnusableSince = time.Time{}
		}
	}
}

func (tr *trial) want(log ...string) {
	tr.t.Helper()
	if !slices.Equal(tr.log, log) {
		tr.t.Errorf("switches %q, want %q", tr.log, log)
	}
}

func TestSwitchAndReturn(t *testing.T) {
	tr := newTrial(t, "a", "b")
	tr.run(time.Minute)
	tr.fail("a")
	tr.run(10 * time.Minute)
	tr.mend("a")
	tr.run(20 * time.Minute)
	tr.want("3m0s b", "21m1s a")
	if tr.state.Active != "" {
		t.Errorf("active %q on the primary", tr.state.Active)
	}
}

func TestShortOutageCausesNoSwitch(t *testing.T) {
	tr := newTrial(t, "a", "b")
	for range 5 {
		tr.fail("a")
		tr.run(119 * time.Second)
		tr.mend("a")
		tr.run(time.Second)
	}
	tr.want()
}

func TestReserveMustPassProbe(t *testing.T) {
	tr := newTrial(t, "a", "b", "c")
	tr.fail("a")
	tr.fail("b")
	tr.run(5 * time.Minute)
	tr.want("2m0s c")
	tr.fail("c")
	tr.run(5 * time.Minute)
	tr.want("2m0s c")
	tr.mend("b")
	tr.run(5 * time.Minute)
	if tr.active() != "b" {
		t.Errorf("active %s, of which only b works", tr.active())
	}
}

func TestFlappingStaysOnReserve(t *testing.T) {
	tr := newTrial(t, "a", "b")
	tr.policy.After, tr.policy.BackAfter = 30*time.Second, time.Minute
	for range 40 { // 90 s down, 90 s up
		tr.fail("a")
		tr.run(90 * time.Second)
		tr.mend("a")
		tr.run(90 * time.Second)
	}
	if len(tr.log) < 3 || len(tr.log) > 7 || tr.active() != "b" {
		t.Errorf("%d switches in two hours: %q", len(tr.log), tr.log)
	}
	for i := 3; i < len(tr.state.Switches); i++ {
		if tr.state.Switches[i].Sub(tr.state.Switches[i-3]) < time.Hour {
			t.Errorf("switches %v", tr.state.Switches)
		}
	}
}

func TestModes(t *testing.T) {
	for mode, want := range map[failover.Mode]string{failover.Manual: "b", failover.Off: ""} {
		tr := newTrial(t, "a", "b")
		tr.policy.Mode = mode
		tr.fail("a")
		tr.run(5 * time.Minute)
		tr.want()
		if tr.state.Available != want {
			t.Errorf("%s: available %q, want %q", mode, tr.state.Available, want)
		}
		tr.mend("a")
		tr.run(time.Minute)
		if tr.state.Available != "" {
			t.Errorf("%s: %q is available after the end", mode, tr.state.Available)
		}
	}
	tr := newTrial(t, "a", "b")
	tr.state = failover.State{Active: "b", ByOperator: true}
	tr.fail("b")
	tr.run(time.Hour)
	tr.want()
}

func TestPauseSwitchesAtOnce(t *testing.T) {
	tr := newTrial(t, "a", "b")
	tr.relays[0].Paused = true
	tr.run(time.Minute)
	if len(tr.log) != 1 || tr.active() != "b" {
		t.Errorf("switches %q", tr.log)
	}
	tr.relays[1].Paused = true
	tr.run(time.Minute)
	if len(tr.log) != 1 {
		t.Errorf("switches %q with both paused", tr.log)
	}
}

func TestRemovedActiveRelay(t *testing.T) {
	tr := newTrial(t, "a")
	tr.state = failover.State{Active: "b", ByOperator: true}
	tr.run(time.Second)
	if tr.state.Active != "" || tr.state.ByOperator || len(tr.log) != 1 {
		t.Errorf("%+v", tr.state)
	}
}

func TestUsedDailyLimit(t *testing.T) {
	for _, broadcasts := range []bool{false, true} {
		tr := newTrial(t, "a", "b")
		tr.policy.Broadcasts = broadcasts
		tr.relays[0].FullUntil = start.Add(time.Hour)
		tr.run(30 * time.Minute)
		tr.want()
		if tr.state.Emails != "b" || (tr.state.Broadcasts == "b") != broadcasts {
			t.Errorf("%+v", tr.state)
		}
		tr.relays[1].FullUntil = start.Add(2 * time.Hour)
		tr.run(time.Minute)
		if tr.state.Emails != "" {
			t.Errorf("both limits are used up: %+v", tr.state)
		}
		tr.relays[1].FullUntil = time.Time{}
		tr.run(30 * time.Minute)
		if tr.state.Emails != "" {
			t.Errorf("with room again: %+v", tr.state)
		}
	}
}

// A relay that an operator chose keeps its place while another one fails.
func TestReasonNamesTheReply(t *testing.T) {
	tr := newTrial(t, "a", "b")
	tr.relays[0].Why = "auth: 535 5.7.8 no"
	tr.fail("a")
	tr.run(3 * time.Minute)
	if want := "a could not be used since 2026-11-27T10:00:00Z: auth: 535 5.7.8 no"; tr.state.Reason != want {
		t.Errorf("reason %q, want %q", tr.state.Reason, want)
	}
}

func TestRouteFollowsTheActiveRelayWhileItsRelayIsDown(t *testing.T) {
	tr := newTrial(t, "a", "b", "c")
	tr.routes = []string{"b"}
	wantDown := func(want bool, when string) {
		t.Helper()
		if tr.down("b") != want {
			t.Errorf("%s: %+v", when, tr.state)
		}
	}
	tr.fail("b")
	tr.run(119 * time.Second)
	wantDown(false, "a short outage")
	tr.run(5 * time.Second)
	wantDown(true, "a long outage")
	tr.run(30 * time.Minute)
	tr.mend("b")
	tr.run(9 * time.Minute)
	wantDown(true, "before it passed tests for long enough")
	tr.run(2 * time.Minute)
	wantDown(false, "after that")
	tr.relays[1].Paused = true
	tr.run(time.Second)
	wantDown(true, "a pause")
	tr.relays[1].Paused = false
	tr.run(5 * time.Minute)
	wantDown(true, "just resumed")
	tr.run(6 * time.Minute)
	wantDown(false, "resumed")
	tr.relays[1].Paused = true
	tr.policy.Mode = failover.Manual
	tr.run(time.Minute)
	wantDown(false, "an operator switches")
	tr.want()
}

// When the relay of a route is the active one, the switch of the region takes its mail along.
func TestRouteToTheActiveRelay(t *testing.T) {
	tr := newTrial(t, "a", "b")
	tr.routes = []string{"a"}
	tr.fail("a")
	tr.run(3 * time.Minute)
	tr.want("2m0s b")
	if !tr.down("a") {
		t.Errorf("%+v", tr.state)
	}
	tr.fail("b")
	tr.mend("a")
	tr.run(time.Hour)
	if tr.active() != "a" || tr.down("a") {
		t.Errorf("%+v", tr.state)
	}
}
