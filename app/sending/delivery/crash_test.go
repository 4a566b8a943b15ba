package delivery_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

func TestCrashBeforeClaim(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		id := w.Send("bob@example.net")
		next := w.Crash(testserver.NewRelay(nil))
		next.Start()
		synctest.Wait()
		next.WantLastEvent(id, app.Sent)
		if d := next.Doubts(); len(d) != 0 {
			t.Errorf("doubts %+v", d)
		}
	})
}

func TestCrashesOfSingleEmailBackOff(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(testserver.Always(testserver.After(nil, testserver.Accept))))
		id := w.Send("bob@example.net")
		synctest.Wait()
		for n := 1; n <= 4; n++ {
			relay := testserver.NewRelay(testserver.Always(testserver.After(nil, testserver.Accept)))
			w = w.Crash(relay)
			w.Start()
			synctest.Wait()
			if got := len(relay.Transactions(id)); got != 0 {
				t.Errorf("crash %d: tried immediately", n)
			}
			wait := time.Second << (2 * (n - 1))
			if u := w.Unit(id); u.Attempts != 0 || u.Crashes != n || time.Until(u.NextAt) != wait {
				t.Fatalf("crash %d: %d attempts, %d crashes, next in %v, want %v", n, u.Attempts, u.Crashes, time.Until(u.NextAt), wait)
			}
			if timeline := w.Timeline(id); strings.Count(timeline, "it alone was in work, so it waits a while; next try at") != n {
				t.Errorf("crash %d: timeline:\n%s", n, timeline)
			}
			time.Sleep(wait + 10*time.Millisecond)
			synctest.Wait()
			if got := len(relay.Transactions(id)); got != 1 {
				t.Errorf("crash %d: tried %d times", n, got)
			}
		}
		if d := w.Doubts(); len(d) != 0 {
			t.Errorf("doubts %+v", d)
		}
	})
}

func TestInterruptedEmailsRetryImmediatelyAfterCrash(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(testserver.Always(testserver.After(nil, testserver.Accept))))
		var ids []string
		for range 12 {
			ids = append(ids, w.Send("bob@example.net"))
		}
		synctest.Wait()
		for range 5 {
			w = w.Crash(testserver.NewRelay(testserver.Always(testserver.After(nil, testserver.Accept))))
			w.Start()
			synctest.Wait()
		}
		relay := testserver.NewRelay(nil)
		w = w.Crash(relay)
		w.Start()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		for _, id := range ids {
			w.WantLastEvent(id, app.Sent)
			if n := len(relay.Transactions(id)); n != 1 {
				t.Errorf("sent %d times", n)
			}
		}
	})
}

func TestSuspectsAreSentOneAtATimeUntilCleanShutdown(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		hang := testserver.Always(testserver.After(nil, testserver.Accept))
		w := testserver.Start(t, testserver.NewRelay(hang))
		for range 4 {
			w.Send("bob@example.net")
		}
		synctest.Wait()
		second := testserver.NewRelay(hang)
		w = w.Crash(second)
		w.Start()
		synctest.Wait()
		if second.MaxOpen != 4 {
			t.Errorf("after one crash %d are tried immediately", second.MaxOpen)
		}
		third := testserver.NewRelay(hang)
		w = w.Crash(third)
		w.Start()
		fresh := w.Send("eve@example.net")
		synctest.Wait()
		if n := len(third.Transactions("")); third.MaxOpen != 2 || len(third.Transactions(fresh)) != 1 {
			t.Errorf("after two crashes %d are tried, %d concurrently, of them the new email %d times", n, third.MaxOpen, len(third.Transactions(fresh)))
		}
		slow := testserver.NewRelay(testserver.Always(func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
			time.Sleep(time.Second)
			return testserver.Accept(ctx, m, authorize)
		}))
		w = w.Crash(slow)
		w.Start()
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(slow.Transactions("")); n != 5 {
			t.Errorf("%d sent", n)
		}
		w.Stop()
		if n := w.SQL("SELECT count(*) FROM units")[0]; n != "0" {
			t.Errorf("%s units are left", n)
		}
	})
}

func TestCleanShutdownClearsSuspects(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Always(testserver.After(nil, testserver.Accept)))
		w := testserver.Start(t, relay)
		id := w.Send("bob@example.net")
		synctest.Wait()
		for range 3 {
			w.Stop()
			w.Open()
			w.Start()
			synctest.Wait()
		}
		if u := w.Unit(id); u.Attempts != 1 || u.Crashes != 0 {
			t.Errorf("%+v", u)
		}
		if strings.Contains(w.Timeline(id), "interrupted") {
			t.Errorf("timeline:\n%s", w.Timeline(id))
		}
		if n := len(relay.Transactions(id)); n != 4 {
			t.Errorf("tried %d times", n)
		}
	})
}

func TestCrashAfterDotResendsSameBytes(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		first := testserver.NewRelay(testserver.Always(testserver.ReplyAfter(nil)))
		w := testserver.Start(t, first)
		id := w.Send("bob@example.net")
		synctest.Wait()
		if n := len(w.CommittedUnits()); n != 1 {
			t.Fatalf("%d units committed", n)
		}
		relay := testserver.NewRelay(nil)
		next := w.Crash(relay)
		down, err := next.Services.Delivery.ListDoubts(t.Context(), true)
		testserver.Must(t, err)
		if len(down) != 1 || down[0].EmailID != id || down[0].Recipients[0] != "bob@example.net" {
			t.Errorf("while the server is down: %+v", down)
		}
		next.Start()
		synctest.Wait()
		if d := next.Doubts(); len(d) != 1 || d[0].EmailID != id || d[0].Settled != "" {
			t.Errorf("doubts %+v", d)
		}
		if ev := next.OnlyEvent(id, app.EventInDoubt); !strings.Contains(ev.Detail.Message, "The server stopped") {
			t.Errorf("event %+v", ev)
		}
		if !next.Log.Contains("units in doubt") {
			t.Error("the log does not tell of the doubt")
		}
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if n := len(relay.Transactions(id)); n != 0 {
			t.Errorf("sent %d times within the delay", n)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		next.WantLastEvent(id, app.Sent)
		tries := relay.Transactions(id)
		before := first.Transactions(id)[0].Message
		if len(tries) != 1 {
			t.Fatalf("tries %+v", tries)
		}
		m := tries[0].Message
		if m.Signature != testserver.FirstSignature(id) || m.MessageID != before.MessageID || m.Date.Unix() != before.Date.Unix() || m.Mail.Text != before.Mail.Text {
			t.Errorf("sent again %+v, before %+v", m, before)
		}
		if d := next.Doubts(); !strings.Contains(d[0].Settled, "sent again with the same Message-ID") {
			t.Errorf("doubts %+v", d)
		}
	})
}

func TestRepeatedCrashesAfterDotBackOff(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(testserver.Always(testserver.ReplyAfter(nil))))
		id := w.Send("bob@example.net")
		synctest.Wait()
		delay := time.Minute
		for n := 1; n <= 4; n++ {
			relay := testserver.NewRelay(testserver.Always(testserver.ReplyAfter(nil)))
			w = w.Crash(relay)
			w.Start()
			synctest.Wait()
			if d := w.Doubts(); len(d) != n || d[n-1].Settled != "" || n > 1 && d[n-2].Settled == "" {
				t.Fatalf("crash %d: doubts %+v", n, d)
			}
			if got := time.Until(w.Unit(id).NextAt); got != delay {
				t.Errorf("crash %d: sent again in %v, want %v", n, got, delay)
			}
			time.Sleep(delay + time.Second)
			synctest.Wait()
			if got := len(relay.Transactions(id)); got != 1 {
				t.Fatalf("crash %d: sent %d times", n, got)
			}
			delay *= 2
		}
	})
}

func TestCrashAfterResultSendsNothingAgain(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		id := w.Send("bob@example.net")
		synctest.Wait()
		relay := testserver.NewRelay(nil)
		next := w.Crash(relay)
		next.Start()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		next.WantLastEvent(id, app.Sent)
		if n := len(relay.Transactions("")); n != 0 {
			t.Errorf("%d transactions", n)
		}
	})
}

func TestDatabaseClosedBeforeResultLeavesDoubt(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := testserver.NewRelay(testserver.Always(testserver.ReplyAfter(hang)))
		w := testserver.Start(t, relay)
		id := w.Send("bob@example.net")
		synctest.Wait()
		testserver.Must(t, w.DB.Close())
		close(hang)
		synctest.Wait()
		_, err := w.Services.Mail.SendEmail(context.Background(), w.Key, testserver.Message("x@example.net"), mail.SendOptions{})
		testserver.WantCode(t, err, app.CodeServiceUnavailable)
		testserver.StopNow(w.Services)
		w.Stopped = true
		relay.SetScript(nil)
		w.Open()
		w.Start()
		if d := w.Doubts(); len(d) != 1 || d[0].EmailID != id {
			t.Errorf("doubts %+v", d)
		}
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		w.WantLastEvent(id, app.Sent)
	})
}

func TestAcceptedEmailIsOnDiskBeforeAnswer(t *testing.T) {
	testserver.SQLiteOnly(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		for range 20 {
			id := w.Send("bob@example.net")
			wal, err := os.ReadFile(w.Path + "-wal")
			testserver.Must(t, err)
			if !strings.Contains(string(wal), id) {
				t.Fatalf("%s was answered and is not in the files", id)
			}
		}
	})
}
