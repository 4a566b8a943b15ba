package delivery_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/sending/delivery"
)

func TestRefusalsOfSenderAndMessage(t *testing.T) {
	var b delivery.Classifier
	s := delivery.NewSender("team", "a.test")
	refused := func(email, signature string, want delivery.Ruling) {
		t.Helper()
		if got := b.Refused(s, email, signature, true); got != want {
			t.Errorf("%s, %s: ruling %d, want %d", email, signature, got, want)
		}
	}
	refused("a", "554 one", delivery.RulingWait)
	refused("a", "554 one", delivery.RulingFail) // twice, with no other refusal
	refused("b", "554 one", delivery.RulingWait)
	refused("c", "554 one", delivery.RulingSender) // the third email
	refused("b", "554 one", delivery.RulingSender)
	refused("a", "550 two", delivery.RulingWait) // other codes start over
	refused("b", "550 two", delivery.RulingWait)
	refused("b", "550 three", delivery.RulingFail) // the second time, whatever the text
	b.Accepted(s)
	refused("c", "550 two", delivery.RulingWait)
	refused("a", "550 two", delivery.RulingFail) // refused before the success, still the second time
}

func TestRefusalsWithVaryingText(t *testing.T) {
	var b delivery.Classifier
	s := delivery.NewSender("team", "a.test")
	for i := range 3 * delivery.LooseTrips {
		want := delivery.RulingWait
		if i+1 >= delivery.LooseTrips {
			want = delivery.RulingSender
		}
		if got := b.Refused(s, fmt.Sprint(i), fmt.Sprint("554 ", i), true); got != want {
			t.Fatalf("email %d: ruling %d, want %d", i, got, want)
		}
	}
}

func TestRefusalsOfRelayAndSender(t *testing.T) {
	first, second, third := delivery.NewSender("a", "a.test"), delivery.NewSender("a", "b.test"), delivery.NewSender("b", "c.test")
	for _, c := range []struct {
		what          string
		alone, passed bool // alone: one team; passed: a message was accepted in between
		other         delivery.SenderKey
		want          delivery.Ruling
	}{
		{"another team", false, false, third, delivery.RulingRelay},
		{"another domain of the one team", true, false, second, delivery.RulingRelay},
		{"another domain of one of several teams", false, false, second, delivery.RulingSender},
		{"another team, but mail of others was accepted in between", false, true, third, delivery.RulingSender},
	} {
		var b delivery.Classifier
		for i := range delivery.BreakerTrips {
			b.Refused(first, fmt.Sprint("first ", i), "s", c.alone)
		}
		if c.passed {
			b.Accepted(delivery.NewSender("c", "d.test"))
		}
		var got delivery.Ruling
		for i := range delivery.BreakerTrips {
			got = b.Refused(c.other, fmt.Sprint("other ", i), "s", c.alone)
		}
		if got != c.want {
			t.Errorf("%s: ruling %d, want %d", c.what, got, c.want)
		}
		uninvolved := delivery.NewSender("e", "e.test")
		if got == delivery.RulingRelay {
			if !b.Unaffected(uninvolved) || b.Unaffected(first) {
				t.Errorf("%s: unaffected senders: %v, %v", c.what, b.Unaffected(uninvolved), b.Unaffected(first))
			}
			if r := b.Refused(uninvolved, "x", "s", c.alone); r != delivery.RulingRelay || b.Unaffected(uninvolved) {
				t.Errorf("%s: the single email of an uninvolved sender is ruled %d, unaffected %v", c.what, r, b.Unaffected(uninvolved))
			}
		}
	}
}

func TestSenderRefusalsEndWithAcceptedMessage(t *testing.T) {
	var b delivery.Classifier
	s := delivery.NewSender("team", "a.test")
	for i := range 3 * delivery.MaxFirstRefusals {
		want := delivery.RulingSender
		if i < delivery.BreakerTrips-1 {
			want = delivery.RulingWait
		}
		if got := b.Refused(s, fmt.Sprint("email ", i), "s", false); got != want {
			t.Fatalf("email %d: ruling %d, want %d", i, got, want)
		}
	}
	b.Accepted(s)
	if got := b.Refused(s, "email x", "s", false); got != delivery.RulingWait {
		t.Errorf("after a success: ruling %d", got)
	}
}

func TestRefusalMemoryIsBounded(t *testing.T) {
	var b delivery.Classifier
	for i := range 5 * delivery.MaxFirstRefusals {
		b.Refused(delivery.NewSender("team", fmt.Sprint(i)), fmt.Sprint(i), "s", false)
	}
	if suspects, failing := b.Sizes(); suspects > 2*delivery.MaxFirstRefusals || failing > 10_000 {
		t.Errorf("%d emails and %d senders are remembered", suspects, failing)
	}
}

func TestUnaffectedSenderProbesOpenBreaker(t *testing.T) {
	var b delivery.CircuitBreaker
	pause := func(int) time.Duration { return time.Hour }
	p, _ := b.Allow(true)
	if _, _, fresh := b.Trip(p, true, pause); !fresh || b.IsClosed() {
		t.Fatal("the breaker is not open")
	}
	if _, ok := b.Allow(false); ok {
		t.Error("an affected sender is allowed")
	}
	early, ok := b.Allow(true)
	if _, again := b.Allow(true); !ok || again {
		t.Errorf("first probe allowed: %v, second: %v", ok, again)
	}
	if failures, _, fresh := b.Trip(early, true, pause); fresh || failures != 1 {
		t.Errorf("a refused early probe opens the breaker longer: %d failures", failures)
	}
	next, ok := b.Allow(true)
	if !ok || !b.Success(next) || !b.IsClosed() {
		t.Error("a successful early probe does not close the breaker")
	}
}

func TestRefusalSignature(t *testing.T) {
	signature := func(code int, text string) string {
		return delivery.RefusalSignature(app.StageDot, app.Reply{Code: code, Enhanced: "5.7.1", Text: text})
	}
	first := signature(550, "blocked id 4Bx for a@b.test\tat 12:00")
	if again := signature(550, "blocked  id 4By for c@d.test at 12:01"); again != first {
		t.Errorf("%q, %q", first, again)
	}
	if other := signature(554, "blocked id 4Bx for a@b.test at 12:00"); other == first {
		t.Error("the code makes no difference")
	}
	if !strings.Contains(first, " 550 ") || !strings.Contains(first, "5.7.1 blocked id for at") {
		t.Errorf("%q", first)
	}
}
