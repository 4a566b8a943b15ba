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
	"mailer/app/testing/testserver"
	"mailer/db"
)

func TestAnEmailDeletedDuringItsAttemptTroublesNobody(t *testing.T) {
	testserver.BothEngines(t)
	late := testserver.ByName(map[string]int{"bob@example.net": 450})
	for name, a := range map[string]testserver.Answer{
		"taken": testserver.Accept, "refused": testserver.ByName(map[string]int{"bob@example.net": 550}), "postponed": late,
		"trouble": testserver.Trouble(app.StageMail, "reset"), "message refused": testserver.Says(app.StageMail, 550, "no"), "local": testserver.RefuseLocally,
	} {
		t.Run(name, func(t *testing.T) {
			testserver.Bubble(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1}, testserver.Firstly(testserver.After(hang, a)))
				w := testserver.Serving(t, relay)
				id := w.Send("bob@example.net")
				synctest.Wait()
				testserver.Must(t, w.Server.Mail.DeleteEmail(t.Context(), w.Key, id))
				close(hang)
				relay.Follow(nil)
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if n := len(relay.Seen(id)); n != 1 {
					t.Errorf("%d attempts", n)
				}
				if w.Log.Has("level=ERROR") {
					t.Errorf("log:\n%s", w.Log.Text.String())
				}
				if n := w.Server.Delivery.Lanes()[0].Busy(); n != 0 {
					t.Errorf("%d units are still worked on", n)
				}
				other := w.Send("eve@example.net")
				synctest.Wait()
				w.WantLast(other, app.Sent)
				_, err := w.Server.Mail.GetEmail(t.Context(), w.Key, id)
				testserver.WantCode(t, err, app.CodeNotFound)
			})
		})
	}
}

func TestACanceledEmailNeverLeavesAndStaysCanceled(t *testing.T) {
	testserver.BothEngines(t)
	for name, a := range map[string]testserver.Answer{
		"taken": testserver.Accept, "refused": testserver.ByName(map[string]int{"bob@example.net": 550}), "postponed": testserver.ByName(map[string]int{"bob@example.net": 450}),
		"trouble": testserver.Trouble(app.StageMail, "reset"), "message refused": testserver.Says(app.StageMail, 550, "no"),
	} {
		t.Run(name, func(t *testing.T) {
			testserver.Bubble(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := testserver.NewRelay(testserver.Firstly(testserver.After(hang, a)))
				w := testserver.Serving(t, relay)
				id := w.Send("bob@example.net")
				synctest.Wait()
				testserver.Must(t, w.Server.Mail.CancelEmail(t.Context(), w.Key, id))
				close(hang)
				time.Sleep(3 * time.Minute)
				synctest.Wait()
				w.WantLast(id, app.Canceled)
				if n := len(relay.Seen(id)); n != 1 || w.Unit(id) != nil || len(w.Dotted()) != 0 {
					t.Errorf("%d attempts, unit %v", n, w.Unit(id))
				}
				if story := w.Story(id); strings.Contains(story, "250") {
					t.Errorf("it left:\n%s", story)
				}
				testserver.WantCode(t, w.Server.Mail.CancelEmail(t.Context(), w.Key, id), app.CodeValidation)
			})
		})
	}
}

func TestCancelWhileARetryOrADoubtWaits(t *testing.T) {
	testserver.BothEngines(t)
	for name, a := range map[string]testserver.Answer{"retry": testserver.ByName(map[string]int{"bob@example.net": 450}), "doubt": testserver.Lost} {
		t.Run(name, func(t *testing.T) {
			testserver.Bubble(t, func(t *testing.T) {
				relay := testserver.NewRelay(testserver.Always(a))
				w := testserver.Serving(t, relay)
				id := w.Send("bob@example.net")
				time.Sleep(time.Second)
				synctest.Wait()
				testserver.Must(t, w.Server.Mail.CancelEmail(t.Context(), w.Key, id))
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				w.WantLast(id, app.Canceled)
				if n := len(relay.Seen(id)); n != 1 {
					t.Errorf("%d attempts", n)
				}
				for _, d := range w.Doubts() {
					if d.Settled != "canceled" {
						t.Errorf("doubt %+v", d)
					}
				}
			})
		})
	}
}

func TestWhatIsDottedCanNeitherBeCanceledNorDeleted(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		reply := make(chan struct{})
		w := testserver.Serving(t, testserver.NewRelay(testserver.Always(testserver.DotThen(reply))))
		id := w.Send("bob@example.net")
		synctest.Wait()
		testserver.WantCode(t, w.Server.Mail.CancelEmail(t.Context(), w.Key, id), app.CodeValidation)
		testserver.WantCode(t, w.Server.Mail.DeleteEmail(t.Context(), w.Key, id), app.CodeConflict)
		close(reply)
		synctest.Wait()
		w.WantLast(id, app.Sent)
		testserver.WantCode(t, w.Server.Mail.CancelEmail(t.Context(), w.Key, id), app.CodeValidation)
		testserver.Must(t, w.Server.Mail.DeleteEmail(t.Context(), w.Key, id))
	})
}

func TestCancelsRaceWithDeliveriesAndEveryEmailIsEitherSentOrCanceled(t *testing.T) {
	w := testserver.Idle(t, testserver.NewRelay(testserver.Always(func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
		return testserver.Accept(ctx, m, hold)
	})))
	var ids []string
	for range 200 {
		ids = append(ids, w.Send("bob@example.net"))
	}
	w.Start()
	canceled := map[string]bool{}
	for i := len(ids) - 1; i >= 0; i-- {
		canceled[ids[i]] = w.Server.Mail.CancelEmail(t.Context(), w.Key, ids[i]) == nil
	}
	w.Stop()
	w.Open()
	left := map[string]int{}
	for _, s := range w.Relays[0].Seen("") {
		left[s.M.EmailID]++
	}
	for _, id := range ids {
		sent := false
		for _, ev := range w.Events(id) {
			sent = sent || ev.Type == app.EventType(app.Sent)
		}
		if canceled[id] && (sent || w.Email(id).LastEvent != app.Canceled || w.Unit(id) != nil) {
			t.Errorf("canceled, and its timeline is\n%s", w.Story(id))
		}
		if !canceled[id] && !sent {
			t.Errorf("not canceled and not sent:\n%s", w.Story(id))
		}
	}
}

func TestAScheduledEmailThatIsMovedIsTriedFromTheBeginning(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := testserver.NewRelay(testserver.Firstly(testserver.After(hang, testserver.Accept), testserver.Says(app.StageMail, 450, "greylisted")))
		w := testserver.Idle(t, relay)
		id := w.Send("bob@example.net")
		// As accepted with scheduled_at: now.
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.SetLastEvent(id, app.Scheduled) }))
		w.Start()
		synctest.Wait()
		at := time.Now().Add(20 * 24 * time.Hour)
		testserver.Must(t, w.Server.Mail.RescheduleEmail(t.Context(), w.Key, id, app.FormatTime(at)))
		close(hang) // the attempt under way must not leave
		synctest.Wait()
		if u := w.Unit(id); u == nil || u.Attempts != 0 || !u.NextAt.Equal(at) || len(w.Dotted()) != 0 {
			t.Fatalf("unit %+v", u)
		}
		w.Stop()
		// The server is down for a day beyond that time.
		time.Sleep(21 * 24 * time.Hour)
		w.Open()
		w.Start()
		synctest.Wait()
		time.Sleep(61 * time.Second)
		synctest.Wait()
		w.WantLast(id, app.Sent)
		if n := len(relay.Seen(id)); n != 3 {
			t.Errorf("%d attempts:\n%s", n, w.Story(id))
		}
	})
}

func TestForeignKeysChangeNothing(t *testing.T) {
	w := testserver.Idle(t, testserver.NewRelay(nil))
	own := *w.Key
	own.ID, own.Permission = app.NewID(), app.SendingAccess
	id := w.Send("bob@example.net")
	for name, change := range map[string]func(*app.Key) error{
		"cancel":     func(k *app.Key) error { return w.Server.Mail.CancelEmail(t.Context(), k, id) },
		"delete":     func(k *app.Key) error { return w.Server.Mail.DeleteEmail(t.Context(), k, id) },
		"reschedule": func(k *app.Key) error { return w.Server.Mail.RescheduleEmail(t.Context(), k, id, "in 1 hour") },
	} {
		for who, key := range map[string]*app.Key{"another key": &own, "another team": {TeamID: app.NewID(), Permission: app.FullAccess}} {
			if err := change(key); app.CodeOf(err) != app.CodeNotFound {
				t.Errorf("%s by %s: %v", name, who, err)
			}
		}
	}
	w.WantLast(id, app.Queued)
	mine, err := w.Server.Mail.SendEmail(t.Context(), &own, testserver.Letter("x@example.net"), mail.SendOptions{})
	testserver.Must(t, err)
	testserver.Must(t, w.Server.Mail.CancelEmail(t.Context(), &own, mine))
}
