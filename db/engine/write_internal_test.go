package engine

import (
	"testing"

	"mailer/db/dbtest"
)

// deep calls fn with n more frames on the stack.
func deep(n int, fn func() bool) bool {
	if n == 0 {
		return fn()
	}
	return deep(n-1, fn)
}

func TestOnWriter(t *testing.T) {
	d, err := Open(t.Context(), Options{Path: NewFile(t), Schema: dbtest.Schema(t), Create: true, Gather: -1})
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
