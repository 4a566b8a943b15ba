package engine

import (
	"context"
	"fmt"
)

// On PostgreSQL each query costs a round trip. Queries that are known before a closure runs are
// therefore sent in one pgx.Batch, and the closure then gets their rows from memory. Code is the
// same for both engines: a query that was not prefetched is simply sent when it is run.

// maxPrefetch bounds the queries that one group of writes prefetches.
const maxPrefetch = 1000

// query is a statement with its arguments.
type query struct {
	text string
	args []any
}

// key identifies a query and its arguments.
func (q query) key() string { return fmt.Sprintf("%s %#v", q.text, q.args) }

type prefetchKey struct{}

// Prefetch returns a context for a Write whose closure runs queries that are known before: those
// of fns. The queries of all closures of a group are sent in one round trip when the group
// begins, so the closure sees the state before the group, unless an earlier closure without
// Prefetch wrote something. Neither the closure nor others with Prefetch may therefore depend on
// what they write to the rows that fns query, or an earlier state must be as good.
//
// fns only name queries: they are called with a Reader whose queries have no rows, possibly at any
// time before the closure, and must not change anything. On a file they are not called.
func Prefetch(ctx context.Context, fns ...func(r *Reader)) context.Context {
	return context.WithValue(ctx, prefetchKey{}, fns)
}

// prefetches reports whether the closure of a request was queued with Prefetch.
func (r *request) prefetches() bool { return r.ctx.Value(prefetchKey{}) != nil }

// Prefetch sends the queries of fn in one round trip, so that the Reader has their rows when it
// runs them. fn is called as described for the function Prefetch.
func (r *Reader) Prefetch(fn func(r *Reader)) error {
	if r.pg == nil {
		return nil
	}
	return r.prefetch(nil, r.queriesOf(fn), nil)
}

// queriesOf returns the different queries of fns, translated and with bound arguments.
func (s *Conn) queriesOf(fns ...func(r *Reader)) (queries []query) {
	named := &Reader{Conn: *s}
	named.named = &[]query{}
	for _, fn := range fns {
		func() {
			defer func() { _ = recover() }() // the closure will panic too, and gets the error
			fn(named)
		}()
	}
	known := map[string]bool{}
	for _, q := range *named.named {
		if key := q.key(); !known[key] && len(queries) < maxPrefetch {
			known[key] = true
			queries = append(queries, q)
		}
	}
	return queries
}

// queriesOfGroup returns the queries of the closures of a group.
func (s *Conn) queriesOfGroup(group []*request) []query {
	if s.pg == nil || s.pg.immediate {
		return nil
	}
	var all []func(*Reader)
	for _, r := range group {
		if fns, ok := r.ctx.Value(prefetchKey{}).([]func(*Reader)); ok {
			all = append(all, fns...)
		}
	}
	return s.queriesOf(all...)
}
