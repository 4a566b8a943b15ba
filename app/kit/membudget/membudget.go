// Package membudget limits the memory of the answer to a request. A context carries the budget of
// the answer. Readers reserve large content before they read it, and lists count each row. The
// package does not decide on the size of budgets. A context without a budget has no limit.
package membudget

import "context"

// FreeBytes is how many bytes of content any answer may read without reserving.
const FreeBytes = 64 << 10

// Budget is the memory budget of one answer. It is safe for concurrent use.
type Budget interface {
	// Reserve waits for memory for content that is about to be read. Errors: for the client, if no
	// memory became free in time.
	Reserve(ctx context.Context, bytes int64) error
	// Count records bytes that were read; it never waits. Reserved bytes are counted once. Errors:
	// for the client, if the budget is exhausted.
	Count(bytes int64) error
}

type contextKey struct{}

// With returns a context with the budget b.
func With(ctx context.Context, r Budget) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// FromContext returns the budget of a context; nil: no limit.
func FromContext(ctx context.Context) Budget {
	r, _ := ctx.Value(contextKey{}).(Budget)
	return r
}

// Reserve reserves memory in the context's budget, if it has one.
func Reserve(ctx context.Context, bytes int64) error {
	if r := FromContext(ctx); r != nil {
		return r.Reserve(ctx, bytes)
	}
	return nil
}
