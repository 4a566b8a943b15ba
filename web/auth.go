package web

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"mailer/app"
)

// authorize finds the key of a request and checks that it may use the route and
// has not used up its rate.
func (h *Handler) authorize(x *exchange, r *http.Request, rt *route) error {
	if rt.public {
		return nil
	}
	if !x.inside {
		if err := h.identify(x, r); err != nil {
			return err
		}
	}
	key := x.key
	if key.Permission != app.FullAccess && !rt.sending {
		return newError(app.CodeRestrictedAPIKey, "This API key is restricted to only send emails.")
	}
	if rt.admin && key.Role != app.RoleOwner && key.Role != app.RoleAdmin {
		return newError(app.CodeForbidden, "The role of this API key does not allow this action")
	}
	return nil
}

// identify finds the key of a request and takes the request from its rate.
func (h *Handler) identify(x *exchange, r *http.Request) error {
	token, ok := bearer(r.Header.Get("Authorization"))
	if !ok {
		x.Header().Set("WWW-Authenticate", "Bearer")
		return newError(app.CodeMissingAPIKey, "Missing API key in the authorization header")
	}
	key, err := h.service.Authenticate(r.Context(), token)
	if err != nil {
		return h.authFailure(x, r, err)
	}
	x.key = key
	return h.rate.take(x.Header(), key.ID)
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
// clients share one, and a guess at a key is hopeless anyway; what the limit
// saves is the work of looking keys up and the lines in the log.
func (h *Handler) authFailure(x *exchange, r *http.Request, err error) error {
	if app.CodeOf(err) != app.CodeInvalidAPIKey {
		return err
	}
	if wait, ok := h.failures.count(r.RemoteAddr); !ok {
		x.Header().Set("Retry-After", strconv.Itoa(wait))
		return newError(app.CodeRateLimitExceeded, "Too many requests with an invalid API key; try again later")
	}
	x.Header().Set("WWW-Authenticate", "Bearer")
	return err
}

const (
	maxFailures     = 20
	failureWindow   = time.Minute
	maxFailureAddrs = 10000
)

// failureLimiter counts failed authentications by client address in a fixed
// window. It holds a bounded number of addresses; all further ones of the same
// window share one count.
type failureLimiter struct {
	now    func() time.Time
	mu     sync.Mutex
	start  time.Time
	counts map[netip.Prefix]int
}

func newFailureLimiter(now func() time.Time) *failureLimiter {
	return &failureLimiter{now: now, counts: map[netip.Prefix]int{}}
}

// count notes a failure. It answers false, and the seconds to wait, where there
// were too many.
func (l *failureLimiter) count(remoteAddr string) (wait int, ok bool) {
	client := clientPrefix(remoteAddr)
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.start) >= failureWindow {
		l.start = now
		clear(l.counts)
	}
	if _, known := l.counts[client]; !known && len(l.counts) >= maxFailureAddrs {
		client = netip.Prefix{}
	}
	if l.counts[client] >= maxFailures {
		left := l.start.Add(failureWindow).Sub(now)
		return int(left/time.Second) + 1, false
	}
	l.counts[client]++
	return 0, true
}

// clientPrefix is what counts as one client: an IPv4 address, or an IPv6 /64,
// the least that a customer of a provider holds.
func clientPrefix(remoteAddr string) netip.Prefix {
	host, _, err := net.SplitHostPort(remoteAddr)
	if err != nil {
		return netip.Prefix{}
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	addr = addr.Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	prefix, _ := addr.Prefix(bits) // fails only where bits is out of range
	return prefix
}
