package engine

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

// syncs replaces the sync to disk: each call reports that it began and waits for its result.
type syncs struct {
	began   chan struct{}
	outcome chan error
}

func storeWithSyncs(t *testing.T) (*DB, syncs) {
	t.Helper()
	d, err := Open(t.Context(), Options{Path: NewFile(t), Schema: SmallSchema(t), Lazy: true, Create: true, Gather: -1})
	if err != nil {
		t.Fatal(err)
	}
	s := syncs{make(chan struct{}), make(chan error)}
	d.sync = func() error {
		s.began <- struct{}{}
		return <-s.outcome
	}
	return d, s
}

// put starts a Write and returns, once its closure has run, the channel of its result.
func put(t *testing.T, d *DB, key string) (answer chan error, after *bool) {
	t.Helper()
	answer, after, ran := make(chan error, 1), new(bool), make(chan struct{})
	go func() {
		answer <- d.Write(t.Context(), func(tx *Tx) error {
			tx.AfterCommit(func() { *after = true })
			close(ran)
			return tx.SetSetting(key, []byte("x"))
		})
	}()
	<-ran
	return answer, after
}

func TestWriteReturnsAfterSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, disk := storeWithSyncs(t)
		first, after := put(t, d, "a")
		<-disk.began
		second, _ := put(t, d, "b") // its closure runs during the sync of the first
		third, _ := put(t, d, "c")
		synctest.Wait()
		if len(first)+len(second)+len(third) > 0 || *after {
			t.Fatal("answered before the sync ended")
		}
		disk.outcome <- nil
		<-disk.began // one sync for both
		if err := <-first; err != nil || !*after {
			t.Fatalf("%v, told: %t", err, *after)
		}
		synctest.Wait()
		if len(second)+len(third) > 0 {
			t.Fatal("answered by the sync of an earlier one")
		}
		disk.outcome <- nil
		if err := errors.Join(<-second, <-third); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestFailedSyncFailsStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, disk := storeWithSyncs(t)
		first, after := put(t, d, "a")
		<-disk.began
		second, _ := put(t, d, "b")
		disk.outcome <- errors.New("no such luck")
		for _, answer := range []chan error{first, second} { // the second sync is not tried
			if err := <-answer; !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), "no such luck") {
				t.Errorf("got %v", err)
			}
		}
		select {
		case <-d.Failed():
		default:
			t.Error("not latched")
		}
		if *after {
			t.Error("told of what may not be on disk")
		}
		if err := d.Write(t.Context(), func(*Tx) error { return nil }); !errors.Is(err, ErrFailed) {
			t.Errorf("another Write: %v", err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
