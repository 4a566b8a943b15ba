package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSuppressionOriginBlocks(t *testing.T) {
	for _, c := range []struct {
		origin         SuppressionOrigin
		plain, inTopic bool
	}{
		{OriginBounce, true, true},
		{OriginComplaint, true, true},
		{OriginManual, true, true},
		{OriginUnsubscribe, false, true},
	} {
		if c.origin.blocks(false) != c.plain || c.origin.blocks(true) != c.inTopic {
			t.Errorf("%s blocks %v without and %v with a topic", c.origin, c.origin.blocks(false), c.origin.blocks(true))
		}
		if err := c.origin.Validate(); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []SuppressionOrigin{"", "Bounce", "spam"} {
		if CodeOf(bad.Validate()) != CodeValidation {
			t.Errorf("origin %q passes", bad)
		}
	}
}

func TestBlocked(t *testing.T) {
	list := []Suppression{
		{Key: KeyOf("bounced@example.org"), Origin: OriginBounce},
		{Key: KeyOf("out@example.org"), Origin: OriginUnsubscribe},
	}
	for _, c := range []struct {
		to       string // separated by spaces
		hasTopic bool
		open     string
		refused  bool
	}{
		{"a@example.org", false, "a@example.org", false},
		{"Bounced@Example.ORG", false, "", true},
		{"bounced@example.org a@example.org", false, "a@example.org", false},
		{"a@example.org BOUNCED@example.org b@example.org", false, "a@example.org b@example.org", false},
		{"out@example.org", false, "out@example.org", false},
		{"out@example.org", true, "", true},
		{"out@example.org bounced@example.org", false, "out@example.org", false},
		{"out@example.org bounced@example.org", true, "", true},
		{"out@example.org a@example.org", true, "a@example.org", false},
	} {
		b := NewBlocked(list, c.hasTopic)
		var to []Address
		for _, mailbox := range strings.Fields(c.to) {
			a, err := ParseAddress(mailbox)
			if err != nil {
				t.Fatal(err)
			}
			to = append(to, a)
		}
		given := strings.Fields(c.to)
		if open := strings.Join(b.Allowed(given), " "); open != c.open || b.BlocksAll(to) != c.refused {
			t.Errorf("%s (topic %v): open %q, refused %v", c.to, c.hasTopic, open, b.BlocksAll(to))
		}
		if strings.Join(given, " ") != c.to {
			t.Errorf("the caller's list became %q", given)
		}
	}
	var none Blocked
	if none.BlocksAll([]Address{{Local: "a", Domain: "example.org"}}) || none.Reason("a@example.org") != "" || len(none.Allowed([]string{"a@example.org"})) != 1 {
		t.Error("an empty list blocks")
	}
}

func TestSuppressionReason(t *testing.T) {
	s := Suppression{Origin: OriginComplaint, CreatedAt: time.Date(2026, 8, 17, 12, 0, 0, 0, time.UTC)}
	if got := s.reason(); !strings.Contains(got, "complaint") || !strings.Contains(got, "2026-08-17T12:00:00.000Z") {
		t.Error(got)
	}
}

func TestBareAddresses(t *testing.T) {
	for _, c := range []struct{ in, email, address string }{
		{"a@example.org", "a@example.org", "a@example.org"},
		{" \tA.B+C@Example.ORG\r\n", "A.B+C@Example.ORG", "a.b+c@example.org"},
		{"Ärger@Bücher.example", "Ärger@Bücher.example", "ärger@xn--bcher-kva.example"},
	} {
		email, address, err := ParseBareAddress(c.in)
		if err != nil || email != c.email || address.String() != c.address {
			t.Errorf("%q: %q %q %v", c.in, email, address, err)
		}
	}
	for _, bad := range []string{"", " ", "a", "a@b", "Ann <a@example.org>", "<a@example.org>", "a@example.org,b@example.org", "a\n@example.org"} {
		if email, _, err := ParseBareAddress(bad); err == nil {
			t.Errorf("%q passes as %q", bad, email)
		}
	}
}

func TestSuppressionMatchesRecipients(t *testing.T) {
	for _, mailbox := range []string{"a@example.org", "A.b+C@Example.ORG", "Ärger@BÜCHER.example", "İ@example.org", "ẞ@example.org"} {
		a, err := ParseAddress(mailbox)
		if err != nil {
			t.Fatal(err)
		}
		s, err := (&SuppressionInput{Email: strings.ToLower(mailbox)}).Validate()
		if err != nil {
			t.Fatal(err)
		}
		if NewBlocked([]Suppression{s}, false).Reason(a.Mailbox()) == "" {
			t.Errorf("%s passes with %+v", a.Mailbox(), s)
		}
	}
}

// fieldOf returns the field that an error names.
func fieldOf(err error) string {
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeValidation {
		return fmt.Sprint(err)
	}
	_, rest, _ := strings.Cut(e.Message, "`")
	field, _, _ := strings.Cut(rest, "`")
	return field
}

func many(n int, one func(i int) string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = one(i)
	}
	return out
}

func TestSuppressionBatches(t *testing.T) {
	address := func(i int) string { return fmt.Sprintf("u%d@example.org", i) }
	list, err := (&SuppressionBatch{Emails: many(1000, address)}).Validate()
	if err != nil || len(list) != 1000 || list[999].Key != KeyOf("u999@example.org") || list[0].Origin != OriginManual {
		t.Errorf("%d suppressions, %v", len(list), err)
	}
	for _, c := range []struct {
		in    SuppressionBatch
		field string
	}{
		{SuppressionBatch{}, "emails"},
		{SuppressionBatch{Emails: many(1001, address)}, "emails"},
		{SuppressionBatch{Emails: []string{address(1), "no"}}, "emails[1]"},
		{SuppressionBatch{Emails: []string{address(1)}, Origin: "x"}, "origin"},
	} {
		if _, err := c.in.Validate(); fieldOf(err) != c.field {
			t.Errorf("%v, want %s", err, c.field)
		}
	}
}

func TestSuppressionRemovals(t *testing.T) {
	id := func(int) string { return NewID() }
	address := func(i int) string { return fmt.Sprintf("u%d@example.org", i) }
	addresses, ids, err := (&SuppressionRemoval{Emails: []string{"B@example.org", "a@example.org", "b@Example.org"}}).Validate()
	if err != nil || ids != nil || !slices.Equal(addresses, []AddressKey{KeyOf("b@example.org"), KeyOf("a@example.org")}) {
		t.Errorf("%v %v %v", addresses, ids, err)
	}
	one := NewID()
	addresses, ids, err = (&SuppressionRemoval{IDs: []string{one, strings.ToUpper(one)}}).Validate()
	if err != nil || addresses != nil || !slices.Equal(ids, []string{one}) {
		t.Errorf("%v %v %v", addresses, ids, err)
	}
	for _, c := range []struct {
		in    SuppressionRemoval
		field string
	}{
		{SuppressionRemoval{}, "emails"},
		{SuppressionRemoval{Emails: many(1, address), IDs: many(1, id)}, "emails"},
		{SuppressionRemoval{Emails: many(1001, address)}, "emails"},
		{SuppressionRemoval{IDs: many(1001, id)}, "ids"},
		{SuppressionRemoval{Emails: []string{"a@example.org", "no"}}, "emails[1]"},
		{SuppressionRemoval{IDs: []string{one, one, "no"}}, "ids[2]"},
	} {
		if _, _, err := c.in.Validate(); fieldOf(err) != c.field {
			t.Errorf("%v, want %s", err, c.field)
		}
	}
}
