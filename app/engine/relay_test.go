package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/relays"
)

// fakeRelay is a Sender that follows a script.
type fakeRelay struct {
	relays.Relay
	conns chan struct{}

	mu      sync.Mutex
	script  script
	tries   []try
	took    []string // recipients of messages that were taken
	times   map[string]int
	open    int
	maxOpen int
	closed  bool
	gone    chan struct{} // closed by Close
}

// try is one transaction that the engine asked for.
type try struct {
	at time.Time
	m  app.Outgoing
}

// script gives the answer to an email's n-th transaction (1 is the first); nil
// takes it.
type script func(m *app.Outgoing, n int) answer

// answer plays the relay's part in one transaction.
type answer func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result

func newRelay(script script) *fakeRelay {
	return newRelayOf(relays.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 587, Connections: 4}, script)
}

func newRelayOf(relay relays.Relay, script script) *fakeRelay {
	return &fakeRelay{Relay: relay, conns: make(chan struct{}, max(relay.Connections, 1)), script: script, times: map[string]int{}, gone: make(chan struct{})}
}

// always gives the same answer to everything.
func always(a answer) script {
	return func(*app.Outgoing, int) answer { return a }
}

// firstly gives an email's n-th transaction the n-th answer, and takes it
// afterwards.
func firstly(answers ...answer) script {
	return func(_ *app.Outgoing, n int) answer {
		if n <= len(answers) {
			return answers[n-1]
		}
		return accept
	}
}

func (r *fakeRelay) Send(ctx context.Context, m *app.Outgoing, hold func(context.Context, string) error) app.Result {
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
	res := a(ctx, m, func() error { return hold(ctx, signature) })
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range res.Recipients {
		if v.Verdict == app.Accepted {
			r.took = append(r.took, v.Address)
		}
	}
	return res
}

// fakeSignature differs from one signing to the next, as a real one may.
func fakeSignature(id string, at time.Time) string {
	return "DKIM-Signature: of " + id + " at " + app.FormatTime(at) + "\r\n"
}

// firstSignature is that of an email which was signed when its bubble began.
func firstSignature(id string) string {
	return fakeSignature(id, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
}

func (r *fakeRelay) begin(m *app.Outgoing) answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open++
	r.maxOpen = max(r.maxOpen, r.open)
	r.times[m.EmailID]++
	kept := *m
	kept.Recipients = slices.Clone(m.Recipients)
	r.tries = append(r.tries, try{at: time.Now(), m: kept})
	if r.script != nil {
		if a := r.script(m, r.times[m.EmailID]); a != nil {
			return a
		}
	}
	return accept
}

func (r *fakeRelay) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open--
}

func (r *fakeRelay) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed = true
		close(r.gone)
	}
}

// follow changes the script.
func (r *fakeRelay) follow(s script) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.script = s
}

// seen are the transactions so far; of one email where id is given.
func (r *fakeRelay) seen(id string) []try {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []try
	for _, s := range r.tries {
		if id == "" || s.m.EmailID == id {
			out = append(out, s)
		}
	}
	return out
}

// accept takes the message for everybody.
func accept(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
	return byName(nil)(ctx, m, hold)
}

// byName answers RCPT of the named recipients with those codes and takes the
// message for all others.
func byName(codes map[string]int) answer {
	return func(_ context.Context, m *app.Outgoing, hold func() error) app.Result {
		res := app.Result{Kind: app.ResultDone, Stage: app.StageDot, Reply: app.Reply{Code: 250, Enhanced: "2.0.0", Text: "Ok: taken"}}
		taken := false
		for _, address := range m.Recipients {
			v := app.RecipientResult{Address: address, Verdict: app.Accepted, Stage: app.StageDot, Reply: res.Reply}
			switch code := codes[address]; code / 100 {
			case 4:
				v.Verdict, v.Stage, v.Reply = app.Postponed, app.StageRcpt, app.Reply{Code: code, Enhanced: "4.2.0", Text: "greylisted"}
			case 5:
				v.Verdict, v.Stage, v.Reply = app.Refused, app.StageRcpt, app.Reply{Code: code, Enhanced: "5.1.1", Text: "no such user"}
			default:
				taken = true
			}
			res.Recipients = append(res.Recipients, v)
		}
		if taken && hold() != nil {
			return app.Result{Kind: app.ResultWithdrawn, Stage: app.StageDot}
		}
		return res
	}
}

// trouble ends at stage because of the relay, not of the message.
func trouble(stage app.Stage, text string) answer {
	return func(context.Context, *app.Outgoing, func() error) app.Result {
		return app.Result{Kind: app.ResultTrouble, Stage: stage, Reply: app.Reply{Text: text}}
	}
}

// says answers the whole message with a code: 4xx defers it, 5xx refuses it.
func says(stage app.Stage, code int, text string) answer {
	return func(_ context.Context, _ *app.Outgoing, hold func() error) app.Result {
		if stage == app.StageDot && hold() != nil {
			return app.Result{Kind: app.ResultWithdrawn, Stage: app.StageDot}
		}
		kind := app.ResultDeferred
		if code >= 500 {
			kind = app.ResultRefused
		}
		return app.Result{Kind: kind, Stage: stage, Reply: app.Reply{Code: code, Text: text}}
	}
}

// lost takes the dot and loses the connection before the reply.
func lost(_ context.Context, _ *app.Outgoing, hold func() error) app.Result {
	if hold() != nil {
		return app.Result{Kind: app.ResultWithdrawn, Stage: app.StageDot}
	}
	return app.Result{Kind: app.ResultDoubt, Stage: app.StageDot, Reply: app.Reply{Text: "connection reset"}}
}

// after waits for the channel, or for the end of the context, then goes on.
func after(ch <-chan struct{}, a answer) answer {
	return func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
		select {
		case <-ch:
			return a(ctx, m, hold)
		case <-ctx.Done():
			return app.Result{Kind: app.ResultTrouble, Stage: app.StageData, Reply: app.Reply{Text: "stopped"}}
		}
	}
}

// dotThen sends the dot and gives the reply once the channel is closed; when
// the context ends before, the reply is lost.
func dotThen(ch <-chan struct{}) answer {
	return func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
		if hold() != nil {
			return app.Result{Kind: app.ResultWithdrawn, Stage: app.StageDot}
		}
		select {
		case <-ch:
			return accept(ctx, m, func() error { return nil })
		case <-ctx.Done():
			return app.Result{Kind: app.ResultDoubt, Stage: app.StageDot, Reply: app.Reply{Text: "stopped"}}
		}
	}
}

// refuseLocally is what a relay's client says of a message that the relay can't
// carry.
func refuseLocally(context.Context, *app.Outgoing, func() error) app.Result {
	return app.Result{Kind: app.ResultRefused, Stage: app.StageMail, Reply: app.Reply{Enhanced: "5.3.4", Text: "too large"}}
}

// forgetLast takes the message and says nothing of its last recipient.
func forgetLast(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
	res := accept(ctx, m, hold)
	if len(res.Recipients) > 0 {
		res.Recipients = res.Recipients[:len(res.Recipients)-1]
	}
	return res
}

// simulatedAs answers for a test recipient.
func simulatedAs(v app.Verdict) answer {
	return func(_ context.Context, m *app.Outgoing, hold func() error) app.Result {
		if hold() != nil {
			return app.Result{Kind: app.ResultWithdrawn}
		}
		return app.Result{Kind: app.ResultDone, Stage: app.StageDot, Recipients: []app.RecipientResult{{Address: m.Recipients[0], Verdict: v}}}
	}
}

// captured is what the capture transport answers.
func captured(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
	res := accept(ctx, m, hold)
	res.Captured = []byte("the message")
	return res
}
