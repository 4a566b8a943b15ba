package outcome

import (
	"fmt"
	"strings"
	"testing"

	"mailer/app"
)

func sender(team, domain string) Sender { return Sender{team, domain} }

// refused records a refusal whose text begins with the code.
func refused(c *Classifier, s Sender, emailID, text string, alone bool) Ruling {
	class, _, _ := strings.Cut(text, " ")
	return c.refused(s, emailID, refusal{signature: text, class: class}, alone)
}

func TestRefusalsOfSenderAndMessage(t *testing.T) {
	var b Classifier
	s := sender("team", "a.test")
	check := func(email, signature string, want Ruling) {
		t.Helper()
		if got := refused(&b, s, email, signature, true); got != want {
			t.Errorf("%s, %s: ruling %d, want %d", email, signature, got, want)
		}
	}
	check("a", "554 one", RulingWait)
	check("a", "554 one", RulingFail) // twice, with no other refusal
	check("b", "554 one", RulingWait)
	check("c", "554 one", RulingSender) // the third email
	check("b", "554 one", RulingSender)
	check("a", "550 two", RulingWait) // other codes start over
	check("b", "550 two", RulingWait)
	check("b", "550 three", RulingFail) // the second time, whatever the text
	b.accepted(s)
	check("c", "550 two", RulingWait)
	check("a", "550 two", RulingFail) // refused before the success, still the second time
}

func TestRefusalsWithVaryingText(t *testing.T) {
	var b Classifier
	s := sender("team", "a.test")
	for i := range 3 * looseTrips {
		want := RulingWait
		if i+1 >= looseTrips {
			want = RulingSender
		}
		if got := refused(&b, s, fmt.Sprint(i), fmt.Sprint("554 ", i), true); got != want {
			t.Fatalf("email %d: ruling %d, want %d", i, got, want)
		}
	}
}

func TestRefusalsOfRelayAndSender(t *testing.T) {
	first, second, third := sender("a", "a.test"), sender("a", "b.test"), sender("b", "c.test")
	for _, c := range []struct {
		what          string
		alone, passed bool // alone: one team; passed: a message was accepted in between
		other         Sender
		want          Ruling
	}{
		{"another team", false, false, third, RulingRelay},
		{"another domain of the one team", true, false, second, RulingRelay},
		{"another domain of one of several teams", false, false, second, RulingSender},
		{"another team, but mail of others was accepted in between", false, true, third, RulingSender},
	} {
		var b Classifier
		for i := range breakerTrips {
			refused(&b, first, fmt.Sprint("first ", i), "s", c.alone)
		}
		if c.passed {
			b.accepted(sender("c", "d.test"))
		}
		var got Ruling
		for i := range breakerTrips {
			got = refused(&b, c.other, fmt.Sprint("other ", i), "s", c.alone)
		}
		if got != c.want {
			t.Errorf("%s: ruling %d, want %d", c.what, got, c.want)
		}
		uninvolved := sender("e", "e.test")
		if got == RulingRelay {
			if !b.Unaffected(uninvolved) || b.Unaffected(first) {
				t.Errorf("%s: unaffected senders: %v, %v", c.what, b.Unaffected(uninvolved), b.Unaffected(first))
			}
			if r := refused(&b, uninvolved, "x", "s", c.alone); r != RulingRelay || b.Unaffected(uninvolved) {
				t.Errorf("%s: the single email of an uninvolved sender is ruled %d, unaffected %v", c.what, r, b.Unaffected(uninvolved))
			}
		}
	}
}

func TestSenderRefusalsEndWithAcceptedMessage(t *testing.T) {
	var b Classifier
	s := sender("team", "a.test")
	for i := range 3 * maxFirstRefusals {
		want := RulingSender
		if i < breakerTrips-1 {
			want = RulingWait
		}
		if got := refused(&b, s, fmt.Sprint("email ", i), "s", false); got != want {
			t.Fatalf("email %d: ruling %d, want %d", i, got, want)
		}
	}
	b.accepted(s)
	if got := refused(&b, s, "email x", "s", false); got != RulingWait {
		t.Errorf("after a success: ruling %d", got)
	}
}

func TestRefusalMemoryIsBounded(t *testing.T) {
	var b Classifier
	for i := range 5 * maxFirstRefusals {
		refused(&b, sender("team", fmt.Sprint(i)), fmt.Sprint(i), "s", false)
	}
	if suspects, failing := len(b.firstRefusals)+len(b.olderRefusals), len(b.failing); suspects > 2*maxFirstRefusals || failing > 10_000 {
		t.Errorf("%d emails and %d senders are remembered", suspects, failing)
	}
}

func TestRefusalSignature(t *testing.T) {
	signature := func(code int, text string) string {
		return refusalOf(app.StageDot, app.Reply{Code: code, Enhanced: "5.7.1", Text: text}).signature
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
