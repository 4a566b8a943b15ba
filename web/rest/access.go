package rest

import (
	"context"
	"errors"
	"net/http"
	"net/netip"

	"mailer/app"
)

// Beside is what a door beside HTTP shares with it: one key has one rate, and one team
// one share of the memory, by whichever door it comes. All of its errors are *app.Error.
type Beside struct{ h *Handler }

// Beside returns what the handler shares with other doors.
func (h *Handler) Beside() *Beside { return &Beside{h} }

// SignIn finds the key of a token that is used from an address, and counts a wrong one
// against the address. Errors: CodeInvalidAPIKey, CodeForbidden for an address that is
// none of the key's, CodeRateLimitExceeded after too many wrong keys.
func (b *Beside) SignIn(ctx context.Context, token string, from netip.Addr) (*app.Key, error) {
	key, err := b.Standing(ctx, token, from)
	if app.CodeOf(err) != app.CodeInvalidAPIKey {
		return key, err
	}
	if _, ok := b.h.failures.count(clientPrefix(from)); !ok {
		return nil, app.Errorf(app.CodeRateLimitExceeded, "Too many attempts with an invalid API key; try again later")
	}
	return nil, err
}

// Standing finds the key of a token as SignIn does, and counts nothing: for one that was
// right a moment ago.
func (b *Beside) Standing(ctx context.Context, token string, from netip.Addr) (*app.Key, error) {
	key, err := b.h.keys.Authenticate(ctx, token)
	if err != nil {
		return nil, err
	}
	if len(key.AllowedIPs) > 0 && !proxies(key.AllowedIPs).has(from) {
		return nil, addressNotAllowed()
	}
	return key, nil
}

// Rate counts a request of a key. Errors: CodeRateLimitExceeded.
func (b *Beside) Rate(key *app.Key) error { return appError(b.h.rate.take(http.Header{}, key)) }

// Room waits for room for a message of a team in the memory of all bodies; release hands
// it back. Errors: CodeServiceUnavailable where none came free in time, that of ctx.
func (b *Beside) Room(ctx context.Context, team string, size int64) (release func(), err error) {
	l := b.h.budget.small
	if size > b.h.limits.SmallBody {
		l = b.h.budget.large
	}
	held := held{who: holder{team: team}}
	if _, err := b.h.budget.charge(ctx, &held, l, size); err != nil {
		return nil, appError(err)
	}
	return held.releaseMemory, nil
}

// appError is a refusal of this package in the words of app.
func appError(err error) error {
	var own *Error
	if errors.As(err, &own) {
		return app.Errorf(own.Name, "%s", own.Message)
	}
	return err
}
