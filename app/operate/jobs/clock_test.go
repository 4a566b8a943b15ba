package jobs_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/operate/jobs"
	"mailer/app/rules/relayurl"
	"mailer/app/rules/webhook"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
	"mailer/db"
)

func TestClockStepIsDetected(t *testing.T) {
	cases := []struct{ wall, monotonic, want time.Duration }{
		{10 * time.Second, 10 * time.Second, 0},
		{29 * time.Second, 20 * time.Second, 0},                              // nine seconds: ignored
		{30*time.Second + 3*time.Hour, 30 * time.Second, 3 * time.Hour},      // set forward
		{40*time.Second + 3*time.Hour, 40 * time.Second, 0},                  // and left there
		{50*time.Second + time.Hour, 50 * time.Second, -2 * time.Hour},       // set back by part of it
		{60 * time.Second, 60 * time.Second, -time.Hour},                     // and by the rest
		{70*time.Second - 240*time.Hour, 70 * time.Second, -240 * time.Hour}, // and by days
	}
	c := jobs.NewClock()
	for i, tc := range cases {
		if got := c.Moved(tc.wall, tc.monotonic); got != tc.want {
			t.Errorf("%d: moved by %s, want %s", i, got, tc.want)
		}
	}
}

func TestRetriesAfterClockAhead(t *testing.T) {
	testserver.BothEngines(t)
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		ids := map[string]time.Duration{ // an email, and when its next attempt is after the start
			w.Send("ann@example.net"): app.MaxRetryDelay,
			w.Send("bob@example.net"): app.MaxRetryDelay,
			w.Send("eve@example.net"): 5 * time.Hour,
		}
		scheduled, delayed := w.SendAt("in 29 days"), w.Send("tom@example.net")
		tomorrow := time.Now().Add(24 * time.Hour)
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.DeferUnit(*w.Unit(delayed), tomorrow) }))
		for id, delay := range ids {
			if delay == app.MaxRetryDelay {
				delay = 5 * 365 * 24 * time.Hour
			}
			w.LeaveClockAhead(delay, id)
		}
		w.Start()
		for id, delay := range ids {
			if got := time.Until(w.Unit(id).NextAt); got != delay {
				t.Errorf("the next attempt is in %s, want %s", got, delay)
			}
		}
		if got := time.Until(w.Unit(scheduled).NextAt).Round(time.Hour); got != 29*24*time.Hour {
			t.Errorf("scheduled mail leaves in %s", got)
		}
		if got := w.Unit(delayed).NextAt; !got.Equal(tomorrow) {
			t.Errorf("mail that waits for a quota leaves at %s, want %s", got, tomorrow)
		}
		testserver.Sleep(app.MaxRetryDelay + 2*time.Minute)
		for id := range ids {
			w.WantLastEvent(id, app.Sent)
		}
		w.WantLastEvent(scheduled, app.Scheduled)
	})
}

// Mail that was accepted by a clock that was ahead is due, and stays so when the relay fails.
func TestDueMailAfterClockAhead(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Always(testserver.RelayTrouble(app.StageConnect, "no route to host")))
		w := testserver.New(t, relay)
		id := w.Send("bob@example.net")
		w.SQL("UPDATE units SET next_at = next_at + 18000000 RETURNING email_id")
		w.Start()
		testserver.Sleep(10 * time.Second)
		w.WantLastEvent(id, app.Queued)
		relay.SetScript(nil)
		testserver.Sleep(2 * time.Minute)
		w.WantLastEvent(id, app.Sent)
	})
}

func TestWebhooksRecoverFromClockAhead(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		w.Send("bob@example.net")
		contact := app.ContactInput{Email: "carl@example.net"}
		_, _, err := w.Services.Audience.PutContact(t.Context(), w.Key, contact, app.ConflictError)
		testserver.Must(t, err)
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
			hooks, err := tx.EnabledWebhooks(w.Key.TeamID)
			if err != nil {
				return err
			}
			due, err := tx.WaitingEvents(&hooks[0], hooks[0].Reached, 1)
			if err != nil {
				return err
			}
			return tx.BeginWaiting(hooks[0].ID, hooks[0].Reached, due, tx.Now.Add(500*time.Hour))
		}))
		testserver.Must(t, w.Services.Jobs.ResumeClock(t.Context()))
		latest := strconv.FormatInt(time.Now().Add(webhook.MaxDelay).UnixMilli(), 10)
		if n := w.SQL("SELECT count(*) FROM deliveries WHERE next_at <= ?", latest)[0]; n != "1" {
			t.Errorf("%s deliveries are due within %s, want 1", n, webhook.MaxDelay)
		}
	})
}

// Usage that was counted by a clock that was ahead counts as of now.
func TestRelayUsageAfterClockAhead(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1, Daily: 5}, nil))
		name, now := app.DefaultRegion, time.Now()
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
			for _, at := range []time.Duration{-time.Hour, 0, 4 * time.Hour, 500 * time.Hour} {
				if err := tx.AddUsage(name, now.Add(at), 1, 0); err != nil {
					return err
				}
			}
			return nil
		}))
		w.Start()
		w.Read(func(r *db.Reader) error {
			rows, err := r.Usage(name, 0)
			want := []db.UsageMinute{{Minute: now.Unix()/60 - 60, Sent: 1}, {Minute: now.Unix() / 60, Sent: 3}}
			if !slices.Equal(rows, want) {
				t.Errorf("counted %v, want %v", rows, want)
			}
			return err
		})
	})
}

// Starts and ends of holds and of relay troubles are not in the future, and domains and choices
// wait no longer than usual.
func TestOtherTimesAfterClockAhead(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		id := w.Send("bob@example.net")
		u := *w.Unit(id)
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
			n := db.ChoiceNews{TeamID: w.Key.TeamID}
			_, err := tx.HoldChoiceNews(&n, 500*time.Hour)
			return errors.Join(err, tx.HoldUnit(u, app.HoldManual),
				tx.OpenTrouble(app.RelayTrouble{ID: "open", Relay: app.DefaultRegion, StartedAt: tx.Now.Add(500 * time.Hour)}),
				tx.OpenTrouble(app.RelayTrouble{ID: "ended", Relay: app.DefaultRegion, StartedAt: tx.Now.Add(-time.Hour)}))
		}))
		w.SQL("UPDATE relay_troubles SET ended_at = started_at + 1800000000 WHERE id = 'ended' RETURNING id")
		w.SQL("UPDATE units SET held_at = held_at + 1800000000 RETURNING email_id")
		w.SQL("UPDATE domains SET check_at = ? RETURNING id", time.Now().Add(500*time.Hour).UnixMilli())
		testserver.Must(t, w.Services.Jobs.ResumeClock(t.Context()))
		now := time.Now()
		for query, want := range map[string]time.Time{
			"SELECT held_at FROM units":                                now,
			"SELECT started_at FROM relay_troubles WHERE id = 'open'":  now,
			"SELECT ended_at FROM relay_troubles WHERE id = 'ended'":   now,
			"SELECT started_at FROM relay_troubles WHERE id = 'ended'": now.Add(-time.Hour),
			"SELECT check_at FROM domains LIMIT 1":                     now.Add(app.RecheckEvery),
			"SELECT next_at FROM choice_news":                          now.Add(audience.ChoiceEventInterval),
		} {
			if got := w.SQL(query)[0]; got != strconv.FormatInt(want.UnixMilli(), 10) {
				t.Errorf("%s: %s, want %d", query, got, want.UnixMilli())
			}
		}
	})
}

func TestPausesMoveWithClock(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		down := true
		w := testserver.Start(t, testserver.NewRelay(func(*app.Outgoing, int) testserver.Answer {
			if down {
				return testserver.RelayTrouble(app.StageConnect, "no route to host")
			}
			return testserver.Accept
		}))
		id := w.Send("bob@example.net")
		testserver.Sleep(30 * time.Minute) // the pause is now longer than the test waits
		down = false
		testserver.Sleep(time.Second)
		w.WantLastEvent(id, app.Queued)
		w.Services.Jobs.Clock().SetAhead(-48 * time.Hour)
		testserver.Must(t, w.Services.Jobs.CheckClock(context.Background()))
		testserver.Sleep(2 * time.Second)
		w.WantLastEvent(id, app.Sent)
	})
}

func TestRewoundCronContinues(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		w.LeaveClockAhead(time.Hour) // the clock that the next heartbeat corrects
		w.Services.Jobs.RewindCron()
		testserver.Sleep(2 * time.Minute)
		w.Read(func(r *db.Reader) error {
			noted, err := r.Setting(base.ClockSetting)
			ms, _ := strconv.ParseInt(string(noted), 10, 64)
			if at := time.UnixMilli(ms); at.After(time.Now()) || time.Since(at) > 90*time.Second {
				t.Errorf("the clock was last noted at %s, it is %s", at, time.Now())
			}
			return err
		})
		w.Stop()
		w.Services.Jobs.RewindCron() // a step that is noticed too late would keep the bubble from ending
	})
}
