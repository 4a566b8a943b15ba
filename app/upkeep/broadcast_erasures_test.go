package upkeep_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/audience"
	"mailer/app/relays"
	"mailer/app/world"
)

func TestWhoIsErasedGetsNothingThatWaitsInABroadcast(t *testing.T) {
	world.BothEngines(t)
	hang := func(ch chan struct{}) world.Script {
		return func(m *app.Outgoing, n int) world.Answer {
			if m.Recipients[0] == world.Person(5) && n == 1 {
				return world.After(ch, world.Accept)
			}
			return world.Accept
		}
	}
	late := func(a world.Answer) func(chan struct{}) world.Script {
		return func(chan struct{}) world.Script {
			return func(m *app.Outgoing, n int) world.Answer {
				if m.Recipients[0] == world.Person(5) && n == 1 {
					return a
				}
				return world.Accept
			}
		}
	}
	slow := relays.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 25, Connections: 2, Rate: 0.2}
	fast := relays.Relay{Region: app.DefaultRegion, Host: "relay.test", Port: 25, Connections: 2}
	for name, c := range map[string]struct {
		relay  relays.Relay
		script func(chan struct{}) world.Script
		tries  int
	}{
		"before its turn": {slow, func(chan struct{}) world.Script { return nil }, 0}, "before the dot": {fast, hang, 1},
		"put off": {fast, late(world.Says(app.StageData, 451, "later, "+world.Person(5))), 1}, "in doubt": {fast, late(world.Lost), 1},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T) {
				held := make(chan struct{})
				relay := world.NewRelayOf(c.relay, c.script(held))
				w := world.Serving(t, relay)
				w.People(10)
				b := w.Newsletter("<p>Hi {{{EMAIL}}}</p>", nil)
				world.Later(10 * time.Second)
				id := w.MailTo(b, world.Person(5))
				w.Erase(world.Person(5))
				w.WantLast(id, app.Suppressed)
				close(held)
				world.Later(time.Hour)
				if n := len(relay.Seen(id)); n != c.tries {
					t.Errorf("%d attempts, want %d", n, c.tries)
				}
				if world.Received(relay)[world.Person(5)] != 0 {
					t.Error("it was sent")
				}
				w.WantLast(id, app.Suppressed)
				if ev := w.EventOf(id, app.EventType(app.Suppressed)); ev.Recipient != app.Erased || ev.Detail.Message != "Not sent: the recipient was erased" {
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
				w.WantNoTrace(world.Person(5))
			})
		})
	}
}

// TestErasedRecipientsAreWithdrawnFirst: that much an answer promises even where
// the rest takes long.
func TestErasedRecipientsAreWithdrawnFirst(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		relay := world.NewRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 2, Rate: 0.2}, world.Always(world.Says(app.StageData, 451, "later")))
		w := world.Serving(t, relay)
		w.People(40)
		b := w.Newsletter("<p>x</p>", nil)
		world.Later(12 * time.Second)
		if *b = w.Broadcast(b.ID); b.Begun < 2 || b.Begun > 10 || b.Open != b.Begun {
			t.Fatalf("it stands at %+v", b)
		}
		job := audience.Erasure{ID: app.NewID(), Until: app.NewID(), Addresses: []string{world.Person(0), world.Person(39)}}
		world.Must(t, w.Server.Upkeep.WithdrawErased(t.Context(), w.Key.TeamID, job))
		now := w.Broadcast(b.ID)
		if got := w.Recipients(b, "suppressed"); got != world.Person(39)+" "+world.Person(0) || now.Counts.Suppressed != 2 || now.Open != b.Open-1 {
			t.Errorf("withdrawn are %q; it stands at %+v", got, now)
		}
		other := job
		other.Until, other.Addresses = b.Mails[:8], []string{world.Person(1), world.Person(38)} // an erasure of old
		world.Must(t, w.Server.Upkeep.WithdrawErased(t.Context(), w.Key.TeamID, other))
		if now := w.Broadcast(b.ID); now.Counts.Suppressed != 2 {
			t.Error("who was erased before the broadcast was made is withdrawn from it")
		}
	})
}

func TestWhoIsErasedUnderAnotherContactGetsNothingEither(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		relay := world.NewRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 2, Rate: 0.2}, nil)
		w := world.Serving(t, relay)
		w.People(10)
		w.Newsletter("<p>Hi</p>", nil)
		world.Later(time.Second)
		_, err := w.Server.Audience.DeleteContact(t.Context(), w.Key, world.Person(5), false)
		world.Must(t, err)
		w.Person(w.Key.TeamID, "P5@Example.net")
		w.Erase(world.Person(5))
		world.Later(time.Hour)
		if n := len(relay.Seen("")); n != 9 || world.Received(relay)[world.Person(5)] != 0 {
			t.Errorf("%d messages", n)
		}
		w.WantNoTrace(world.Person(5))
	})
}

func TestMailOfABroadcastThatIsLeavingIsErasedWhenItsOutcomeIsKnown(t *testing.T) {
	for name, end := range map[string]world.Answer{"taken": world.Accept, "put off": world.Says(app.StageDot, 450, "later, "+world.Person(1)), "lost": world.Lost} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := world.NewRelay(func(m *app.Outgoing, n int) world.Answer {
					if m.Recipients[0] != world.Person(1) || n > 1 {
						return world.Accept
					}
					return func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
						if hold() != nil {
							return app.Result{Kind: app.ResultWithdrawn}
						}
						<-hang
						return end(ctx, m, func() error { return nil })
					}
				})
				w := world.Serving(t, relay)
				w.People(3)
				b := w.Newsletter("<p>x</p>", nil)
				world.Later(time.Second)
				id := w.MailTo(b, world.Person(1))
				w.Erase(world.Person(1))
				if n := w.OpenErasures(); n != 1 {
					t.Errorf("%d erasures are open", n)
				}
				close(hang)
				world.Later(2 * time.Second)
				w.WantNoTrace(world.Person(1))
				world.Later(time.Hour)
				if n := len(relay.Seen(id)); n != 1 {
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

func TestABroadcastGoesOnWithoutTheErasedAddress(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		relay := world.NewRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 2, Rate: 0.2}, func(m *app.Outgoing, n int) world.Answer {
			if n == 1 && m.Recipients[0] == world.Person(0) {
				return world.Lost // its signature is kept
			}
			return world.Accept
		})
		w := world.Serving(t, relay)
		w.People(10)
		w.Person(w.Key.TeamID, world.Victim)
		b := w.Newsletter("<p>Write to "+world.Victim+"</p>", func(b *app.Broadcast) {
			b.ReplyTo = []app.Address{{Name: "Vic", Local: "vic.tim", Domain: "erase.example"}}
		})
		world.Later(11 * time.Second)
		before := len(relay.Seen(""))
		w.Erase(world.Victim)
		world.Later(time.Hour)
		w.WantNoTrace(world.Victim)
		tries := relay.Seen("")
		if before < 1 || len(tries) < before+8 {
			t.Fatalf("%d attempts before, %d in all", before, len(tries))
		}
		for i, try := range tries {
			old := strings.Contains(try.M.Mail.Whole().HTML, world.Victim) || slices.ContainsFunc(try.M.Mail.ReplyTo, func(a app.Address) bool { return !a.IsErased() })
			if old != (i < before) {
				t.Errorf("attempt %d of %d, to %s: the old content %v", i, before, try.M.Recipients[0], old)
			}
			if i >= before && try.M.Signature != "" {
				t.Error("an old signature for new bytes")
			}
		}
		if end := w.Broadcast(b.ID); end.Status != app.SentBroadcast || end.Counts.Sent != 10 || end.Counts.Suppressed != 1 {
			t.Errorf("the broadcast ended as %+v", end)
		}
	})
}

func TestNoBroadcastLeavesInTheNameOfAnErasedSender(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		relay := world.NewRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 2, Rate: 0.2}, nil)
		w := world.Serving(t, relay)
		w.People(10)
		w.Person(w.Key.TeamID, "ann@"+world.TestDomain)
		b := w.Newsletter("<p>x</p>", nil)
		world.Later(6 * time.Second)
		before := len(world.Received(relay))
		w.Erase("ann@" + world.TestDomain)
		world.Later(time.Hour)
		if n := len(world.Received(relay)); n != before {
			t.Errorf("%d messages afterwards", n-before)
		}
		if end := w.Broadcast(b.ID); end.Status != app.CanceledBroadcast || end.Open != 0 || !end.From.IsErased() {
			t.Errorf("the broadcast ended as %+v", end)
		}
		if email := w.Email(app.MailID(b.Mails, 9)); !email.From.IsErased() || email.LastEvent != app.Canceled {
			t.Errorf("it reads %+v", email)
		}
		w.WantNoTrace("ann@" + world.TestDomain)
	})
}

func TestBroadcastsOfAnotherTeamKeepAnErasedAddress(t *testing.T) {
	w := world.Idle(t, world.NewRelay(nil))
	other := w.AddTeam("Other", "other.example")
	w.ScatterBroadcast(other, "x@other.example")
	before := w.Rows(`SELECT id, name, subject, reply_to FROM broadcasts ORDER BY id`) + w.Rows(`SELECT id, email, coalesce(fields, ''), '' FROM broadcast_recipients ORDER BY id`)
	c := w.Person(w.Key.TeamID, world.Victim)
	world.Must(t, w.Server.Audience.EraseContacts(t.Context(), w.Key.TeamID, []app.Contact{c}))
	wantErased(w)
	if after := w.Rows(`SELECT id, name, subject, reply_to FROM broadcasts ORDER BY id`) + w.Rows(`SELECT id, email, coalesce(fields, ''), '' FROM broadcast_recipients ORDER BY id`); after != before {
		t.Errorf("what the other team has is now\n%s\nwas\n%s", after, before)
	}
	if !strings.Contains(before, world.Victim) {
		t.Error("it had nothing")
	}
}
