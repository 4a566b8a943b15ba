package rest

import (
	"net/netip"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/rules/tracking"
)

// errUnknownHost is the answer under a host name that is not the server's.
var errUnknownHost = NewError(app.CodeNotFound, "There is nothing at this address under this host name: the API and the dashboard are at the server's base URL alone")

// privateSuffixes are suffixes of names that nobody can own in the public DNS (RFC 6761, RFC 6762,
// RFC 8375, ICANN's resolution 2024.07.29.06), and of names in clusters.
var privateSuffixes = []string{"localhost", "local", "internal", "lan", "home.arpa", "svc"}

// OnBase reports whether a request uses the host name of the base URL, or one that counts as it.
func (h *Handler) OnBase(hostport string) bool { return !h.unknownHost(hostport) }

// unknownHost reports whether a request uses a host name that is not the base URL's and may belong
// to another owner. A tenant points a name at this server for tracking, and the owner of a name can
// point it to another server tomorrow, which then receives the cookies and keys that browsers and
// programs send there. IP addresses, names without a dot and private names are accepted.
func (h *Handler) unknownHost(hostport string) bool {
	host := tracking.HostOf(hostport)
	if host != "" && host == h.pagesHost {
		return true
	}
	if !h.oneHost || host == h.host || !strings.Contains(host, ".") {
		return false
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	return !slices.ContainsFunc(privateSuffixes, func(suffix string) bool { return strings.HasSuffix(host, "."+suffix) })
}
