package signup

import (
	"context"
	"net"
	"net/url"
	"strings"

	"mailer/app/base"
	"mailer/db"
)

// serverHosts are the hosts of the server: the pages host and, while there is one team, that of the base
// URL.
type serverHosts struct{ *base.Base }

// Serves implements Hosts.
func (h serverHosts) Serves(ctx context.Context, host, _ string) (bool, error) {
	name := hostName(host)
	if name == "" || name == h.Settings.PagesHost {
		return name != "", nil
	}
	if name != baseHost(h.Settings.BaseURL) {
		return false, nil
	}
	several, err := db.Get(ctx, h.DB, (*db.Reader).SeveralTeams)
	return !several, base.Unavailable(err)
}

// BaseOf implements Hosts.
func (h serverHosts) BaseOf(ctx context.Context, _ string) (string, error) {
	u, err := url.Parse(h.Settings.BaseURL)
	if err != nil || h.Settings.BaseURL == "" {
		return "", nil
	}
	if name := h.Settings.PagesHost; name != "" {
		if port := u.Port(); port != "" {
			name = net.JoinHostPort(name, port)
		}
		return (&url.URL{Scheme: u.Scheme, Host: name, Path: u.Path}).String(), nil
	}
	several, err := db.Get(ctx, h.DB, (*db.Reader).SeveralTeams)
	if err != nil || several {
		return "", base.Unavailable(err)
	}
	return h.Settings.BaseURL, nil
}

// hostName returns the name of a host in lower case without its port.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// baseHost returns the name of the host of a URL; empty: none.
func baseHost(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}
