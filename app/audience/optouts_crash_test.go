package audience_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/world"
)

func TestACrashForgetsNoOptOutAndNoTopic(t *testing.T) {
	world.BothEngines(t)
	for name, c := range map[string]struct {
		hanging world.Answer // where the first process is when it dies
		doubts  int
		leave   bool
	}{
		"before the dot, then opted out": {world.After(nil, world.Accept), 0, true},
		"before the dot":                 {world.After(nil, world.Accept), 0, false},
		"after the dot, then opted out":  {world.DotThen(nil), 1, true},
		"after the dot":                  {world.DotThen(nil), 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T) {
				w := world.Serving(t, world.NewRelay(world.Always(c.hanging)))
				news := w.Topic("News", app.OptIn, app.PublicTopic)
				id := sendAbout(w, news, "bob@example.net")
				synctest.Wait()
				relay := world.NewRelay(nil)
				next := w.Crash(relay)
				if u := next.Unit(id); u == nil || u.TopicID != news.ID {
					t.Fatalf("unit %+v", u)
				}
				if c.leave {
					_, err := next.Server.Pages.Unsubscribe(t.Context(), linkOf(next, id))
					world.Must(t, err)
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
				next.WantLast(id, want)
				if got := len(relay.Seen(id)); got != tries || next.Unit(id) != nil || len(next.Dotted()) != 0 {
					t.Errorf("%d transactions, unit %+v", got, next.Unit(id))
				}
			})
		})
	}
}

// An opt-out is on disk before it is answered: a crash right after forgets
// nothing.
func TestAnAnsweredOptOutOutlivesACrash(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		w := world.Serving(t, world.NewRelay(world.Always(world.After(hang, world.Accept))))
		id := sendAbout(w, w.Topic("News", app.OptIn, app.PublicTopic), "bob@example.net")
		synctest.Wait()
		_, err := w.Server.Pages.Unsubscribe(t.Context(), linkOf(w, id))
		world.Must(t, err)
		relay := world.NewRelay(nil)
		next := w.Crash(relay)
		close(hang)
		next.Start()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		next.WantLast(id, app.Suppressed)
		if n := len(relay.Seen(id)); n != 0 {
			t.Errorf("%d transactions", n)
		}
	})
}
