package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

func TestBytesDropsWhatWasNotUsed(t *testing.T) {
	const size = 1000
	c := NewBytes(3 * (size + entryCost))
	loads := 0
	load := func(key string, size int) {
		t.Helper()
		v, err := c.Load(t.Context(), key, func(context.Context) ([]byte, error) {
			loads++
			return make([]byte, size), nil
		})
		if err != nil || len(v) != size {
			t.Fatal(len(v), err)
		}
	}
	for _, step := range []struct {
		key   string
		loads int
	}{{"a", 1}, {"b", 2}, {"c", 3}, {"a", 3}, {"d", 4}, {"a", 4}, {"c", 4}, {"b", 5}, {"d", 6}} {
		if load(step.key, size); loads != step.loads {
			t.Errorf("%d loads after %s, want %d", loads, step.key, step.loads)
		}
	}
	load("large", 4*size) // does not fit, and drops nothing
	if load("d", size); loads != 7 || c.Size() != 3*(size+entryCost) {
		t.Errorf("%d loads, %d bytes", loads, c.Size())
	}
	load("e", 2*size)
	if load("d", size); loads != 8 || c.Size() > 3*(size+entryCost) {
		t.Errorf("%d loads, %d bytes", loads, c.Size())
	}
}

func TestBytesKeepsNoErrors(t *testing.T) {
	c, broken := NewBytes(1<<20), errors.New("broken")
	if _, err := c.Load(t.Context(), "a", func(context.Context) ([]byte, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	if v, err := c.Load(t.Context(), "a", func(context.Context) ([]byte, error) { return []byte("x"), nil }); string(v) != "x" || err != nil {
		t.Error(v, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if v, err := c.Load(ended, "a", nil); string(v) != "x" || err != nil {
		t.Error(v, err)
	}
	if _, err := c.Load(ended, "b", nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestBytesLoadsOnceForAllCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, loads, held := NewBytes(1<<20), 0, make(chan struct{})
		var callers sync.WaitGroup
		for i := range 10 {
			callers.Go(func() {
				v, err := c.Load(t.Context(), "a", func(context.Context) ([]byte, error) {
					loads++
					<-held
					return []byte("x"), nil
				})
				if string(v) != "x" || err != nil {
					t.Error(fmt.Sprint(i, v, err))
				}
			})
		}
		synctest.Wait()
		close(held)
		callers.Wait()
		if loads != 1 {
			t.Errorf("%d loads", loads)
		}
	})
}
