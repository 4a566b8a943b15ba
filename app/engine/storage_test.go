package engine

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/relays"
	"mailer/db"
)

// brokenStorage gives an error as SQLite does for a file that it can't open.
func brokenStorage(t *testing.T) error {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "none", "x.db"))
	must(t, err)
	defer pool.Close()
	if err = pool.Ping(); !db.IsStorage(err) {
		t.Fatalf("no storage error: %v", err)
	}
	return err
}

// fullStorage gives an error as SQLite does on a full disk.
func fullStorage(t *testing.T) error {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "x.db"))
	must(t, err)
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	_, err = pool.Exec("PRAGMA max_page_count = 2; CREATE TABLE x (y BLOB)")
	must(t, err)
	if _, err = pool.Exec("INSERT INTO x VALUES (zeroblob(100000))"); !db.IsStorage(err) {
		t.Fatalf("no storage error: %v", err)
	}
	return err
}

// strike has a write meet that error of the disk.
func (w *world) strike(fault error) error {
	return w.db.Write(context.Background(), func(*db.Tx) error { return fault })
}

func TestAfterAStorageFailureNothingIsAcceptedOrSent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := newRelay(always(after(hang, accept)))
		w := serving(t, relay)
		id := w.send("bob@example.net")
		synctest.Wait()
		if err := w.strike(brokenStorage(t)); !errors.Is(err, db.ErrFailed) {
			t.Fatal(err)
		}
		<-w.db.Failed()
		wantCode(t, w.e.Ready(), app.CodeServiceUnavailable)
		_, err := w.e.SendEmail(t.Context(), w.key, letter("eve@example.net"), SendOptions{})
		wantCode(t, err, app.CodeServiceUnavailable)
		relay.follow(nil)
		close(hang)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		w.wantLast(id, app.Queued)
		if n := len(relay.seen("")); n != 1 || len(w.dotted()) != 0 {
			t.Errorf("%d transactions, dotted %v", n, w.dotted())
		}
	})
}

func TestAResultIsRecordedWhileTheDiskIsFull(t *testing.T) {
	bubble(t, func(t *testing.T) {
		reply := make(chan struct{})
		relay := newRelay(always(dotThen(reply)))
		w := serving(t, relay)
		id := w.send("bob@example.net")
		synctest.Wait()
		if err := w.strike(fullStorage(t)); !errors.Is(err, db.ErrFull) {
			t.Fatal(err)
		}
		_, err := w.e.SendEmail(t.Context(), w.key, letter("eve@example.net"), SendOptions{})
		wantCode(t, err, app.CodeServiceUnavailable)
		close(reply)
		synctest.Wait()
		w.wantLast(id, app.Sent)
		if w.unit(id) != nil {
			t.Error("the unit is still there")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		later := w.send("eve@example.net")
		synctest.Wait()
		w.wantLast(later, app.Sent)
	})
}

func TestAServerStartsOnAFullDisk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		id, other := w.send("bob@example.net"), w.send("eve@example.net")
		w.ahead(5*time.Hour, id)
		if err := w.strike(fullStorage(t)); !errors.Is(err, db.ErrFull) {
			t.Fatal(err)
		}
		if err := w.e.checkMasterKey(t.Context()); err != nil { // as New does
			t.Error(err)
		}
		w.start()
		wantCode(t, w.e.Ready(), app.CodeServiceUnavailable)
		must(t, w.cancel(other))
		time.Sleep(15 * time.Second)
		synctest.Wait()
		w.wantLast(id, app.Sent)
		w.wantLast(other, app.Canceled)
	})
}

func TestNoDotIsSentThatCantBeMarked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		var kinds []app.ResultKind
		relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 1, Daily: 5}, firstly(after(hang, func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
			res := accept(ctx, m, hold)
			kinds = append(kinds, res.Kind)
			return res
		})))
		w := serving(t, relay)
		id := w.send("bob@example.net")
		synctest.Wait()
		_ = w.strike(fullStorage(t))
		close(hang)
		synctest.Wait()
		w.wantLast(id, app.Queued)
		if len(kinds) != 1 || kinds[0] != app.ResultWithdrawn || len(w.dotted()) != 0 {
			t.Errorf("results %v, dotted %v", kinds, w.dotted())
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		w.wantLast(id, app.Sent)
		if ev := w.eventOf(id, app.EventType(app.Sent)); ev.Detail.Attempt != 1 {
			t.Errorf("attempt %d was counted", ev.Detail.Attempt)
		}
		if n := w.e.lanes[0].limits.total.sent; n != 1 {
			t.Errorf("%d places of the daily limit are taken", n)
		}
		if len(w.doubts()) != 0 {
			t.Errorf("doubts %+v", w.doubts())
		}
	})
}

func TestAWriterThatIsBusyDelaysAResultAndLosesNone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		reply := make(chan struct{})
		relay := newRelay(always(dotThen(reply)))
		w := serving(t, relay)
		id := w.send("bob@example.net")
		synctest.Wait()
		l := w.e.lanes[0]
		tries := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.record(&job{unit: app.Unit{EmailID: id}, left: true}, func(*db.Tx) error {
				if tries++; tries < 3 {
					return errors.New("database is locked")
				}
				return nil
			})
		}()
		<-done
		if tries != 3 {
			t.Errorf("%d tries", tries)
		}
		close(reply)
		synctest.Wait()
		w.wantLast(id, app.Sent)
	})
}
