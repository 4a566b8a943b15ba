package app

import (
	"net/netip"
	"strings"
)

// Needs tells what the relay wants in the DNS of the domains that use it:
//   - ses: the provider's include, and its host for feedback as the MX;
//   - a public address: ip4 or ip6 with it; a host name: a with it;
//   - a host of the own network, or no relay at all (nil: capture): nothing is
//     known of the address that receivers will see, so SPF is empty, and any
//     sound SPF record will do.
//
// A provider whose outgoing addresses are others than its submission host is
// not known by this rule.
func (r *Relay) Needs() RelayNeeds {
	if r == nil || r.Host == "" {
		return RelayNeeds{}
	}
	if r.Profile == ProfileSES {
		return RelayNeeds{SPF: "include:amazonses.com", Feedback: "feedback-smtp." + r.sesRegion() + ".amazonses.com"}
	}
	addr, err := netip.ParseAddr(r.Host)
	if err != nil {
		if !strings.Contains(r.Host, ".") {
			return RelayNeeds{}
		}
		return RelayNeeds{SPF: "a:" + r.Host}
	}
	if addr = addr.Unmap(); !IsPublicAddress(addr) {
		return RelayNeeds{}
	}
	if addr.Is4() {
		return RelayNeeds{SPF: "ip4:" + addr.String()}
	}
	return RelayNeeds{SPF: "ip6:" + addr.String()}
}

// sesRegion is the region in the host's name, since the relay's own may be any
// name that the operator chose.
func (r *Relay) sesRegion() string {
	labels := strings.Split(r.Host, ".")
	if len(labels) == 4 && strings.HasPrefix(labels[0], "email-smtp") && labels[2] == "amazonaws" {
		return labels[1]
	}
	return r.Region
}
