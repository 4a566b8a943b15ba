// Package publicip distinguishes addresses of hosts on the Internet from all others. Every package
// may import it.
//
// Failure policy: an address that is not certainly public is not public.
package publicip

import "net/netip"

// specialPrefixes are the special-purpose blocks of IANA's registries that no host on the Internet
// has, and the blocks that embed an IPv4 address, which may lead anywhere (RFC 6890;
// https://www.iana.org/assignments/iana-ipv4-special-registry,
// https://www.iana.org/assignments/iana-ipv6-special-registry).
var specialPrefixes = [...]netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("168.63.129.16/32"), // in no registry: the metadata address of Azure
	netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("224.0.0.0/3"), // multicast, reserved, broadcast
	netip.MustParsePrefix("2001::/23"),   // protocol assignments, Teredo among them
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), // 6to4
	netip.MustParsePrefix("3fff::/20"),
}

// globalUnicast is the allocated part of IPv6 (RFC 4291 2.4).
var globalUnicast = netip.MustParsePrefix("2000::/3")

// Is reports whether a is the address of a host on the Internet: not of this machine or of a
// private or special network, and not an embedded IPv4 address.
func Is(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if a.Is6() && !globalUnicast.Contains(a) {
		return false
	}
	for _, p := range specialPrefixes {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
