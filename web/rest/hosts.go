package rest

import (
	"net/netip"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/rules/tracking"
)

// errUnknownHost answers under a host name that is none of this server's own.
var errUnknownHost = NewError(app.CodeNotFound, "There is nothing at this address under this host name: the API and the dashboard are at the server's base URL alone")

// private are the last labels of names that nobody can have in the public DNS (RFC 6761,
// RFC 6762, RFC 8375, ICANN's resolution 2024.07.29.06), and of those of clusters.
var private = []string{"localhost", "local", "internal", "lan", "home.arpa", "svc"}

// unknownHost reports whether a request came under a name that is not the base URL's and
// that somebody else may own: a tenant has names of his own lead here for tracking, and
// whoever owns a name can lead it elsewhere tomorrow, with the cookies and keys that
// browsers and programs send there. Addresses, names without a dot and names of private
// networks are nobody else's.
func (h *Handler) unknownHost(hostport string) bool {
	host := tracking.HostOf(hostport)
	if !h.oneHost || host == h.host || !strings.Contains(host, ".") {
		return false
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	return !slices.ContainsFunc(private, func(suffix string) bool { return strings.HasSuffix(host, "."+suffix) })
}
