package rest

import (
	"context"
	"errors"
	"net/http"
	"net/netip"

	"mailer/app"
	"mailer/app/kit/fair"
)

// Access holds the API's checks for the SMTP listeners, so that both share them: a key has one rate,
// and a team one share of memory, over HTTP and SMTP together. All errors are *app.Error.
type Access struct{ h *Handler }

// Access returns the checks that other listeners share with the handler.
func (h *Handler) Access() *Access { return &Access{h} }

// SignIn returns the key of a token that a client at an address presents. A wrong token counts
// against the address. Errors: CodeInvalidAPIKey; CodeForbidden if the key is not allowed from the
// address; CodeRateLimitExceeded after too many wrong keys.
func (b *Access) SignIn(ctx context.Context, token string, from netip.Addr) (*app.Key, error) {
	key, err := b.Recheck(ctx, token, from)
	if app.CodeOf(err) != app.CodeInvalidAPIKey {
		return key, err
	}
	if _, ok := b.h.failures.count(fair.Network(from)); !ok {
		return nil, app.Errorf(app.CodeRateLimitExceeded, "Too many attempts with an invalid API key; try again later")
	}
	return nil, err
}

// Recheck is SignIn for a token that was valid a moment ago: it counts no failure.
func (b *Access) Recheck(ctx context.Context, token string, from netip.Addr) (*app.Key, error) {
	key, err := b.h.keys.Authenticate(ctx, token)
	if err != nil {
		return nil, err
	}
	if len(key.AllowedIPs) > 0 && !proxies(key.AllowedIPs).has(from) {
		return nil, addressNotAllowed()
	}
	return key, nil
}

// Rate counts one request of a key. Errors: CodeRateLimitExceeded.
func (b *Access) Rate(key *app.Key) error { return appError(b.h.rate.take(http.Header{}, key)) }

// ReserveMemory waits until a message of a team, size bytes long, fits in the memory for bodies;
// release frees the memory. Errors: CodeServiceUnavailable if no memory came free in time; the
// error of ctx.
func (b *Access) ReserveMemory(ctx context.Context, team string, size int64) (release func(), err error) {
	l := b.h.bodyBudget.small
	if size > b.h.limits.SmallBody {
		l = b.h.bodyBudget.large
	}
	held := bodyMemory{owner: memoryOwner{team: team}}
	if _, err := b.h.bodyBudget.reserve(ctx, &held, l, size); err != nil {
		return nil, appError(err)
	}
	return held.releaseMemory, nil
}

// appError turns an *Error of this package into an *app.Error.
func appError(err error) error {
	var own *Error
	if errors.As(err, &own) {
		return app.Errorf(own.Name, "%s", own.Message)
	}
	return err
}
