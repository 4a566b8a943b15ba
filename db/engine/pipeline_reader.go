package engine

import (
	"github.com/jackc/pgx/v5/stdlib"
)

// Concurrently calls fn for each number below n. On PostgreSQL the calls run interleaved, each
// with its own Reader of the same snapshot, and their queries share round trips. On a file, and
// in a closure of a Write, they run one after the other.
func (r *Reader) Concurrently(n int, fn func(r *Reader, i int)) {
	if r.parts == nil {
		for i := range n {
			fn(r, i)
		}
		return
	}
	for from := 0; from < n; from += maxParts {
		r.split(from, min(from+maxParts, n), fn)
	}
}

// split runs fn interleaved for the numbers from from to to.
func (r *Reader) split(from, to int, fn func(r *Reader, i int)) {
	var failed error
	b := batch{writes: &writeQueue{}, serialize: func() {}, send: func(asked ...*pendingQuery) error {
		if failed == nil {
			failed = r.conn.Raw(func(driver any) error { return exchange(driver.(*stdlib.Conn).Conn(), nil, nil, asked) })
		}
		return failed
	}}
	defer func() { r.parts.free = append(r.parts.free, b.parts...) }()
	for range to - from {
		p, err := r.parts.take(&r.Conn)
		if err != nil {
			panic(err) // pipelinedDriver never fails to connect
		}
		b.parts = append(b.parts, p)
	}
	for i, p := range b.parts {
		p.start(func() { fn(&Reader{Conn: p.session}, from+i) })
	}
	b.run()
	for _, p := range b.parts {
		if p.panicValue != nil {
			panic(p.panicValue)
		}
	}
}
