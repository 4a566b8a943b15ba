package delivery_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/mail"
	"mailer/app/relays"
	"mailer/app/server"
	"mailer/app/world"
	"mailer/db"
)

// dead is a relay that can't be reached.
func dead() *world.FakeRelay {
	return world.NewRelay(world.Always(world.Trouble(app.StageConnect, "connection refused")))
}

// expiring has an email of a team accepted that is worth something for so long.
func expiring(w *world.World, key *app.Key, expires string) string {
	w.T.Helper()
	in := world.Letter("bob@example.net")
	if key != w.Key {
		in.From = "x@other.example"
	}
	in.ExpiresIn = expires
	id, err := w.Server.Mail.SendEmail(w.T.Context(), key, in, mail.SendOptions{})
	world.Must(w.T, err)
	return id
}

// wantExpired checks that an email of the first team failed once, by its expiry, after
// so long or up to ExpireEvery more.
func wantExpired(w *world.World, id string, after time.Duration) {
	w.T.Helper()
	w.WantLast(id, app.Failed)
	if w.Unit(id) != nil {
		w.T.Errorf("%s is left in the queue", id)
	}
	ev := w.EventOf(id, app.EventType(app.Failed))
	if ev.Detail.Reason != app.ReasonExpired || !strings.HasPrefix(ev.Detail.Message, "Expired after ") {
		w.T.Errorf("event %+v", ev.Detail)
	}
	if late := ev.CreatedAt.Sub(w.Email(id).CreatedAt) - after; late < 0 || late > time.Minute+time.Second {
		w.T.Errorf("it expired %v after its time:\n%s", late, w.Story(id))
	}
}

func TestMailExpiresThatIsNeverAttemptedSinceItsRelayIsDown(t *testing.T) {
	world.Days(t, func(t *testing.T) {
		relay := dead()
		w := world.IdleWith(t, server.Config{MaxWait: 2 * time.Hour, PollEvery: time.Minute}, relay)
		w.Start()
		other := w.AddTeam("Other", "other.example")
		first := w.Send("bob@example.net")
		synctest.Wait()
		var ids []string
		for range 150 { // more than are probed in two hours
			ids = append(ids, expiring(w, w.Key, ""))
		}
		code, theirs := expiring(w, w.Key, "10m"), expiring(w, other, "10m")
		world.Sleep(10*time.Minute - time.Second)
		w.WantLast(code, app.Queued)
		world.Sleep(2 * time.Minute)
		wantExpired(w, code, 10*time.Minute)
		if got := w.Sql("SELECT last_event FROM emails WHERE id = ?", theirs)[0]; got != "failed" {
			t.Errorf("the other team's code is %s", got)
		}
		world.Sleep(107 * time.Minute)
		w.WantLast(ids[0], app.Queued)
		world.Sleep(3 * time.Minute)
		for _, id := range append(ids, first) {
			wantExpired(w, id, 2*time.Hour)
		}
		relay.Follow(nil)
		world.Sleep(time.Hour)
		if len(relay.Took) > 0 {
			t.Errorf("%d left after they had expired", len(relay.Took))
		}
	})
}

func TestACodeNeverLeavesAfterItsTimeThoughItsAttemptBeganBefore(t *testing.T) {
	world.BothEngines(t)
	world.Bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := world.NewRelay(world.Always(world.After(hang, world.Accept)))
		w := world.Serving(t, relay)
		code, letter := expiring(w, w.Key, "1m"), w.Send("ann@example.net")
		world.Sleep(time.Minute - time.Second)
		w.WantLast(code, app.Queued)
		time.Sleep(time.Second)
		close(hang)
		synctest.Wait()
		wantExpired(w, code, time.Minute)
		w.WantLast(letter, app.Sent)
		if n := relay.Dots(code); n != 0 {
			t.Errorf("%d dots of it", n)
		}
	})
}

func TestNothingExpiresPastItsDot(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		w := world.Serving(t, world.NewRelay(world.Always(world.DotThen(hang))))
		code := expiring(w, w.Key, "1m")
		world.Sleep(time.Hour)
		w.WantLast(code, app.Queued)
		if n := len(w.Dotted()); n != 1 {
			t.Fatalf("%d dotted", n)
		}
	})
}

func TestADoubtThatExpiresSaysThatItMayHaveArrived(t *testing.T) {
	world.BothEngines(t)
	world.Bubble(t, func(t *testing.T) {
		w := world.Serving(t, world.NewRelay(world.Firstly(world.Lost, world.Trouble(app.StageConnect, "down"))))
		code := expiring(w, w.Key, "1m")
		world.Sleep(3 * time.Minute)
		wantExpired(w, code, time.Minute)
		if ev := w.EventOf(code, app.EventType(app.Failed)); !strings.Contains(ev.Detail.Message, "the relay may have accepted it") {
			t.Errorf("it says %s", ev.Detail.Message)
		}
		if d := w.Doubts(); len(d) != 1 || d[0].Settled == "" {
			t.Errorf("doubts %+v", d)
		}
	})
}

func TestTheClockOfACodeGoesOnAcrossACrashInItsAttempt(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		w := world.Serving(t, world.NewRelay(world.Always(world.After(nil, world.Accept))))
		code, letter := expiring(w, w.Key, "10m"), expiring(w, w.Key, "1h")
		world.Sleep(6 * time.Minute)
		relay := world.NewRelay(nil)
		next := w.Crash(relay)
		time.Sleep(5 * time.Minute) // it is off meanwhile
		next.Start()
		world.Sleep(time.Minute)
		wantExpired(next, code, 10*time.Minute)
		next.WantLast(letter, app.Sent)
		if relay.Dots(code) != 0 {
			t.Error("it left after its time")
		}
	})
}

func TestTheClockStandsWhileNoRelayIsThere(t *testing.T) {
	world.Days(t, func(t *testing.T) {
		us := world.NewRelay(nil)
		w := world.IdleWith(t, server.Config{PollEvery: time.Minute}, us)
		w.Start()
		w.AddDomain(w.Key.TeamID, "eu.example", "eu-west-1", app.DomainVerified)
		in := world.Letter("bob@example.net")
		in.From, in.ExpiresIn = "x@eu.example", "10m"
		send := func() string {
			id, err := w.Server.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
			world.Must(t, err)
			return id
		}
		lost := send()
		world.Sleep(3 * time.Hour)
		w.WantLast(lost, app.Queued)
		eu := world.NewRelayOf(relays.Relay{Region: "eu-west-1", Connections: 1}, world.Always(world.Trouble(app.StageConnect, "down")))
		w = w.Crash(us, eu)
		w.Start()
		world.Sleep(9 * time.Minute)
		w.WantLast(lost, app.Queued)
		world.Sleep(3 * time.Minute)
		wantExpired(w, lost, 3*time.Hour+10*time.Minute)
	})
}

func TestTheClockStandsWhileMailIsHeldWhateverCameBefore(t *testing.T) {
	world.Days(t, func(t *testing.T) {
		w := world.IdleWith(t, server.Config{PollEvery: time.Minute}, dead())
		w.Start()
		id, other := expiring(w, w.Key, "10m"), expiring(w, w.Key, "10m")
		world.Sleep(4 * time.Minute)
		u := *w.Unit(id)
		held := time.Now()
		world.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.HoldUnit(u, app.HoldManual) }))
		world.Sleep(3 * time.Hour)
		w.WantLast(id, app.Queued)
		wantExpired(w, other, 10*time.Minute)
		w.Sql(`UPDATE units SET stood = CASE WHEN stood IS NULL THEN '' ELSE stood || ',' END || held_at || '-' || ?, held = NULL, held_at = NULL, state = 'due' WHERE email_id = ?`,
			time.Now().UnixMilli(), id)
		away := time.Since(held)
		world.Sleep(5 * time.Minute)
		w.WantLast(id, app.Queued)
		world.Sleep(3 * time.Minute)
		wantExpired(w, id, away+10*time.Minute)
	})
}

func TestTheClockBeginsWhenMailIsFirstDue(t *testing.T) {
	world.Days(t, func(t *testing.T) {
		w := world.IdleWith(t, server.Config{PollEvery: time.Minute}, dead())
		w.Start()
		in := world.Letter("bob@example.net")
		in.ScheduledAt, in.ExpiresIn = "in 3 hours", "10m"
		id, err := w.Server.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
		world.Must(t, err)
		world.Sleep(3*time.Hour + 9*time.Minute)
		w.WantLast(id, app.Scheduled)
		world.Sleep(3 * time.Minute)
		wantExpired(w, id, 3*time.Hour+10*time.Minute)
	})
}

// The clock of mail stops only while it is held, its team is suspended, or there is no
// relay for it, also where the server dies meanwhile.
func TestWhatStopsTheClockOfWaitingMail(t *testing.T) {
	refuses := world.Always(world.Says(app.StageMail, 550, "5.7.1 not from here"))
	limited := func(r relays.Relay) relays.Relay {
		r.Region, r.Connections = app.DefaultRegion, 1
		return r
	}
	for name, row := range map[string]struct {
		relay  relays.Relay
		script world.Script
		before func(w *world.World) // the code is sent
		after  func(w *world.World, id string)
		stops  bool
	}{
		"a relay that is down":             {script: world.Always(world.Trouble(app.StageConnect, "down"))},
		"a relay that refuses the sender":  {script: refuses, before: func(w *world.World) { sendSome(w, w.Key, 3) }},
		"a paused relay":                   {before: func(w *world.World) { pauseRelay(w, 0) }},
		"a relay that is paused for a day": {before: func(w *world.World) { pauseRelay(w, 24*time.Hour) }},
		"the relay's rate":                 {relay: relays.Relay{Rate: 1.0 / 86400}, before: func(w *world.World) { sendSome(w, w.Key, 5) }},
		"the relay's daily limit":          {relay: relays.Relay{Daily: 1}, before: func(w *world.World) { sendSome(w, w.Key, 1) }},
		"the team's share of the daily limit": {relay: relays.Relay{Daily: 10}, before: func(w *world.World) {
			sendSome(w, w.AddTeam("Other", "other.example"), 1)
			sendSome(w, w.Key, 8)
		}},
		"a held email":     {after: holdUnit, before: func(w *world.World) { pauseRelay(w, 0) }, stops: true},
		"a suspended team": {after: func(w *world.World, _ string) { suspend(w) }, before: func(w *world.World) { pauseRelay(w, 0) }, stops: true},
	} {
		t.Run(name, func(t *testing.T) {
			world.Days(t, func(t *testing.T) {
				relay := func() *world.FakeRelay { return world.NewRelayOf(limited(row.relay), row.script) }
				w := world.IdleWith(t, server.Config{PollEvery: 5 * time.Second}, relay())
				w.Start()
				if row.before != nil {
					row.before(w)
					world.Sleep(10 * time.Second)
				}
				id := expiring(w, w.Key, "10m")
				if row.after != nil {
					row.after(w, id)
				}
				world.Sleep(5 * time.Minute)
				w = w.Crash(relay())
				w.Start()
				world.Sleep(4 * time.Minute)
				w.WantLast(id, app.Queued)
				world.Sleep(3 * time.Minute)
				if row.stops {
					world.Sleep(time.Hour)
					w.WantLast(id, app.Queued)
					return
				}
				wantExpired(w, id, 10*time.Minute)
			})
		})
	}
}

// sendSome has emails of a team sent that do not expire during the test.
func sendSome(w *world.World, key *app.Key, n int) {
	for range n {
		expiring(w, key, "30d")
	}
	world.Sleep(10 * time.Second)
}

func pauseRelay(w *world.World, d time.Duration) {
	_, err := w.Server.Routing.Pause(w.T.Context(), app.DefaultRegion, d)
	world.Must(w.T, err)
}

func suspend(w *world.World) {
	_, err := w.Server.Teams.SuspendTeam(w.T.Context(), w.Key.TeamID, "unpaid")
	world.Must(w.T, err)
}

func holdUnit(w *world.World, id string) {
	u := *w.Unit(id)
	world.Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error { return tx.HoldUnit(u, app.HoldManual) }))
}

// A code whose relay is paused does not leave after its time when the relay is resumed.
func TestACodeThatExpiredWhileItsRelayWasPausedNeverLeaves(t *testing.T) {
	world.BothEngines(t)
	world.Bubble(t, func(t *testing.T) {
		relay := world.NewRelay(nil)
		w := world.Serving(t, relay)
		pauseRelay(w, 0)
		world.Sleep(10 * time.Second)
		code := expiring(w, w.Key, "1m")
		world.Sleep(80 * time.Second)
		_, err := w.Server.Routing.Resume(t.Context(), app.DefaultRegion)
		world.Must(t, err)
		world.Sleep(time.Minute)
		wantExpired(w, code, time.Minute)
		if n := relay.Dots(code); n != 0 {
			t.Errorf("%d dots of it", n)
		}
	})
}

func TestARelaysMaxWaitGoesBeforeTheServersAndAnEmailsOwnBeforeBoth(t *testing.T) {
	world.Days(t, func(t *testing.T) {
		relay := world.NewRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 1, MaxWait: time.Hour}, world.Always(world.Trouble(app.StageConnect, "down")))
		w := world.IdleWith(t, server.Config{PollEvery: time.Minute}, relay)
		w.Start()
		plain, longer := expiring(w, w.Key, ""), expiring(w, w.Key, "3h")
		world.Sleep(4 * time.Hour)
		wantExpired(w, plain, time.Hour)
		wantExpired(w, longer, 3*time.Hour)
	})
}

func TestMailOfARelayWithMaxWaitZeroNeverExpires(t *testing.T) {
	world.Days(t, func(t *testing.T) {
		relay := world.NewRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 1, MaxWait: -1}, world.Always(world.Trouble(app.StageConnect, "down")))
		w := world.IdleWith(t, server.Config{MaxWait: time.Hour}, relay)
		w.Start()
		id := w.Send("bob@example.net")
		world.Sleep(3 * time.Hour)
		w.WantLast(id, app.Queued)
	})
}

func TestWhatOneTeamLetsExpireDelaysNoOther(t *testing.T) {
	world.Bubble(t, func(t *testing.T) {
		relay := world.NewRelay(func(m *app.Outgoing, _ int) world.Answer {
			if m.Mail.From.Domain == "other.example" {
				return world.Accept
			}
			return func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
				return world.Says(app.StageMail, 451, "later")(ctx, m, hold)
			}
		})
		w := world.Serving(t, relay)
		other := w.AddTeam("Other", "other.example")
		for range 200 {
			expiring(w, w.Key, "2m")
		}
		theirs := expiring(w, other, "2m")
		world.Sleep(5 * time.Minute)
		if got := w.Sql("SELECT last_event FROM emails WHERE id = ?", theirs)[0]; got != "sent" {
			t.Errorf("the other team's is %s", got)
		}
		if got := w.Rows("SELECT last_event, count(*) FROM emails WHERE last_event = 'failed' GROUP BY last_event"); got != "failed 200\n" {
			t.Errorf("expired: %s", got)
		}
	})
}
