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

func TestEmailDeletedDuringAttempt(t *testing.T) {
	testserver.BothEngines(t)
	late := testserver.ReplyPerRecipient(map[string]int{"bob@example.net": 450})
	for name, a := range map[string]testserver.Answer{
		"taken": testserver.Accept, "refused": testserver.ReplyPerRecipient(map[string]int{"bob@example.net": 550}), "postponed": late,
		"trouble": testserver.RelayTrouble(app.StageMail, "reset"), "message refused": testserver.ReplyWith(app.StageMail, 550, "no"), "local": testserver.RefuseLocally,
	} {
		t.Run(name, func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1}, testserver.InOrder(testserver.After(hang, a)))
				w := testserver.Start(t, relay)
				id := w.Send("bob@example.net")
				synctest.Wait()
				testserver.Must(t, w.Services.Mail.DeleteEmail(t.Context(), w.Key, id))
				close(hang)
				relay.SetScript(nil)
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if n := len(relay.Transactions(id)); n != 1 {
					t.Errorf("%d attempts", n)
				}
				if w.Log.Contains("level=ERROR") {
					t.Errorf("log:\n%s", w.Log.String())
				}
				if n := w.Services.Delivery.Queues()[0].Busy(); n != 0 {
					t.Errorf("%d units are still worked on", n)
				}
				other := w.Send("eve@example.net")
				synctest.Wait()
				w.WantLastEvent(other, app.Sent)
				_, err := w.Services.Mail.GetEmail(t.Context(), w.Key, id)
				testserver.WantCode(t, err, app.CodeNotFound)
			})
		})
	}
}

func TestCanceledEmailStaysCanceled(t *testing.T) {
	testserver.BothEngines(t)
	for name, a := range map[string]testserver.Answer{
		"taken": testserver.Accept, "refused": testserver.ReplyPerRecipient(map[string]int{"bob@example.net": 550}), "postponed": testserver.ReplyPerRecipient(map[string]int{"bob@example.net": 450}),
		"trouble": testserver.RelayTrouble(app.StageMail, "reset"), "message refused": testserver.ReplyWith(app.StageMail, 550, "no"),
	} {
		t.Run(name, func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := testserver.NewRelay(testserver.InOrder(testserver.After(hang, a)))
				w := testserver.Start(t, relay)
				id := w.Send("bob@example.net")
				synctest.Wait()
				testserver.Must(t, w.Services.Mail.CancelEmail(t.Context(), w.Key, id))
				close(hang)
				time.Sleep(3 * time.Minute)
				synctest.Wait()
				w.WantLastEvent(id, app.Canceled)
				if n := len(relay.Transactions(id)); n != 1 || w.Unit(id) != nil || len(w.CommittedUnits()) != 0 {
					t.Errorf("%d attempts, unit %v", n, w.Unit(id))
				}
				if timeline := w.Timeline(id); strings.Contains(timeline, "250") {
					t.Errorf("it left:\n%s", timeline)
				}
				testserver.WantCode(t, w.Services.Mail.CancelEmail(t.Context(), w.Key, id), app.CodeValidation)
			})
		})
	}
}

func TestCancelDuringRetryAndDoubt(t *testing.T) {
	testserver.BothEngines(t)
	for name, a := range map[string]testserver.Answer{"retry": testserver.ReplyPerRecipient(map[string]int{"bob@example.net": 450}), "doubt": testserver.LoseReply} {
		t.Run(name, func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				relay := testserver.NewRelay(testserver.Always(a))
				w := testserver.Start(t, relay)
				id := w.Send("bob@example.net")
				time.Sleep(time.Second)
				synctest.Wait()
				testserver.Must(t, w.Services.Mail.CancelEmail(t.Context(), w.Key, id))
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				w.WantLastEvent(id, app.Canceled)
				if n := len(relay.Transactions(id)); n != 1 {
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

func TestCommittedEmailCannotBeWithdrawn(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		reply := make(chan struct{})
		w := testserver.Start(t, testserver.NewRelay(testserver.Always(testserver.ReplyAfter(reply))))
		id := w.Send("bob@example.net")
		synctest.Wait()
		testserver.WantCode(t, w.Services.Mail.CancelEmail(t.Context(), w.Key, id), app.CodeValidation)
		testserver.WantCode(t, w.Services.Mail.DeleteEmail(t.Context(), w.Key, id), app.CodeConflict)
		close(reply)
		synctest.Wait()
		w.WantLastEvent(id, app.Sent)
		testserver.WantCode(t, w.Services.Mail.CancelEmail(t.Context(), w.Key, id), app.CodeValidation)
		testserver.Must(t, w.Services.Mail.DeleteEmail(t.Context(), w.Key, id))
	})
}

func TestCancelRacesWithDelivery(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(testserver.Always(func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
		return testserver.Accept(ctx, m, authorize)
	})))
	var ids []string
	for range 200 {
		ids = append(ids, w.Send("bob@example.net"))
	}
	w.Start()
	canceled := map[string]bool{}
	for i := len(ids) - 1; i >= 0; i-- {
		canceled[ids[i]] = w.Services.Mail.CancelEmail(t.Context(), w.Key, ids[i]) == nil
	}
	w.Stop()
	w.Open()
	left := map[string]int{}
	for _, s := range w.Relays[0].Transactions("") {
		left[s.Message.EmailID]++
	}
	for _, id := range ids {
		sent := false
		for _, ev := range w.Events(id) {
			sent = sent || ev.Type == app.EventType(app.Sent)
		}
		if canceled[id] && (sent || w.Email(id).LastEvent != app.Canceled || w.Unit(id) != nil) {
			t.Errorf("canceled, and its timeline is\n%s", w.Timeline(id))
		}
		if !canceled[id] && !sent {
			t.Errorf("not canceled and not sent:\n%s", w.Timeline(id))
		}
	}
}

func TestRescheduledEmailStartsOver(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := testserver.NewRelay(testserver.InOrder(testserver.After(hang, testserver.Accept), testserver.ReplyWith(app.StageMail, 450, "greylisted")))
		w := testserver.New(t, relay)
		id := w.Send("bob@example.net")
		// As accepted with scheduled_at: now.
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.SetLastEvent(id, app.Scheduled) }))
		w.Start()
		synctest.Wait()
		at := time.Now().Add(20 * 24 * time.Hour)
		testserver.Must(t, w.Services.Mail.RescheduleEmail(t.Context(), w.Key, id, app.FormatTime(at)))
		close(hang) // the running attempt must not be sent
		synctest.Wait()
		if u := w.Unit(id); u == nil || u.Attempts != 0 || !u.NextAt.Equal(at) || len(w.CommittedUnits()) != 0 {
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
		w.WantLastEvent(id, app.Sent)
		if n := len(relay.Transactions(id)); n != 3 {
			t.Errorf("%d attempts:\n%s", n, w.Timeline(id))
		}
	})
}

func TestWithdrawByOtherTeamChangesNothing(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	own := *w.Key
	own.ID, own.Permission = app.NewID(), app.SendingAccess
	id := w.Send("bob@example.net")
	for name, change := range map[string]func(*app.Key) error{
		"cancel":     func(k *app.Key) error { return w.Services.Mail.CancelEmail(t.Context(), k, id) },
		"delete":     func(k *app.Key) error { return w.Services.Mail.DeleteEmail(t.Context(), k, id) },
		"reschedule": func(k *app.Key) error { return w.Services.Mail.RescheduleEmail(t.Context(), k, id, "in 1 hour") },
	} {
		for who, key := range map[string]*app.Key{"another key": &own, "another team": {TeamID: app.NewID(), Permission: app.FullAccess}} {
			if err := change(key); app.CodeOf(err) != app.CodeNotFound {
				t.Errorf("%s by %s: %v", name, who, err)
			}
		}
	}
	w.WantLastEvent(id, app.Queued)
	mine, err := w.Services.Mail.SendEmail(t.Context(), &own, testserver.Message("x@example.net"), mail.SendOptions{})
	testserver.Must(t, err)
	testserver.Must(t, w.Services.Mail.CancelEmail(t.Context(), &own, mine))
}
