package relays_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/feedback"
	"mailer/app/sending/mail"
	"mailer/app/sending/queue"
	"mailer/app/sending/relays"
	"mailer/app/testing/testserver"
)

// addRoute adds a rule to the default region.
func addRoute(w *testserver.Server, in relays.RouteInput) relays.Route {
	w.T.Helper()
	if in.Relay == "" {
		in.Relay = "b"
	}
	added, err := w.CommandServices().Relays.AddRoute(w.T.Context(), app.DefaultRegion, in)
	testserver.Must(w.T, err)
	waitForTick()
	return added
}

func wantDots(t *testing.T, what, id string, relay *testserver.FakeRelay, want int) {
	t.Helper()
	if got := relay.FinalDots(id); got != want {
		t.Errorf("%s left %d times through %s, want %d", what, got, relay.FullName(), want)
	}
}

func TestRulesChooseTheRelay(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w, first, second, _ := twoRelays(t, nil)
		beta := w.AddTeam("Beta", "beta.example")
		_, made, err := w.Services.Teams.CreateKey(t.Context(), beta.TeamID, app.KeyInput{Name: "shop", Permission: app.SendingAccess, Role: app.RoleMember})
		testserver.Must(t, err)
		beta.ID = made.ID
		sendBeta := func(to string) string {
			in := testserver.Message(to)
			in.From = "x@beta.example"
			id, err := w.Services.Mail.SendEmail(t.Context(), beta, in, mail.SendOptions{})
			testserver.Must(t, err)
			return id
		}
		before := w.Send("ann@bücher.example")
		pass(time.Second)
		wantDots(t, "mail before the rule", before, first, 1)

		rule := addRoute(w, relays.RouteInput{ToDomains: []string{"Bücher.example", "gmail.com"}})
		id, other := w.Send("ann@bücher.example"), w.Send("ann@example.net")
		pass(time.Second)
		wantDots(t, "mail to the domain", id, second, 1)
		wantDots(t, "other mail", other, first, 1)
		if text := w.Events(id)[0].Detail.Message; !strings.HasSuffix(text, ", by the rule: mail to xn--bcher-kva.example, gmail.com through "+app.DefaultRegion+"/b") {
			t.Errorf("event %q", text)
		}
		if text := w.Timeline(other); strings.Contains(text, "rule") {
			t.Errorf("timeline %s", text)
		}
		list, err := w.CommandServices().Relays.Routes(t.Context(), "")
		testserver.Must(t, err)
		if len(list) != 1 || list[0].ID != rule.ID || list[0].Position != 1 || list[0].Note != "" {
			t.Errorf("%+v", list)
		}
		_, err = w.CommandServices().Relays.RemoveRoute(t.Context(), app.DefaultRegion, rule.ID)
		testserver.Must(t, err)
		addRoute(w, relays.RouteInput{Key: "shop"})
		alpha, routed := w.Send("carl@example.net"), sendBeta("carl@example.net")
		pass(time.Second)
		wantDots(t, "mail of another key", alpha, first, 1)
		wantDots(t, "mail of the key", routed, second, 1)
	})
}

func TestRuleErrorsNameTheField(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, _, _, _ := twoRelays(t, nil)
		s := w.CommandServices().Relays
		for want, in := range map[string]relays.RouteInput{
			"`relay` is required":                       {Stream: "broadcast"},
			"`relay` must be a relay of us-east-1":      {Stream: "broadcast", Relay: "nowhere"},
			"at least one of `to_domain`":               {Relay: "b", Strict: true},
			"`to_domain` must hold domains":             {Relay: "b", ToDomains: []string{"gmail.com", "a b.example"}},
			"`to_domain` must hold domains like":        {Relay: "b", ToDomains: []string{"ann@gmail.com"}},
			"`stream` must be":                          {Relay: "b", Stream: "bulk"},
			"`weight` must be":                          {Relay: "b", Weight: 100},
			"`key` must be the id or name":              {Relay: "b", Key: "nobody"},
			"`key` does not apply":                      {Relay: "b", Key: "x", Stream: "broadcast"},
			"`to_domain` must not hold more than 500":   {Relay: "b", ToDomains: make([]string, 501)},
			"`weight` must be a percentage from 1 to 9": {Relay: "b", Weight: -1},
		} {
			_, err := s.AddRoute(t.Context(), app.DefaultRegion, in)
			if testserver.WantCode(t, err, app.CodeValidation); err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%q, want %q", err, want)
			}
		}
		_, err := s.AddRoute(t.Context(), "mars", relays.RouteInput{Relay: "b", Weight: 1})
		testserver.WantCode(t, err, app.CodeNotFound)
		_, err = s.RemoveRoute(t.Context(), app.DefaultRegion, "nothing")
		testserver.WantCode(t, err, app.CodeNotFound)
		addRoute(w, relays.RouteInput{Weight: 10})
		_, err = s.AddRoute(t.Context(), app.DefaultRegion, relays.RouteInput{Relay: app.DefaultRegion + "/b", Weight: 10})
		testserver.WantCode(t, err, app.CodeConflict)
	})
}

// Mail of a rule waits for a strict relay, and follows the active relay otherwise.
func TestRouteWhileItsRelayIsDown(t *testing.T) {
	testserver.BothEngines(t)
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprint("strict=", strict), func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				w, first, second, down := twoRelays(t, nil)
				addRoute(w, relays.RouteInput{ToDomains: []string{"example.net"}, Strict: strict})
				second.SetScript(testserver.Always(testserver.RelayTrouble(app.StageConnect, "refused")))
				down.add(app.DefaultRegion + "/b")
				id := w.Send("bob@example.net")
				pass(10 * time.Minute)
				if through := first.FinalDots(id); (through == 1) == strict {
					t.Errorf("%d times through the active relay", through)
				}
				if strict {
					moved := w.Send("dora@example.net")
					res, err := w.CommandServices().Queue.Move(t.Context(), queue.Filter{IDs: []string{moved}}, app.DefaultRegion)
					if testserver.Must(t, err); res.Changed != 1 {
						t.Errorf("%+v", res)
					}
					pass(10 * time.Second)
					wantDots(t, "moved mail", moved, first, 1)
				}
				second.SetScript(nil)
				down.remove(app.DefaultRegion + "/b")
				pass(30 * time.Minute)
				w.WantLastEvent(id, app.Sent)
				next := w.Send("carl@example.net")
				pass(time.Second)
				wantDots(t, "mail after the outage", next, second, 1)
				if n := first.FinalDots(id) + second.FinalDots(id); n != 1 {
					t.Errorf("it left %d times", n)
				}
			})
		})
	}
}

// Mail that waits by a rule leaves when the rule, or its relay, is gone.
func TestMailOfRemovedRuleLeaves(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w, first, second, down := twoRelays(t, nil)
		rule := addRoute(w, relays.RouteInput{ToDomains: []string{"example.net"}})
		second.SetScript(testserver.Always(testserver.RelayTrouble(app.StageConnect, "refused")))
		down.add(app.DefaultRegion + "/b")
		id := w.Send("bob@example.net")
		split := w.Send("bob@example.net", "eve@example.org")
		pass(10 * time.Second)
		wantDots(t, "mail of the rule", id, first, 0)
		wantDots(t, "the part without a rule", split, first, 1)
		_, err := w.CommandServices().Relays.RemoveRoute(t.Context(), app.DefaultRegion, rule.ID)
		testserver.Must(t, err)
		pass(time.Minute)
		wantDots(t, "mail of the removed rule", id, first, 1)
		wantDots(t, "both parts", split, first, 2)
		w.WantLastEvent(id, app.Sent)
		if n := w.SQL("SELECT count(*) FROM units")[0]; n != "0" {
			t.Errorf("%s units are left", n)
		}
	})
}

func TestRelayOfRuleIsRemoved(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		w.Start()
		name := app.DefaultRegion + "/c"
		third := connectFake(w, app.DefaultRegion, nil)
		third.Name = name
		addRelay(w, name+"=smtp://relay.test")
		addRoute(w, relays.RouteInput{ToDomains: []string{"example.net"}, Relay: "c"})
		addRoute(w, relays.RouteInput{ToDomains: []string{"example.org"}, Relay: "c", Strict: true})
		id := w.Send("bob@example.net")
		pass(time.Second)
		wantDots(t, "mail of the rule", id, third, 1)
		_, err := w.CommandServices().Relays.Remove(t.Context(), name)
		testserver.Must(t, err)
		waitForTick()
		id, strict := w.Send("bob@example.net"), w.Send("bob@example.org")
		pass(2 * time.Minute)
		w.WantLastEvent(id, app.Sent)
		w.WantLastEvent(strict, app.Queued)
		list, err := w.CommandServices().Relays.Routes(t.Context(), app.DefaultRegion)
		testserver.Must(t, err)
		if !strings.Contains(list[0].Note, "leaves through the active relay") || !strings.Contains(list[1].Note, "mail waits") {
			t.Errorf("%+v", list)
		}
		if !w.Log.Contains("no relay " + name) {
			t.Errorf("log %s", w.Log.String())
		}
		addRelay(w, name+"=smtp://relay.test")
		pass(time.Minute)
		w.WantLastEvent(strict, app.Sent)
	})
}

// An email to recipients in several queues is one transaction for each, with the same Message-ID.
func TestEmailIsSplitByRules(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w, first, second, _ := twoRelays(t, nil)
		addRoute(w, relays.RouteInput{ToDomains: []string{"example.net"}})
		addRoute(w, relays.RouteInput{ToDomains: []string{"example.org"}, Strict: true})
		id := w.Send("a@example.com", "b@example.net", "c@example.org", "d@example.com", "e@example.net")
		pass(time.Second)
		var got []string
		messageIDs := map[string]bool{}
		for _, tr := range append(first.Transactions(id), second.Transactions(id)...) {
			got = append(got, strings.Join(tr.Message.Recipients, " "))
			messageIDs[tr.Message.MessageID] = true
		}
		if want := []string{"a@example.com d@example.com", "b@example.net e@example.net", "c@example.org"}; !slices.Equal(got, want) || len(messageIDs) != 1 {
			t.Errorf("transactions %q with %d Message-IDs, want %q", got, len(messageIDs), want)
		}
		w.WantLastEvent(id, app.Sent)
		if n := w.SQL("SELECT count(*) FROM recipients WHERE state <> 'sent'")[0] + w.SQL("SELECT count(*) FROM units")[0]; n != "00" {
			t.Errorf("%s", n)
		}
	})
}

// Each part of an email is tried again for itself, also when another one waits for a strict relay.
func TestPartsAreTriedAgain(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w, first, second, down := twoRelays(t, testserver.InOrder(testserver.ReplyWith(app.StageRcpt, 451, "greylisted"), testserver.ReplyWith(app.StageRcpt, 451, "greylisted")))
		addRoute(w, relays.RouteInput{ToDomains: []string{"example.net"}, Strict: true})
		second.SetScript(testserver.Always(testserver.RelayTrouble(app.StageConnect, "refused")))
		down.add(app.DefaultRegion + "/b")
		id := w.Send("a@example.com", "b@example.net")
		pass(20 * time.Minute)
		if n := len(first.Transactions(id)); n != 3 || first.FinalDots(id) != 1 {
			t.Errorf("%d transactions through the active relay", n)
		}
		second.SetScript(nil)
		down.remove(app.DefaultRegion + "/b")
		pass(time.Hour)
		wantDots(t, "the strict part", id, second, 1)
		wantDots(t, "the other part", id, first, 1)
	})
}

// The part of an email in doubt stays with its relay; the other parts are sent.
func TestPartInDoubt(t *testing.T) {
	testserver.BothEngines(t)
	for _, crash := range []bool{false, true} {
		t.Run(fmt.Sprint("crash=", crash), func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				lose := testserver.LoseReply
				if crash {
					lose = testserver.ReplyAfter(nil) // never
				}
				w, first, second, _ := twoRelays(t, testserver.InOrder(lose))
				addRoute(w, relays.RouteInput{ToDomains: []string{"example.net"}})
				id := w.Send("a@example.com", "b@example.net")
				pass(10 * time.Second)
				left := map[string]int{}
				count := func() {
					for _, relay := range []*testserver.FakeRelay{first, second} {
						for _, tr := range relay.Transactions(id) {
							left[relay.FullName()+" "+strings.Join(tr.Message.Recipients, " ")]++
						}
					}
				}
				if crash {
					count()
					first, second = testserver.NewRelayOf(first.Relay, nil), testserver.NewRelayOf(second.Relay, nil)
					w = w.Crash(first, second)
					w.Start()
					pass(10 * time.Second)
				}
				wantDots(t, "the part without a doubt", id, second, 1)
				if d := w.Doubts(); len(d) != 1 || !slices.Equal(d[0].Recipients, []string{"a@example.com"}) || d[0].Relay != app.DefaultRegion || d[0].Settled != "" {
					t.Errorf("doubts %+v", d)
				}
				_, err := w.CommandServices().Relays.Switch(t.Context(), app.DefaultRegion, "b")
				testserver.Must(t, err)
				res, err := w.CommandServices().Queue.Move(t.Context(), queue.Filter{Relay: app.DefaultRegion}, app.DefaultRegion)
				if testserver.Must(t, err); res.Matched != 1 || res.Changed != 0 {
					t.Errorf("moved %+v", res)
				}
				pass(5 * time.Minute)
				w.WantLastEvent(id, app.Sent)
				count()
				if a, b := left[app.DefaultRegion+" a@example.com"], left[app.DefaultRegion+"/b b@example.net"]; len(left) != 2 || a != 2 || b != 1 {
					t.Errorf("%v", left)
				}
				if d := w.Doubts(); len(d) != 1 || !strings.Contains(d[0].Settled, "sent again") {
					t.Errorf("doubts %+v", d)
				}
			})
		})
	}
}

// A crash at any point of the transactions of a split email neither loses nor doubles a recipient
// whose outcome is known.
func TestCrashesBetweenParts(t *testing.T) {
	testserver.BothEngines(t)
	hang := testserver.After(nil, testserver.Accept) // before the final dot
	testserver.Synctest(t, func(t *testing.T) {
		w, first, second, _ := twoRelays(t, testserver.Always(hang))
		addRoute(w, relays.RouteInput{ToDomains: []string{"example.net"}})
		addRoute(w, relays.RouteInput{ToDomains: []string{"example.org"}, Strict: true})
		id := w.Send("a@example.com", "b@example.net", "c@example.org")
		got := map[string]int{}
		count := func(all ...*testserver.FakeRelay) {
			for _, relay := range all {
				relay.Mu.Lock()
				for _, address := range relay.Accepted {
					got[address]++
				}
				relay.Mu.Unlock()
			}
		}
		for step := range 4 {
			pass(20 * time.Second)
			count(first, second)
			first, second = testserver.NewRelayOf(first.Relay, nil), testserver.NewRelayOf(second.Relay, nil)
			if step < 2 {
				second.SetScript(func(m *app.Outgoing, _ int) testserver.Answer {
					if step == 0 || m.Recipients[0] == "c@example.org" {
						return hang
					}
					return nil
				})
			}
			w = w.Crash(first, second)
			w.Start()
		}
		pass(5 * time.Minute)
		count(first, second)
		for _, address := range []string{"a@example.com", "b@example.net", "c@example.org"} {
			if got[address] != 1 {
				t.Errorf("%v", got)
			}
		}
		w.WantLastEvent(id, app.Sent)
		if d := w.Doubts(); len(d) != 0 {
			t.Errorf("doubts %+v", d)
		}
	})
}

// Provider events settle single recipients of a part in doubt, while another part waits.
func TestProviderEventsSettlePart(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w, first, second, down := twoRelays(t, testserver.InOrder(testserver.LoseReply))
		addRoute(w, relays.RouteInput{ToDomains: []string{"example.net"}, Strict: true})
		second.SetScript(testserver.Always(testserver.RelayTrouble(app.StageConnect, "refused")))
		down.add(app.DefaultRegion + "/b")
		id := w.Send("a@example.com", "b@example.net", "c@example.com")
		pass(10 * time.Second)
		w.Report(testserver.HardBounce(id, "a@example.com", "5.1.1"), feedback.Report{EmailID: id, Recipient: "c@example.com", Kind: feedback.Delivered})
		pass(30 * time.Minute)
		w.WantRecipientStates(id, "a@example.com bounced, b@example.net queued, c@example.com delivered")
		second.SetScript(nil)
		down.remove(app.DefaultRegion + "/b")
		pass(30 * time.Minute)
		w.WantRecipientStates(id, "a@example.com bounced, b@example.net sent, c@example.com delivered")
		wantDots(t, "the settled part", id, first, 1)
		wantDots(t, "the other part", id, second, 1)
	})
}

func TestBroadcastLeavesThroughRelayOfRule(t *testing.T) {
	testserver.BothEngines(t)
	for name, in := range map[string]relays.RouteInput{
		"all":    {Stream: "broadcast"},
		"strict": {Stream: "broadcast", Strict: true},
		"some":   {ToDomains: []string{"example.org"}},
	} {
		t.Run(name, func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				w, first, second, _ := twoRelays(t, nil)
				w.AddSubscribers(60)
				addRoute(w, in)
				b := w.AddDraft()
				w.Queue(b)
				pass(10 * time.Minute)
				testserver.WantEachOnce(t, testserver.Received(first, second), 60)
				if st := w.Broadcast(b.ID); st.Status != app.SentBroadcast || st.Counts.Sent != 60 {
					t.Errorf("%+v", st)
				}
				if n := len(second.Transactions("")); n != map[string]int{"all": 60, "strict": 60}[name] {
					t.Errorf("%d through the relay of the rule", n)
				}
			})
		})
	}
}

func TestBroadcastIsSharedByWeight(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w, first, second, _ := twoRelays(t, nil)
		w.AddSubscribers(200)
		addRoute(w, relays.RouteInput{Stream: "broadcast", Weight: 50})
		b := w.AddDraft()
		w.Queue(b)
		pass(10 * time.Minute)
		testserver.WantEachOnce(t, testserver.Received(first, second), 200)
		routed := second.Transactions("")
		if n := len(routed); n < 70 || n > 130 || w.Broadcast(b.ID).Status != app.SentBroadcast {
			t.Errorf("%d through the relay of the rule, broadcast %+v", n, w.Broadcast(b.ID))
		}
		if text := w.Timeline(routed[0].Message.EmailID); !strings.Contains(text, "by the rule: 50 % of broadcasts through") {
			t.Errorf("timeline %s", text)
		}
	})
}
