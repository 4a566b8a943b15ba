// Package membudget limits the memory of the answer to a request. A context carries the budget of
// the answer. Readers of bodies, messages and attachments reserve memory before they read them, and
// readers of contacts while they read their properties; other rows are not counted. A context
// without a budget has no limit. The package also scales
// budgets to the memory limit of the process.
package membudget

import "context"

// FreeBytes is how many bytes of content any answer may read without reserving.
const FreeBytes = 64 << 10

// Budget is the memory budget of one answer. It is safe for concurrent use.
type Budget interface {
	// Reserve waits for memory for content that is about to be read. Errors: for the client, if no
	// memory became free in time.
	Reserve(ctx context.Context, bytes int64) error
	// ReserveNow is Reserve for content that is in memory already. It does not wait, so that
	// content can't pile up.
	ReserveNow(bytes int64) error
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

// Counter reserves memory for rows while they are read. It never waits: the caller holds a database
// connection.
type Counter struct {
	budget  Budget // nil: no limit
	pending int64  // bytes that are not reserved yet
}

// NewCounter returns a counter for the budget of ctx.
func NewCounter(ctx context.Context) *Counter { return &Counter{budget: FromContext(ctx)} }

// Add counts bytes of a row. Errors: those of Budget.
func (c *Counter) Add(bytes int64) error {
	if c.pending += bytes; c.budget == nil || c.pending <= FreeBytes {
		return nil
	}
	bytes, c.pending = c.pending, 0
	return c.budget.ReserveNow(bytes)
}
