package audience_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/testing/testserver"
)

func TestCrashKeepsOptOutsAndTopics(t *testing.T) {
	testserver.BothEngines(t)
	for name, c := range map[string]struct {
		hanging testserver.Answer // where the first process crashes
		doubts  int
		leave   bool
	}{
		"before the dot, then opted out": {testserver.After(nil, testserver.Accept), 0, true},
		"before the dot":                 {testserver.After(nil, testserver.Accept), 0, false},
		"after the dot, then opted out":  {testserver.ReplyAfter(nil), 1, true},
		"after the dot":                  {testserver.ReplyAfter(nil), 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				w := testserver.Start(t, testserver.NewRelay(testserver.Always(c.hanging)))
				news := w.AddTopic("News", app.OptIn, app.PublicTopic)
				id := sendAbout(w, news, "bob@example.net")
				synctest.Wait()
				relay := testserver.NewRelay(nil)
				next := w.Crash(relay)
				if u := next.Unit(id); u == nil || u.TopicID != news.ID {
					t.Fatalf("unit %+v", u)
				}
				if c.leave {
					_, err := next.Services.Pages.Unsubscribe(t.Context(), linkOf(next, id))
					testserver.Must(t, err)
				}
				next.Start()
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				if d := next.Doubts(); len(d) != c.doubts || len(d) > 0 && d[0].Settled == "" {
					t.Errorf("doubts %+v", d)
				}
				want, tries := app.Sent, 1
				if c.leave {
					want, tries = app.Suppressed, 0
				}
				next.WantLastEvent(id, want)
				if got := len(relay.Transactions(id)); got != tries || next.Unit(id) != nil || len(next.CommittedUnits()) != 0 {
					t.Errorf("%d transactions, unit %+v", got, next.Unit(id))
				}
			})
		})
	}
}

// An opt-out is on disk before it is answered, so a crash right after the answer keeps it.
func TestAnsweredOptOutSurvivesCrash(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		hang := make(chan struct{})
		w := testserver.Start(t, testserver.NewRelay(testserver.Always(testserver.After(hang, testserver.Accept))))
		id := sendAbout(w, w.AddTopic("News", app.OptIn, app.PublicTopic), "bob@example.net")
		synctest.Wait()
		_, err := w.Services.Pages.Unsubscribe(t.Context(), linkOf(w, id))
		testserver.Must(t, err)
		relay := testserver.NewRelay(nil)
		next := w.Crash(relay)
		close(hang)
		next.Start()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		next.WantLastEvent(id, app.Suppressed)
		if n := len(relay.Transactions(id)); n != 0 {
			t.Errorf("%d transactions", n)
		}
	})
}
