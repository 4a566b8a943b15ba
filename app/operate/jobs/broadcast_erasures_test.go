package jobs_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
)

func TestErasedRecipientLeavesBroadcast(t *testing.T) {
	testserver.BothEngines(t)
	hang := func(ch chan struct{}) testserver.Script {
		return func(m *app.Outgoing, n int) testserver.Answer {
			if m.Recipients[0] == testserver.SubscriberAddress(5) && n == 1 {
				return testserver.After(ch, testserver.Accept)
			}
			return testserver.Accept
		}
	}
	late := func(a testserver.Answer) func(chan struct{}) testserver.Script {
		return func(chan struct{}) testserver.Script {
			return func(m *app.Outgoing, n int) testserver.Answer {
				if m.Recipients[0] == testserver.SubscriberAddress(5) && n == 1 {
					return a
				}
				return testserver.Accept
			}
		}
	}
	slow := relayurl.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 25, Connections: 2, Rate: 0.2}
	fast := relayurl.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 25, Connections: 2}
	for name, c := range map[string]struct {
		relay  relayurl.Relay
		script func(chan struct{}) testserver.Script
		tries  int
	}{
		"before its turn": {slow, func(chan struct{}) testserver.Script { return nil }, 0}, "before the dot": {fast, hang, 1},
		"put off": {fast, late(testserver.ReplyWith(app.StageData, 451, "later, "+testserver.SubscriberAddress(5))), 1}, "in doubt": {fast, late(testserver.LoseReply), 1},
	} {
		t.Run(name, func(t *testing.T) {
			testserver.SynctestHours(t, func(t *testing.T) {
				held := make(chan struct{})
				relay := testserver.NewRelayOf(c.relay, c.script(held))
				w := testserver.Start(t, relay)
				w.AddSubscribers(10)
				b := w.SendNewsletter("<p>Hi {{{EMAIL}}}</p>", nil)
				testserver.SleepAndSettle(10 * time.Second)
				id := w.EmailIDTo(b, testserver.SubscriberAddress(5))
				w.Erase(testserver.SubscriberAddress(5))
				w.WantLastEvent(id, app.Suppressed)
				close(held)
				testserver.SleepAndSettle(time.Hour)
				if n := len(relay.Transactions(id)); n != c.tries {
					t.Errorf("%d attempts, want %d", n, c.tries)
				}
				if testserver.Received(relay)[testserver.SubscriberAddress(5)] != 0 {
					t.Error("it was sent")
				}
				w.WantLastEvent(id, app.Suppressed)
				if ev := w.OnlyEvent(id, app.EventType(app.Suppressed)); ev.Recipient != app.Erased || ev.Detail.Message != "Not sent: the recipient was erased" {
					t.Errorf("event %+v", ev)
				}
				if email := w.Email(id); !email.To[0].IsErased() || strings.Contains(email.HTML, "p5@") {
					t.Errorf("it reads %+v", email)
				}
				if end := w.Broadcast(b.ID); end.Status != app.SentBroadcast || end.Counts.Sent != 9 || end.Counts.Suppressed != 1 || end.Open != 0 {
					t.Errorf("the broadcast ended as %+v", end)
				}
				for _, d := range w.Doubts() {
					if d.EmailID == id && (d.Recipients[0] != app.Erased || !strings.Contains(d.Settled, "erased")) {
						t.Errorf("doubt %+v", d)
					}
				}
				w.WantNoTrace(testserver.SubscriberAddress(5))
			})
		})
	}
}

// TestErasureWithdrawsRecipientsFirst: the answer promises it even if the rest takes long.
func TestErasureWithdrawsRecipientsFirst(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 2, Rate: 0.2}, testserver.Always(testserver.ReplyWith(app.StageData, 451, "later")))
		w := testserver.Start(t, relay)
		w.AddSubscribers(40)
		b := w.SendNewsletter("<p>x</p>", nil)
		testserver.SleepAndSettle(12 * time.Second)
		if *b = w.Broadcast(b.ID); b.Started < 2 || b.Started > 10 || b.Open != b.Started {
			t.Fatalf("its state is %+v", b)
		}
		job := audience.Erasure{ID: app.NewID(), Until: app.NewID(), Addresses: []string{testserver.SubscriberAddress(0), testserver.SubscriberAddress(39)}}
		testserver.Must(t, w.Services.Jobs.WithdrawErased(t.Context(), w.Key.TeamID, job))
		now := w.Broadcast(b.ID)
		if got := w.Recipients(b, "suppressed"); got != testserver.SubscriberAddress(39)+" "+testserver.SubscriberAddress(0) || now.Counts.Suppressed != 2 || now.Open != b.Open-1 {
			t.Errorf("withdrawn are %q; its state is %+v", got, now)
		}
		other := job
		other.Until, other.Addresses = b.EmailIDPrefix[:8], []string{testserver.SubscriberAddress(1), testserver.SubscriberAddress(38)} // an erasure of an older version
		testserver.Must(t, w.Services.Jobs.WithdrawErased(t.Context(), w.Key.TeamID, other))
		if now := w.Broadcast(b.ID); now.Counts.Suppressed != 2 {
			t.Error("who was erased before the broadcast was made is withdrawn from it")
		}
	})
}

func TestErasureCoversAddressOfAnotherContact(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 2, Rate: 0.2}, nil)
		w := testserver.Start(t, relay)
		w.AddSubscribers(10)
		w.SendNewsletter("<p>Hi</p>", nil)
		testserver.SleepAndSettle(time.Second)
		_, err := w.Services.Audience.DeleteContact(t.Context(), w.Key, testserver.SubscriberAddress(5), false)
		testserver.Must(t, err)
		w.CreateContact(w.Key.TeamID, "P5@Example.net")
		w.Erase(testserver.SubscriberAddress(5))
		testserver.SleepAndSettle(time.Hour)
		if n := len(relay.Transactions("")); n != 9 || testserver.Received(relay)[testserver.SubscriberAddress(5)] != 0 {
			t.Errorf("%d messages", n)
		}
		w.WantNoTrace(testserver.SubscriberAddress(5))
	})
}

func TestBroadcastMailInFlightIsErasedAfterOutcome(t *testing.T) {
	for name, end := range map[string]testserver.Answer{"taken": testserver.Accept, "put off": testserver.ReplyWith(app.StageDot, 450, "later, "+testserver.SubscriberAddress(1)), "lost": testserver.LoseReply} {
		t.Run(name, func(t *testing.T) {
			testserver.SynctestHours(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := testserver.NewRelay(func(m *app.Outgoing, n int) testserver.Answer {
					if m.Recipients[0] != testserver.SubscriberAddress(1) || n > 1 {
						return testserver.Accept
					}
					return func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
						if authorize() != nil {
							return app.Result{Kind: app.ResultWithdrawn}
						}
						<-hang
						return end(ctx, m, func() error { return nil })
					}
				})
				w := testserver.Start(t, relay)
				w.AddSubscribers(3)
				b := w.SendNewsletter("<p>x</p>", nil)
				testserver.SleepAndSettle(time.Second)
				id := w.EmailIDTo(b, testserver.SubscriberAddress(1))
				w.Erase(testserver.SubscriberAddress(1))
				if n := w.OpenErasures(); n != 1 {
					t.Errorf("%d erasures are open", n)
				}
				close(hang)
				testserver.SleepAndSettle(2 * time.Second)
				w.WantNoTrace(testserver.SubscriberAddress(1))
				testserver.SleepAndSettle(time.Hour)
				if n := len(relay.Transactions(id)); n != 1 {
					t.Errorf("%d attempts", n)
				}
				sent := int64(2)
				if name == "taken" {
					sent = 3
				}
				if end := w.Broadcast(b.ID); end.Status != app.SentBroadcast || end.Counts.Sent != sent || end.Open != 0 {
					t.Errorf("the broadcast ended as %+v", end)
				}
			})
		})
	}
}

func TestBroadcastContinuesAfterErasure(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 2, Rate: 0.2}, func(m *app.Outgoing, n int) testserver.Answer {
			if n == 1 && m.Recipients[0] == testserver.SubscriberAddress(0) {
				return testserver.LoseReply // its signature is stored
			}
			return testserver.Accept
		})
		w := testserver.Start(t, relay)
		w.AddSubscribers(10)
		w.CreateContact(w.Key.TeamID, testserver.ErasedAddress)
		b := w.SendNewsletter("<p>Write to "+testserver.ErasedAddress+"</p>", func(b *app.Broadcast) {
			b.ReplyTo = []app.Address{{Name: "Vic", Local: "vic.tim", Domain: "erase.example"}}
		})
		testserver.SleepAndSettle(11 * time.Second)
		before := len(relay.Transactions(""))
		w.Erase(testserver.ErasedAddress)
		testserver.SleepAndSettle(time.Hour)
		wantOnlyFreeText(w)
		tries := relay.Transactions("")
		if before < 1 || len(tries) < before+8 {
			t.Fatalf("%d attempts before, %d in all", before, len(tries))
		}
		for i, try := range tries {
			old := slices.ContainsFunc(try.Message.Mail.ReplyTo, func(a app.Address) bool { return !a.IsErased() })
			if text := try.Message.Mail.Flatten().HTML; old != (i < before) || !strings.Contains(text, testserver.ErasedAddress) {
				t.Errorf("attempt %d of %d, to %s: the old address %v, the text %s", i, before, try.Message.Recipients[0], old, text)
			}
			if i >= before && try.Message.Signature != "" {
				t.Error("an old signature for new bytes")
			}
		}
		if end := w.Broadcast(b.ID); end.Status != app.SentBroadcast || end.Counts.Sent != 10 || end.Counts.Suppressed != 1 {
			t.Errorf("the broadcast ended as %+v", end)
		}
	})
}

func TestErasureStopsBroadcastOfErasedSender(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 2, Rate: 0.2}, nil)
		w := testserver.Start(t, relay)
		w.AddSubscribers(10)
		w.CreateContact(w.Key.TeamID, "ann@"+testserver.TestDomain)
		b := w.SendNewsletter("<p>x</p>", nil)
		testserver.SleepAndSettle(6 * time.Second)
		before := len(testserver.Received(relay))
		w.Erase("ann@" + testserver.TestDomain)
		testserver.SleepAndSettle(time.Hour)
		if n := len(testserver.Received(relay)); n != before {
			t.Errorf("%d messages afterwards", n-before)
		}
		if end := w.Broadcast(b.ID); end.Status != app.CanceledBroadcast || end.Open != 0 || !end.From.IsErased() {
			t.Errorf("the broadcast ended as %+v", end)
		}
		if email := w.Email(app.BroadcastEmailID(b.EmailIDPrefix, 9)); !email.From.IsErased() || email.LastEvent != app.Canceled {
			t.Errorf("it reads %+v", email)
		}
		w.WantNoTrace("ann@" + testserver.TestDomain)
	})
}

func TestErasureLeavesOtherTeamsBroadcasts(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	other := w.AddTeam("Other", "other.example")
	w.PlantInBroadcasts(other, "x@other.example")
	before := w.Rows(`SELECT id, name, subject, reply_to FROM broadcasts ORDER BY id`) + w.Rows(`SELECT id, email, coalesce(fields, ''), '' FROM broadcast_recipients ORDER BY id`)
	c := w.CreateContact(w.Key.TeamID, testserver.ErasedAddress)
	testserver.Must(t, w.Services.Audience.EraseContacts(t.Context(), w.Key.TeamID, []app.Contact{c}))
	wantErased(w)
	if after := w.Rows(`SELECT id, name, subject, reply_to FROM broadcasts ORDER BY id`) + w.Rows(`SELECT id, email, coalesce(fields, ''), '' FROM broadcast_recipients ORDER BY id`); after != before {
		t.Errorf("what the other team has is now\n%s\nwas\n%s", after, before)
	}
	if !strings.Contains(before, testserver.ErasedAddress) {
		t.Error("it had nothing")
	}
}
