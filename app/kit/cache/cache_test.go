package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// constant returns a loader of v that counts its calls.
func constant(v int, times *int) func(context.Context) (int, error) {
	return func(context.Context) (int, error) {
		*times++
		return v, nil
	}
}

func load(t *testing.T, c *Cache[string, int], key string, fn func(context.Context) (int, error)) int {
	t.Helper()
	v, err := c.Load(t.Context(), key, fn)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTTLStartsWhenTheLoadBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New[string, int](10, time.Minute)
		slow := func(context.Context) (int, error) {
			<-time.After(20 * time.Second)
			return 1, nil
		}
		if v := load(t, c, "a", slow); v != 1 {
			t.Fatalf("loaded %d", v)
		}
		<-time.After(39 * time.Second)
		if v, ok := c.Get("a"); !ok || v != 1 {
			t.Errorf("after 59 s it is %d, %v", v, ok)
		}
		<-time.After(time.Second)
		if v, ok := c.Get("a"); ok || v != 0 {
			t.Errorf("after 60 s it is %d, %v", v, ok)
		}
		if v, ok := c.Last("a"); !ok || v != 1 {
			t.Errorf("the last one is %d, %v", v, ok)
		}
		if _, ok := c.Last("b"); ok {
			t.Error("a key that nobody loaded has a last value")
		}
	})
}

func TestZeroTTLNeverExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New[string, int](10, 0)
		c.Put("a", 1, c.Mark())
		<-time.After(1000 * time.Hour)
		if _, ok := c.Get("a"); !ok {
			t.Error("it is gone")
		}
		c.Forget("a")
		if _, ok := c.Last("a"); ok {
			t.Error("it is known after it was forgotten")
		}
	})
}

func TestFullCacheIsEmptied(t *testing.T) {
	c := New[string, int](3, time.Minute)
	for i := range 3 {
		c.Put(fmt.Sprint(i), i, c.Mark())
	}
	c.Put("2", 20, c.Mark()) // the counts are as before
	if _, ok := c.Get("0"); !ok {
		t.Error("emptied by an entry that it had")
	}
	c.Put("3", 3, c.Mark())
	if v, ok := c.Get("3"); !ok || v != 3 || len(c.entries) != 1 {
		t.Errorf("the newest is %d, %v, of %d", v, ok, len(c.entries))
	}
}

func TestLoadBeforeForgetIsNotStored(t *testing.T) {
	for name, forget := range map[string]func(*Cache[string, int]){
		"forget": func(c *Cache[string, int]) { c.Forget("a") },
		"clear":  (*Cache[string, int]).Clear,
	} {
		t.Run(name, func(t *testing.T) {
			c := New[string, int](10, time.Minute)
			mark := c.Mark()
			forget(c)
			c.Put("a", 1, mark)
			if _, ok := c.Get("a"); ok {
				t.Error("put back")
			}
			old := load(t, c, "a", func(context.Context) (int, error) {
				forget(c)
				return 2, nil
			})
			if _, ok := c.Last("a"); ok || old != 2 {
				t.Errorf("loaded %d, kept %v", old, ok)
			}
		})
	}
}

func TestForgetRemovesOneKey(t *testing.T) {
	c := New[string, int](10, time.Minute)
	c.Put("a", 1, c.Mark())
	c.Put("b", 2, c.Mark())
	c.Forget("a")
	if _, ok := c.Get("b"); !ok {
		t.Error("another key is gone")
	}
	c.Clear()
	if _, ok := c.Get("b"); ok {
		t.Error("it is there after Clear")
	}
}

func TestConcurrentCallersShareOneLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New[string, int](10, time.Minute)
		loads, held := 0, make(chan struct{})
		var callers sync.WaitGroup
		for range 10 {
			callers.Go(func() {
				if v := load(t, c, "a", func(context.Context) (int, error) {
					loads++
					<-held
					return 1, nil
				}); v != 1 {
					t.Errorf("loaded %d", v)
				}
			})
		}
		synctest.Wait()
		times := 0
		if v := load(t, c, "b", constant(2, &times)); v != 2 { // other keys do not wait
			t.Errorf("the other is %d", v)
		}
		close(held)
		callers.Wait()
		if loads != 1 {
			t.Errorf("loaded %d times", loads)
		}
	})
}

func TestNoStaleValueAfterForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New[string, int](10, time.Minute)
		held := make(chan struct{})
		var early sync.WaitGroup
		early.Go(func() {
			if v := load(t, c, "a", func(context.Context) (int, error) { <-held; return 1, nil }); v != 1 {
				t.Errorf("who came before loaded %d", v)
			}
		})
		synctest.Wait()
		c.Forget("a")
		times := 0
		if v := load(t, c, "a", constant(2, &times)); v != 2 {
			t.Errorf("who came after loaded %d", v)
		}
		close(held)
		early.Wait()
		if v, _ := c.Get("a"); v != 2 {
			t.Errorf("kept %d", v)
		}
	})
}

func TestFailedLoadIsNotStored(t *testing.T) {
	c := New[string, int](10, time.Minute)
	broken := errors.New("broken")
	if v, err := c.Load(t.Context(), "a", func(context.Context) (int, error) { return 7, broken }); !errors.Is(err, broken) || v != 0 {
		t.Errorf("loaded %d, %v", v, err)
	}
	times := 0
	load(t, c, "a", constant(1, &times))
	if load(t, c, "a", constant(2, &times)); times != 1 {
		t.Errorf("loaded %d times", times)
	}
}

func TestPanicInLoadUnlocks(t *testing.T) {
	c := New[string, int](10, time.Minute)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_, _ = c.Load(t.Context(), "a", func(context.Context) (int, error) { panic("boom") })
	}()
	times := 0
	if v := load(t, c, "a", constant(1, &times)); v != 1 {
		t.Errorf("loaded %d", v)
	}
}

func TestCanceledCallersDoNotStopTheLoad(t *testing.T) {
	c := New[string, int](10, time.Minute)
	canceled, cancel := context.WithCancel(t.Context())
	v, err := c.Load(canceled, "a", func(ctx context.Context) (int, error) {
		cancel()
		return 1, ctx.Err()
	})
	if err != nil || v != 1 {
		t.Errorf("loaded %d, %v", v, err)
	}
	if v, err := c.Load(canceled, "a", nil); err != nil || v != 1 {
		t.Errorf("what is known is %d, %v", v, err)
	}
	if _, err := c.Load(canceled, "b", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestNilInterfaceIsStored(t *testing.T) {
	c := New[string, error](10, time.Minute)
	for range 2 {
		if v, err := c.Load(t.Context(), "a", func(context.Context) (error, error) { return nil, nil }); v != nil || err != nil {
			t.Errorf("loaded %v, %v", v, err)
		}
	}
}

func TestTheClockCanBeSet(t *testing.T) {
	c := New[string, int](10, time.Minute)
	now := time.Date(2026, 8, 17, 12, 0, 0, 0, time.UTC)
	c.Now = func() time.Time { return now }
	c.Put("a", 1, c.Mark())
	now = now.Add(time.Minute)
	if _, ok := c.Get("a"); ok {
		t.Error("it outlives its time")
	}
}

func BenchmarkLoad(b *testing.B) {
	c := New[string, int](10, time.Hour)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Load(b.Context(), "a", func(context.Context) (int, error) { return 1, nil }); err != nil {
			b.Fatal(err)
		}
	}
}
