package delivery_test

import (
	"fmt"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/delivery"
)

func TestABreakerTellsTheRelayFromTheMessage(t *testing.T) {
	var b delivery.Breaker
	refused := func(email, signature string, want delivery.Ruling) {
		t.Helper()
		if got := b.Refused(email, signature); got != want {
			t.Errorf("%s, %s: ruling %d, want %d", email, signature, got, want)
		}
	}
	refused("a", "one", delivery.RulingWait)
	refused("a", "one", delivery.RulingFail) // twice while nothing else was refused
	refused("a", "one", delivery.RulingWait) // nothing of it is left
	refused("b", "one", delivery.RulingWait)
	refused("c", "one", delivery.RulingOpen) // the third email
	refused("a", "one", delivery.RulingOpen)
	refused("a", "two", delivery.RulingWait) // another refusal begins anew
	refused("b", "two", delivery.RulingWait)
	refused("b", "two", delivery.RulingFail)
	b.Accepted()
	refused("c", "two", delivery.RulingWait)
	refused("a", "two", delivery.RulingFail) // met before the success, and still its second time
}

func TestATrippedBreakerStaysSoUntilAMessagePasses(t *testing.T) {
	var b delivery.Breaker
	for i := range 3 * delivery.MaxSuspects {
		want := delivery.RulingOpen
		if i < delivery.BreakerTrips-1 {
			want = delivery.RulingWait
		}
		if got := b.Refused(fmt.Sprint("email ", i), "s"); got != want {
			t.Fatalf("email %d: ruling %d, want %d", i, got, want)
		}
	}
	if len(b.Burst()) > delivery.BreakerTrips || len(b.Suspects()) > delivery.MaxSuspects {
		t.Errorf("%d and %d emails are remembered", len(b.Burst()), len(b.Suspects()))
	}
	b.Accepted()
	if got := b.Refused("email x", "s"); got != delivery.RulingWait {
		t.Errorf("after a success: ruling %d", got)
	}
}

func TestARefusalIsKnownByWhatDoesNotChange(t *testing.T) {
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
