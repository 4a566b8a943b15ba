package queue_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/sending/queue"
	"mailer/app/testing/testserver"
)

// want checks the result of an action.
func want(t *testing.T, res queue.Result, err error, matched, changed int64) {
	t.Helper()
	testserver.Must(t, err)
	if res.Matched != matched || res.Changed != changed {
		t.Errorf("matched %d, changed %d (%q), want %d and %d", res.Matched, res.Changed, res.Notes, matched, changed)
	}
}

// sendAs sends an email of another team.
func sendAs(w *testserver.Server, key *app.Key, domain string, to string) string {
	w.T.Helper()
	in := testserver.Message(to)
	in.From = "ann@" + domain
	id, err := w.Services.Mail.SendEmail(w.T.Context(), key, in, mail.SendOptions{})
	testserver.Must(w.T, err)
	return id
}

// lastOf returns the last event of an email of another team.
func lastOf(w *testserver.Server, key *app.Key, id string) app.LastEvent {
	w.T.Helper()
	email, err := w.Services.Mail.GetEmail(w.T.Context(), key, id)
	testserver.Must(w.T, err)
	return email.LastEvent
}

func TestHeldMailIsNotSentUntilReleased(t *testing.T) {
	testserver.BothEngines(t)
	for name, held := range map[string]bool{"hold": true, "drop": false} {
		t.Run(name, func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := testserver.NewRelay(testserver.InOrder(testserver.After(hang, testserver.Accept)))
				w := testserver.Start(t, relay)
				other := w.AddTeam("other", "other.example")
				id, theirs := w.Send("bob@example.net"), sendAs(w, other, "other.example", "eve@example.net")
				synctest.Wait() // both wait before the final dot
				act := w.Services.Queue.Drop
				if held {
					act = w.Services.Queue.Hold
				}
				res, err := act(t.Context(), queue.Filter{Team: w.Key.TeamID})
				want(t, res, err, 1, 1)
				close(hang)
				testserver.Sleep(3 * time.Minute)
				if n := relay.FinalDots(id); n != 0 {
					t.Errorf("%d dots", n)
				}
				if got := lastOf(w, other, theirs); got != app.Sent {
					t.Errorf("the other team's email is %s", got)
				}
				if !held {
					w.WantLastEvent(id, app.Canceled)
					return
				}
				w.WantLastEvent(id, app.Queued)
				w.OnlyEvent(id, app.EventHeld)
				res, err = w.Services.Queue.Release(t.Context(), queue.Filter{IDs: []string{id}})
				want(t, res, err, 1, 1)
				testserver.Sleep(time.Second)
				w.WantLastEvent(id, app.Sent)
				if n := relay.FinalDots(id); n != 1 {
					t.Errorf("%d dots", n)
				}
			})
		})
	}
}

func TestActionsDoNotChangeCommittedMail(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		reply := make(chan struct{})
		w := testserver.Start(t, testserver.NewRelay(testserver.Always(testserver.ReplyAfter(reply))))
		w.AddTeam("other", "other.example")
		id := w.Send("bob@example.net")
		synctest.Wait()
		for _, act := range []func(context.Context, queue.Filter) (queue.Result, error){w.Services.Queue.Hold, w.Services.Queue.Drop, w.Services.Queue.Retry, w.Services.Queue.Release} {
			res, err := act(t.Context(), queue.Filter{IDs: []string{id}})
			want(t, res, err, 1, 0)
		}
		close(reply)
		synctest.Wait()
		w.WantLastEvent(id, app.Sent)
	})
}

func TestDropRacesWithCancelAndDelivery(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	other := w.AddTeam("other", "other.example")
	var ids []string
	for range 150 {
		ids = append(ids, w.Send("bob@example.net"))
		sendAs(w, other, "other.example", "eve@example.net")
	}
	w.Start()
	dropped := make(chan queue.Result)
	go func() {
		res, err := w.Services.Queue.Drop(context.Background(), queue.Filter{Team: w.Key.TeamID})
		if err != nil {
			t.Error(err)
		}
		dropped <- res
	}()
	canceled := int64(0)
	for i := len(ids) - 1; i >= 0; i-- {
		if w.Cancel(ids[i]) == nil {
			canceled++
		}
	}
	res := <-dropped
	w.Stop()
	w.Open()
	gone := int64(0)
	for _, id := range ids {
		dots, last := w.Relays[0].FinalDots(id), w.Email(id).LastEvent
		if (last == app.Canceled) != (dots == 0) || dots > 1 {
			t.Errorf("%d dots, %s\n%s", dots, last, w.Timeline(id))
		}
		if last == app.Canceled {
			gone++
		}
	}
	if gone != canceled+res.Changed {
		t.Errorf("%d are canceled: %d by cancel, %d by drop", gone, canceled, res.Changed)
	}
	if n := w.SQL(`SELECT count(*) FROM emails WHERE team_id = ? AND last_event = 'canceled'`, other.TeamID)[0]; n != "0" {
		t.Errorf("%s of the other team are canceled", n)
	}
}

func TestReleaseRestoresEmailAndExpiryClock(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Always(testserver.ReplyPerRecipient(map[string]int{"bob@example.net": 450})))
		w := testserver.Start(t, relay)
		w.AddTeam("other", "other.example")
		id, later := w.Send("bob@example.net"), w.SendAt(app.FormatTime(time.Now().Add(time.Hour)))
		testserver.Sleep(time.Second)
		before, scheduled := *w.Unit(id), *w.Unit(later)
		res, err := w.Services.Queue.Hold(t.Context(), queue.Filter{All: true})
		want(t, res, err, 2, 2)
		w.WantLastEvent(later, app.Scheduled)
		testserver.Sleep(30 * time.Second)
		res, err = w.Services.Queue.Release(t.Context(), queue.Filter{State: queue.Held})
		want(t, res, err, 2, 2)
		after := *w.Unit(id)
		if !after.Since.Equal(before.Since) || !after.NextAt.Equal(before.NextAt) || after.Attempts != before.Attempts {
			t.Errorf("before %+v\nafter %+v", before, after)
		}
		if got := w.SQL(`SELECT stood FROM units WHERE email_id = ?`, id)[0]; got != fmt.Sprintf("%d-%d", time.Now().Add(-30*time.Second).UnixMilli(), time.Now().UnixMilli()) {
			t.Errorf("its clock stood %s", got)
		}
		if got := *w.Unit(later); !reflect.DeepEqual(got, scheduled) {
			t.Errorf("before %+v\nafter %+v", scheduled, got)
		}
		relay.SetScript(nil)
		testserver.Sleep(2 * time.Hour)
		w.WantLastEvent(id, app.Sent)
		w.WantLastEvent(later, app.Sent)
	})
}

func TestRetryAffectsDeferredMailOnly(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.InOrder(testserver.ReplyPerRecipient(map[string]int{"bob@example.net": 450})))
		w := testserver.Start(t, relay)
		w.AddTeam("other", "other.example")
		id := w.Send("bob@example.net")
		testserver.Sleep(time.Second)
		later := w.SendAt(app.FormatTime(time.Now().Add(time.Hour)))
		res, err := w.Services.Queue.Retry(t.Context(), queue.Filter{Relay: app.DefaultRegion})
		want(t, res, err, 2, 1)
		synctest.Wait()
		w.WantLastEvent(id, app.Sent)
		w.WantLastEvent(later, app.Scheduled)
	})
}

func TestDropIsRecordedAndFreesQuota(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w := testserver.Start(t, testserver.NewRelay(nil))
		w.AddTeam("other", "other.example")
		id := w.SendAt(app.FormatTime(time.Now().Add(time.Hour)))
		ctx := app.WithActor(t.Context(), func() app.Actor { return app.Actor{Type: app.ActorCLI, Name: "root"} })
		res, err := w.Services.Queue.Drop(ctx, queue.Filter{State: queue.Scheduled})
		want(t, res, err, 1, 1)
		if got := w.OnlyEvent(id, app.EventType(app.Canceled)).Detail.Message; !strings.Contains(got, "the operator") {
			t.Errorf("it says %q", got)
		}
		log := w.SQL(`SELECT actor || ' ' || action || ' ' || before || ' ' || after FROM audit_logs WHERE action LIKE 'queue.%'`)
		if len(log) != 1 || log[0] != `root queue.drop {"state":"scheduled"} {"matched":1,"changed":1}` {
			t.Errorf("the audit log has %q", log)
		}
		res, err = w.Services.Queue.Drop(ctx, queue.Filter{State: queue.Scheduled})
		want(t, res, err, 0, 0)
		if n := w.SQL(`SELECT count(*) FROM audit_logs WHERE action LIKE 'queue.%'`)[0]; n != "1" {
			t.Errorf("%s lines of what changed nothing", n)
		}
	})
}

func TestActionNeedsFilter(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	w.Send("bob@example.net")
	for _, f := range []queue.Filter{{}, {State: "retri"}, {IDs: []string{"x"}}, {Team: "nobody"}, {Relay: "us-eest-1"}, {FromDomain: "a b"}, {Broadcast: app.NewID()}, {Captured: true}, {State: queue.Due, All: true}} {
		if res, err := w.Services.Queue.Drop(t.Context(), f); app.CodeOf(err) != app.CodeValidation && app.CodeOf(err) != app.CodeNotFound {
			t.Errorf("%+v: %+v, %v", f, res, err)
		}
	}
}

func TestMove(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		us, eu := testserver.NewRelay(testserver.Always(testserver.RelayTrouble(app.StageConnect, "refused"))), testserver.NewRelay(nil)
		eu.Region = "eu-west-1"
		w := testserver.Start(t, us, eu)
		other := w.AddTeam("other", "other.example")
		id, theirs := w.Send("bob@example.net"), sendAs(w, other, "other.example", "eve@example.net")
		testserver.Sleep(time.Second)
		for _, relay := range []string{"eu-west-2", app.CaptureRegion, ""} {
			_, err := w.Services.Queue.Move(t.Context(), queue.Filter{Team: w.Key.TeamID}, relay)
			testserver.WantCode(t, err, app.CodeValidation)
		}
		w.AddSubscribers(3)
		b := w.AddDraft()
		w.Queue(b)
		testserver.Sleep(time.Second)
		res, err := w.Services.Queue.Move(t.Context(), queue.Filter{FromDomain: testserver.TestDomain}, "eu-west-1")
		want(t, res, err, 4, 4)
		if len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "SPF") {
			t.Errorf("notes %q", res.Notes)
		}
		testserver.Sleep(time.Minute)
		w.WantLastEvent(id, app.Sent)
		w.OnlyEvent(id, app.EventMoved)
		testserver.WantEachOnce(t, func() map[string]int {
			got := testserver.Received(eu)
			delete(got, "bob@example.net")
			return got
		}(), 3)
		if got := lastOf(w, other, theirs); got != app.Queued {
			t.Errorf("the other team's is %s", got)
		}
	})
}
