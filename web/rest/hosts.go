package rest

import (
	"context"

	"mailer/app"
	"mailer/app/rules/tracking"
)

// errUnknownHost is the answer under a host name that is not the server's.
var errUnknownHost = NewError(app.CodeNotFound, "There is nothing at this address under this host name: the API and the dashboard are at the server's base URL alone")

// OnBase reports whether a request uses the host name of the base URL, or one that counts as it.
func (h *Handler) OnBase(hostport string) bool { return !h.unknownHost(hostport) }

// unknownHost reports whether a request uses a host name that is not the base URL's and may belong
// to another owner. A tenant points a name at this server for tracking or pages, and the owner of a
// name can point it to another server tomorrow, which then receives the cookies and keys that browsers
// and programs send there. IP addresses, names without a dot and private names are accepted, unless
// they are hosts for pages.
func (h *Handler) unknownHost(hostport string) bool {
	host := tracking.HostOf(hostport)
	if h.onPagesHost(host) {
		return true
	}
	return h.oneHost && !tracking.CountsAsBase(h.host, host)
}

// onPagesHost reports whether a host is the operator's or a team's own host for pages.
func (h *Handler) onPagesHost(host string) bool {
	switch host {
	case "", h.host:
		return false
	case h.pagesHost:
		return true
	}
	return h.ownPagesHost != nil && h.ownPagesHost(context.Background(), host)
}
