package rest

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"mailer/app"
)

// Names of the session cookie. With TLS it has the __Host- prefix, so that no other host and no
// plain connection can set it (RFC 6265bis section 4.1.3.2).
const (
	secureCookie = "__Host-mailer"
	plainCookie  = "mailer"
)

// TeamHeader names the team of a person's request by its id.
const TeamHeader = "X-Team"

// ReadOnlyHeader marks requests that must change nothing, like those of a dashboard page that
// opens. Routes that change something refuse them.
const ReadOnlyHeader = "X-Read-Only"

// crossOriginOf returns the protection that admits the server's own origin.
func crossOriginOf(baseURL string) *http.CrossOriginProtection {
	sites := http.NewCrossOriginProtection()
	if origin := originOf(baseURL); origin != "" {
		// An invalid origin is not added; a request's own host is always admitted.
		_ = sites.AddTrustedOrigin(origin)
	}
	return sites
}

// defaultPorts are left out of origins (RFC 6454 section 6.2).
var defaultPorts = map[string]string{"http": ":80", "https": ":443"}

// originOf returns the origin of a URL as browsers write it; empty if there is none.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + strings.TrimSuffix(strings.ToLower(u.Host), defaultPorts[u.Scheme])
}

// sameSite refuses cross-site requests. If the server uses TLS, it also refuses changes by pages
// that came without TLS: an attacker in the network may have written them. Errors: CodeForbidden.
func (h *Handler) sameSite(r *http.Request) error {
	plain := h.secure() && r.Method != http.MethodGet && strings.HasPrefix(r.Header.Get("Origin"), "http://")
	if err := h.crossOrigin.Check(r); err != nil || plain {
		return app.Errorf(app.CodeForbidden, "A page of another site asks for this")
	}
	return nil
}

// signedIn returns the person of a session cookie. On routes that show all teams, an operator who
// names no team has none. Errors: those of Sessions; CodeForbidden for cross-site requests;
// CodeNotFound for two teams.
func (h *Handler) signedIn(r *http.Request, token string, rt *Route) (*app.Key, error) {
	if err := h.sameSite(r); err != nil {
		return nil, err
	}
	team := r.Header.Get(TeamHeader)
	switch {
	case rt.Person:
		team = "" // a team that the person can't access must not block what belongs to the person
	case len(r.Header[TeamHeader]) > 1:
		return nil, app.NoTeam()
	}
	key, err := h.sessions.SignedIn(r.Context(), token, team, rt.PartialSession)
	if err != nil {
		return nil, err
	}
	if team == "" && key.Session.Operator && (rt.Operator || rt.AllTeams) {
		all := *key // even if the operator is a member of one team only
		all.TeamID, all.TeamName, all.Role = "", "", app.RoleOwner
		key = &all
	}
	return key, nil
}

// checkSession returns nil if a person, or a key without a person, may use a route. Errors:
// CodeForbidden, CodeNotFound without a team, CodeReauthentication.
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

// secure reports whether browsers reach the server over TLS.
func (h *Handler) secure() bool { return strings.HasPrefix(strings.ToLower(h.baseURL), "https://") }

func (h *Handler) cookieName() string { return h.CookieName("") }

// CookieName returns the name of a cookie for a purpose; empty: the session.
func (h *Handler) CookieName(purpose string) string {
	name := plainCookie
	if h.secure() {
		name = secureCookie
	}
	if purpose != "" {
		name += "-" + purpose
	}
	return name
}

// SessionToken returns the token of a request's session cookie; empty if none.
func (h *Handler) SessionToken(header http.Header) string {
	return CookieValue(header, h.cookieName())
}

// CookieValue returns the value of a cookie; empty if there is none, or if there are several with
// different values, which another host or path may have set.
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

// SetSession sets the session cookie for a time, or deletes it if token is empty.
func (h *Handler) SetSession(x *Exchange, token string, keep time.Duration) {
	h.SetCookie(x, h.cookieName(), token, keep)
}

// SetCookie sets a cookie that only this server receives, or deletes it if value is empty. Names
// with the prefix "__Host-" need TLS.
func (h *Handler) SetCookie(x *Exchange, name, value string, keep time.Duration) {
	c := http.Cookie{Name: name, Value: value, Path: "/", MaxAge: int(keep / time.Second), Secure: h.secure(), HttpOnly: true, SameSite: http.SameSiteLaxMode}
	x.Header().Set("Cache-Control", "no-store")
	if value == "" {
		c.MaxAge = -1
	}
	x.Header().Add("Set-Cookie", c.String())
}

// MaySignIn refuses a session whose cookie would be sent in clear. Without TLS, sign-in works on
// this machine only. Both the request's host and the browser's origin are checked, since a proxy
// may replace the host by its own. Errors: CodeForbidden.
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

// isLocal reports whether a URL's host is this machine.
func isLocal(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && addr.Unmap().IsLoopback()
}
