package smtpout

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"mailer/app"
)

// nextTransport is a transport with a given result.
type nextTransport struct {
	result     app.Result
	authorizes bool
	got        []string
	called     int
	closed     bool
}

func (n *nextTransport) Send(ctx context.Context, m *app.Outgoing, authorize func(context.Context, string) error) app.Result {
	n.called++
	n.got = m.Recipients
	if n.authorizes {
		if err := authorize(ctx, "signature of next"); err != nil {
			return withdrawn()
		}
	}
	return n.result
}

func (n *nextTransport) Close() { n.closed = true }

func (n *nextTransport) Drain() {}

func (n *nextTransport) Bound() int { return 0 }

func TestSimulatorAlone(t *testing.T) {
	tests := map[string]string{
		"delivered@simulator.mailer.test":          "done/dot/0 delivered=simulated_delivered/250",
		"bounced@simulator.mailer.test":            "done/dot/0 bounced=simulated_bounced/550",
		"complained@resend.dev":                    "done/dot/0 complained=simulated_complained/250",
		"delayed@resend.dev":                       "done/dot/0 delayed=simulated_delayed/450",
		"suppressed@resend.dev":                    "done/dot/0 suppressed=simulated_suppressed/0",
		"BOUNCED+label+more@Simulator.Mailer.TEST": "done/dot/0 BOUNCED+label+more=simulated_bounced/550",
	}
	for address, line := range tests {
		t.Run(address, func(t *testing.T) {
			n := &nextTransport{}
			var h authorizer
			m := testMessage(address)
			m.Signature = "earlier"
			want(t, WithSimulator(n).Send(t.Context(), m, h.authorize), line)
			if n.called != 0 || h.calls() != 1 || h.signatures[0] != "earlier" {
				t.Errorf("next called %d times, hold %q", n.called, h.signatures)
			}
		})
	}
}

func TestSimulatorPassesOthersOn(t *testing.T) {
	for _, address := range []string{
		"delivered@example.com", "someone@resend.dev", "deliveredx@resend.dev", "delivered@mail.resend.dev",
		"delivered@resend.dev.example.com", "+delivered@resend.dev", `"delivered@resend.dev"@example.com`,
	} {
		n := &nextTransport{result: app.Result{Kind: app.ResultDoubt}}
		res := WithSimulator(n).Send(t.Context(), testMessage(address), authorizeAll)
		if n.called != 1 || len(n.got) != 1 || n.got[0] != address || res.Kind != app.ResultDoubt || len(res.Recipients) != 0 {
			t.Errorf("%s: next got %v, result %s", address, n.got, summary(res))
		}
	}
}

// Test recipients are neither lost nor answered twice, whatever happens to the other recipients.
func TestSimulatorMixed(t *testing.T) {
	const both = " delivered=simulated_delivered/250 bounced=simulated_bounced/550"
	real := app.RecipientResult{Address: "a@example.net", Outcome: app.Refused, Reply: app.Reply{Code: 550}}
	tests := []struct {
		name   string
		result app.Result
		holds  bool
		hold   error
		want   string
		calls  int
	}{
		{"done", app.Result{Kind: app.ResultDone, Stage: app.StageDot}, true, nil, "done/dot/0" + both, 1},
		{"done without a dot", app.Result{Kind: app.ResultDone, Stage: app.StageRcpt, Recipients: []app.RecipientResult{real}}, false, nil, "done/rcpt/0 a=refused/550" + both, 1},
		{"done without a dot, and withdrawn", app.Result{Kind: app.ResultDone, Stage: app.StageRcpt, Recipients: []app.RecipientResult{real}}, false, errNo, "withdrawn/dot/0", 1},
		{"doubt", app.Result{Kind: app.ResultDoubt, Stage: app.StageDot}, true, nil, "doubt/dot/0" + both, 1},
		{"deferred at the dot", app.Result{Kind: app.ResultDeferred, Stage: app.StageDot}, true, nil, "deferred/dot/0" + both, 1},
		{"deferred before", app.Result{Kind: app.ResultDeferred, Stage: app.StageMail}, false, nil, "deferred/mail/0" + both, 1},
		{"refused at the dot", app.Result{Kind: app.ResultRefused, Stage: app.StageDot, Recipients: []app.RecipientResult{real}}, true, nil, "refused/dot/0 a=refused/550" + both, 1},
		{"refused before", app.Result{Kind: app.ResultRefused, Stage: app.StageMail}, false, nil, "refused/mail/0" + both, 1},
		{"refused before, and withdrawn", app.Result{Kind: app.ResultRefused, Stage: app.StageMail}, false, errNo, "withdrawn/dot/0", 1},
		{"trouble", app.Result{Kind: app.ResultTrouble, Stage: app.StageConnect}, false, nil, "trouble/connect/0", 0},
		{"withdrawn", app.Result{Kind: app.ResultDone}, true, errNo, "withdrawn/dot/0", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := &nextTransport{result: tt.result, authorizes: tt.holds}
			h := authorizer{err: tt.hold}
			m := testMessage("delivered@resend.dev", "a@example.net", "bounced@resend.dev", "b@example.net")
			want(t, WithSimulator(n).Send(t.Context(), m, h.authorize), tt.want)
			if got := strings.Join(n.got, " "); got != "a@example.net b@example.net" {
				t.Errorf("next got %s", got)
			}
			if len(m.Recipients) != 4 {
				t.Error("the caller's message was changed")
			}
			if h.calls() != tt.calls {
				t.Errorf("hold was called %d times, want %d", h.calls(), tt.calls)
			}
		})
	}
}

func TestSimulatorCloses(t *testing.T) {
	n := &nextTransport{}
	WithSimulator(n).Close()
	if !n.closed {
		t.Error("next was not closed")
	}
}

func TestCapture(t *testing.T) {
	c := NewCapture(Options{})
	defer c.Close()
	m := testMessage("a@example.net", "b@example.net")
	m.DKIM = scriptKey()
	var h authorizer
	res := c.Send(t.Context(), m, h.authorize)
	want(t, res, "done/dot/250 a=accepted/250 b=accepted/250")
	message, err := compose(m)
	if err != nil {
		t.Fatal(err)
	}
	if h.calls() != 1 || !strings.HasPrefix(h.signatures[0], "DKIM-Signature:") {
		t.Fatalf("hold got %q", h.signatures)
	}
	if whole := h.signatures[0] + string(message); string(res.Captured) != whole {
		t.Errorf("captured %q", res.Captured)
	}
	m.Signature = "DKIM-Signature: earlier\r\n"
	if res = c.Send(t.Context(), m, authorizeAll); !bytes.HasPrefix(res.Captured, []byte(m.Signature)) {
		t.Errorf("signed again: %q", res.Captured)
	}
	h.err = errNo
	res = c.Send(t.Context(), m, h.authorize)
	want(t, res, "withdrawn/dot/0")
	if res.Captured != nil {
		t.Error("a withdrawn message was kept")
	}
}
