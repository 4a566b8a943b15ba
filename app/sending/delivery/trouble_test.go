package delivery_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/delivery"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
	"mailer/db"
)

func TestRelayTroubleCountsNoAttempt(t *testing.T) {
	testserver.BothEngines(t)
	for _, stage := range []app.Stage{app.StageConnect, app.StageTLS, app.StageAuth} {
		t.Run(string(stage), func(t *testing.T) {
			testserver.SynctestHours(t, func(t *testing.T) {
				relay := testserver.NewRelay(testserver.Always(testserver.RelayTrouble(stage, "connection refused")))
				w := testserver.New(t, relay)
				var ids []string
				for i := range 30 {
					ids = append(ids, w.Send(fmt.Sprintf("u%d@example.net", i)))
				}
				w.Start()
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				for _, id := range ids {
					w.WantLastEvent(id, app.Queued)
					ev := w.OnlyEvent(id, app.EventRelayTrouble)
					if !strings.Contains(ev.Detail.Message, "connection refused") || ev.Detail.NextAttemptAt < app.FormatTime(time.Now()) || ev.Detail.Stage != stage {
						t.Errorf("trouble %+v at %v", ev.Detail, time.Now())
					}
				}
				late := w.Send("late@example.net")
				w.OnlyEvent(late, app.EventRelayTrouble)
				relay.SetScript(nil)
				time.Sleep(75 * time.Second)
				synctest.Wait()
				for _, id := range append(ids, late) {
					w.WantLastEvent(id, app.Sent)
					if ev := w.OnlyEvent(id, app.EventType(app.Sent)); ev.Detail.Attempt != 1 {
						t.Errorf("attempt %d was counted", ev.Detail.Attempt)
					}
					if ev := w.OnlyEvent(id, app.EventRelayTrouble); !strings.Contains(ev.Detail.Message, "over at") || ev.Detail.NextAttemptAt != "" {
						t.Errorf("trouble that is over reads %+v", ev.Detail)
					}
				}
				after := w.Send("after@example.net")
				synctest.Wait()
				if timeline := w.Timeline(after); strings.Contains(timeline, "relay_trouble") {
					t.Errorf("a later email shows an earlier trouble:\n%s", timeline)
				}
			})
		})
	}
}

func TestRelayPausesGrow(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		begun := time.Now()
		relay := testserver.NewRelay(testserver.Always(func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
			if time.Since(begun) < time.Second {
				time.Sleep(time.Second) // all connections are in use when the trouble begins
			}
			return testserver.RelayTrouble(app.StageConnect, "no route")(ctx, m, authorize)
		}))
		w := testserver.New(t, relay)
		for i := range 30 {
			w.Send(fmt.Sprintf("u%d@example.net", i))
		}
		w.Start()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		// The first group was in progress when the trouble began.
		tries := relay.Transactions("")
		if !tries[3].At.Equal(tries[0].At) {
			t.Fatal("no wave")
		}
		for len(tries) > 1 && tries[1].At.Sub(begun) <= time.Second {
			tries = tries[1:]
		}
		tries[0].At = begun.Add(time.Second)
		for i := 1; i < len(tries); i++ {
			want := min(time.Second<<(i-1), time.Minute)
			if gap := tries[i].At.Sub(tries[i-1].At); gap < want || gap > want+base.SweepEvery {
				t.Errorf("probe %d came after %v, want %v", i, gap, want)
			}
		}
		if len(tries) < 14 {
			t.Errorf("only %d probes in ten minutes", len(tries))
		}
	})
}

func TestProbeRunsAlone(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Always(testserver.RelayTrouble(app.StageConnect, "no route")))
		w := testserver.New(t, relay)
		for i := range 40 {
			w.Send(fmt.Sprintf("u%d@example.net", i))
		}
		w.Start()
		synctest.Wait()
		begun := len(relay.Transactions(""))
		hang := make(chan struct{})
		relay.SetScript(testserver.Always(testserver.After(hang, testserver.Accept)))
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if n := len(relay.Transactions("")) - begun; n != 1 {
			t.Errorf("%d transactions while the probe was out", n)
		}
		close(hang)
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		if n := len(relay.Transactions("")) - begun; n != 40 {
			t.Errorf("%d of 40 after the probe came back", n)
		}
	})
}

func TestProbeOfDeletedEmailIsPassedOn(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Always(testserver.RelayTrouble(app.StageConnect, "no route")))
		w := testserver.Start(t, relay)
		first := w.Send("a@example.net")
		synctest.Wait()
		hang := make(chan struct{})
		relay.SetScript(func(m *app.Outgoing, _ int) testserver.Answer {
			if m.EmailID == first {
				return testserver.After(hang, testserver.Accept)
			}
			return nil
		})
		time.Sleep(3 * time.Second)
		second := w.Send("b@example.net")
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.DeleteUnit(app.Unit{EmailID: first}) }))
		close(hang)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		w.WantLastEvent(first, app.Queued)
		w.WantLastEvent(second, app.Sent)
	})
}

func TestPoisonEmailDoesNotStopOthers(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(func(m *app.Outgoing, _ int) testserver.Answer {
			if m.Recipients[0] == "poison@example.net" {
				return testserver.RelayTrouble(app.StageData, "connection reset")
			}
			return nil
		})
		w := testserver.Start(t, relay)
		poison := w.Send("poison@example.net")
		var others []string
		for range 8 {
			others = append(others, w.Send("bob@example.net"))
			time.Sleep(5 * time.Second)
		}
		synctest.Wait()
		for _, id := range others {
			w.WantLastEvent(id, app.Sent)
		}
		w.WantLastEvent(poison, app.Queued)
		u := w.Unit(poison)
		if u.Attempts != 1 {
			t.Errorf("%d attempts counted after %d troubles", u.Attempts, len(relay.Transactions(poison)))
		}
		if timeline := w.Timeline(poison); !strings.Contains(timeline, "connection reset") {
			t.Errorf("timeline:\n%s", timeline)
		}
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		if u := w.Unit(poison); u.Attempts < 4 {
			t.Errorf("%d attempts counted in three hours", u.Attempts)
		}
	})
}

func TestTroubleOfTwoRelaysIsSeparate(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		bad := testserver.NewRelay(testserver.Always(testserver.RelayTrouble(app.StageConnect, "no route")))
		good := testserver.NewRelayOf(relayurl.Relay{Region: "eu-west-1", Host: "eu.test", Connections: 2}, nil)
		w := testserver.Start(t, bad, good)
		w.AddDomain(w.Key.TeamID, "eu.example", "eu-west-1", app.DomainVerified)
		here := w.Send("a@example.net")
		in := testserver.Message("b@example.net")
		in.From = "x@eu.example"
		there, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
		testserver.Must(t, err)
		time.Sleep(time.Minute)
		synctest.Wait()
		w.WantLastEvent(here, app.Queued)
		w.WantLastEvent(there, app.Sent)
		if len(good.Transactions(there)) != 1 || strings.Contains(w.Timeline(there), "no route") {
			t.Errorf("tries %v, timeline:\n%s", good.Transactions(""), w.Timeline(there))
		}
	})
}

func TestStaleProbeDoesNotReleaseLaterProbe(t *testing.T) {
	var b delivery.CircuitBreaker
	at := func(int) time.Duration { return 0 }
	enter := func() delivery.Permit {
		p, ok := b.Allow(false)
		if !ok {
			t.Fatal("no pass")
		}
		return p
	}
	b.Trip(enter(), false, at)
	early := enter()
	b.Success(early)
	b.Trip(enter(), false, at)
	enter() // the current probe
	b.Release(early)
	if _, ok := b.Allow(false); ok {
		t.Error("a second probe beside the first")
	}
}
