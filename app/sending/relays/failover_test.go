package relays_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/mail"
	"mailer/app/sending/relays"
	"mailer/app/server"
	"mailer/app/testing/testserver"
)

// outages are the relays, by name, that fail a probe.
type outages struct {
	mu    sync.Mutex
	names map[string]bool
}

func (o *outages) add(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.names == nil {
		o.names = map[string]bool{}
	}
	o.names[name] = true
}

func (o *outages) remove(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.names, name)
}

func (o *outages) has(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.names[name]
}

// twoRelays starts a server whose default region has a primary and a reserve. down are the relays,
// by name, that fail a probe.
func twoRelays(t *testing.T, primary testserver.Script) (w *testserver.Server, first, second *testserver.FakeRelay, down *outages) {
	t.Helper()
	testserver.FastHeartbeat(t)
	down = &outages{}
	probe := func(_ context.Context, r relayurl.Relay, _ *app.Outgoing, _ bool) []relayurl.Step {
		return []relayurl.Step{{Step: "mail", OK: !down.has(r.FullName())}}
	}
	first = testserver.NewRelay(primary)
	second = testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Name: app.DefaultRegion + "/b", Host: "b.test", Port: 587, Connections: 4}, nil)
	w = testserver.NewWithConfig(t, server.Config{Probe: probe, PollEvery: pollEvery}, first, second)
	w.Start()
	waitForTick()
	return w, first, second, down
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestRegionSwitchesToReserveAndBack(t *testing.T) {
	testserver.BothEngines(t)
	for reply, death := range map[string]testserver.Answer{
		"bad password": testserver.RelayTrouble(app.StageAuth, "bad password"),
		"not you":      testserver.ReplyWith(app.StageMail, 550, "not you"),
	} {
		t.Run(reply, func(t *testing.T) { switchToReserveAndBack(t, reply, death) })
	}
}

func switchToReserveAndBack(t *testing.T, reply string, death testserver.Answer) {
	testserver.Synctest(t, func(t *testing.T) {
		w, first, second, down := twoRelays(t, nil)
		w.Send("before@example.net")
		pass(time.Second)
		first.SetScript(testserver.Always(death))
		down.add(app.DefaultRegion)
		began := time.Now()
		id := ""
		for range 8 { // the first ones may be refused for good, before the refusals prove to be about the sender
			id = w.Send("bob@example.net")
			pass(time.Second)
		}
		pass(3 * time.Minute)
		w.WantLastEvent(id, app.Sent)
		if got := second.Transactions(id); len(got) != 1 {
			t.Fatalf("it left %d times through the reserve; first %d, log %s", len(got), len(first.Transactions(id)), w.Log.String())
		} else if got[0].At.Sub(began) < 2*time.Minute || got[0].At.Sub(began) > 2*time.Minute+20*time.Second {
			t.Errorf("through the reserve: %d, %v later", len(got), got[0].At.Sub(began))
		}
		if !w.Log.Contains("a region switched to another relay") {
			t.Error("the log does not say it")
		}
		st, err := w.CommandServices().Relays.Regions(t.Context())
		testserver.Must(t, err)
		if st[0].Active != app.DefaultRegion+"/b" || st[0].Reason == nil || !strings.Contains(*st[0].Reason, reply) || st[0].SwitchedAt == nil {
			t.Errorf("region %+v", st[0])
		}
		first.SetScript(nil)
		down.remove(app.DefaultRegion)
		pass(11 * time.Minute)
		again := w.Send("carl@example.net")
		pass(time.Minute)
		if w.WantLastEvent(again, app.Sent); first.FinalDots(again) != 1 {
			t.Error("mail does not leave through the primary again")
		}
		if n := strings.Count(w.Log.String(), "a region switched to another relay"); n != 2 {
			t.Errorf("%d switches", n)
		}
	})
}

// A message that the primary may have taken stays with it.
func TestDoubtStaysWithItsRelay(t *testing.T) {
	testserver.BothEngines(t)
	for _, crash := range []bool{false, true} {
		t.Run(fmt.Sprint("crash=", crash), func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				w, first, second, down := twoRelays(t, testserver.Always(testserver.LoseReply))
				id := w.Send("bob@example.net")
				pass(5 * time.Second)
				first.SetScript(testserver.Always(testserver.RelayTrouble(app.StageConnect, "refused")))
				down.add(app.DefaultRegion)
				other := w.Send("carl@example.net")
				pass(10 * time.Minute)
				left := first.FinalDots(id)
				if w.WantLastEvent(other, app.Sent); second.FinalDots(other) != 1 || len(second.Transactions(id)) != 0 {
					t.Errorf("the reserve had the other mail %d times, that in doubt %d times", second.FinalDots(other), len(second.Transactions(id)))
				}
				if crash {
					first, second = testserver.NewRelayOf(first.Relay, nil), testserver.NewRelayOf(second.Relay, nil)
					w = w.Crash(first, second)
					w.Start()
				}
				first.SetScript(nil)
				down.remove(app.DefaultRegion)
				pass(30 * time.Minute)
				if crash {
					left += first.FinalDots(id)
				} else {
					left = first.FinalDots(id)
				}
				if w.WantLastEvent(id, app.Sent); left != 2 || len(second.Transactions(id)) != 0 {
					t.Errorf("it left %d times through the primary, %d times through the reserve", left, len(second.Transactions(id)))
				}
			})
		})
	}
}

func TestOperatorSwitches(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, first, second, _ := twoRelays(t, nil)
		s := w.CommandServices().Relays
		_, err := s.Switch(t.Context(), app.DefaultRegion, "b")
		testserver.Must(t, err)
		waitForTick()
		id := w.Send("bob@example.net")
		waitForTick()
		if second.FinalDots(id) != 1 {
			t.Error("it did not leave through the reserve")
		}
		_, err = s.Order(t.Context(), app.DefaultRegion, []string{app.DefaultRegion + "/b", app.DefaultRegion})
		testserver.Must(t, err)
		_, err = s.Auto(t.Context(), app.DefaultRegion)
		testserver.Must(t, err)
		pass(15 * time.Minute)
		if st, err := s.Regions(t.Context()); err != nil || st[0].Active != app.DefaultRegion+"/b" || !slices.Equal(st[0].Relays, []string{app.DefaultRegion + "/b", app.DefaultRegion}) {
			t.Errorf("%+v %v", st, err)
		}
		_, err = s.Switch(t.Context(), app.DefaultRegion, "nowhere")
		testserver.WantCode(t, err, app.CodeNotFound)
		_, err = s.Order(t.Context(), app.DefaultRegion, []string{"b"})
		testserver.WantCode(t, err, app.CodeValidation)
		wrong := "1s"
		_, err = s.SetPolicy(t.Context(), app.DefaultRegion, relays.PolicyInput{After: &wrong})
		testserver.WantCode(t, err, app.CodeValidation)
		if first.FinalDots(id) != 0 {
			t.Error("it left twice")
		}
	})
}

// A reserve that refuses a domain that it never took mail of bounces nothing, and a domain that the
// primary alone refuses causes a switch only if no other domain uses it.
func TestReserveThatRefusesTheDomain(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, first, second, down := twoRelays(t, testserver.Always(testserver.RelayTrouble(app.StageConnect, "refused")))
		down.add(app.DefaultRegion)
		second.SetScript(testserver.Always(testserver.ReplyWith(app.StageMail, 550, "unknown domain")))
		id := w.Send("bob@example.net")
		pass(20 * time.Minute)
		if e := w.Email(id); e.LastEvent != app.DeliveryDelayed && e.LastEvent != app.Queued {
			t.Errorf("last event %s", e.LastEvent)
		}
		first.SetScript(nil)
		second.SetScript(nil)
		pass(time.Hour)
		w.WantLastEvent(id, app.Sent)
	})
}

func TestRefusedDomainCausesNoSwitch(t *testing.T) {
	for _, alone := range []bool{true, false} {
		t.Run(fmt.Sprint("alone=", alone), func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				w, _, second, _ := twoRelays(t, func(m *app.Outgoing, _ int) testserver.Answer {
					if m.Mail.From.Domain == testserver.TestDomain {
						return testserver.ReplyWith(app.StageMail, 550, "this domain is blocked")
					}
					return nil
				})
				other := w.AddTeam("Beta", "beta.example")
				var ids []string
				for range 30 {
					ids = append(ids, w.Send("bob@example.net"))
					if !alone {
						in := testserver.Message("carl@example.net")
						in.From = "x@beta.example"
						_, err := w.Services.Mail.SendEmail(t.Context(), other, in, mail.SendOptions{})
						testserver.Must(t, err)
					}
					pass(20 * time.Second)
				}
				if got := len(second.Transactions("")) > 0; got != alone {
					t.Errorf("a switch: %v", got)
				}
				if alone {
					for _, id := range ids[5:] {
						w.WantLastEvent(id, app.Sent)
					}
				}
			})
		})
	}
}
