package smtpout

import (
	"context"
	"slices"

	"mailer/app"
	"mailer/app/rules/relayurl"
)

// Capture is the transport when no relay is configured: messages are composed and signed as for a
// relay and returned in the result. It opens no socket.
type Capture struct {
	builder *builder
}

// NewCapture makes the capture transport.
func NewCapture(opts Options) *Capture {
	return &Capture{builder: newBuilder(opts, true, relayurl.ProfileGeneric)}
}

// Send accepts m for every recipient. Captured of the result is the message.
func (c *Capture) Send(ctx context.Context, m *app.Outgoing, authorize func(ctx context.Context, signature string) error) app.Result {
	message, bad := c.builder.build(ctx, m)
	if bad != nil {
		return *bad
	}
	defer c.builder.release(message)
	if err := authorize(ctx, message.signature); err != nil {
		return withdrawn()
	}
	reply := app.Reply{Code: 250, Enhanced: "2.0.0", Text: "Captured: nothing left this machine"}
	res := app.Result{Kind: app.ResultDone, Stage: app.StageDot, Reply: reply}
	for _, address := range m.Recipients {
		res.Recipients = append(res.Recipients, app.RecipientResult{Address: address, Outcome: app.Accepted, Stage: app.StageDot, Reply: reply})
	}
	res.Captured = slices.Concat(message.head, message.tail)
	return res
}

// Drain does nothing: Send never waits.
func (c *Capture) Drain() {}

// Bound is 0: there are no connections.
func (c *Capture) Bound() int { return 0 }

// Close does nothing: there are no connections.
func (c *Capture) Close() {}
