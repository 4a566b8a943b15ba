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

// authorize finds the key of a request and checks that it may use the route and
// has not used up its rate.
func (h *Handler) authorize(x *Exchange, r *http.Request, rt *Route) error {
	if r.Header[ReadOnlyHeader] != nil && r.Method != http.MethodGet && r.Method != http.MethodHead && !rt.Reads {
		return app.Errorf(app.CodeForbidden, "The request says with "+ReadOnlyHeader+" that it changes nothing, and this address changes something")
	}
	if rt.Public {
		if rt.SameSite {
			return h.sameSite(r)
		}
		return nil
	}
	if !x.inside {
		if err := h.identify(x, r, rt); err != nil {
			return err
		}
	}
	return h.entitled(x.Key, rt)
}

// entitled is nil where a key may use a route.
func (h *Handler) entitled(key *app.Key, rt *Route) error {
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

// identify finds the key of a request, or who is signed in where it has no
// Authorization, and takes the request from its rate.
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

// caller returns the key of a request, or who is signed in where it has no Authorization.
func (h *Handler) caller(x *Exchange, r *http.Request, rt *Route) (*app.Key, error) {
	if h.sessions != nil && r.Header["Authorization"] == nil {
		if token := h.SessionToken(r.Header); token != "" {
			x.Header().Set("Cache-Control", "no-store") // nothing in the address tells whose answer it is
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

// standing proves for an answer that takes its time that whoever asked for it may still
// have it: the same key, or person in the same team. It counts in no rate.
func (h *Handler) standing(ctx context.Context, x *Exchange, rt *Route) error {
	r := (&http.Request{Method: http.MethodGet, Host: x.Host, Header: x.RequestHeader}).WithContext(ctx)
	key, err := h.caller(x, r, rt)
	if err != nil {
		return err
	}
	if key.ID != x.Key.ID || key.TeamID != x.Key.TeamID {
		return app.InvalidKey()
	}
	begun := *rt
	begun.Fresh = false // it was, at the beginning
	return h.entitled(key, &begun)
}

// checkAddress refuses a key that is used from an address that is none of its own. What
// X-Forwarded-For says counts behind a proxy that the operator named, and nowhere else:
// whoever reaches this port from the machine itself could write anything there. It does
// not say what would be allowed. Errors: CodeForbidden.
func (h *Handler) checkAddress(key *app.Key, x *Exchange, r *http.Request) error {
	if len(key.AllowedIPs) == 0 {
		return nil
	}
	from := x.from
	if len(h.named) == 0 {
		from = peerAddress(r.RemoteAddr)
	}
	if proxies(key.AllowedIPs).has(from) {
		return nil
	}
	return addressNotAllowed()
}

// addressNotAllowed refuses a key that is used from an address which is none of its own.
func addressNotAllowed() *app.Error {
	return app.Errorf(app.CodeForbidden, "This API key may not be used from the address that the request came from")
}

// actor is who makes the request, as the audit log names him.
func (x *Exchange) actor() app.Actor {
	a := app.Actor{Type: app.ActorServer, Name: "anybody"}
	switch {
	case x.Key != nil && x.Key.Session != nil:
		a = app.Actor{Type: app.ActorPerson, Name: x.Key.ID, Label: x.Key.Session.Name}
	case x.Key != nil:
		a = app.Actor{Type: app.ActorKey, Name: x.Key.ID, Label: x.Key.Name}
	}
	if x.from.IsValid() {
		a.Address = x.from.String()
	}
	return a
}

// bearer takes the token out of an Authorization header. Anything but the
// Bearer scheme counts as no key at all.
func bearer(header string) (string, bool) {
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// authFailure counts a wrong key against the client's address. A right key
// passes however many wrong ones came from the same address: behind a proxy all
// clients share one, and one of them with an old key must not stop the others. A
// guess at a key is hopeless anyway (256 bits); the limit tells clients that
// retry for ever to slow down.
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

// failureLimiter counts failed authentications by client address, for each in a
// window that begins with its first one. It holds a bounded number of addresses;
// further ones share one count.
type failureLimiter struct {
	now     func() time.Time
	mu      sync.Mutex
	clients map[netip.Prefix]window.Counter
	swept   time.Time // when past windows were last dropped
}

func newFailureLimiter(now func() time.Time) *failureLimiter {
	return &failureLimiter{now: now, clients: map[netip.Prefix]window.Counter{}}
}

// count notes a failure. It answers false, and the seconds to wait, where there
// were too many.
func (l *failureLimiter) count(client netip.Prefix) (wait int, ok bool) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.clients[client]; !known && !l.room(now) {
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

// room reports whether another address can be held. Those whose window has passed
// go when there is none, at most once a window: looking for them costs more than
// a failure may.
func (l *failureLimiter) room(now time.Time) bool {
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
