package rest

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"mailer/app"
)

// Names of the cookie that holds a session's token: with TLS one that no other host and
// no plain connection can set (RFC 6265bis section 4.1.3.2), without it a plain one.
const (
	secureCookie = "__Host-mailer"
	plainCookie  = "mailer"
)

// TeamHeader names the team that a person asks about, by its id.
const TeamHeader = "X-Team"

// ReadOnlyHeader is on requests that must change nothing, like those that a page of the
// dashboard sends when it is opened. A route that could change something refuses them.
const ReadOnlyHeader = "X-Read-Only"

// crossOriginOf are those whose pages may use a session: the server's own.
func crossOriginOf(baseURL string) *http.CrossOriginProtection {
	sites := http.NewCrossOriginProtection()
	if origin := originOf(baseURL); origin != "" {
		// What can't be an origin is none: a request's own host counts all the same.
		_ = sites.AddTrustedOrigin(origin)
	}
	return sites
}

// defaultPorts are those that browsers leave out of an origin (RFC 6454 section 6.2).
var defaultPorts = map[string]string{"http": ":80", "https": ":443"}

// originOf is an address's origin as browsers write it; empty: it has none.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + strings.TrimSuffix(strings.ToLower(u.Host), defaultPorts[u.Scheme])
}

// sameSite refuses a request that another site's page makes a browser send, and what a
// page that came without TLS asks of a server that is reached with it: somebody on the way
// may have written that page. Errors: CodeForbidden.
func (h *Handler) sameSite(r *http.Request) error {
	plain := h.secure() && r.Method != http.MethodGet && strings.HasPrefix(r.Header.Get("Origin"), "http://")
	if err := h.sites.Check(r); err != nil || plain {
		return app.Errorf(app.CodeForbidden, "A page of another site asks for this")
	}
	return nil
}

// signedIn finds the person of a request's cookie. An operator who names no team where all
// are shown has none, and stands above them. Errors: those of Sessions; CodeForbidden for
// another site's page, CodeNotFound for two teams at once.
func (h *Handler) signedIn(r *http.Request, token string, rt *Route) (*app.Key, error) {
	if err := h.sameSite(r); err != nil {
		return nil, err
	}
	team := r.Header.Get(TeamHeader)
	switch {
	case rt.Person:
		team = "" // one that he can't reach does not keep him from what is his own
	case len(r.Header[TeamHeader]) > 1:
		return nil, app.NoTeam()
	}
	key, err := h.sessions.SignedIn(r.Context(), token, team, rt.Half)
	if err != nil {
		return nil, err
	}
	if team == "" && key.Session.Operator && (rt.Operator || rt.AllTeams) {
		all := *key // also where there is but one team to be a member of
		all.TeamID, all.TeamName, all.Role = "", "", app.RoleOwner
		key = &all
	}
	return key, nil
}

// checkSession is nil where a person, or no person, may use a route.
// Errors: CodeForbidden, CodeNotFound without a team, CodeReauthentication.
func (h *Handler) checkSession(key *app.Key, rt *Route) error {
	s := key.Session
	switch {
	case s == nil && rt.Operator:
		return app.OperatorRequired()
	case s == nil && rt.Person:
		return app.SessionRequired()
	case s == nil:
		return nil
	case rt.Operator && !s.Operator:
		return app.OperatorRequired()
	case key.TeamID == "" && !rt.Operator && !rt.Person && !(rt.AllTeams && s.Operator):
		return app.NoTeam()
	case rt.Fresh && !key.RecentlyAuthenticated(h.now()):
		return app.ReauthenticationRequired()
	}
	return nil
}

// secure reports whether browsers reach this server by TLS.
func (h *Handler) secure() bool { return strings.HasPrefix(strings.ToLower(h.baseURL), "https://") }

func (h *Handler) cookieName() string { return h.CookieName("") }

// CookieName returns what a cookie for something is called; empty: the session's.
func (h *Handler) CookieName(what string) string {
	name := plainCookie
	if h.secure() {
		name = secureCookie
	}
	if what != "" {
		name += "-" + what
	}
	return name
}

// SessionToken returns the token in the cookie of a request; empty: none.
func (h *Handler) SessionToken(header http.Header) string {
	return CookieValue(header, h.cookieName())
}

// CookieValue returns the value of a cookie; empty: none, or several that differ, one of
// which another host or path has put there.
func CookieValue(header http.Header, name string) string {
	value := ""
	for i, c := range (&http.Request{Header: header}).CookiesNamed(name) {
		if i > 0 && c.Value != value {
			return ""
		}
		value = c.Value
	}
	return value
}

// SetSession has the browser keep the token of a session for a time, or forget it where
// the token is empty.
func (h *Handler) SetSession(x *Exchange, token string, keep time.Duration) {
	h.SetCookie(x, h.cookieName(), token, keep)
}

// SetCookie has the browser keep a value that only this server gets back, or forget it
// where it is empty. A name that begins with "__Host-" is for TLS.
func (h *Handler) SetCookie(x *Exchange, name, value string, keep time.Duration) {
	c := http.Cookie{Name: name, Value: value, Path: "/", MaxAge: int(keep / time.Second), Secure: h.secure(), HttpOnly: true, SameSite: http.SameSiteLaxMode}
	x.Header().Set("Cache-Control", "no-store")
	if value == "" {
		c.MaxAge = -1
	}
	x.Header().Add("Set-Cookie", c.String())
}

// MaySignIn refuses to make a session where its cookie would travel in clear: without
// TLS only on this machine, by the host of the request and by the page that a browser says
// it is at, since a proxy may put its own name in the place of the first.
// Errors: CodeForbidden.
func (h *Handler) MaySignIn(x *Exchange) error {
	if h.secure() {
		return nil
	}
	local := isLocal("http://" + x.Host)
	for _, origin := range x.RequestHeader["Origin"] {
		local = local && isLocal(origin)
	}
	if !local {
		return app.Errorf(app.CodeForbidden, "Signing in needs TLS: start mailer serve with the --base-url https://… under which it is reached")
	}
	return nil
}

// isLocal reports whether an address is this machine's own.
func isLocal(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && addr.Unmap().IsLoopback()
}
