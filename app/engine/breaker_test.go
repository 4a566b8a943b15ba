package engine

import (
	"fmt"
	"strings"
	"testing"

	"mailer/app"
)

func TestABreakerTellsTheRelayFromTheMessage(t *testing.T) {
	var b breaker
	refused := func(email, signature string, want ruling) {
		t.Helper()
		if got := b.refused(email, signature); got != want {
			t.Errorf("%s, %s: ruling %d, want %d", email, signature, got, want)
		}
	}
	refused("a", "one", rulingWait)
	refused("a", "one", rulingFail) // twice while nothing else was refused
	refused("a", "one", rulingWait) // nothing of it is left
	refused("b", "one", rulingWait)
	refused("c", "one", rulingOpen) // the third email
	refused("a", "one", rulingOpen)
	refused("a", "two", rulingWait) // another refusal begins anew
	refused("b", "two", rulingWait)
	refused("b", "two", rulingFail)
	b.accepted()
	refused("c", "two", rulingWait)
	refused("a", "two", rulingFail) // met before the success, and still its second time
}

func TestATrippedBreakerStaysSoUntilAMessagePasses(t *testing.T) {
	var b breaker
	for i := range 3 * maxSuspects {
		want := rulingOpen
		if i < breakerTrips-1 {
			want = rulingWait
		}
		if got := b.refused(fmt.Sprint("email ", i), "s"); got != want {
			t.Fatalf("email %d: ruling %d, want %d", i, got, want)
		}
	}
	if len(b.burst) > breakerTrips || len(b.suspects) > maxSuspects {
		t.Errorf("%d and %d emails are remembered", len(b.burst), len(b.suspects))
	}
	b.accepted()
	if got := b.refused("email x", "s"); got != rulingWait {
		t.Errorf("after a success: ruling %d", got)
	}
}

func TestARefusalIsKnownByWhatDoesNotChange(t *testing.T) {
	signature := func(code int, text string) string {
		return refusalSignature(app.StageDot, app.Reply{Code: code, Enhanced: "5.7.1", Text: text})
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
