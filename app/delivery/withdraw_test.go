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
	"mailer/app/world"
	"mailer/db"
)

func TestAnEmailDeletedDuringItsAttemptTroublesNobody(t *testing.T) {
	world.BothEngines(t)
	late := world.ByName(map[string]int{"bob@example.net": 450})
	for name, a := range map[string]world.Answer{
		"taken": world.Accept, "refused": world.ByName(map[string]int{"bob@example.net": 550}), "postponed": late,
		"trouble": world.Trouble(app.StageMail, "reset"), "message refused": world.Says(app.StageMail, 550, "no"), "local": world.RefuseLocally,
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := world.NewRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 1}, world.Firstly(world.After(hang, a)))
				w := world.Serving(t, relay)
				id := w.Send("bob@example.net")
				synctest.Wait()
				world.Must(t, w.Server.Mail.DeleteEmail(t.Context(), w.Key, id))
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
				world.WantCode(t, err, app.CodeNotFound)
			})
		})
	}
}

func TestACanceledEmailNeverLeavesAndStaysCanceled(t *testing.T) {
	world.BothEngines(t)
	for name, a := range map[string]world.Answer{
		"taken": world.Accept, "refused": world.ByName(map[string]int{"bob@example.net": 550}), "postponed": world.ByName(map[string]int{"bob@example.net": 450}),
		"trouble": world.Trouble(app.StageMail, "reset"), "message refused": world.Says(app.StageMail, 550, "no"),
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := world.NewRelay(world.Firstly(world.After(hang, a)))
				w := world.Serving(t, relay)
				id := w.Send("bob@example.net")
				synctest.Wait()
				world.Must(t, w.Server.Mail.CancelEmail(t.Context(), w.Key, id))
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
				world.WantCode(t, w.Server.Mail.CancelEmail(t.Context(), w.Key, id), app.CodeValidation)
			})
		})
	}
}

func TestCancelWhileARetryOrADoubtWaits(t *testing.T) {
	world.BothEngines(t)
	for name, a := range map[string]world.Answer{"retry": world.ByName(map[string]int{"bob@example.net": 450}), "doubt": world.Lost} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T) {
				relay := world.NewRelay(world.Always(a))
				w := world.Serving(t, relay)
				id := w.Send("bob@example.net")
				time.Sleep(time.Second)
				synctest.Wait()
				world.Must(t, w.Server.Mail.CancelEmail(t.Context(), w.Key, id))
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
	world.Bubble(t, func(t *testing.T) {
		reply := make(chan struct{})
		w := world.Serving(t, world.NewRelay(world.Always(world.DotThen(reply))))
		id := w.Send("bob@example.net")
		synctest.Wait()
		world.WantCode(t, w.Server.Mail.CancelEmail(t.Context(), w.Key, id), app.CodeValidation)
		world.WantCode(t, w.Server.Mail.DeleteEmail(t.Context(), w.Key, id), app.CodeConflict)
		close(reply)
		synctest.Wait()
		w.WantLast(id, app.Sent)
		world.WantCode(t, w.Server.Mail.CancelEmail(t.Context(), w.Key, id), app.CodeValidation)
		world.Must(t, w.Server.Mail.DeleteEmail(t.Context(), w.Key, id))
	})
}

func TestCancelsRaceWithDeliveriesAndEveryEmailIsEitherSentOrCanceled(t *testing.T) {
	w := world.Idle(t, world.NewRelay(world.Always(func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
		return world.Accept(ctx, m, hold)
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
	world.Bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := world.NewRelay(world.Firstly(world.After(hang, world.Accept), world.Says(app.StageMail, 450, "greylisted")))
		w := world.Idle(t, relay)
		id := w.Send("bob@example.net")
		// As accepted with scheduled_at: now.
		world.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.SetLastEvent(id, app.Scheduled) }))
		w.Start()
		synctest.Wait()
		at := time.Now().Add(20 * 24 * time.Hour)
		world.Must(t, w.Server.Mail.RescheduleEmail(t.Context(), w.Key, id, app.FormatTime(at)))
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
	w := world.Idle(t, world.NewRelay(nil))
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
	mine, err := w.Server.Mail.SendEmail(t.Context(), &own, world.Letter("x@example.net"), mail.SendOptions{})
	world.Must(t, err)
	world.Must(t, w.Server.Mail.CancelEmail(t.Context(), &own, mine))
}
