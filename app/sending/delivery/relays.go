package delivery

import (
	"context"
	"strconv"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/rules/outcome"
	"mailer/app/rules/relayurl"
)

// Sender carries out SMTP transactions with one relay.
type Sender interface {
	// Send sends m in one transaction. Just before the final dot it calls authorize with the
	// DKIM-Signature field used (empty: unsigned); if that fails, the dot is not sent and the
	// result is ResultWithdrawn. authorize is called at most once, and not if the transaction ends
	// earlier. Send is safe for concurrent use and blocks while all connections are busy. If ctx
	// ends before the dot, the transaction is dropped with ResultTrouble.
	Send(ctx context.Context, m *app.Outgoing, authorize func(ctx context.Context, signature string) error) app.Result
	// Drain makes later transactions impossible: a Send without a connection ends with
	// ResultTrouble of StageConnect, one past MAIL finishes. Drain does not wait.
	Drain()
	// Bound is how many concurrent connections the relay allows, as far as known; 0: unknown.
	Bound() int
	// Close sends QUIT on idle connections and drops the others: a Send that waits for the reply to
	// its dot ends with ResultDoubt. It may be called again.
	Close()
}

// Route is a relay and its Sender.
type Route struct {
	Relay  relayurl.Relay
	Sender Sender
}

// RelaysOf returns the relays of routes in their order.
func RelaysOf(routes []Route) (out []relayurl.Relay) {
	for _, route := range routes {
		out = append(out, route.Relay)
	}
	return out
}

// CloseSenders closes the senders of all queues, including those that drain.
func (s *Service) CloseSenders() {
	for _, sender := range s.RelayQueues.senders() {
		sender.Close()
	}
}

// Relays returns the relays in their order, without credentials.
func (s *Service) Relays() []string {
	var names []string
	for _, e := range s.RelayQueues.now().endpoints {
		if !s.Settings.Capture {
			names = append(names, e.relay.String())
		}
	}
	return names
}

// Captures reports whether mail is captured instead of sent.
func (s *Service) Captures() bool { return s.Settings.Capture }

// States of a relay.
const (
	RelayOpen    = "open"
	RelayResting = "resting" // its circuit breaker is open: it refuses mail, or its daily limit is used up
	RelayPaused  = "paused"  // by the operator
	RelayFailing = "failing" // it could not be used several times in a row
)

// failingFrom is the number of failures in a row after which a relay is RelayFailing.
const failingFrom = 2

// State is the state of a relay at one moment.
type State struct {
	Relay       relayurl.Relay // with its password: never show it
	State       string         // RelayOpen and so on
	Reason      string         // reply of the relay or text of ours; empty: open
	Since       time.Time      // zero: open
	NextTry     time.Time      // zero: immediately or unknown
	Connections int            // concurrent connections that it allows, as far as known
	// UnusableSince is since when the relay accepts nothing from anybody; zero: it does, as far as
	// known.
	UnusableSince time.Time
	UnusableWhy   string
	FullUntil     time.Time // when its daily limit has room again; zero: it has
}

// States returns the states of all relays in their order.
func (o *RelayQueues) States() []State {
	var all []State
	for _, e := range o.now().endpoints {
		all = append(all, stateOf(e))
	}
	return all
}

func stateOf(l *endpoint) State {
	st := State{Relay: l.relay, State: RelayOpen, Connections: l.relay.Connections}
	if n := l.sender.Bound(); n > 0 {
		st.Connections = n
	}
	if p := l.pause.Load(); p != nil && p.Active(clock.Now()) {
		st.State, st.Reason, st.Since, st.NextTry = RelayPaused, p.Text(), p.Since, p.Until
		return st
	}
	if since, why := l.refusesSole(); !since.IsZero() {
		st.UnusableSince, st.UnusableWhy = since, why
	}
	l.breaker.mu.Lock()
	defer l.breaker.mu.Unlock()
	b, t := l.breaker.statusLocked(), l.breaker.trouble
	if b.state == breakerClosed || t == nil {
		return st
	}
	st.State, st.Since, st.NextTry, st.Reason = RelayResting, t.StartedAt, b.openUntil, replyText(l.breaker.lastResult)
	if t.Failures == 0 {
		st.FullUntil = b.openUntil
	} else {
		st.UnusableSince, st.UnusableWhy = t.StartedAt, st.Reason
	}
	if t.Failures >= failingFrom && l.breaker.lastResult.Kind == app.ResultTrouble && !outcome.InTransaction(l.breaker.lastResult.Stage) && l.breaker.lastResult.Stage != app.StageDot {
		st.State = RelayFailing
	}
	return st
}

// replyText is the stage and reply of a result.
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
