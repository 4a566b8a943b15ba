package delivery

import (
	"context"
	"strconv"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/rules/relayurl"
)

// Sender carries out one SMTP transaction. Just before the final dot it calls
// hold with the DKIM-Signature field used (empty: unsigned); an error from hold
// means that the dot must not be sent, and leads to ResultWithdrawn. hold is
// called at most once, and not at all when the transaction ends earlier. Send
// is safe for concurrent use and blocks while all connections are busy. When
// ctx ends before the dot, the transaction is dropped with ResultTrouble.
type Sender interface {
	Send(ctx context.Context, m *app.Outgoing, hold func(ctx context.Context, signature string) error) app.Result
	// Drain has it begin no other transaction: a Send that has none yet ends with
	// ResultTrouble of StageConnect, one that is past MAIL goes on. It does not wait.
	Drain()
	// Bound is how many connections the relay lets us have at once, as far as is known;
	// 0: nobody can say.
	Bound() int
	// Trip says QUIT on idle connections and drops the others: a Send that waits
	// for the reply to its dot ends with ResultDoubt. It may be called again.
	Close()
}

// Route is a relay and the Sender that speaks to it.
type Route struct {
	Relay  relayurl.Relay
	Sender Sender
}

// RelaysOf are the relays of routes, in their order.
func RelaysOf(routes []Route) (out []relayurl.Relay) {
	for _, route := range routes {
		out = append(out, route.Relay)
	}
	return out
}

// CloseSenders closes the senders of all lanes, as Sender says, also of those that end.
func (s *Service) CloseSenders() {
	for _, l := range s.Outlets.withEnding() {
		l.sender.Close()
	}
}

// Relays names the relays in their order, without credentials.
func (s *Service) Relays() []string {
	var names []string
	for _, l := range s.Outlets.all() {
		if !s.Settings.Capture {
			names = append(names, l.relay.String())
		}
	}
	return names
}

// Captures reports whether no mail leaves.
func (s *Service) Captures() bool { return s.Settings.Capture }

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
	Relay       relayurl.Relay // with its password: not to be shown
	State       string         // RelayOpen and so on
	Reason      string         // in the relay's words, or ours; empty: it is open
	Since       time.Time      // zero: it is open
	NextTry     time.Time      // zero: at once, or nobody knows
	Connections int            // that it lets us have at once, as far as is known
}

// States are those of all relays, in their order.
func (o *Outlets) States() []State {
	var all []State
	for _, l := range o.all() {
		all = append(all, stateOf(l))
	}
	return all
}

func stateOf(l *relayQueue) State {
	st := State{Relay: l.relay, State: RelayOpen, Connections: l.relay.Connections}
	if n := l.sender.Bound(); n > 0 {
		st.Connections = n
	}
	if p := l.pause.Load(); p != nil && p.Active(clock.Now()) {
		st.State, st.Reason, st.Since, st.NextTry = RelayPaused, p.Text(), p.Since, p.Until
		return st
	}
	o, _, until := l.breaker.state()
	l.breaker.mu.Lock()
	defer l.breaker.mu.Unlock()
	t := l.breaker.trouble
	if o == breakerClosed || t == nil {
		return st
	}
	st.State, st.Since, st.NextTry, st.Reason = RelayResting, t.StartedAt, until, replyText(l.breaker.lastResult)
	if t.Failures >= failingFrom && l.breaker.lastResult.Kind == app.ResultTrouble && !inTransaction(l.breaker.lastResult.Stage) && l.breaker.lastResult.Stage != app.StageDot {
		st.State = RelayFailing
	}
	return st
}

// replyText is what a relay said, and at which step.
func replyText(res app.Result) string {
	words := []string{string(res.Stage) + ":"}
	if res.Reply.Code != 0 {
		words = append(words, strconv.Itoa(res.Reply.Code))
	}
	if res.Reply.Enhanced != "" {
		words = append(words, res.Reply.Enhanced)
	}
	return strings.Join(append(words, maskAddresses(res.Reply.Text)), " ")
}
