package delivery_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
	"mailer/db"
	"mailer/db/engine"
)

// brokenStorage returns the error of SQLite for a file that it can't open.
func brokenStorage(t *testing.T) error {
	t.Helper()
	testserver.SQLiteOnly(t)
	pool, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "none", "x.db"))
	testserver.Must(t, err)
	defer pool.Close()
	if err = pool.Ping(); !engine.IsStorage(err) {
		t.Fatalf("no storage error: %v", err)
	}
	return err
}

func TestStorageFailureStopsEverything(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := testserver.NewRelay(testserver.Always(testserver.After(hang, testserver.Accept)))
		w := testserver.Start(t, relay)
		id := w.Send("bob@example.net")
		synctest.Wait()
		if err := w.FailWrite(brokenStorage(t)); !errors.Is(err, db.ErrFailed) {
			t.Fatal(err)
		}
		<-w.DB.Failed()
		testserver.WantCode(t, w.Services.Ready(), app.CodeServiceUnavailable)
		_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.Message("eve@example.net"), mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeServiceUnavailable)
		relay.SetScript(nil)
		close(hang)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		w.WantLastEvent(id, app.Queued)
		if n := len(relay.Transactions("")); n != 1 || len(w.CommittedUnits()) != 0 {
			t.Errorf("%d transactions, committed %v", n, w.CommittedUnits())
		}
	})
}

func TestResultIsRecordedOnFullDisk(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		reply := make(chan struct{})
		relay := testserver.NewRelay(testserver.Always(testserver.ReplyAfter(reply)))
		w := testserver.Start(t, relay)
		id := w.Send("bob@example.net")
		synctest.Wait()
		if err := w.FailWrite(testserver.DiskFullError(t)); !errors.Is(err, db.ErrFull) {
			t.Fatal(err)
		}
		_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, testserver.Message("eve@example.net"), mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeServiceUnavailable)
		close(reply)
		synctest.Wait()
		w.WantLastEvent(id, app.Sent)
		if w.Unit(id) != nil {
			t.Error("the unit is still there")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		later := w.Send("eve@example.net")
		synctest.Wait()
		w.WantLastEvent(later, app.Sent)
	})
}

func TestServerStartsOnFullDisk(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		id, other := w.Send("bob@example.net"), w.Send("eve@example.net")
		w.LeaveClockAhead(100*time.Hour, id)
		if err := w.FailWrite(testserver.DiskFullError(t)); !errors.Is(err, db.ErrFull) {
			t.Fatal(err)
		}
		if err := w.Services.CheckMasterKey(t.Context()); err != nil { // like New
			t.Error(err)
		}
		w.Start()
		testserver.WantCode(t, w.Services.Ready(), app.CodeServiceUnavailable)
		testserver.Must(t, w.Cancel(other))
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if wait := time.Until(w.Unit(id).NextAt); wait > app.MaxRetryDelay {
			t.Errorf("it waits %s for its next attempt", wait)
		}
		w.WantLastEvent(other, app.Canceled)
	})
}

func TestDotNeedsStoredCommit(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		hang := make(chan struct{})
		var kinds []app.ResultKind
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1, Daily: 5}, testserver.InOrder(testserver.After(hang, func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
			res := testserver.Accept(ctx, m, authorize)
			kinds = append(kinds, res.Kind)
			return res
		})))
		w := testserver.Start(t, relay)
		id := w.Send("bob@example.net")
		synctest.Wait()
		_ = w.FailWrite(testserver.DiskFullError(t))
		close(hang)
		synctest.Wait()
		w.WantLastEvent(id, app.Queued)
		if len(kinds) != 1 || kinds[0] != app.ResultWithdrawn || len(w.CommittedUnits()) != 0 {
			t.Errorf("results %v, committed %v", kinds, w.CommittedUnits())
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		w.WantLastEvent(id, app.Sent)
		if ev := w.OnlyEvent(id, app.EventType(app.Sent)); ev.Detail.Attempt != 1 {
			t.Errorf("attempt %d was counted", ev.Detail.Attempt)
		}
		if n := w.Services.Delivery.Queues()[0].Limits().Total().Sent(); n != 1 {
			t.Errorf("%d messages of the daily limit are reserved", n)
		}
		if len(w.Doubts()) != 0 {
			t.Errorf("doubts %+v", w.Doubts())
		}
	})
}

func TestBusyWriterDelaysResult(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		reply := make(chan struct{})
		relay := testserver.NewRelay(testserver.Always(testserver.ReplyAfter(reply)))
		w := testserver.Start(t, relay)
		id := w.Send("bob@example.net")
		synctest.Wait()
		l := w.Services.Delivery.Queues()[0]
		tries := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.RecordCommitted(id, func(*db.Tx) error {
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
		w.WantLastEvent(id, app.Sent)
	})
}
