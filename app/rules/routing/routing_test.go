package routing

import (
	"fmt"
	"testing"

	"mailer/app"
)

func TestFirstMatchingRuleWins(t *testing.T) {
	rules := []Rule{
		{ID: "1", ToDomains: []string{"gmail.com", "xn--bcher-kva.example"}, Stream: Transactional, Relay: "gmail"},
		{ID: "2", ToDomains: []string{"gmail.com"}, KeyID: "k", Relay: "key"},
		{ID: "3", Stream: Broadcast, Relay: "bulk"},
		{ID: "4", KeyID: "k", Relay: "rest"},
	}
	for _, c := range []struct {
		mail Mail
		want string
	}{
		{Mail{Stream: Transactional, To: "a@gmail.com"}, "gmail"},
		{Mail{Stream: Transactional, To: "a@GMAIL.com", KeyID: "k"}, "gmail"},
		{Mail{Stream: Transactional, To: `"a@b"@gmail.com`}, "gmail"},
		{Mail{Stream: Transactional, To: "a@bücher.example"}, "gmail"},
		{Mail{Stream: Transactional, To: "a@mail.gmail.com"}, ""},
		{Mail{Stream: Transactional, To: "a@notgmail.com"}, ""},
		{Mail{Stream: Broadcast, To: "a@gmail.com", KeyID: "k"}, "key"},
		{Mail{Stream: Broadcast, To: "a@gmail.com"}, "bulk"},
		{Mail{Stream: Transactional, To: "a@example.net", KeyID: "k"}, "rest"},
		{Mail{Stream: Transactional, To: "a@example.net", KeyID: "other"}, ""},
	} {
		got := ""
		if r := Match(rules, &c.mail); r != nil {
			got = r.Relay
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.mail, got, c.want)
		}
	}
}

func TestWeightsAreSharesThatDoNotChange(t *testing.T) {
	rules := []Rule{{ID: "a", Weight: 80, Relay: "a"}, {ID: "b", Weight: 50, Relay: "b"}}
	got, n := map[string]int{}, 10_000
	for range n {
		m := Mail{EmailID: app.NewID(), Stream: Transactional}
		relay := ""
		for range 3 {
			m.To = fmt.Sprintf("%s@example.net", relay) // another recipient of the same email
			r := Match(rules, &m)
			next := "rest"
			if r != nil {
				next = r.Relay
			}
			if relay != "" && next != relay {
				t.Fatalf("%s goes through %s and %s", m.EmailID, relay, next)
			}
			relay = next
		}
		got[relay]++
	}
	for relay, want := range map[string]int{"a": 80, "b": 10, "rest": 10} {
		if share := 100 * float64(got[relay]) / float64(n); share < float64(want)-2 || share > float64(want)+2 {
			t.Errorf("%s: %.1f %%, want %d", relay, share, want)
		}
	}
}

func TestDefaultRule(t *testing.T) {
	gmail, some, all := Rule{ID: "1", ToDomains: []string{"gmail.com"}}, Rule{ID: "2", Weight: 10}, Rule{ID: "3", Stream: Broadcast}
	for _, c := range []struct {
		rules []Rule
		want  string
		each  bool
	}{
		{nil, "", false},
		{[]Rule{all}, "3", false},
		{[]Rule{{ID: "4", Stream: Transactional, Weight: 1}, {ID: "5", KeyID: "k"}, all, gmail}, "3", false},
		{[]Rule{gmail, all}, "3", true},
		{[]Rule{some}, "", true},
	} {
		got := ""
		rule, each := Default(c.rules, Broadcast, "")
		if rule != nil {
			got = rule.ID
		}
		if got != c.want || each != c.each {
			t.Errorf("%+v: %q %v, want %q %v", c.rules, got, each, c.want, c.each)
		}
	}
}

func TestRuleWords(t *testing.T) {
	for want, r := range map[string]Rule{
		"mail to gmail.com through eu/postmark":                {ToDomains: []string{"gmail.com"}, Relay: "eu/postmark"},
		"broadcasts through b only":                            {Stream: Broadcast, Relay: "b", Strict: true},
		"80 % of transactional mail through b":                 {Stream: Transactional, Weight: 80, Relay: "b"},
		"mail of the key shop to a, b, c and 2 more through x": {KeyID: "1", KeyName: "shop", ToDomains: []string{"a", "b", "c", "d", "e"}, Relay: "x"},
	} {
		if got := r.Words(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
