package certificates

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"mailer/app/rules/tracking"
)

// challenges is the path at which a certificate authority verifies control of a name (RFC 8555
// 8.3).
const challenges = "/.well-known/acme-challenge/"

// ServeHTTP answers on the plain HTTP listener: ACME challenges, and a redirect to HTTPS for all
// other requests. Requests for unknown hosts are not redirected.
func (c *Config) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := c.service.Load()
	if strings.HasPrefix(r.URL.Path, challenges) {
		if s == nil || !c.Auto() || !s.HasHost(r.Host) {
			http.NotFound(w, r)
			return
		}
		s.acme.Load().HTTPHandler(nil).ServeHTTP(w, r)
		return
	}
	host := c.base.Hostname()
	if s != nil && s.HasHost(r.Host) {
		host = tracking.HostOf(r.Host)
	}
	if port := c.base.Port(); port != "" {
		host = net.JoinHostPort(host, port)
	}
	to := url.URL{Scheme: "https", Host: host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
	w.Header().Set("Location", to.String())
	w.WriteHeader(http.StatusPermanentRedirect)
}
