package smtpout

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mailer/app"
)

// manyRecipients returns n addresses that the fake relays do not know.
func manyRecipients(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("u%d@example.net", i)
	}
	return out
}

// Postfix ends a session by 421 at its 20th error (smtpd_hard_error_limit).
func TestVerdictsBefore421AreKept(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"421 4.7.0 too many errors", hangUp, stall} {
		eachMode(t, func(t *testing.T, ehlo []string) {
			t.Parallel()
			var asked atomic.Int32
			f := startFake(t, &fake{ehlo: ehlo, script: func(_ int, verb, _ string) string {
				if verb != "RCPT" {
					return ""
				}
				switch n := asked.Add(1); {
				case n == 3:
					return ""
				case n == 5:
					return "450 4.2.1 busy"
				case n <= 20:
					return "550 5.1.1 unknown"
				}
				return end
			}})
			cfg := configFor(f.listener)
			if cfg.Timeout = time.Minute; end == stall {
				cfg.Timeout = 2 * time.Second
			}
			var h authorizer
			res := newRelay(t, cfg).Send(t.Context(), testMessage(manyRecipients(50)...), h.authorize)
			if res.Kind != app.ResultTrouble || res.Stage != app.StageRcpt || res.Reply.Text == "" || h.calls() != 0 {
				t.Fatalf("got %s (%s), %d holds", summary(res), res.Reply.Text, h.calls())
			}
			if code := res.Reply.Code; strings.HasPrefix(end, "421") && (code != 421 || res.Reply.Enhanced != "4.7.0" || res.Reply.Text != "too many errors") {
				t.Errorf("reply %+v", res.Reply)
			}
			var got, expected []string
			for _, r := range res.Recipients {
				got = append(got, fmt.Sprint(r.Address, r.Outcome, r.Stage, r.Reply.Code, r.Reply.Enhanced))
			}
			for i, address := range manyRecipients(20) {
				switch i {
				case 2: // accepted, but the message was never sent
				case 4:
					expected = append(expected, fmt.Sprint(address, app.Postponed, app.StageRcpt, 450, "4.2.1"))
				default:
					expected = append(expected, fmt.Sprint(address, app.Refused, app.StageRcpt, 550, "5.1.1"))
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(expected) {
				t.Errorf("verdicts\n got %v\nwant %v", got, expected)
			}
		})
	}
}

// An address that can't be written in a command is refused without the relay, whatever happens to
// the others.
func TestTroubleAtMailKeepsLocalRefusals(t *testing.T) {
	eachMode(t, func(t *testing.T, ehlo []string) {
		f := startFake(t, &fake{ehlo: ehlo, script: on("MAIL", "421 4.3.2 busy")})
		want(t, relayTo(t, f).Send(t.Context(), testMessage("a@example.net", "b\r\n@example.net"), authorizeAll), "trouble/mail/421 b\r\n=refused/0")
	})
}

func TestSoftBounceRelayRefusesNothing(t *testing.T) {
	two := []string{"a@example.net", "b@example.net"}
	refuse := func(verb, reply string) func(int, string, string) string {
		return func(_ int, v, line string) string {
			if v == verb && !strings.Contains(line, "<a@") {
				return reply
			}
			return ""
		}
	}
	for name, tt := range map[string]struct {
		script func(int, string, string) string
		want   string
	}{
		"RCPT":               {refuse("RCPT", "550 5.1.1 unknown"), "done/dot/250 a=accepted/250 b=postponed/550"},
		"MAIL":               {refuse("MAIL", "550 5.1.8 sender"), "deferred/mail/550"},
		"DATA":               {refuse("DATA", "554 5.6.0 no"), "deferred/data/554"},
		"dot":                {refuse("DOT", "554 5.7.1 spam"), "deferred/dot/554"},
		"a fault of session": {refuse("MAIL", "530 5.7.0 authenticate"), "trouble/mail/530"},
		"a 4xx":              {refuse("RCPT", "450 4.2.1 busy"), "done/dot/250 a=accepted/250 b=postponed/450"},
	} {
		t.Run(name, func(t *testing.T) {
			eachMode(t, func(t *testing.T, ehlo []string) {
				f := startFake(t, &fake{ehlo: ehlo, script: tt.script})
				cfg := configFor(f.listener)
				cfg.SoftBounce = true
				r := newRelay(t, cfg)
				res := r.Send(t.Context(), testMessage(two...), authorizeAll)
				want(t, res, tt.want)
				if len(res.Recipients) == 0 && res.Reply.Text == "" {
					t.Error("the relay's words are lost")
				}
			})
		})
	}
	f := startFake(t, &fake{ehlo: []string{"SIZE 10"}})
	cfg := configFor(f.listener)
	cfg.SoftBounce = true
	want(t, newRelay(t, cfg).Send(t.Context(), testMessage(two...), authorizeAll), "refused/mail/0") // not the relay's own code
}

func TestRelaySpecificEHLOName(t *testing.T) {
	f := startFake(t, &fake{})
	cfg := configFor(f.listener)
	cfg.Hello = "[192.0.2.1]"
	want(t, newRelay(t, cfg).Send(t.Context(), testMessage("a@example.net"), authorizeAll), "done/dot/250 a=accepted/250")
	if got := f.said("EHLO"); len(got) != 1 || got[0] != "EHLO [192.0.2.1]" {
		t.Errorf("said %q", got)
	}
}
