// Package room is how what reads learns that the answer to a request may take only
// so much memory: a context carries the room that the answer has, large content
// takes it before it is read, and all that a list reads is counted row by row. It
// knows nothing of who has how much. A context without room has no bound.
package membudget

import "context"

// FreeBytes is how many bytes of content any answer may have without asking.
const FreeBytes = 64 << 10

// Budget is what one answer may take. It is safe for concurrent use.
type Budget interface {
	// Reserve waits for room for content of so many bytes that is about to be read.
	// Errors: what the caller is told when none came free in time.
	Reserve(ctx context.Context, bytes int64) error
	// Count notes so many bytes that were read; it never waits. What was reserved
	// counts once. Errors: what the caller is told when there is no room.
	Count(bytes int64) error
}

type contextKey struct{}

// With returns a context whose reads take of r.
func With(ctx context.Context, r Budget) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// FromContext returns the room of a context; nil: it has no bound.
func FromContext(ctx context.Context) Budget {
	r, _ := ctx.Value(contextKey{}).(Budget)
	return r
}

// Reserve waits for room for content of so many bytes, where the context has a bound.
func Reserve(ctx context.Context, bytes int64) error {
	if r := FromContext(ctx); r != nil {
		return r.Reserve(ctx, bytes)
	}
	return nil
}
