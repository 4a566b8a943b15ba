// Package smtpout composes messages, signs them with DKIM and sends them to a relay by SMTP (RFC
// 5321), or captures them if no relay is configured. With PIPELINING (RFC 2920) a message costs
// three writes: the commands, the body and the final dot.
//
// Failure policy: a message is refused only by a received 5xx (never with a relay that is soft on
// bounces), or because it can't be sent at all. Other failures before the final dot are trouble and
// settle only recipients that were answered; failures after the dot without a readable reply are
// doubt. Only a pooled connection that the relay closed while idle is replaced, once. Results never
// contain credentials.
package smtpout

import (
	"context"
	"log/slog"

	"mailer/app"
)

// Transport sends messages. Mail of broadcasts (app.Outgoing.Bulk) yields to all other mail where
// it waits, for composing and for a connection. Among equals, a free slot goes to the team that
// holds the fewest; if teams share a relay (app.Outgoing.Shared), a team whose transactions take
// long leaves the last free connection to others. It implements delivery.Sender.
type Transport interface {
	// Send sends m in one transaction. It calls authorize at most once, just before the final dot,
	// and sends the dot only if authorize returns nil.
	Send(ctx context.Context, m *app.Outgoing, authorize func(ctx context.Context, signature string) error) app.Result
	// Drain makes later transactions impossible: a Send without a connection ends with
	// ResultTrouble, the others finish.
	Drain()
	// Bound is how many concurrent connections the relay allows; 0: there are none.
	Bound() int
	// Close ends every connection. A Send that still runs ends soon.
	Close()
}

var (
	_ Transport = (*Relay)(nil)
	_ Transport = (*Capture)(nil)
	_ Transport = (*Simulator)(nil)
)

// Options are shared by all transports of a server.
type Options struct {
	Hello    string       // our name in EHLO unless the relay sets one; empty: localhost
	Log      *slog.Logger // nil: nothing is logged
	Builders int          // messages composed and signed concurrently; 0: app.ComposeWorkers
	Load     *app.Load    // while API callers wait, a quarter of Builders is used; nil: never
}

func (o Options) logger() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}

// withdrawn is the result if authorize failed.
func withdrawn() app.Result {
	return app.Result{Kind: app.ResultWithdrawn, Stage: app.StageDot, Reply: app.Reply{Text: "withdrawn before the final dot"}}
}
