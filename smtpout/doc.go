// Package smtpout carries mail out of the house: it makes a message's bytes,
// signs them and hands them to a relay by SMTP (RFC 5321), or keeps them where
// no relay is configured.
//
// Failure policy: a message is refused only by a 5xx that was really received (and
// where a relay is soft on bounces not even then), or because it can't be carried
// at all; whatever else goes wrong before the final dot is trouble, and says
// nothing of the message but to the recipients that were answered before; whatever
// goes wrong after it, short of a readable reply, is doubt. Nothing is retried
// here, but for one thing: a pooled connection that the relay closed while it
// was idle is replaced once, unseen. Results carry their reason in words, and no
// credential ever stands in them.
//
// Where the relay offers PIPELINING (RFC 2920) a message costs three writes: MAIL,
// each RCPT and DATA together, then the body, then the dot.
//
// Mail of broadcasts (app.Outgoing.Bulk) gives way to all other where it waits:
// for its turn to be composed and signed, and for a connection. A transactional
// message waits for bulk messages that have begun, one at most where it finds
// every place taken, and never for those that queue. Among equals the place goes to
// the team that holds the fewest; where teams share a relay (app.Outgoing.Shared),
// one whose transactions take long leaves the last free connection to others.
//
// A relay that refuses one connection more while others work has no trouble: as many
// are used as work, and one more is tried after a quiet minute.
package smtpout

import (
	"context"
	"log/slog"

	"mailer/app"
)

// Transport carries out one SMTP transaction at a time for each caller. It has
// the shape that delivery asks of its Sender.
type Transport interface {
	// Send tries m once. It calls hold just before the final dot, at most once,
	// and sends the dot only if hold answers nil.
	Send(ctx context.Context, m *app.Outgoing, authorize func(ctx context.Context, signature string) error) app.Result
	// Drain has no other transaction begin: a Send that has none yet ends with
	// ResultTrouble, the others go on.
	Drain()
	// Bound is how many connections the relay lets us have at once; 0: there are none.
	Bound() int
	// Close ends every connection; a Send that still runs ends soon.
	Close()
}

var (
	_ Transport = (*Relay)(nil)
	_ Transport = (*Capture)(nil)
	_ Transport = (*Simulator)(nil)
)

// Options are what all transports of a server share.
type Options struct {
	Hello    string       // our name in EHLO, where the relay has no other; empty: localhost
	Log      *slog.Logger // nil: nothing is logged
	Builders int          // messages composed and signed at once; 0: app.ComposeWorkers
	Load     *app.Load    // while callers wait, a quarter as many are; nil: nobody does
}

func (o Options) logger() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}

// withdrawn is the result when hold said no.
func withdrawn() app.Result {
	return app.Result{Kind: app.ResultWithdrawn, Stage: app.StageDot, Reply: app.Reply{Text: "withdrawn before the final dot"}}
}
