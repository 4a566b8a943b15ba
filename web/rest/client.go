package rest

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"mailer/app/kit/fair"
)

// loopback are the proxies that are trusted by default: those on this machine.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// proxies are the addresses whose X-Forwarded-For is trusted.
type proxies []netip.Prefix

// has reports whether an address is a proxy's.
func (p proxies) has(addr netip.Addr) bool {
	return slices.ContainsFunc(p, func(r netip.Prefix) bool { return r.Contains(addr) })
}

// clientAddress returns the address that a request came from, for every rule that counts by
// address: the right-most hop of X-Forwarded-For that is not a trusted proxy. Hops to its left may
// be forged. The result is invalid if the address is not known.
func (p proxies) clientAddress(remoteAddr string, header http.Header) netip.Addr {
	addr := peerAddress(remoteAddr)
	if !addr.IsValid() || !p.has(addr) {
		return addr
	}
	response := header["X-Forwarded-For"]
	for i := len(response) - 1; i >= 0; i-- {
		for rest, more := response[i], true; more; {
			var hop string
			if at := strings.LastIndexByte(rest, ','); at < 0 {
				hop, more = rest, false
			} else {
				rest, hop = rest[:at], rest[at+1:]
			}
			next, ok := hopAddress(strings.TrimSpace(hop))
			if !ok {
				return addr
			}
			if addr = next; !p.has(addr) {
				return addr
			}
		}
	}
	return addr
}

// hopAddress parses an element of X-Forwarded-For; some proxies add a port.
func hopAddress(s string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(s)
	if err != nil {
		port, err := netip.ParseAddrPort(s)
		if err != nil {
			return netip.Addr{}, false
		}
		addr = port.Addr()
	}
	return addr.Unmap().WithZone(""), true
}

// peerAddress parses an http.Request.RemoteAddr; invalid if it is not an IP address and port.
func peerAddress(remoteAddr string) netip.Addr {
	host, _, err := net.SplitHostPort(remoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap().WithZone("")
}

// Address returns the address that the request came from: the peer of the connection or, if that is
// a proxy of Config.TrustedProxies, the client that the proxy names. It is invalid if the address
// is not known.
func (x *Exchange) Address() netip.Addr { return x.clientAddr }

// Client returns the network that counts as one client in every limit per address: an IPv4 address
// as a /32, or the /64 of an IPv6 address. All requests with an unknown address are one client, the
// zero Prefix.
func (x *Exchange) Client() netip.Prefix { return fair.Network(x.clientAddr) }
