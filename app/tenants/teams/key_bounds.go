package teams

import (
	"net/netip"
	"slices"
	"time"

	"mailer/app"
)

// MaxAllowedIPs is how many address ranges the allow list of a key can have.
const MaxAllowedIPs = 20

// KeyChange is a change of an API key. Fields that are not set stay.
type KeyChange struct {
	Name       *string
	ExpiresAt  app.Change[time.Time] // null: never
	AllowedIPs app.Change[[]string]  // null or empty: any address
}

// check validates a change and parses its address ranges. Errors: CodeValidation.
func (c *KeyChange) check(now time.Time) ([]netip.Prefix, error) {
	if c.Name == nil && !c.ExpiresAt.Set && !c.AllowedIPs.Set {
		return nil, app.Errorf(app.CodeValidation, "Say what is to be changed: `name`, `expires_at` or `allowed_ips`")
	}
	if c.Name != nil {
		if err := app.CheckKeyName(*c.Name); err != nil {
			return nil, err
		}
	}
	return parseKeyBounds(now, c.ExpiresAt.Value, c.AllowedIPs.Value)
}

func (c *KeyChange) apply(k *app.Key, allowed []netip.Prefix) {
	if c.Name != nil {
		k.Name = *c.Name
	}
	if c.ExpiresAt.Set {
		k.ExpiresAt = c.ExpiresAt.Value
	}
	if c.AllowedIPs.Set {
		k.AllowedIPs = allowed
	}
}

// parseKeyBounds checks the expiry of a key and parses its address ranges. Errors: CodeValidation.
func parseKeyBounds(now, expires time.Time, ranges []string) (allowed []netip.Prefix, err error) {
	if !expires.IsZero() && !expires.After(now) {
		return nil, app.Invalid("expires_at", "must be in the future")
	}
	if len(ranges) > MaxAllowedIPs {
		return nil, app.Invalid("allowed_ips", "can hold at most %d ranges", MaxAllowedIPs)
	}
	for _, text := range ranges {
		// Parse each item alone: an empty item must not leave an empty list, which would allow any
		// address.
		one, err := app.ParseRanges([]string{text})
		if err != nil || len(one) != 1 {
			return nil, app.Invalid("allowed_ips", "must hold addresses like 192.0.2.7 and ranges like 10.0.0.0/8 or 2001:db8::/32")
		}
		allowed = append(allowed, one[0])
	}
	return allowed, nil
}

// checkWithinOwnBounds returns nil if key may give another key this expiry and these ranges:
// neither may exceed its own. Each is checked only if it is to be set. A signed-in person has no
// bounds. Errors: CodeForbidden.
func checkWithinOwnBounds(key *app.Key, setsEnd bool, end time.Time, setsRanges bool, allowed []netip.Prefix) error {
	if setsEnd && !key.ExpiresAt.IsZero() && (end.IsZero() || end.After(key.ExpiresAt)) {
		return app.Errorf(app.CodeForbidden, "This API key ends at %s and can't make or change a key that works longer; give an `expires_at` until then", app.FormatTime(key.ExpiresAt))
	}
	if setsRanges && len(key.AllowedIPs) > 0 && !rangesWithin(allowed, key.AllowedIPs) {
		return app.Errorf(app.CodeForbidden, "This API key works from some addresses only and can't make or change a key that works from others; give `allowed_ips` within its own")
	}
	return nil
}

// rangesWithin reports whether each range is contained in one of others. An empty list allows all
// addresses, so it is contained in none.
func rangesWithin(ranges, others []netip.Prefix) bool {
	for _, inner := range ranges {
		within := func(outer netip.Prefix) bool { return outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr()) }
		if !slices.ContainsFunc(others, within) {
			return false
		}
	}
	return len(ranges) > 0
}

// expired reports whether a key has expired.
func expired(k *app.Key, now time.Time) bool {
	return !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt)
}
