package rest

import (
	"context"
	"maps"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/kit/window"
)

// authorize authenticates a request, and checks the rate and the access of its key.
func (h *Handler) authorize(x *Exchange, r *http.Request, rt *Route) error {
	if r.Header[ReadOnlyHeader] != nil && r.Method != http.MethodGet && r.Method != http.MethodHead && !rt.ReadOnly {
		return app.Errorf(app.CodeForbidden, "The request says with "+ReadOnlyHeader+" that it changes nothing, and this address changes something")
	}
	if rt.Public {
		if rt.SameSite {
			return h.sameSite(r)
		}
		return nil
	}
	if !x.internal {
		if err := h.identify(x, r, rt); err != nil {
			return err
		}
	}
	return h.mayUse(x.Key, rt)
}

// mayUse returns nil if a key may use a route.
func (h *Handler) mayUse(key *app.Key, rt *Route) error {
	if err := h.checkSession(key, rt); err != nil {
		return err
	}
	if key.Permission != app.FullAccess && !rt.Sending {
		return app.RestrictedKey()
	}
	if rt.Admin && key.TeamID != "" && !key.Role.Manages() {
		return app.RoleTooLow()
	}
	return nil
}

// identify sets the key of a request, or the signed-in person if it has no Authorization header,
// and counts the request against the rate.
func (h *Handler) identify(x *Exchange, r *http.Request, rt *Route) error {
	key, err := h.caller(x, r, rt)
	if err != nil {
		return err
	}
	x.Key = key
	if err := h.rate.take(x.Header(), key); err != nil {
		return err
	}
	return h.checkAddress(key, x, r)
}

// caller returns the key of a request, or the signed-in person if it has no Authorization header.
func (h *Handler) caller(x *Exchange, r *http.Request, rt *Route) (*app.Key, error) {
	if h.sessions != nil && r.Header["Authorization"] == nil {
		if token := h.SessionToken(r.Header); token != "" {
			x.Header().Set("Cache-Control", "no-store") // the URL does not tell whose answer this is
			return h.signedIn(r, token, rt)
		}
	}
	token, ok := bearer(r.Header.Get("Authorization"))
	if !ok && (rt.Person || rt.Operator) {
		return nil, app.SignedOut()
	}
	if !ok {
		x.Header().Set("WWW-Authenticate", "Bearer")
		return nil, app.MissingKey()
	}
	key, err := h.keys.Authenticate(r.Context(), token)
	if err != nil {
		return nil, h.authFailure(x, err)
	}
	return key, nil
}

// recheckKey checks, for a long answer, that the caller may still have it: the same key, or the
// same person in the same team. It counts against no rate.
func (h *Handler) recheckKey(ctx context.Context, x *Exchange, rt *Route) error {
	r := (&http.Request{Method: http.MethodGet, Host: x.Host, Header: x.RequestHeader}).WithContext(ctx)
	key, err := h.caller(x, r, rt)
	if err != nil {
		return err
	}
	if key.ID != x.Key.ID || key.TeamID != x.Key.TeamID {
		return app.InvalidKey()
	}
	route := *rt
	route.Fresh = false // checked when the answer began
	return h.mayUse(key, &route)
}

// checkAddress refuses a key that is used from an address outside of its allowed ranges.
// X-Forwarded-For counts only behind a proxy that the operator named: any program on this machine
// could write that header. The refusal does not say which addresses are allowed. Errors:
// CodeForbidden.
func (h *Handler) checkAddress(key *app.Key, x *Exchange, r *http.Request) error {
	if len(key.AllowedIPs) == 0 {
		return nil
	}
	from := x.clientAddr
	if len(h.named) == 0 {
		from = peerAddress(r.RemoteAddr)
	}
	if proxies(key.AllowedIPs).has(from) {
		return nil
	}
	return addressNotAllowed()
}

// addressNotAllowed is the refusal of a key that is used from an address outside of its ranges.
func addressNotAllowed() *app.Error {
	return app.Errorf(app.CodeForbidden, "This API key may not be used from the address that the request came from")
}

// actor returns who makes the request, for the audit log.
func (x *Exchange) actor() app.Actor {
	a := app.Actor{Type: app.ActorServer, Name: "anybody"}
	switch {
	case x.Key != nil && x.Key.Session != nil:
		a = app.Actor{Type: app.ActorPerson, Name: x.Key.ID, Label: x.Key.Session.Name}
	case x.Key != nil:
		a = app.Actor{Type: app.ActorKey, Name: x.Key.ID, Label: x.Key.Name}
	}
	if x.clientAddr.IsValid() {
		a.Address = x.clientAddr.String()
	}
	return a
}

// bearer returns the token of an Authorization header; false if its scheme is not Bearer.
func bearer(header string) (string, bool) {
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// authFailure counts a wrong key against the client's address. A right key is accepted however many
// wrong ones came from its address: behind a proxy all clients share one address, and a client with
// an old key must not stop the others. Guessing a key is hopeless anyway (256 bits); the limit
// tells clients that retry forever to slow down.
func (h *Handler) authFailure(x *Exchange, err error) error {
	if app.CodeOf(err) != app.CodeInvalidAPIKey {
		return err
	}
	if wait, ok := h.failures.count(x.Client()); !ok {
		x.Header().Set("Retry-After", strconv.Itoa(wait))
		return NewError(app.CodeRateLimitExceeded, "Too many requests with an invalid API key; try again later")
	}
	x.Header().Set("WWW-Authenticate", "Bearer")
	return err
}

const (
	maxFailures     = 20
	failureWindow   = time.Minute
	maxFailureAddrs = 10000
)

// failureLimiter counts failed authentications per client address, in a window that begins with the
// first failure. It holds a bounded number of addresses; all further ones share one counter.
type failureLimiter struct {
	now     func() time.Time
	mu      sync.Mutex
	clients map[netip.Prefix]window.Counter
	swept   time.Time // when expired windows were last dropped
}

func newFailureLimiter(now func() time.Time) *failureLimiter {
	return &failureLimiter{now: now, clients: map[netip.Prefix]window.Counter{}}
}

// count counts a failure. It returns false, and the seconds to wait, if there were too many.
func (l *failureLimiter) count(client netip.Prefix) (wait int, ok bool) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.clients[client]; !known && !l.hasRoom(now) {
		client = netip.Prefix{}
	}
	counter := l.clients[client]
	n := counter.Add(now, failureWindow)
	l.clients[client] = counter
	if n <= maxFailures {
		return 0, true
	}
	return int((counter.Left(now, failureWindow) + time.Second - 1) / time.Second), false
}

// hasRoom reports whether another address can be held. If not, it drops expired windows, at most
// once per window: a scan costs more than one failure may.
func (l *failureLimiter) hasRoom(now time.Time) bool {
	if len(l.clients) < maxFailureAddrs {
		return true
	}
	if now.Sub(l.swept) < failureWindow {
		return false
	}
	l.swept = now
	maps.DeleteFunc(l.clients, func(_ netip.Prefix, c window.Counter) bool { return c.Left(now, failureWindow) == 0 })
	return len(l.clients) < maxFailureAddrs
}
