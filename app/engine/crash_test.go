package engine

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
)

func TestACrashBeforeTheClaimLosesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		id := w.send("bob@example.net")
		next := w.crash(newRelay(nil))
		next.start()
		synctest.Wait()
		next.wantLast(id, app.Sent)
		if d := next.doubts(); len(d) != 0 {
			t.Errorf("doubts %+v", d)
		}
	})
}

func TestACrashBeforeTheDotIsTriedAgainWithinSecondsAndCounted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(always(after(nil, accept))))
		id := w.send("bob@example.net")
		synctest.Wait()
		for n := 1; n <= 3; n++ {
			u := w.unit(id)
			if want := time.Second << (2 * (n - 1)); u.Attempts != n || time.Until(u.NextAt).Round(time.Second/10) != want {
				t.Fatalf("crash %d: %d attempts, next in %v, want %v", n, u.Attempts, time.Until(u.NextAt), want)
			}
			relay := newRelay(always(after(nil, accept)))
			w = w.crash(relay)
			w.start()
			synctest.Wait()
			if got := len(relay.seen(id)); got != 0 {
				t.Errorf("crash %d: tried at once", n)
			}
			time.Sleep(time.Second<<(2*(n-1)) + 10*time.Millisecond)
			synctest.Wait()
			if got := len(relay.seen(id)); got != 1 {
				t.Errorf("crash %d: tried %d times", n, got)
			}
		}
		if d := w.doubts(); len(d) != 0 {
			t.Errorf("doubts %+v", d)
		}
	})
}

func TestACrashAfterTheDotIsADoubtThatIsSentAgainWithTheSameBytes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		first := newRelay(always(dotThen(nil)))
		w := serving(t, first)
		id := w.send("bob@example.net")
		synctest.Wait()
		if n := len(w.dotted()); n != 1 {
			t.Fatalf("%d units dotted", n)
		}
		relay := newRelay(nil)
		next := w.crash(relay)
		down, err := next.e.ListDoubts(t.Context(), true)
		must(t, err)
		if len(down) != 1 || down[0].EmailID != id || down[0].Recipients[0] != "bob@example.net" {
			t.Errorf("while the server is down: %+v", down)
		}
		next.start()
		synctest.Wait()
		if d := next.doubts(); len(d) != 1 || d[0].EmailID != id || d[0].Settled != "" {
			t.Errorf("doubts %+v", d)
		}
		if ev := next.eventOf(id, app.EventInDoubt); !strings.Contains(ev.Detail.Message, "The server stopped") {
			t.Errorf("event %+v", ev)
		}
		if !next.log.has("units in doubt") {
			t.Error("the log does not tell of the doubt")
		}
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if n := len(relay.seen(id)); n != 0 {
			t.Errorf("sent %d times within the delay", n)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		next.wantLast(id, app.Sent)
		tries := relay.seen(id)
		before := first.seen(id)[0].m
		if len(tries) != 1 {
			t.Fatalf("tries %+v", tries)
		}
		m := tries[0].m
		if m.Signature != firstSignature(id) || m.MessageID != before.MessageID || m.Date.Unix() != before.Date.Unix() || m.Mail.Text != before.Mail.Text {
			t.Errorf("sent again %+v, before %+v", m, before)
		}
		if d := next.doubts(); !strings.Contains(d[0].Settled, "sent again with the same Message-ID") {
			t.Errorf("doubts %+v", d)
		}
	})
}

func TestACrashInEverySecondSendingIsANewDoubtWithALongerDelay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(always(dotThen(nil))))
		id := w.send("bob@example.net")
		synctest.Wait()
		delay := time.Minute
		for n := 1; n <= 4; n++ {
			relay := newRelay(always(dotThen(nil)))
			w = w.crash(relay)
			w.start()
			synctest.Wait()
			if d := w.doubts(); len(d) != n || d[n-1].Settled != "" || n > 1 && d[n-2].Settled == "" {
				t.Fatalf("crash %d: doubts %+v", n, d)
			}
			if got := time.Until(w.unit(id).NextAt); got != delay {
				t.Errorf("crash %d: sent again in %v, want %v", n, got, delay)
			}
			time.Sleep(delay + time.Second)
			synctest.Wait()
			if got := len(relay.seen(id)); got != 1 {
				t.Fatalf("crash %d: sent %d times", n, got)
			}
			delay *= 2
		}
	})
}

func TestACrashAfterTheResultSendsNothingAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		id := w.send("bob@example.net")
		synctest.Wait()
		relay := newRelay(nil)
		next := w.crash(relay)
		next.start()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		next.wantLast(id, app.Sent)
		if n := len(relay.seen("")); n != 0 {
			t.Errorf("%d transactions", n)
		}
	})
}

func TestADatabaseClosedUnderTheEngineLeavesADoubt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := newRelay(always(dotThen(hang)))
		w := serving(t, relay)
		id := w.send("bob@example.net")
		synctest.Wait()
		must(t, w.db.Close())
		close(hang)
		synctest.Wait()
		_, err := w.e.SendEmail(context.Background(), w.key, letter("x@example.net"), SendOptions{})
		wantCode(t, err, app.CodeServiceUnavailable)
		stopNow(w.e)
		w.over = true
		relay.follow(nil)
		w.open()
		w.start()
		if d := w.doubts(); len(d) != 1 || d[0].EmailID != id {
			t.Errorf("doubts %+v", d)
		}
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		w.wantLast(id, app.Sent)
	})
}

func TestAnAcceptedEmailIsInTheFilesWhenItsIdIsAnswered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := idle(t, newRelay(nil))
		for range 20 {
			id := w.send("bob@example.net")
			wal, err := os.ReadFile(w.path + "-wal")
			must(t, err)
			if !strings.Contains(string(wal), id) {
				t.Fatalf("%s was answered and is not in the files", id)
			}
		}
	})
}
