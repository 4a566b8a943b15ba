package tracking

import (
	"net/netip"
	"slices"
	"strings"
)

// privateSuffixes are suffixes of names that nobody can own in the public DNS (RFC 6761, RFC 6762,
// RFC 8375, ICANN's resolution 2024.07.29.06), and of names in clusters.
var privateSuffixes = []string{"localhost", "local", "internal", "lan", "home.arpa", "svc"}

// CountsAsBase reports whether a host name without a port is that of the base URL, or one that nobody
// else can own: an IP address, a name without a dot, or a private name.
func CountsAsBase(baseHost, host string) bool {
	if host == baseHost || !strings.Contains(host, ".") {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return slices.ContainsFunc(privateSuffixes, func(suffix string) bool { return strings.HasSuffix(host, "."+suffix) })
}
