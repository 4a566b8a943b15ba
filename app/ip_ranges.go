package app

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// ParseRanges reads ranges of addresses like "10.0.0.0/8" or "::1", several of
// them in one text with commas or spaces between.
func ParseRanges(texts []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range strings.FieldsFunc(strings.Join(texts, " "), func(r rune) bool { return r == ' ' || r == ',' }) {
		p, err := netip.ParsePrefix(text)
		if a, aerr := netip.ParseAddr(text); aerr == nil && a.Zone() == "" {
			p, err = a.Unmap().Prefix(a.Unmap().BitLen())
		}
		if err != nil || p.Addr().Is4In6() {
			return nil, fmt.Errorf("%q is not a range of addresses like 10.0.0.0/8", text)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// RangesWithin reports whether each range lies in one of the others; none stands for all
// addresses, and lies in nothing.
func RangesWithin(ranges, others []netip.Prefix) bool {
	for _, inner := range ranges {
		within := func(outer netip.Prefix) bool { return outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr()) }
		if !slices.ContainsFunc(others, within) {
			return false
		}
	}
	return len(ranges) > 0
}
