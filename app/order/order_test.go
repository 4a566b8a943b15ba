package order_test

import (
	"cmp"
	"slices"
	"testing"

	"mailer/app/order"
)

// TestEqualOnesStayInTheirOrder: what compares equal is not moved.
func TestEqualOnesStayInTheirOrder(t *testing.T) {
	type pair struct{ key, place int }
	var all []pair
	for i := range 200 {
		all = append(all, pair{key: i * 7 % 5, place: i})
	}
	order.By(all, func(a, b pair) int { return cmp.Compare(a.key, b.key) })
	if !slices.IsSortedFunc(all, func(a, b pair) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.place, b.place)) }) {
		t.Fatal(all)
	}
}

// TestReverseTurnsRound: also what has one in the middle, and nothing.
func TestReverseTurnsRound(t *testing.T) {
	for from, want := range map[string]string{"": "", "a": "a", "ab": "ba", "abc": "cba"} {
		got := []rune(from)
		order.Reverse(got)
		if string(got) != want {
			t.Errorf("%q: %q", from, string(got))
		}
	}
}
