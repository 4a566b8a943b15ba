package delivery

import (
	"strconv"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/relays"
)

// How a relay is.
const (
	RelayOpen    = "open"
	RelayResting = "resting" // for a while: it refuses, or its daily limit is used up
	RelayPaused  = "paused"  // by the operator
	RelayFailing = "failing" // it could not be used, again and again
)

// failingFrom is how many times in a row a relay that can't be used counts as failing.
const failingFrom = 2

// State is how a relay is at a moment.
type State struct {
	Relay       relays.Relay // with its password: not to be shown
	State       string       // RelayOpen and so on
	Reason      string       // in the relay's words, or ours; empty: it is open
	Since       time.Time    // zero: it is open
	NextTry     time.Time    // zero: at once, or nobody knows
	Connections int          // that it lets us have at once, as far as is known
}

// States are those of all relays, in their order.
func (s *Service) States() []State {
	var all []State
	for _, l := range s.lanes.all() {
		all = append(all, l.state())
	}
	return all
}

func (l *lane) state() State {
	st := State{Relay: l.relay, State: RelayOpen, Connections: l.relay.Connections}
	if n := l.sender.Bound(); n > 0 {
		st.Connections = n
	}
	if p := l.pause.Load(); p != nil && p.Holds(time.Now()) {
		st.State, st.Reason, st.Since, st.NextTry = RelayPaused, p.Words(), p.Since, p.Until
		return st
	}
	o, _, until := l.gate.look()
	l.gate.mu.Lock()
	defer l.gate.mu.Unlock()
	t := l.gate.trouble
	if o == open || t == nil {
		return st
	}
	st.State, st.Since, st.NextTry, st.Reason = RelayResting, t.StartedAt, until, saidOf(l.gate.met)
	if t.Failures >= failingFrom && l.gate.met.Kind == app.ResultTrouble && !inTransaction(l.gate.met.Stage) && l.gate.met.Stage != app.StageDot {
		st.State = RelayFailing
	}
	return st
}

// saidOf is what a relay said, and at which step.
func saidOf(res app.Result) string {
	words := []string{string(res.Stage) + ":"}
	if res.Reply.Code != 0 {
		words = append(words, strconv.Itoa(res.Reply.Code))
	}
	if res.Reply.Enhanced != "" {
		words = append(words, res.Reply.Enhanced)
	}
	return strings.Join(append(words, maskAddresses(res.Reply.Text)), " ")
}
