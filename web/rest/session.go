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

// sitesOf are those whose pages may use a session: the server's own.
func sitesOf(baseURL string) *http.CrossOriginProtection {
	sites := http.NewCrossOriginProtection()
	if u, err := url.Parse(baseURL); err == nil && u.Host != "" {
		// What can't be an origin is none: a request's own host counts all the same.
		_ = sites.AddTrustedOrigin(u.Scheme + "://" + u.Host)
	}
	return sites
}

// sameSite refuses a request that another site's page makes a browser send.
// Errors: CodeForbidden.
func (h *Handler) sameSite(r *http.Request) error {
	if err := h.sites.Check(r); err != nil {
		return app.Errorf(app.CodeForbidden, "A page of another site asks for this")
	}
	return nil
}

// signedIn finds the person of a request's cookie. Errors: those of Sessions;
// CodeForbidden for another site's page.
func (h *Handler) signedIn(r *http.Request, token string, rt *Route) (*app.Key, error) {
	if err := h.sameSite(r); err != nil {
		return nil, err
	}
	team := r.Header.Get(TeamHeader)
	if rt.Person {
		team = "" // a team that he can't reach does not keep him from what is his own
	}
	return h.sessions.SignedIn(r.Context(), token, team, rt.Half)
}

// mayPerson is nil where a person, or no person, may use a route.
// Errors: CodeForbidden, CodeNotFound without a team, CodeReauthentication.
func (h *Handler) mayPerson(key *app.Key, rt *Route) error {
	s := key.Session
	switch {
	case s == nil && rt.Operator:
		return app.OperatorOnly()
	case s == nil && rt.Person:
		return app.PersonOnly()
	case s == nil:
		return nil
	case rt.Operator && !s.Operator:
		return app.OperatorOnly()
	case key.TeamID == "" && !rt.Operator && !rt.Person && !(rt.AllTeams && s.Operator):
		return app.NoTeam()
	case rt.Fresh && h.now().Sub(s.ProvedAt) > app.FreshProof:
		return app.NotFresh()
	}
	return nil
}

// secure reports whether browsers reach this server by TLS.
func (h *Handler) secure() bool { return strings.HasPrefix(h.baseURL, "https://") }

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

// CookieValue returns the value of a cookie; empty: none.
func CookieValue(header http.Header, name string) string {
	c, err := (&http.Request{Header: header}).Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
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
	if value == "" {
		c.MaxAge = -1
	}
	x.Header().Add("Set-Cookie", c.String())
}

// MaySignIn refuses to make a session where its cookie would travel in clear: without
// TLS only on this machine. Errors: CodeForbidden.
func (h *Handler) MaySignIn(x *Exchange) error {
	if h.secure() {
		return nil
	}
	host := x.Host
	if u, err := url.Parse("http://" + host); err == nil {
		host = u.Hostname()
	}
	addr, err := netip.ParseAddr(host)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && addr.IsLoopback() {
		return nil
	}
	return app.Errorf(app.CodeForbidden, "Signing in needs TLS: start mailer serve with the --base-url https://… under which it is reached")
}
