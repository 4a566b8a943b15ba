package rest

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// loopback is who is believed about where a request came from unless the operator
// names proxies of his own: a proxy on this machine.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// proxies are those whose X-Forwarded-For counts.
type proxies []netip.Prefix

// has reports whether an address is a proxy's.
func (p proxies) has(addr netip.Addr) bool {
	return slices.ContainsFunc(p, func(r netip.Prefix) bool { return r.Contains(addr) })
}

// clientAddress is where a request came from, for every rule that counts by
// address: the right-most hop that is no proxy of ours. What stands left of it the
// client may have made up. It is invalid where nothing is known.
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

// hopAddress reads an element of X-Forwarded-For; some proxies add the port.
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

// peerAddress is the address in the form of http.Request.RemoteAddr; invalid where
// it is of another kind.
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

// clientPrefix is what counts as one client: an IPv4 address, or an IPv6 /64,
// the least that a customer of a provider holds. Whose address is not known
// shares one with others of the kind.
func clientPrefix(addr netip.Addr) netip.Prefix {
	if !addr.IsValid() {
		return netip.Prefix{}
	}
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	prefix, _ := addr.Prefix(bits) // fails only where bits is out of range
	return prefix
}

// Address returns where the request came from: the peer of its connection, or, where
// that is a proxy of Config.TrustedProxies, the client that it names. It is invalid
// where nothing is known.
func (x *Exchange) Address() netip.Addr { return x.from }

// Client returns what counts as one client in every bound by address: the request's
// IPv4 address as a /32, or the /64 of its IPv6 address. All requests whose address
// is not known are one client, the zero Prefix.
func (x *Exchange) Client() netip.Prefix { return clientPrefix(x.from) }
