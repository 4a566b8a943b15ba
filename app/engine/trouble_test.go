package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/relays"
	"mailer/db"
)

func TestRelayTroubleCountsNoAttemptAndShowsInEveryTimeline(t *testing.T) {
	for _, stage := range []app.Stage{app.StageConnect, app.StageTLS, app.StageAuth} {
		t.Run(string(stage), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				relay := newRelay(always(trouble(stage, "connection refused")))
				w := idle(t, relay)
				var ids []string
				for i := range 30 {
					ids = append(ids, w.send(fmt.Sprintf("u%d@example.net", i)))
				}
				w.start()
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				for _, id := range ids {
					w.wantLast(id, app.Queued)
					ev := w.eventOf(id, app.EventRelayTrouble)
					if !strings.Contains(ev.Detail.Message, "connection refused") || ev.Detail.NextAttemptAt < app.FormatTime(time.Now()) || ev.Detail.Stage != stage {
						t.Errorf("trouble %+v at %v", ev.Detail, time.Now())
					}
				}
				late := w.send("late@example.net")
				w.eventOf(late, app.EventRelayTrouble)
				relay.follow(nil)
				time.Sleep(75 * time.Second)
				synctest.Wait()
				for _, id := range append(ids, late) {
					w.wantLast(id, app.Sent)
					if ev := w.eventOf(id, app.EventType(app.Sent)); ev.Detail.Attempt != 1 {
						t.Errorf("attempt %d was counted", ev.Detail.Attempt)
					}
					if ev := w.eventOf(id, app.EventRelayTrouble); !strings.Contains(ev.Detail.Message, "over at") || ev.Detail.NextAttemptAt != "" {
						t.Errorf("trouble that is over reads %+v", ev.Detail)
					}
				}
				after := w.send("after@example.net")
				synctest.Wait()
				if story := w.story(after); strings.Contains(story, "relay_trouble") {
					t.Errorf("a later email shows an earlier trouble:\n%s", story)
				}
			})
		})
	}
}

func TestPausesOfARelayGrowFromASecondToAMinuteWithOneProbeEach(t *testing.T) {
	bubble(t, func(t *testing.T) {
		begun := time.Now()
		relay := newRelay(always(func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
			if time.Since(begun) < time.Second {
				time.Sleep(time.Second) // so that all connections are in use when it begins
			}
			return trouble(app.StageConnect, "no route")(ctx, m, hold)
		}))
		w := idle(t, relay)
		for i := range 30 {
			w.send(fmt.Sprintf("u%d@example.net", i))
		}
		w.start()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		// The first wave is what was under way when the trouble began.
		tries := relay.seen("")
		if !tries[3].at.Equal(tries[0].at) {
			t.Fatal("no wave")
		}
		for len(tries) > 1 && tries[1].at.Sub(begun) <= time.Second {
			tries = tries[1:]
		}
		tries[0].at = begun.Add(time.Second)
		for i := 1; i < len(tries); i++ {
			want := min(time.Second<<(i-1), time.Minute)
			if gap := tries[i].at.Sub(tries[i-1].at); gap < want || gap > want+sweepEvery {
				t.Errorf("probe %d came after %v, want %v", i, gap, want)
			}
		}
		if len(tries) < 14 {
			t.Errorf("only %d probes in ten minutes", len(tries))
		}
	})
}

func TestAProbeRunsAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(always(trouble(app.StageConnect, "no route")))
		w := idle(t, relay)
		for i := range 40 {
			w.send(fmt.Sprintf("u%d@example.net", i))
		}
		w.start()
		synctest.Wait()
		begun := len(relay.seen(""))
		hang := make(chan struct{})
		relay.follow(always(after(hang, accept)))
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if n := len(relay.seen("")) - begun; n != 1 {
			t.Errorf("%d transactions while the probe was out", n)
		}
		close(hang)
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		if n := len(relay.seen("")) - begun; n != 40 {
			t.Errorf("%d of 40 after the probe came back", n)
		}
	})
}

func TestAProbeWhoseEmailIsGoneGivesItsTurnOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(always(trouble(app.StageConnect, "no route")))
		w := serving(t, relay)
		first := w.send("a@example.net")
		synctest.Wait()
		hang := make(chan struct{})
		relay.follow(func(m *app.Outgoing, _ int) answer {
			if m.EmailID == first {
				return after(hang, accept)
			}
			return nil
		})
		time.Sleep(3 * time.Second)
		second := w.send("b@example.net")
		must(t, w.db.Write(t.Context(), func(tx *db.Tx) error { return tx.DeleteUnit(app.Unit{EmailID: first}) }))
		close(hang)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		w.wantLast(first, app.Queued)
		w.wantLast(second, app.Sent)
	})
}

func TestAPoisonEmailDoesNotStopOthersAndItsAttemptsCount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(func(m *app.Outgoing, _ int) answer {
			if m.Recipients[0] == "poison@example.net" {
				return trouble(app.StageData, "connection reset")
			}
			return nil
		})
		w := serving(t, relay)
		poison := w.send("poison@example.net")
		var others []string
		for range 8 {
			others = append(others, w.send("bob@example.net"))
			time.Sleep(5 * time.Second)
		}
		synctest.Wait()
		for _, id := range others {
			w.wantLast(id, app.Sent)
		}
		w.wantLast(poison, app.Queued)
		u := w.unit(poison)
		if u.Attempts != 1 {
			t.Errorf("%d attempts counted after %d troubles", u.Attempts, len(relay.seen(poison)))
		}
		if ev := w.eventOf(poison, app.EventDeferred); !strings.Contains(ev.Detail.Message, "connection reset") {
			t.Errorf("deferral %+v", ev.Detail)
		}
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		if u := w.unit(poison); u.Attempts < 4 {
			t.Errorf("%d attempts counted in three hours", u.Attempts)
		}
	})
}

func TestTroubleOfTwoRelaysIsTheirOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		bad := newRelay(always(trouble(app.StageConnect, "no route")))
		good := newRelayOf(relays.Relay{Region: "eu-west-1", Host: "eu.test", Connections: 2}, nil)
		w := serving(t, bad, good)
		w.addDomain(w.key.TeamID, "eu.example", "eu-west-1", app.DomainVerified)
		here := w.send("a@example.net")
		in := letter("b@example.net")
		in.From = "x@eu.example"
		there, err := w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
		must(t, err)
		time.Sleep(time.Minute)
		synctest.Wait()
		w.wantLast(here, app.Queued)
		w.wantLast(there, app.Sent)
		if len(good.seen(there)) != 1 || strings.Contains(w.story(there), "no route") {
			t.Errorf("tries %v, timeline:\n%s", good.seen(""), w.story(there))
		}
	})
}

func TestAnEarlierProbeDoesNotGiveAwayTheTurnOfALaterOne(t *testing.T) {
	g := newGate()
	at := func(int) time.Duration { return 0 }
	enter := func() pass {
		p, ok := g.enter(t.Context())
		if !ok {
			t.Fatal("no pass")
		}
		return p
	}
	g.trouble(enter(), at)
	early := enter()
	g.healthy(early)
	g.trouble(enter(), at)
	enter() // the probe of now
	g.unclear(early)
	if n := g.room(5); n != 0 {
		t.Errorf("room for %d beside a probe", n)
	}
}
