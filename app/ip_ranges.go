package app

import (
	"fmt"
	"net/netip"
	"strings"
)

// ParseRanges parses IP ranges like "10.0.0.0/8" and addresses like "::1". One text may hold
// several, separated by commas or spaces.
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
