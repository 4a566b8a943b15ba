package delivery

import (
	"context"

	"mailer/app"
	"mailer/app/metrics"
	"mailer/app/relays"
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
	// Close says QUIT on idle connections and drops the others: a Send that waits
	// for the reply to its dot ends with ResultDoubt. It may be called again.
	Close()
}

// Route is a relay and the Sender that speaks to it.
type Route struct {
	Relay  relays.Relay
	Sender Sender
}

// CloseSenders closes the senders of all lanes, as Sender says, also of those that end.
func (s *Service) CloseSenders() {
	for _, l := range s.lanes.open() {
		l.sender.Close()
	}
}

// Relays names the relays in their order, without credentials.
func (s *Service) Relays() []string {
	var names []string
	for _, l := range s.lanes.all() {
		if !s.Settings.Capture {
			names = append(names, l.relay.String())
		}
	}
	return names
}

// RelaysUp tells of each relay whether it takes mail now.
func (s *Service) RelaysUp() []metrics.Relay {
	var relays []metrics.Relay
	for _, l := range s.lanes.all() {
		opening, _, _ := l.gate.look()
		relays = append(relays, metrics.Relay{Name: l.name, Up: opening == open})
	}
	return relays
}

// Captures reports whether no mail leaves.
func (s *Service) Captures() bool { return s.Settings.Capture }
