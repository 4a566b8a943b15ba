package rest

import (
	"context"
	"net/netip"
	"testing"

	"mailer/app"
	"mailer/app/kit/fair"
)

// noKey knows none.
type noKey struct{}

func (noKey) Authenticate(context.Context, string) (*app.Key, error) { return nil, app.InvalidKey() }

func TestSMTPAndHTTPShareFailures(t *testing.T) {
	b := newFixture(t, func(c *Config) { c.Keys = noKey{} })
	access, from := b.handler.Access(), netip.MustParseAddr("192.0.2.1")
	for range maxFailures {
		if _, err := access.SignIn(t.Context(), "nonsense", from); app.CodeOf(err) != app.CodeInvalidAPIKey {
			t.Fatal(err)
		}
	}
	if _, err := access.SignIn(t.Context(), "nonsense", from); app.CodeOf(err) != app.CodeRateLimitExceeded {
		t.Error(err)
	}
	if _, ok := b.handler.failures.count(fair.Network(from)); ok {
		t.Error("HTTP counts for itself")
	}
	if _, err := access.SignIn(t.Context(), "nonsense", from.Next()); app.CodeOf(err) != app.CodeInvalidAPIKey {
		t.Errorf("a neighbour: %v", err)
	}
	if _, err := access.Recheck(t.Context(), "nonsense", from.Next()); app.CodeOf(err) != app.CodeInvalidAPIKey {
		t.Error(err)
	}
}

func TestSMTPAndHTTPShareRate(t *testing.T) {
	b := newFixture(t, func(c *Config) { c.RateLimit, c.TeamRateLimit = 2, 3 })
	access := b.handler.Access()
	one, two, other := &app.Key{ID: "1", TeamID: "a"}, &app.Key{ID: "2", TeamID: "a"}, &app.Key{ID: "3", TeamID: "b"}
	for i, key := range []*app.Key{one, one, two, other} {
		if err := access.Rate(key); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	for _, key := range []*app.Key{one, two} { // the key's, the team's
		if err := b.handler.rate.take(map[string][]string{}, key); err == nil {
			t.Errorf("HTTP takes more of %s", key.ID)
		}
		if err := access.Rate(key); app.CodeOf(err) != app.CodeRateLimitExceeded {
			t.Errorf("%s: %v", key.ID, err)
		}
	}
}

func TestSMTPAndHTTPShareMemory(t *testing.T) {
	b := newFixture(t, func(c *Config) { c.Limits.LargeWait, c.Limits.SmallWait = 1, 1 })
	access, l := b.handler.Access(), b.handler.bodyBudget.large
	first, err := access.ReserveMemory(t.Context(), "a", 40<<20)
	if err != nil || l.Usage(team("a")).Held == 0 {
		t.Fatal(err, l.Usage(team("a")))
	}
	if _, err := access.ReserveMemory(t.Context(), "a", 40<<20); app.CodeOf(err) != app.CodeServiceUnavailable {
		t.Error(err)
	}
	second, err := access.ReserveMemory(t.Context(), "b", 40<<20)
	if err != nil {
		t.Errorf("another team: %v", err)
	}
	small, err := access.ReserveMemory(t.Context(), "a", 1000)
	if err != nil || used(b.handler.bodyBudget.small) == 0 {
		t.Errorf("a small one: %v", err)
	}
	for _, release := range []func(){first, second, small} {
		release()
	}
	if used(l) != 0 || used(b.handler.bodyBudget.small) != 0 {
		t.Errorf("%d and %d bytes stay held", used(l), used(b.handler.bodyBudget.small))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	l.acquire(t.Context(), memoryOwner{team: "c"}, l.Share)
	if _, err := access.ReserveMemory(ended, "c", 40<<20); err == nil {
		t.Error("room for one that gave up")
	}
}
