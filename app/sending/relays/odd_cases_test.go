package relays_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/mail"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// onceEach checks that each email left once, through either relay, and returns how many left through
// the second.
func onceEach(t *testing.T, w *testserver.Server, ids []string, first, second *testserver.FakeRelay) (bySecond int) {
	t.Helper()
	for _, id := range ids {
		a, b := first.FinalDots(id), second.FinalDots(id)
		if w.WantLastEvent(id, app.Sent); a+b != 1 {
			t.Errorf("it left %d times through the primary, %d times through the reserve", a, b)
		}
		bySecond += b
	}
	return bySecond
}

// The reserve's daily limit holds during an outage of the primary; the rest waits for either.
func TestReserveReachesItsDailyLimit(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, _, first, second, down := aligned(t, func(r *relayurl.Relay) { r.Daily = 10 })
		fail(first, down)
		var ids []string
		for i := range 25 {
			ids = append(ids, w.Send(fmt.Sprintf("n%d@example.net", i)))
		}
		pass(10 * time.Minute)
		if n := len(second.Transactions("")); n != 10 {
			t.Errorf("%d left through the reserve, its limit is 10 a day", n)
		}
		repair(first, down)
		pass(30 * time.Minute)
		if n := onceEach(t, w, ids, first, second); n != 10 {
			t.Errorf("%d left through the reserve", n)
		}
	})
}

// A primary that fails and works in turns does not move the region to and fro: after three switches
// within an hour it stays on the reserve.
func TestFlappingPrimary(t *testing.T) {
	for name, test := range map[string]struct {
		down, up       time.Duration
		least, highest int
	}{"every 90 seconds": {90 * time.Second, 90 * time.Second, 0, 1}, "for longer": {3 * time.Minute, 12 * time.Minute, 3, 5}} {
		t.Run(name, func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				w, first, second, down := twoRelays(t, nil)
				var ids []string
				send := func(d time.Duration) {
					ids = append(ids, w.Send(fmt.Sprintf("n%d@example.net", len(ids))))
					pass(d)
				}
				for began := time.Now(); time.Since(began) < 100*time.Minute; {
					fail(first, down)
					send(test.down)
					repair(first, down)
					send(test.up)
				}
				n := strings.Count(w.Log.String(), "a region switched to another relay")
				if n < test.least || n > test.highest {
					t.Errorf("%d switches", n)
				}
				pass(time.Hour)
				onceEach(t, w, ids, first, second)
			})
		})
	}
}

// Nothing leaves while both relays are paused; the one that is resumed takes all.
func TestBothRelaysPaused(t *testing.T) {
	for _, resumed := range []string{regionA, relayB} {
		t.Run(resumed, func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				w, first, second, _ := twoRelays(t, nil)
				s := w.CommandServices().Relays
				for _, name := range []string{regionA, relayB} {
					_, err := s.Pause(t.Context(), name, 0)
					testserver.Must(t, err)
				}
				waitForTick()
				ids := []string{w.Send("bob@example.net"), w.Send("carl@example.net")}
				pass(30 * time.Minute)
				if n := len(first.Transactions("")) + len(second.Transactions("")); n > 0 {
					t.Errorf("%d transactions", n)
				}
				_, err := s.Resume(t.Context(), resumed)
				testserver.Must(t, err)
				pass(5 * time.Minute)
				if n := onceEach(t, w, ids, first, second); (n > 0) != (resumed == relayB) {
					t.Errorf("%d left through the reserve", n)
				}
			})
		})
	}
}

// A region continues with the remaining relays when the active one is removed.
func TestActiveRelayIsRemoved(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, first, _, _ := twoRelays(t, nil)
		s := w.CommandServices().Relays
		third := testserver.NewRelayOf(relayurl.Relay{Region: regionA, Name: regionA + "/c", Host: "c.test", Port: 587, Connections: 4}, testserver.Always(testserver.ReplyWith(app.StageMail, 451, "later")))
		w.Relays = append(w.Relays, third)
		_, err := s.Add(t.Context(), regionA+"/c=smtp://c.test")
		testserver.Must(t, err)
		waitForTick()
		_, err = s.Switch(t.Context(), regionA, "c")
		testserver.Must(t, err)
		waitForTick()
		ids := []string{w.Send("bob@example.net"), w.Send("carl@example.net")}
		pass(time.Second)
		_, err = s.Remove(t.Context(), regionA+"/c")
		testserver.Must(t, err)
		waitForTick()
		ids = append(ids, w.Send("dora@example.net"))
		pass(2 * time.Hour)
		onceEach(t, w, ids, first, third)
		if missing := w.Services.Settings.MissingRelay(app.OnlyQueue(regionA, regionA+"/c")); missing != "no relay us-east-1/c, through which alone the mail may leave" || w.Services.Settings.MissingRelay(app.OnlyQueue(regionA, relayB)) != "" {
			t.Errorf("missing: %q", missing)
		}
		if n := third.FinalDots(ids[0]); n != 0 {
			t.Errorf("%d left through the removed relay", n)
		}
		if st, err := s.Regions(t.Context()); err != nil || st[0].Active != regionA || st[0].ByOperator {
			t.Errorf("%+v %v", st, err)
		}
	})
}

// Each recipient of a broadcast gets it once, also when the region switches to and fro meanwhile.
func TestSwitchDuringBroadcast(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		slow := testserver.Always(func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
			time.Sleep(300 * time.Millisecond)
			return testserver.Accept(ctx, m, authorize)
		})
		w, first, second, _ := twoRelays(t, slow)
		second.SetScript(slow)
		w.AddSubscribers(400)
		b := w.AddDraft()
		w.Queue(b)
		s := w.CommandServices().Relays
		for i := range 6 {
			pass(4 * time.Second)
			_, err := s.Switch(t.Context(), regionA, []string{relayB, regionA}[i%2])
			testserver.Must(t, err)
		}
		pass(10 * time.Minute)
		testserver.WantEachOnce(t, testserver.Received(first, second), 400)
		if a, b := len(first.Transactions("")), len(second.Transactions("")); a < 40 || b < 40 {
			t.Errorf("%d through the primary, %d through the reserve", a, b)
		}
		if got := w.Broadcast(b.ID); got.Status != app.SentBroadcast {
			t.Errorf("the broadcast is %s", got.Status)
		}
	})
}

// sharing starts a server with two regions whose primaries fail and whose only reserve is b.
func sharing(t *testing.T, reserve relayurl.Relay) (w *testserver.Server, shared *testserver.FakeRelay, key *app.Key) {
	t.Helper()
	testserver.FastHeartbeat(t)
	broken := testserver.Always(testserver.RelayTrouble(app.StageConnect, "refused"))
	reserve.Region, reserve.Name, reserve.Host, reserve.Port, reserve.Connections = regionA, relayB, "b.test", 587, 4
	shared = testserver.NewRelayOf(reserve, nil)
	w = testserver.NewWithConfig(t, server.Config{PollEvery: pollEvery, Probe: func(_ context.Context, r relayurl.Relay, _ *app.Outgoing, _ bool) []relayurl.Step {
		return []relayurl.Step{{Step: "mail", OK: r.FullName() == relayB}}
	}}, testserver.NewRelayOf(relayurl.Relay{Region: regionA, Host: "relay.test", Port: 587, Connections: 4}, broken), shared,
		testserver.NewRelayOf(relayurl.Relay{Region: "eu-west-1", Host: "eu.test", Port: 587, Connections: 4}, broken))
	w.WriteDB(func(tx *db.Tx) error {
		return tx.SetRegion(db.RegionRow{Name: "eu-west-1", Settings: []byte(`{"also":["` + relayB + `"]}`), State: []byte("{}")})
	})
	w.Start()
	waitForTick()
	key = w.AddTeam("Beta", "beta.example")
	w.AddDomain(key.TeamID, "eu.example", "eu-west-1", app.DomainVerified)
	return w, shared, key
}

// A relay that serves two regions has one rate, one daily limit and one set of connections.
func TestRelaySharedByRegions(t *testing.T) {
	for name, limit := range map[string]relayurl.Relay{"rate": {Rate: 1}, "daily": {Daily: 12}, "connections": {}} {
		t.Run(name, func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				w, shared, key := sharing(t, limit)
				if name == "connections" {
					shared.SetScript(testserver.Always(func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
						time.Sleep(time.Second)
						return testserver.Accept(ctx, m, authorize)
					}))
				}
				for range 20 {
					w.Send("bob@example.net")
					in := testserver.Message("carl@example.net")
					in.From = "x@eu.example"
					_, err := w.Services.Mail.SendEmail(t.Context(), key, in, mail.SendOptions{})
					testserver.Must(t, err)
				}
				pass(10 * time.Minute)
				sent, regions := shared.Transactions(""), map[string]int{}
				for _, tx := range sent {
					regions[tx.Message.Mail.From.Domain]++
				}
				if len(regions) != 2 {
					t.Errorf("of domains %v", regions)
				}
				switch name {
				case "daily":
					if len(sent) != 12 {
						t.Errorf("%d left, the limit is 12 a day", len(sent))
					}
				case "rate":
					if took := sent[len(sent)-1].At.Sub(sent[0].At); len(sent) != 40 || took < 35*time.Second {
						t.Errorf("%d left in %s at a rate of 1 a second", len(sent), took)
					}
				default:
					if len(sent) != 40 || shared.MaxOpen > 4 {
						t.Errorf("%d left, %d at the same time through 4 connections", len(sent), shared.MaxOpen)
					}
				}
			})
		})
	}
}

// Two servers share the daily limit of a relay that serves two regions.
func TestServersShareDailyLimitOfReserve(t *testing.T) {
	testserver.PostgresOnly(t)
	testserver.Synctest(t, func(t *testing.T) {
		one, shared, key := sharing(t, relayurl.Relay{Daily: 12})
		var peers []*testserver.FakeRelay
		for _, relay := range one.Relays {
			peers = append(peers, testserver.NewRelayOf(relay.Relay, nil))
		}
		broken := testserver.Always(testserver.RelayTrouble(app.StageConnect, "refused"))
		peers[0].SetScript(broken)
		peers[2].SetScript(broken)
		two := one.AddNode(peers...)
		pass(time.Minute)
		for i := range 20 {
			w := []*testserver.Server{one, two}[i%2]
			w.Send("bob@example.net")
			in := testserver.Message("carl@example.net")
			in.From = "x@eu.example"
			_, err := w.Services.Mail.SendEmail(t.Context(), key, in, mail.SendOptions{})
			testserver.Must(t, err)
		}
		pass(10 * time.Minute)
		dots := 0
		for _, relay := range []*testserver.FakeRelay{shared, peers[1]} {
			dots += len(relay.Accepted)
		}
		if dots != 12 {
			t.Errorf("%d left through both servers, the limit is 12 a day", dots)
		}
	})
}
