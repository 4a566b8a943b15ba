package delivery_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/mail"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// deadRelay is a relay that can't be reached.
func deadRelay() *testserver.FakeRelay {
	return testserver.NewRelay(testserver.Always(testserver.RelayTrouble(app.StageConnect, "connection refused")))
}

// expiring sends an email of a team that expires after a time.
func expiring(w *testserver.Server, key *app.Key, expires string) string {
	w.T.Helper()
	in := testserver.Message("bob@example.net")
	if key != w.Key {
		in.From = "x@other.example"
	}
	in.ExpiresIn = expires
	id, err := w.Services.Mail.SendEmail(w.T.Context(), key, in, mail.SendOptions{})
	testserver.Must(w.T, err)
	return id
}

// wantExpired checks that an email of the test team expired once, after the given time or up to
// ExpireEvery later.
func wantExpired(w *testserver.Server, id string, after time.Duration) {
	w.T.Helper()
	w.WantLastEvent(id, app.Failed)
	if w.Unit(id) != nil {
		w.T.Errorf("%s is left in the queue", id)
	}
	ev := w.OnlyEvent(id, app.EventType(app.Failed))
	if ev.Detail.Reason != app.ReasonExpired || !strings.HasPrefix(ev.Detail.Message, "Expired after ") {
		w.T.Errorf("event %+v", ev.Detail)
	}
	if late := ev.CreatedAt.Sub(w.Email(id).CreatedAt) - after; late < 0 || late > time.Minute+time.Second {
		w.T.Errorf("it expired %v after its time:\n%s", late, w.Timeline(id))
	}
}

func TestMailExpiresWhileRelayIsDown(t *testing.T) {
	testserver.SynctestDays(t, func(t *testing.T) {
		relay := deadRelay()
		w := testserver.NewWithConfig(t, server.Config{MaxWait: 2 * time.Hour, PollEvery: time.Minute}, relay)
		w.Start()
		other := w.AddTeam("Other", "other.example")
		first := w.Send("bob@example.net")
		synctest.Wait()
		var ids []string
		for range 150 { // more than the probes of two hours
			ids = append(ids, expiring(w, w.Key, ""))
		}
		code, theirs := expiring(w, w.Key, "10m"), expiring(w, other, "10m")
		testserver.Sleep(10*time.Minute - time.Second)
		w.WantLastEvent(code, app.Queued)
		testserver.Sleep(2 * time.Minute)
		wantExpired(w, code, 10*time.Minute)
		if got := w.SQL("SELECT last_event FROM emails WHERE id = ?", theirs)[0]; got != "failed" {
			t.Errorf("the other team's code is %s", got)
		}
		testserver.Sleep(107 * time.Minute)
		w.WantLastEvent(ids[0], app.Queued)
		testserver.Sleep(3 * time.Minute)
		for _, id := range append(ids, first) {
			wantExpired(w, id, 2*time.Hour)
		}
		relay.SetScript(nil)
		testserver.Sleep(time.Hour)
		if len(relay.Accepted) > 0 {
			t.Errorf("%d left after they had expired", len(relay.Accepted))
		}
	})
}

func TestExpiryDuringAttemptStopsSending(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := testserver.NewRelay(testserver.Always(testserver.After(hang, testserver.Accept)))
		w := testserver.Start(t, relay)
		code, other := expiring(w, w.Key, "1m"), w.Send("ann@example.net")
		testserver.Sleep(time.Minute - time.Second)
		w.WantLastEvent(code, app.Queued)
		time.Sleep(time.Second)
		close(hang)
		synctest.Wait()
		wantExpired(w, code, time.Minute)
		w.WantLastEvent(other, app.Sent)
		if n := relay.FinalDots(code); n != 0 {
			t.Errorf("%d dots of it", n)
		}
	})
}

func TestCommittedEmailDoesNotExpire(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		hang := make(chan struct{})
		w := testserver.Start(t, testserver.NewRelay(testserver.Always(testserver.ReplyAfter(hang))))
		code := expiring(w, w.Key, "1m")
		testserver.Sleep(time.Hour)
		w.WantLastEvent(code, app.Queued)
		if n := len(w.CommittedUnits()); n != 1 {
			t.Fatalf("%d committed", n)
		}
	})
}

func TestExpiredDoubtMentionsPossibleDelivery(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(testserver.InOrder(testserver.LoseReply, testserver.RelayTrouble(app.StageConnect, "down"))))
		code := expiring(w, w.Key, "1m")
		testserver.Sleep(3 * time.Minute)
		wantExpired(w, code, time.Minute)
		if ev := w.OnlyEvent(code, app.EventType(app.Failed)); !strings.Contains(ev.Detail.Message, "the relay may have accepted it") {
			t.Errorf("it says %s", ev.Detail.Message)
		}
		if d := w.Doubts(); len(d) != 1 || d[0].Settled == "" {
			t.Errorf("doubts %+v", d)
		}
	})
}

func TestExpiryClockContinuesAfterCrash(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(testserver.Always(testserver.After(nil, testserver.Accept))))
		code, other := expiring(w, w.Key, "10m"), expiring(w, w.Key, "1h")
		testserver.Sleep(6 * time.Minute)
		relay := testserver.NewRelay(nil)
		next := w.Crash(relay)
		time.Sleep(5 * time.Minute) // the server is down meanwhile
		next.Start()
		testserver.Sleep(time.Minute)
		wantExpired(next, code, 10*time.Minute)
		next.WantLastEvent(other, app.Sent)
		if relay.FinalDots(code) != 0 {
			t.Error("it left after its time")
		}
	})
}

func TestExpiryClockStopsWithoutRelay(t *testing.T) {
	testserver.SynctestDays(t, func(t *testing.T) {
		us := testserver.NewRelay(nil)
		w := testserver.NewWithConfig(t, server.Config{PollEvery: time.Minute}, us)
		w.Start()
		w.AddDomain(w.Key.TeamID, "eu.example", "eu-west-1", app.DomainVerified)
		in := testserver.Message("bob@example.net")
		in.From, in.ExpiresIn = "x@eu.example", "10m"
		send := func() string {
			id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
			testserver.Must(t, err)
			return id
		}
		lost := send()
		testserver.Sleep(3 * time.Hour)
		w.WantLastEvent(lost, app.Queued)
		eu := testserver.NewRelayOf(relayurl.Relay{Region: "eu-west-1", Connections: 1}, testserver.Always(testserver.RelayTrouble(app.StageConnect, "down")))
		w = w.Crash(us, eu)
		w.Start()
		testserver.Sleep(9 * time.Minute)
		w.WantLastEvent(lost, app.Queued)
		testserver.Sleep(3 * time.Minute)
		wantExpired(w, lost, 3*time.Hour+10*time.Minute)
	})
}

func TestExpiryClockStopsWhileHeld(t *testing.T) {
	testserver.SynctestDays(t, func(t *testing.T) {
		w := testserver.NewWithConfig(t, server.Config{PollEvery: time.Minute}, deadRelay())
		w.Start()
		id, other := expiring(w, w.Key, "10m"), expiring(w, w.Key, "10m")
		testserver.Sleep(4 * time.Minute)
		u := *w.Unit(id)
		held := time.Now()
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.HoldUnit(u, app.HoldManual) }))
		testserver.Sleep(3 * time.Hour)
		w.WantLastEvent(id, app.Queued)
		wantExpired(w, other, 10*time.Minute)
		w.SQL(`UPDATE units SET stood = CASE WHEN stood IS NULL THEN '' ELSE stood || ',' END || held_at || '-' || ?, held = NULL, held_at = NULL, state = 'due' WHERE email_id = ?`,
			time.Now().UnixMilli(), id)
		away := time.Since(held)
		testserver.Sleep(5 * time.Minute)
		w.WantLastEvent(id, app.Queued)
		testserver.Sleep(3 * time.Minute)
		wantExpired(w, id, away+10*time.Minute)
	})
}

func TestExpiryClockStartsWhenDue(t *testing.T) {
	testserver.SynctestDays(t, func(t *testing.T) {
		w := testserver.NewWithConfig(t, server.Config{PollEvery: time.Minute}, deadRelay())
		w.Start()
		in := testserver.Message("bob@example.net")
		in.ScheduledAt, in.ExpiresIn = "in 3 hours", "10m"
		id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
		testserver.Must(t, err)
		testserver.Sleep(3*time.Hour + 9*time.Minute)
		w.WantLastEvent(id, app.Scheduled)
		testserver.Sleep(3 * time.Minute)
		wantExpired(w, id, 3*time.Hour+10*time.Minute)
	})
}

// The clock stops only while mail is held, its team is suspended or its relay is missing, also
// across a crash.
func TestExpiryClockStopReasons(t *testing.T) {
	refuses := testserver.Always(testserver.ReplyWith(app.StageMail, 550, "5.7.1 not from here"))
	limited := func(r relayurl.Relay) relayurl.Relay {
		r.Region, r.Connections = app.DefaultRegion, 1
		return r
	}
	for name, row := range map[string]struct {
		relay  relayurl.Relay
		script testserver.Script
		before func(w *testserver.Server) // the email is sent
		after  func(w *testserver.Server, id string)
		stops  bool
	}{
		"a relay that is down":             {script: testserver.Always(testserver.RelayTrouble(app.StageConnect, "down"))},
		"a relay that refuses the sender":  {script: refuses, before: func(w *testserver.Server) { sendSome(w, w.Key, 3) }},
		"a paused relay":                   {before: func(w *testserver.Server) { pauseRelay(w, 0) }},
		"a relay that is paused for a day": {before: func(w *testserver.Server) { pauseRelay(w, 24*time.Hour) }},
		"the relay's rate":                 {relay: relayurl.Relay{Rate: 1.0 / 86400}, before: func(w *testserver.Server) { sendSome(w, w.Key, 5) }},
		"the relay's daily limit":          {relay: relayurl.Relay{Daily: 1}, before: func(w *testserver.Server) { sendSome(w, w.Key, 1) }},
		"the team's share of the daily limit": {relay: relayurl.Relay{Daily: 10}, before: func(w *testserver.Server) {
			sendSome(w, w.AddTeam("Other", "other.example"), 1)
			sendSome(w, w.Key, 8)
		}},
		"a held email":     {after: holdUnit, before: func(w *testserver.Server) { pauseRelay(w, 0) }, stops: true},
		"a suspended team": {after: func(w *testserver.Server, _ string) { suspend(w) }, before: func(w *testserver.Server) { pauseRelay(w, 0) }, stops: true},
	} {
		t.Run(name, func(t *testing.T) {
			testserver.SynctestDays(t, func(t *testing.T) {
				relay := func() *testserver.FakeRelay { return testserver.NewRelayOf(limited(row.relay), row.script) }
				w := testserver.NewWithConfig(t, server.Config{PollEvery: 5 * time.Second}, relay())
				w.Start()
				if row.before != nil {
					row.before(w)
					testserver.Sleep(10 * time.Second)
				}
				id := expiring(w, w.Key, "10m")
				if row.after != nil {
					row.after(w, id)
				}
				testserver.Sleep(5 * time.Minute)
				w = w.Crash(relay())
				w.Start()
				testserver.Sleep(4 * time.Minute)
				w.WantLastEvent(id, app.Queued)
				testserver.Sleep(3 * time.Minute)
				if row.stops {
					testserver.Sleep(time.Hour)
					w.WantLastEvent(id, app.Queued)
					return
				}
				wantExpired(w, id, 10*time.Minute)
			})
		})
	}
}

// sendSome sends emails of a team that do not expire during the test.
func sendSome(w *testserver.Server, key *app.Key, n int) {
	for range n {
		expiring(w, key, "30d")
	}
	testserver.Sleep(10 * time.Second)
}

func pauseRelay(w *testserver.Server, d time.Duration) {
	_, err := w.Services.Relays.Pause(w.T.Context(), app.DefaultRegion, d)
	testserver.Must(w.T, err)
}

func suspend(w *testserver.Server) {
	_, err := w.Services.Teams.SuspendTeam(w.T.Context(), w.Key.TeamID, "unpaid")
	testserver.Must(w.T, err)
}

func holdUnit(w *testserver.Server, id string) {
	u := *w.Unit(id)
	testserver.Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error { return tx.HoldUnit(u, app.HoldManual) }))
}

// Mail that expired while its relay was paused is not sent when the relay is resumed.
func TestMailExpiredDuringRelayPauseIsNotSent(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		pauseRelay(w, 0)
		testserver.Sleep(10 * time.Second)
		code := expiring(w, w.Key, "1m")
		testserver.Sleep(80 * time.Second)
		_, err := w.Services.Relays.Resume(t.Context(), app.DefaultRegion)
		testserver.Must(t, err)
		testserver.Sleep(time.Minute)
		wantExpired(w, code, time.Minute)
		if n := relay.FinalDots(code); n != 0 {
			t.Errorf("%d dots of it", n)
		}
	})
}

func TestMaxWaitPrecedence(t *testing.T) {
	testserver.SynctestDays(t, func(t *testing.T) {
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1, MaxWait: time.Hour}, testserver.Always(testserver.RelayTrouble(app.StageConnect, "down")))
		w := testserver.NewWithConfig(t, server.Config{PollEvery: time.Minute}, relay)
		w.Start()
		plain, longer := expiring(w, w.Key, ""), expiring(w, w.Key, "3h")
		testserver.Sleep(4 * time.Hour)
		wantExpired(w, plain, time.Hour)
		wantExpired(w, longer, 3*time.Hour)
	})
}

func TestMaxWaitZeroNeverExpires(t *testing.T) {
	testserver.SynctestDays(t, func(t *testing.T) {
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1, MaxWait: -1}, testserver.Always(testserver.RelayTrouble(app.StageConnect, "down")))
		w := testserver.NewWithConfig(t, server.Config{MaxWait: time.Hour}, relay)
		w.Start()
		id := w.Send("bob@example.net")
		testserver.Sleep(3 * time.Hour)
		w.WantLastEvent(id, app.Queued)
	})
}

func TestExpiringMailDelaysNoOtherTeam(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(func(m *app.Outgoing, _ int) testserver.Answer {
			if m.Mail.From.Domain == "other.example" {
				return testserver.Accept
			}
			return func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
				return testserver.ReplyWith(app.StageMail, 451, "later")(ctx, m, authorize)
			}
		})
		w := testserver.Start(t, relay)
		other := w.AddTeam("Other", "other.example")
		for range 200 {
			expiring(w, w.Key, "2m")
		}
		theirs := expiring(w, other, "2m")
		testserver.Sleep(5 * time.Minute)
		if got := w.SQL("SELECT last_event FROM emails WHERE id = ?", theirs)[0]; got != "sent" {
			t.Errorf("the other team's is %s", got)
		}
		if got := w.Rows("SELECT last_event, count(*) FROM emails WHERE last_event = 'failed' GROUP BY last_event"); got != "failed 200\n" {
			t.Errorf("expired: %s", got)
		}
	})
}
