package jobs_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/operate/jobs"
	"mailer/app/rules/relayurl"
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

func TestQueueRecoversFromClockAhead(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		id, later := w.Send("bob@example.net"), w.SendAt("in 2 hours")
		w.LeaveClockAhead(5*time.Hour, id)
		w.Start()
		testserver.Sleep(2 * time.Second)
		w.WantLastEvent(id, app.Sent)
		w.WantLastEvent(later, app.Scheduled) // at its own time by either clock
		testserver.Sleep(2*time.Hour - 4*time.Second)
		w.WantLastEvent(later, app.Scheduled)
		testserver.Sleep(4 * time.Second)
		w.WantLastEvent(later, app.Sent)
	})
}

func TestRetryDelaySurvivesClockStep(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(testserver.Always(testserver.ReplyPerRecipient(map[string]int{"bob@example.net": 451}))))
		id := w.Send("bob@example.net")
		testserver.Sleep(2 * time.Second)
		delay := time.Until(w.Unit(id).NextAt)
		w.LeaveClockAhead(delay+5*time.Hour, id)
		testserver.Must(t, w.Services.Jobs.Advance(t.Context(), 5*time.Hour))
		if got := time.Until(w.Unit(id).NextAt); got != delay {
			t.Errorf("the next try is in %s, want %s", got, delay)
		}
	})
}

func TestAdvanceCoversAllUnits(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		for range base.PurgeChunk + 10 {
			w.Send("bob@example.net")
		}
		w.SQL("UPDATE units SET next_at = next_at + 3600000 RETURNING email_id")
		testserver.Must(t, w.Services.Jobs.Advance(t.Context(), time.Hour))
		if late := w.SQL("SELECT count(*) FROM units WHERE next_at > ?", strconv.FormatInt(time.Now().UnixMilli(), 10))[0]; late != "0" {
			t.Errorf("%s units still wait", late)
		}
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
			return tx.BeginWaiting(hooks[0].ID, hooks[0].Reached, due, tx.Now.Add(5*time.Hour))
		}))
		testserver.Must(t, w.Services.Jobs.Advance(t.Context(), 5*time.Hour))
		now := strconv.FormatInt(time.Now().UnixMilli(), 10)
		if n := w.SQL("SELECT count(*) FROM deliveries WHERE next_at <= ?", now)[0]; n != "1" {
			t.Errorf("%s deliveries are due, want 1", n)
		}
	})
}

func TestRelayUsageMovesWithClock(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1, Daily: 5}, nil))
		name, now := app.DefaultRegion, time.Now()
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
			for _, at := range []time.Duration{-time.Hour, 0, 4 * time.Hour, 5 * time.Hour} {
				if err := tx.AddUsage(name, now.Add(at), 1, 0); err != nil {
					return err
				}
			}
			return nil
		}))
		w.LeaveClockAhead(5 * time.Hour)
		w.Start()
		want := map[int64]int64{now.Unix()/60 - 60: 2, now.Unix() / 60: 2}
		w.Read(func(r *db.Reader) error {
			rows, err := r.Usage(name, 0)
			got := map[int64]int64{}
			for _, u := range rows {
				got[u.Minute] = u.Sent
			}
			if len(got) != 2 || got[now.Unix()/60] != want[now.Unix()/60] || got[now.Unix()/60-60] != want[now.Unix()/60-60] {
				t.Errorf("counted %v, want %v", got, want)
			}
			return err
		})
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
