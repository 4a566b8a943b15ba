package smtpout

import (
	"context"
	"strings"

	"mailer/app"
	"mailer/app/rules/relayurl"
)

// Simulator answers for test recipients itself and passes all others to the next transport.
type Simulator struct {
	next Transport
}

// WithSimulator handles the test recipients before next: the mailboxes delivered, bounced,
// complained, delayed and suppressed, with or without a +label, at simulator.mailer.test and
// resend.dev, case-insensitively. Mail to them never reaches next.
func WithSimulator(next Transport) *Simulator { return &Simulator{next: next} }

// Connect makes the client of a relay with a Simulator before it. Errors are those of NewRelay.
func Connect(cfg relayurl.Relay, opts Options) (*Simulator, error) {
	client, err := NewRelay(cfg, opts)
	if err != nil {
		return nil, err
	}
	return WithSimulator(client), nil
}

// Close closes the next transport.
func (s *Simulator) Close() { s.next.Close() }

// Drain drains the next transport.
func (s *Simulator) Drain() { s.next.Drain() }

// Bound returns that of the next transport.
func (s *Simulator) Bound() int { return s.next.Bound() }

// Send answers for test recipients once authorize has agreed, as for a real final dot. They get
// their outcomes whenever the message was decided on, because a refusal or doubt of the others is
// not about them. If nothing was decided (ResultTrouble, ResultWithdrawn), they wait for the next
// try with the others.
func (s *Simulator) Send(ctx context.Context, m *app.Outgoing, authorize func(ctx context.Context, signature string) error) app.Result {
	others, outcomes := simulate(m.Recipients)
	if len(outcomes) == 0 {
		return s.next.Send(ctx, m, authorize)
	}
	authorized := false
	res := app.Result{Kind: app.ResultDone, Stage: app.StageDot}
	if len(others) > 0 {
		forOthers := *m
		forOthers.Recipients = others
		res = s.next.Send(ctx, &forOthers, func(ctx context.Context, signature string) error {
			authorized = true
			return authorize(ctx, signature)
		})
	}
	if res.Kind == app.ResultTrouble || res.Kind == app.ResultWithdrawn {
		return res
	}
	if !authorized {
		if err := authorize(ctx, m.Signature); err != nil {
			return withdrawn()
		}
	}
	res.Recipients = append(res.Recipients, outcomes...)
	return res
}

// simulate separates test recipients from the others.
func simulate(recipients []string) (others []string, outcomes []app.RecipientResult) {
	for _, address := range recipients {
		if res, ok := simulated(address); ok {
			outcomes = append(outcomes, res)
			continue
		}
		others = append(others, address)
	}
	return others, outcomes
}

// simulated returns the outcome for a test recipient; false: address is not one.
func simulated(address string) (app.RecipientResult, bool) {
	local, domain, _ := strings.Cut(app.KeyOf(address).String(), "@")
	if domain != "simulator.mailer.test" && domain != "resend.dev" {
		return app.RecipientResult{}, false
	}
	name, _, _ := strings.Cut(local, "+")
	res := app.RecipientResult{Address: address, Stage: app.StageRcpt}
	switch name {
	case "delivered":
		res.Outcome, res.Stage = app.SimulatedSuccess, app.StageDot
		res.Reply = app.Reply{Code: 250, Enhanced: "2.0.0", Text: "Simulated: delivered"}
	case "bounced":
		res.Outcome = app.SimulatedBounce
		res.Reply = app.Reply{Code: 550, Enhanced: "5.1.1", Text: "Simulated: no such mailbox"}
	case "complained":
		res.Outcome, res.Stage = app.SimulatedSpam, app.StageDot
		res.Reply = app.Reply{Code: 250, Enhanced: "2.0.0", Text: "Simulated: delivered, then reported as spam"}
	case "delayed":
		res.Outcome = app.SimulatedDelay
		res.Reply = app.Reply{Code: 450, Enhanced: "4.2.1", Text: "Simulated: the mailbox is busy"}
	case "suppressed":
		res.Outcome = app.SimulatedBlock
		res.Reply = app.Reply{Text: "Simulated: the address is suppressed"}
	default:
		return app.RecipientResult{}, false
	}
	return res, true
}
