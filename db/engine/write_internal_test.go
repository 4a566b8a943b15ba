package engine

import (
	"slices"
	"testing"
	"time"
)

// deep calls fn with n more frames on the stack.
func deep(n int, fn func() bool) bool {
	if n == 0 {
		return fn()
	}
	return deep(n-1, fn)
}

func TestOnWriter(t *testing.T) {
	d, err := Open(t.Context(), Options{Path: NewFile(t), Schema: SmallSchema(t), Lazy: true, Create: true, Gather: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	for _, depth := range []int{0, 50, 64, 1000} {
		if deep(depth, onWriter) {
			t.Errorf("at depth %d a caller outside of closures is taken for one", depth)
		}
		var inside, concurrent, after bool
		err := d.Write(t.Context(), func(tx *Tx) error {
			inside = deep(depth, onWriter)
			done := make(chan bool)
			go func() { done <- deep(depth, onWriter) }()
			concurrent = <-done
			tx.AfterCommit(func() { after = deep(depth, onWriter) })
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !inside || concurrent || !after {
			t.Errorf("at depth %d: %t in a closure, %t on another goroutine, %t after the commit", depth, inside, concurrent, after)
		}
	}
}

// TestWritePassesBatchedOnes queues batched closures and then another one, which runs before those that are not in
// progress. At most maxBatched share a commit, and they keep their order.
func TestWritePassesBatchedOnes(t *testing.T) {
	d, err := Open(t.Context(), Options{Path: NewFile(t), Schema: SmallSchema(t), Lazy: true, Create: true, Gather: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	queued, begun := make(chan struct{}), make(chan struct{})
	waits := []func() error{d.WriteCriticalAsync(t.Context(), func(*Tx) error { close(begun); <-queued; return nil })}
	<-begun
	const last = 3*maxBatched - 1
	var order []int // of batched closures by number, -1: the other one
	group := map[time.Time]int{}
	for i := range last + 1 {
		waits = append(waits, d.WriteCriticalAsync(t.Context(), func(tx *Tx) error {
			order = append(order, i)
			group[tx.Now]++
			return nil
		}))
	}
	urgent := &request{ctx: t.Context(), fn: func(*Tx) error { order = append(order, -1); return nil }, done: make(chan error, 1)}
	if err := d.enqueue(urgent); err != nil {
		t.Fatal(err)
	}
	close(queued)
	for _, wait := range append(waits, func() error { return d.await(urgent) }) {
		if err := wait(); err != nil {
			t.Fatal(err)
		}
	}
	if order[0] != -1 || !slices.IsSorted(order) || len(order) != last+2 {
		t.Errorf("they ran in the order %v", order)
	}
	for at, n := range group {
		if n > maxBatched {
			t.Errorf("%d batched closures share the commit of %s", n, at)
		}
	}
}
