package certificates

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"mailer/app/rules/tracking"
)

// challenges is where an authority looks whose name it is (RFC 8555 8.3).
const challenges = "/.well-known/acme-challenge/"

// ServeHTTP is what the listener of plain HTTP answers: an authority's questions, and to
// all others where the same page is by HTTPS. Nobody is led to a host that is none of ours.
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
