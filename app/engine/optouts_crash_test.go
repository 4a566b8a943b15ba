package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
)

func TestACrashForgetsNoOptOutAndNoTopic(t *testing.T) {
	for name, c := range map[string]struct {
		hanging answer // where the first process is when it dies
		doubts  int
		leave   bool
	}{
		"before the dot, then opted out": {after(nil, accept), 0, true},
		"before the dot":                 {after(nil, accept), 0, false},
		"after the dot, then opted out":  {dotThen(nil), 1, true},
		"after the dot":                  {dotThen(nil), 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := serving(t, newRelay(always(c.hanging)))
				news := w.topic("News", app.OptIn, app.PublicTopic)
				id := w.sendAbout(news, "bob@example.net")
				synctest.Wait()
				relay := newRelay(nil)
				next := w.crash(relay)
				if u := next.unit(id); u == nil || u.TopicID != news.ID {
					t.Fatalf("unit %+v", u)
				}
				if c.leave {
					_, err := next.e.Unsubscribe(t.Context(), next.linkOf(id))
					must(t, err)
				}
				next.start()
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				if d := next.doubts(); len(d) != c.doubts || len(d) > 0 && d[0].Settled == "" {
					t.Errorf("doubts %+v", d)
				}
				want, tries := app.Sent, 1
				if c.leave {
					want, tries = app.Suppressed, 0
				}
				next.wantLast(id, want)
				if got := len(relay.seen(id)); got != tries || next.unit(id) != nil || len(next.dotted()) != 0 {
					t.Errorf("%d transactions, unit %+v", got, next.unit(id))
				}
			})
		})
	}
}

// An opt-out is on disk before it is answered: a crash right after forgets
// nothing.
func TestAnAnsweredOptOutOutlivesACrash(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		w := serving(t, newRelay(always(after(hang, accept))))
		id := w.sendAbout(w.topic("News", app.OptIn, app.PublicTopic), "bob@example.net")
		synctest.Wait()
		_, err := w.e.Unsubscribe(t.Context(), w.linkOf(id))
		must(t, err)
		relay := newRelay(nil)
		next := w.crash(relay)
		close(hang)
		next.start()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		next.wantLast(id, app.Suppressed)
		if n := len(relay.seen(id)); n != 0 {
			t.Errorf("%d transactions", n)
		}
	})
}
