package testserver

import (
	"context"
	"slices"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
)

// FakeRelay is a delivery.Sender that follows a script.
type FakeRelay struct {
	relayurl.Relay
	conns chan struct{}

	Mu           sync.Mutex
	script       Script
	transactions []Transaction
	Accepted     []string       // recipients of accepted messages
	counts       map[string]int // transactions of each email
	dots         map[string]int // transactions that passed the final check, by email
	open         int
	MaxOpen      int
	Closed       bool
	Done         chan struct{} // closed by Close
}

// Transaction is a transaction that the server requested.
type Transaction struct {
	At      time.Time
	Message app.Outgoing
}

// Script returns the answer to an email's n-th transaction (from 1); nil means Accept.
type Script func(m *app.Outgoing, n int) Answer

// Answer simulates the relay in one transaction. It calls authorize before the final dot.
type Answer func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result

// NewRelay returns a relay of the default region without limits.
func NewRelay(script Script) *FakeRelay {
	return NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 587, Connections: 4}, script)
}

// NewRelayOf returns a fake of a relay.
func NewRelayOf(relay relayurl.Relay, script Script) *FakeRelay {
	return &FakeRelay{Relay: relay, conns: make(chan struct{}, max(relay.Connections, 1)), script: script, counts: map[string]int{}, dots: map[string]int{}, Done: make(chan struct{})}
}

// Always returns a script with the same answer to all transactions.
func Always(a Answer) Script {
	return func(*app.Outgoing, int) Answer { return a }
}

// InOrder returns a script that answers an email's n-th transaction with the n-th answer, and
// later ones with Accept.
func InOrder(answers ...Answer) Script {
	return func(_ *app.Outgoing, n int) Answer {
		if n <= len(answers) {
			return answers[n-1]
		}
		return Accept
	}
}

// Send implements delivery.Sender with the script.
func (r *FakeRelay) Send(ctx context.Context, m *app.Outgoing, authorize func(context.Context, string) error) app.Result {
	select {
	case r.conns <- struct{}{}:
		defer func() { <-r.conns }()
	case <-ctx.Done():
		return app.Result{Kind: app.ResultTrouble, Stage: app.StageConnect, Reply: app.Reply{Text: "stopped"}}
	}
	a := r.begin(m)
	defer r.end()
	signature := m.Signature
	if signature == "" {
		signature = fakeSignature(m.EmailID, time.Now())
	}
	res := a(ctx, m, func() error {
		err := authorize(ctx, signature)
		if err == nil {
			r.Mu.Lock()
			defer r.Mu.Unlock()
			r.dots[m.EmailID]++
		}
		return err
	})
	r.Mu.Lock()
	defer r.Mu.Unlock()
	for _, v := range res.Recipients {
		if v.Outcome == app.Accepted {
			r.Accepted = append(r.Accepted, v.Address)
		}
	}
	return res
}

// fakeSignature returns a signature that differs at each signing, as real ones may.
func fakeSignature(id string, at time.Time) string {
	return "DKIM-Signature: of " + id + " at " + app.FormatTime(at) + "\r\n"
}

// FirstSignature returns the signature of an email that was signed when the bubble began.
func FirstSignature(id string) string {
	return fakeSignature(id, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
}

// FinalDots returns how many of the email's transactions passed the final check.
func (r *FakeRelay) FinalDots(id string) int {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return r.dots[id]
}

func (r *FakeRelay) begin(m *app.Outgoing) Answer {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.open++
	r.MaxOpen = max(r.MaxOpen, r.open)
	r.counts[m.EmailID]++
	kept := *m
	kept.Recipients = slices.Clone(m.Recipients)
	r.transactions = append(r.transactions, Transaction{At: time.Now(), Message: kept})
	if r.script != nil {
		if a := r.script(m, r.counts[m.EmailID]); a != nil {
			return a
		}
	}
	return Accept
}

func (r *FakeRelay) end() {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.open--
}

// Drain implements delivery.Sender: transactions in progress continue.
func (r *FakeRelay) Drain() {}

// Bound implements delivery.Sender.
func (r *FakeRelay) Bound() int { return 0 }

// Close implements delivery.Sender.
func (r *FakeRelay) Close() {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if !r.Closed {
		r.Closed = true
		close(r.Done)
	}
}

// SetScript changes the script.
func (r *FakeRelay) SetScript(s Script) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.script = s
}

// Transactions returns the transactions so far, only those of one email if id is given.
func (r *FakeRelay) Transactions(id string) []Transaction {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	var out []Transaction
	for _, s := range r.transactions {
		if id == "" || s.Message.EmailID == id {
			out = append(out, s)
		}
	}
	return out
}

// Accept accepts the message for all recipients.
func Accept(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
	return ReplyPerRecipient(nil)(ctx, m, authorize)
}

// ReplyPerRecipient replies to RCPT of the named recipients with codes and accepts the message for
// all others.
func ReplyPerRecipient(codes map[string]int) Answer {
	return func(_ context.Context, m *app.Outgoing, authorize func() error) app.Result {
		res := app.Result{Kind: app.ResultDone, Stage: app.StageDot, Reply: app.Reply{Code: 250, Enhanced: "2.0.0", Text: "Ok: taken"}}
		taken := false
		for _, address := range m.Recipients {
			v := app.RecipientResult{Address: address, Outcome: app.Accepted, Stage: app.StageDot, Reply: res.Reply}
			switch code := codes[address]; code / 100 {
			case 4:
				v.Outcome, v.Stage, v.Reply = app.Postponed, app.StageRcpt, app.Reply{Code: code, Enhanced: "4.2.0", Text: "greylisted"}
			case 5:
				v.Outcome, v.Stage, v.Reply = app.Refused, app.StageRcpt, app.Reply{Code: code, Enhanced: "5.1.1", Text: "no such user"}
			default:
				taken = true
			}
			res.Recipients = append(res.Recipients, v)
		}
		if taken && authorize() != nil {
			return app.Result{Kind: app.ResultWithdrawn, Stage: app.StageDot}
		}
		return res
	}
}

// RelayTrouble ends the transaction at a stage because of the relay.
func RelayTrouble(stage app.Stage, text string) Answer {
	return func(context.Context, *app.Outgoing, func() error) app.Result {
		return app.Result{Kind: app.ResultTrouble, Stage: stage, Reply: app.Reply{Text: text}}
	}
}

// ReplyWith replies to the whole message with a code: 4xx defers it, 5xx refuses it.
func ReplyWith(stage app.Stage, code int, text string) Answer {
	return func(_ context.Context, _ *app.Outgoing, authorize func() error) app.Result {
		if stage == app.StageDot && authorize() != nil {
			return app.Result{Kind: app.ResultWithdrawn, Stage: app.StageDot}
		}
		kind := app.ResultDeferred
		if code >= 500 {
			kind = app.ResultRefused
		}
		return app.Result{Kind: kind, Stage: stage, Reply: app.Reply{Code: code, Text: text}}
	}
}

// LoseReply accepts the final dot and loses the connection before the reply.
func LoseReply(_ context.Context, _ *app.Outgoing, authorize func() error) app.Result {
	if authorize() != nil {
		return app.Result{Kind: app.ResultWithdrawn, Stage: app.StageDot}
	}
	return app.Result{Kind: app.ResultDoubt, Stage: app.StageDot, Reply: app.Reply{Text: "connection reset"}}
}

// After waits for the channel or the end of the context before the answer.
func After(ch <-chan struct{}, a Answer) Answer {
	return func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
		select {
		case <-ch:
			return a(ctx, m, authorize)
		case <-ctx.Done():
			return app.Result{Kind: app.ResultTrouble, Stage: app.StageData, Reply: app.Reply{Text: "stopped"}}
		}
	}
}

// ReplyAfter sends the final dot and returns the reply when the channel is closed. If the context
// ends first, the reply is lost.
func ReplyAfter(ch <-chan struct{}) Answer {
	return func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
		if authorize() != nil {
			return app.Result{Kind: app.ResultWithdrawn, Stage: app.StageDot}
		}
		select {
		case <-ch:
			return Accept(ctx, m, func() error { return nil })
		case <-ctx.Done():
			return app.Result{Kind: app.ResultDoubt, Stage: app.StageDot, Reply: app.Reply{Text: "stopped"}}
		}
	}
}

// RefuseLocally refuses a message that the relay can't carry.
func RefuseLocally(context.Context, *app.Outgoing, func() error) app.Result {
	return app.Result{Kind: app.ResultRefused, Stage: app.StageMail, Reply: app.Reply{Enhanced: "5.3.4", Text: "too large"}}
}

// OmitLastRecipient accepts the message without a result for its last recipient.
func OmitLastRecipient(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
	res := Accept(ctx, m, authorize)
	if len(res.Recipients) > 0 {
		res.Recipients = res.Recipients[:len(res.Recipients)-1]
	}
	return res
}

// Simulate returns an outcome of test recipients.
func Simulate(v app.Outcome) Answer {
	return func(_ context.Context, m *app.Outgoing, authorize func() error) app.Result {
		if authorize() != nil {
			return app.Result{Kind: app.ResultWithdrawn}
		}
		return app.Result{Kind: app.ResultDone, Stage: app.StageDot, Recipients: []app.RecipientResult{{Address: m.Recipients[0], Outcome: v}}}
	}
}

// Capture answers like the capture transport.
func Capture(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
	res := Accept(ctx, m, authorize)
	res.Captured = []byte("the message")
	return res
}
